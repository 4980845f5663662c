// Method baseline: one ordinary kernel, as one would write it without the library. A warp takes a line at a time, and looks at
// 32 characters at once, twice: it counts the pairs that begin, claims room for all of them, and then reads them; of its
// lanes those read that have a pair's begin, one or two, and the others wait.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "taxi/methods.hpp"
#include "taxi/stages.hpp"

namespace taxi {

/// Of a line: where its pairs lie, side by side.
struct Outcome {
  std::uint32_t first;
  std::uint32_t pairs;  ///< where the line is broken, whatever lies there
  bool broken;
};

/// Room for pairs, and how many there are, with room or not.
struct PairList {
  Pair* pairs;
  std::uint32_t room;
  hiway::Word<std::uint32_t>* count;
};

struct ConvertLines {
  char const* text;
  Line const* lines;
  std::uint32_t count;
  Outcome* outcomes;
  PairList out;

  HIWAY_DEVICE void operator()() const {
    hiway::on_this_device([&](auto m) {
      for (std::uint32_t i = m.thread_index() / 32; i < count; i += m.thread_count() / 32) {
        Outcome const outcome = convert(m, lines[i]);
        if (m.lane() == 0) outcomes[i] = outcome;
      }
    });
  }

  /// By all lanes of a warp.
  template <class M>
  HIWAY_DEVICE Outcome convert(M m, Line const& line) const {
    Text const here{text + line.offset, line.length};
    std::uint32_t const begin = first_pair(here);
    if (begin == nowhere) return {0, 0, true};
    std::uint32_t pairs = 0;
    for (std::uint32_t at = begin; at < line.length; at += 32)
      pairs += m.count(m.ballot(m.lanes(), begins_pair(here, at + m.lane())));
    std::uint32_t first = 0;
    if (m.lane() == 0 && pairs != 0) first = m.fetch_add(*out.count, pairs, hiway::MemoryOrder::relaxed);
    first = m.shuffle(m.lanes(), first, 0);
    bool const has_room = first + pairs <= out.room;
    std::uint32_t next = first;
    bool has_broken = false;
    for (std::uint32_t at = begin; at < line.length; at += 32) {
      bool const begins = begins_pair(here, at + m.lane());
      std::uint32_t const all = m.ballot(m.lanes(), begins);
      if (begins) {
        Maybe<Pair> const pair = read_pair(here, line.number, at + m.lane());
        has_broken = has_broken || !pair.ok;
        if (has_room) out.pairs[next + m.count(all & hiway::lanes_below(m.lane()))] = pair.value;
      }
      next += m.count(all);
    }
    return {first, pairs, m.ballot(m.lanes(), has_broken) != 0};
  }
};

namespace {

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Input const& input, Job const& job)
      : input_(input),
        pipe_(job.pipeline()),
        text_(pipe_.create_buffer(std::span<char const>(input.text))),
        lines_(pipe_.create_buffer<Line>(std::max<std::size_t>(1, input.lines.size()))),
        outcomes_(pipe_.create_buffer<Outcome>(lines_.size())),
        count_(pipe_.create_buffer<hiway::Word<std::uint32_t>>(1)) {
    lines_.copy_in(input.lines);
    bool const emulated = job.device == "simt";
    grid_.threads_per_block = emulated ? 64 : 256;
    constexpr std::size_t most_blocks = 1056;  // 8 on each multiprocessor
    grid_.blocks =
        emulated ? 1 : static_cast<unsigned>(std::min(lines_.size() * 32 / grid_.threads_per_block + 1, most_blocks));
    begin();
    convert({nullptr, 0, count_.view().data});  // loads the kernel, and tells how much room the pairs need
    pairs_ = &pipe_.create_buffer<Pair>(std::max(1U, found()));
  }
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;

  void begin() { count_.copy_in(std::vector<hiway::Word<std::uint32_t>>(1)); }
  void run() { convert({pairs_->view().data, static_cast<std::uint32_t>(pairs_->size()), count_.view().data}); }
  [[nodiscard]] Conversion conversion() const {
    std::vector<Outcome> outcomes(input_.lines.size());
    outcomes_.copy_out(outcomes);
    std::vector<Pair> pairs(found());
    pairs_->copy_out(pairs);
    Conversion conversion;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      if (outcomes[i].broken) {
        conversion.broken.push_back(input_.lines[i].number);
      } else {
        auto const of_line = std::span(pairs).subspan(outcomes[i].first, outcomes[i].pairs);
        conversion.pairs.insert(conversion.pairs.end(), of_line.begin(), of_line.end());
      }
    }
    return conversion;
  }

 private:
  void convert(PairList out) {
    auto const count = static_cast<std::uint32_t>(input_.lines.size());
    pipe_.launch("convert", ConvertLines{text_.view().data, lines_.view().data, count, outcomes_.view().data, out},
                 grid_);
    pipe_.synchronize();
  }
  [[nodiscard]] std::uint32_t found() const {
    std::vector<hiway::Word<std::uint32_t>> count(1);
    count_.copy_out(count);
    return count[0].bits;
  }

  Input const& input_;
  hiway::Pipeline pipe_;
  hiway::Buffer<char>& text_;
  hiway::Buffer<Line>& lines_;
  hiway::Buffer<Outcome>& outcomes_;
  hiway::Buffer<hiway::Word<std::uint32_t>>& count_;
  hiway::Buffer<Pair>* pairs_ = nullptr;
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Job const& job, Conversion& conversion) {
  Device device{input, job};
  return cli::repeated(job, [&] {
    device.begin();
    auto const begin = std::chrono::steady_clock::now();
    device.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    conversion = device.conversion();
    return Measurement{.seconds = seconds, .items = conversion.pairs.size()};
  });
}

}  // namespace taxi
