// bench polling: what an idle pipeline takes from another kernel. A kernel that copies device memory, alone and beside a
// pipeline whose persistent blocks, one on every SM, wait for items. Bytes are read and written ones together.
#include <hiway/pipeline.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/echo.hpp"
#include "cli/bad_input.hpp"

namespace bench {

using hiway::View;

/// 16 bytes, loaded and stored at once.
struct alignas(16) Line {
  std::uint32_t words[4];
};

HIWAY_DEVICE constexpr Line line_of(std::uint32_t i, std::uint32_t salt) {
  return {{i ^ salt, i + salt, i * 0x9e37'79b9U, salt}};
}

/// Sets the lines.
struct FillLines {
  View<Line> to;
  std::uint32_t salt;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < to.size; i += hiway::thread_count())
      to[i] = line_of(static_cast<std::uint32_t>(i), salt);
  }
};

/// Copies them, `passes` times, four of a lane under way at once.
struct CopyLines {
  View<Line> to;
  View<Line> from;
  unsigned passes;
  HIWAY_DEVICE void operator()() const {
    std::size_t const lanes = hiway::thread_count();
    for (unsigned pass = 0; pass != passes; ++pass) {
      std::size_t i = hiway::thread_index();
      for (; i + 3 * lanes < from.size; i += 4 * lanes) {
        Line const a = from[i];
        Line const b = from[i + lanes];
        Line const c = from[i + 2 * lanes];
        Line const d = from[i + 3 * lanes];
        to[i] = a;
        to[i + lanes] = b;
        to[i + 2 * lanes] = c;
        to[i + 3 * lanes] = d;
      }
      for (; i < from.size; i += lanes) to[i] = from[i];
    }
  }
};

/// Counts, each lane in its own word, the lines that are not as FillLines sets them.
struct CheckLines {
  View<Line> of;
  std::uint32_t salt;
  View<std::uint32_t> different;  ///< one a lane
  HIWAY_DEVICE void operator()() const {
    std::uint32_t mine = 0;
    for (std::size_t i = hiway::thread_index(); i < of.size; i += hiway::thread_count()) {
      Line const expected = line_of(static_cast<std::uint32_t>(i), salt);
      std::uint32_t differ = 0;
      for (unsigned w = 0; w != 4; ++w) differ |= of[i].words[w] ^ expected.words[w];
      mine += differ != 0 ? 1 : 0;
    }
    different[hiway::thread_index()] = mine;
  }
};

/// Sends items on.
struct Waiting {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& item) const { return item; }
};

namespace {

using Clock = std::chrono::steady_clock;

class Copying {
 public:
  Copying(std::string const& device, std::size_t bytes, unsigned passes, unsigned waiting_threads, bool small)
      : passes_(passes),
        processors_(processors_of(device)),
        grid_{.blocks = 2 * processors_, .threads_per_block = small ? 32U : 512U},
        waiting_{.blocks = processors_, .threads_per_block = waiting_threads},
        pipe_(hiway::PipelineConfig{.device = device, .deadline = std::chrono::seconds(60)}),
        from_(pipe_.create_buffer<Line>(bytes / sizeof(Line))),
        to_(pipe_.create_buffer<Line>(bytes / sizeof(Line))),
        different_(pipe_.create_buffer<std::uint32_t>(std::size_t{grid_.blocks} * grid_.threads_per_block)) {
    auto& there = pipe_.create_tunnel<std::uint32_t>("there", hiway::Direction::cpu_to_gpu);
    auto& back = pipe_.create_tunnel<std::uint32_t>("back", hiway::Direction::gpu_to_cpu);
    in_ = there.open_inlet();
    out_ = back.open_outlet();
    pipe_.add_gpu_stage("waiting", Waiting{}, hiway::from(there), hiway::into(back), waiting_);
    pipe_.prepare();
  }

