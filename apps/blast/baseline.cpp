// Method baseline: one ordinary kernel. A lane takes stretches of the database, and does all that comes of one before the
// next; lanes of a warp share a claim of room for their hits. The table's bitmap lies in shared memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <string>
#include <vector>

#include "blast/methods.hpp"
#include "blast/stages.hpp"

namespace blast {

/// Room for hits, and how many were found, with room or not.
struct HitList {
  Hit* hits;
  std::uint32_t room;
  hiway::Word<std::uint32_t>* count;
};

struct SearchAll {
  Search search;
  HitList out;

  HIWAY_DEVICE void operator()() const {
    hiway::on_this_device([&](auto m) {
      auto& bitmap = *reinterpret_cast<FindSeeds::Table*>(m.shared_memory());
      FindSeeds near{search};
      near.fill(bitmap, m.thread_in_block(), m.block_threads());
      near.use(bitmap);
      m.sync_block();
      auto const all = static_cast<std::uint64_t>(stretches(search));
      std::uint64_t const step = m.thread_count();
      // The lanes of a warp stay together: they append together.
      for (std::uint64_t first = m.thread_index() - m.lane(); first < all; first += step)
        search_stretch(m, near.search, first + m.lane(), first + m.lane() < all);
    });
  }

  template <class M>
  HIWAY_DEVICE void search_stretch(M m, Search const& near, Place stretch, bool is_there) const {
    FindSeeds const find{near};
    Positions const positions{near};
    FindSeeds::Cursor found = is_there ? find.start(stretch) : FindSeeds::Cursor{};
    Seed seed{};
    Positions::Cursor at{};
    for (;;) {
      if (!positions.more(seed, at) && find.more(stretch, found)) {
        seed = find.next(stretch, found);
        at = positions.start(seed);
      }
      bool const has_pair = positions.more(seed, at);
      if (m.ballot(m.lanes(), has_pair) == 0) return;
      Maybe<Pair> const pair = has_pair ? ExtendExact{near}(positions.next(seed, at)) : Maybe<Pair>::none();
      append(m, pair.ok ? Score{near}(pair.value) : Maybe<Hit>::none());
    }
  }

  /// By all lanes of a warp.
  template <class M>
  HIWAY_DEVICE void append(M m, Maybe<Hit> const& hit) const {
    std::uint32_t const wanted = m.ballot(m.lanes(), hit.ok);
    if (wanted == 0) return;
    std::uint32_t place = 0;
    if (m.lane() == 0) place = m.fetch_add(*out.count, m.count(wanted), hiway::MemoryOrder::relaxed);
    place = m.shuffle(m.lanes(), place, 0) + m.count(wanted & hiway::lanes_below(m.lane()));
    if (hit.ok && place < out.room) out.hits[place] = hit.value;
  }
};

namespace {

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Problem const& problem, std::string const& device)
      : pipe_(hiway::PipelineConfig{.device = device}),
        search_(copy_to(pipe_, problem)),
        count_(pipe_.create_buffer<hiway::Word<std::uint32_t>>(1)) {
    auto const warps = static_cast<unsigned>((stretches(problem.search()) + 31) / 32);
    constexpr unsigned most_blocks = 1056;  // 8 on each multiprocessor
    grid_.threads_per_block = device == "simt" ? 32 : 256;
    grid_.blocks = device == "simt" ? 1 : std::clamp(warps * 32 / grid_.threads_per_block, 1U, most_blocks);
    begin();
    search({nullptr, 0, count_.view().data});  // loads the kernel, and tells how much room the hits need
    hits_ = &pipe_.create_buffer<Hit>(std::max(1U, found()));
  }
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;

  void begin() { count_.copy_in(std::vector<hiway::Word<std::uint32_t>>(1)); }
  void run() { search({hits_->view().data, static_cast<std::uint32_t>(hits_->size()), count_.view().data}); }
  [[nodiscard]] Hits hits() const {
    Hits hits(found());
    hits_->copy_out(hits);
    return hits;
  }

 private:
  void search(HitList out) {
    pipe_.launch("search", SearchAll{search_, out}, grid_);
    pipe_.synchronize();
  }
  [[nodiscard]] std::uint32_t found() const {
    std::vector<hiway::Word<std::uint32_t>> count(1);
    count_.copy_out(count);
    return count[0].bits;
  }

  hiway::Pipeline pipe_;
  Search search_;
  hiway::Buffer<hiway::Word<std::uint32_t>>& count_;
  hiway::Buffer<Hit>* hits_ = nullptr;
  hiway::GpuStageOptions grid_{.shared_bytes = sizeof(FindSeeds::Table)};
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Hits& hits) {
  Device device{problem, job.device};
  return cli::repeated(job, [&] {
    device.begin();
    auto const begin = std::chrono::steady_clock::now();
    device.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    hits = device.hits();
    return Measurement{.summary = summarize(hits), .seconds = seconds, .items = hits.size()};
  });
}

}  // namespace blast