  /// Bytes a second; `beside`: while the pipeline's stage waits for items.
  Turn turn(bool beside, bool plant) {
    pipe_.launch("fill", FillLines{from_.view(), ++salt_}, grid_);
    copy(1);  // loads the kernel
    pipe_.launch("fill", FillLines{to_.view(), salt_ + 1}, grid_);
    pipe_.synchronize();
    bool awake = true;
    if (beside) {
      pipe_.start();
      awake = answers();  // every tunnel has been used once; from now on it waits
    }
    auto const begin = Clock::now();
    copy(passes_);
    double const seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (beside) {
      awake = awake && answers();
      in_.close_h();
      for (std::uint32_t item = 0; out_.next_h(item);) out_.end_task_h();
      (void)pipe_.wait();
    }
    double const rate = 2.0 * static_cast<double>(from_.size() * sizeof(Line)) * passes_ / seconds;
    std::uint64_t const wrong =
        different_lines(salt_ + (plant ? 2 : 0));  // planted: what nobody has copied is expected
    if (wrong != 0) return {rate, false, std::to_string(wrong) + " lines of 16 bytes were not copied"};
    return {rate, awake, "the pipeline beside it did not answer"};
  }

  [[nodiscard]] Json facts() const {
    Json facts = Json::object();
    facts["blocks"] = grid_.blocks;
    facts["threads_per_block"] = grid_.threads_per_block;
    facts["waiting_blocks"] = waiting_.blocks;
    facts["waiting_threads_per_block"] = waiting_.threads_per_block;
    return facts;
  }

 private:
  void copy(unsigned passes) {
    pipe_.launch("copy", CopyLines{to_.view(), from_.view(), passes}, grid_);
    pipe_.synchronize();
  }

  bool answers() {
    in_.put_h(salt_);
    std::uint32_t item = 0;
    bool const got = out_.next_h(item);
    if (got) out_.end_task_h();
    return got && item == salt_;
  }

  std::uint64_t different_lines(std::uint32_t salt) {
    pipe_.launch("check", CheckLines{to_.view(), salt, different_.view()}, grid_);
    pipe_.synchronize();
    std::vector<std::uint32_t> each(different_.size());
    different_.copy_out(each);
    std::uint64_t all = 0;
    for (std::uint32_t one : each) all += one;
    return all;
  }

  unsigned passes_;
  unsigned processors_;
  hiway::GpuStageOptions grid_;
  hiway::GpuStageOptions waiting_;
  std::uint32_t salt_ = 0;
  hiway::Pipeline pipe_;
  hiway::Buffer<Line>& from_;
  hiway::Buffer<Line>& to_;
  hiway::Buffer<std::uint32_t>& different_;
  hiway::Inlet<std::uint32_t> in_;
  hiway::Outlet<std::uint32_t> out_;
};

class PollingBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "polling"; }
  [[nodiscard]] std::string summary() const override {
    return "a copy kernel alone, and beside a pipeline whose blocks on every SM wait";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--bytes", bytes_, "that are copied; 0: 512 MiB").type_name("BYTES");
    command.add_option("--passes", passes_, "of a turn; 0: 40").type_name("N");
    command.add_option("--threads-per-block", threads_, "of the waiting blocks; 0: 128").type_name("N");
    command.add_flag("--plant", plant_, "expects what was not copied, which must be found");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (bytes_ > (std::size_t{16} << 30)) throw cli::BadInput{"--bytes: at most 17179869184"};
    if (passes_ > 1'000'000) throw cli::BadInput{"--passes: at most 1000000"};
    if (threads_ % 32 != 0 || threads_ > 512)
      throw cli::BadInput{"--threads-per-block: whole warps of 32, at most 512"};
    std::size_t const bytes = bytes_ != 0 ? bytes_ : request.small ? 4096 : std::size_t{512} << 20;
    unsigned const passes = passes_ != 0 ? passes_ : request.small ? 2 : 40;
    unsigned const threads = threads_ != 0 ? threads_ : request.small ? 32 : 128;
    auto const copying = std::make_shared<Copying>(request.device, bytes, passes, threads, request.small);
    Json what = Json::object();
    what["kernel"] = "copy in device memory";
    what["bytes"] = bytes;
    what["passes"] = passes;
    auto const facts = [copying] { return copying->facts(); };
    std::vector<Variant> const variants{
        {"alone", [copying, plant = plant_] { return copying->turn(false, plant); }, facts},
        {"beside an idle pipeline", [copying, plant = plant_] { return copying->turn(true, plant); }, facts}};
    return {measure(std::move(what), "bytes/s", Better::more, "alone", variants, request)};
  }

 private:
  std::size_t bytes_ = 0;
  unsigned passes_ = 0;
  unsigned threads_ = 0;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_polling() { return std::make_unique<PollingBench>(); }

}  // namespace bench
