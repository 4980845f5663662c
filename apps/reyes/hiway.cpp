// Method hiway: all stages at the same time, and of all pictures of the stream.
//
//   begin (CPU) -> split (CPU) -Leaf-> dice -Grid-> shade -Finished-> resolve -Strip-> collect (CPU)
//                  ^   |   |          (one kernel on the GPU)         ^   ^  |
//                  +---+   +-Whole------------------------------------+   +--+ StripTask
//
// Nobody knows how many grids a picture has before its last patch is split. So shade counts a picture's grids up, split's Whole
// counts them down by how many there are, and whoever comes to 0 has the last one: the picture is finished.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reyes/methods.hpp"

namespace reyes {

/// A patch that is to be split.
struct PatchTask {
  Patch patch;
  std::uint32_t picture;
  std::uint32_t splits;
};
/// All patches of a picture are split.
struct Whole {
  std::uint32_t picture;
  std::uint32_t grids;
};
struct Finished {
  std::uint32_t picture;
};
struct StripTask {
  std::uint32_t picture;
  std::uint32_t strip;
};
/// Some of a picture's colours, on their way to the CPU.
struct Strip {
  static constexpr std::uint32_t most = 4096 - 4;
  std::uint32_t picture;
  std::uint32_t first;
  std::uint32_t count;
  std::uint32_t unused;  ///< colours begin where 16 bytes do
  std::uint32_t colours[most];
};

/// What is counted of a picture on the GPU: points << 32, and grids in the lower half, modulo 2^32. Whoever brings the lower half
/// back to 0 carries one into the points; where there are no grids, nothing moves.
using Progress = hiway::Word<std::uint64_t>;
/// Of a picture. A grid owns 9 points at most, so that its points, and the carry, fit into 32 bits, and its grids anyway.
inline constexpr std::uint64_t most_grids = 0xfffffffeU / 9;

/// Counts of pictures, on the CPU.
struct Books {
  explicit Books(std::size_t pictures) : patches(pictures), grids(pictures) {}
  std::vector<hiway::Word<std::uint32_t>> patches;  ///< in the tunnel, or being split
  std::vector<hiway::Word<std::uint64_t>> grids;    ///< of leaves so far
  hiway::Word<std::uint64_t> split{0};
  hiway::Word<std::uint64_t> dice{0};
};

struct BeginPictures {
  Problem const* problem;
  Books* books;
  void operator()(hiway::Inlet<PatchTask> out) const {
    for (std::uint32_t i = 0; i < problem->pictures.size(); ++i) {
      Patches const& patches = problem->pictures[i];
      books->patches[i].bits = static_cast<std::uint32_t>(patches.size());
      books->grids[i].bits = 0;
      for (Patch const& patch : patches) out.put_h({patch, i, 0});
    }
  }
};

/// Patches of few halvings are split one by one, so that all threads have some; the others to their leaves at once.
struct Split {
  static constexpr unsigned at_once = 3;
  View view;
  Books* books;
  void operator()(hiway::Outlet<PatchTask> in, hiway::Inlet<PatchTask> again, hiway::Inlet<Leaf> leaves,
                  hiway::Inlet<Whole> whole) const {
    std::vector<Leaf> ready;
    constexpr std::size_t together = 128;
    ready.reserve(together);
    auto const send = [&] {
      leaves.put_h(std::span<Leaf const>(ready));
      ready.clear();
    };
    Splits all;
    in.for_each_h([&](PatchTask const& task) {
      hiway::anywhere([&](auto m) {
        hiway::Word<std::uint32_t>& patches = books->patches[task.picture];
        hiway::Word<std::uint64_t>& grids = books->grids[task.picture];
        Splits done;
        split(
            view, task.patch, task.picture, task.splits, at_once, done,
            [&](Patch const& part, unsigned splits) {
              m.fetch_add(patches, 1U, hiway::Order::relaxed);
              again.put_h({part, task.picture, splits});
            },
            [&](Leaf const& leaf) {
              ready.push_back(leaf);
              if (ready.size() == together) send();
            });
        if (!ready.empty()) send();
        all += done;
        m.fetch_add(grids, done.grids, hiway::Order::relaxed);
        if (m.fetch_add(patches, ~0U, hiway::Order::acq_rel) == 1) {
          std::uint64_t const in_all = m.load(grids, hiway::Order::relaxed);
          if (in_all > most_grids) in.fail_h("a picture has more points than can be counted");
          whole.put_h({task.picture, static_cast<std::uint32_t>(in_all)});
        }
      });
    });
    hiway::anywhere([&](auto m) {
      m.fetch_add(books->split, all.split, hiway::Order::relaxed);
      m.fetch_add(books->dice, all.dice, hiway::Order::relaxed);
    });
  }
};

struct Dice {
  HIWAY_DEVICE void operator()(Leaf const& leaf, hiway::Inlet<Grid> out) const {
    for (std::uint32_t k = 0; k < leaf.grids(); ++k) out.put_d(dice(leaf, k));
  }
};

/// Counts `points` and `grids` (which may be negative) of a picture; true for whoever brings the last. Then all that the others
/// showed before they counted can be seen: each releases it here, and the last acquires.
template <class Machine>
HIWAY_DEVICE inline bool is_finished(Machine m, Progress& progress, std::uint64_t points, std::int64_t grids) {
  std::uint64_t const more = (points << 32) + static_cast<std::uint32_t>(grids);
  return static_cast<std::uint32_t>(m.fetch_add(progress, more, hiway::Order::acq_rel) + more) == 0;
}

struct Shade {
  View view;
  picture::Pixel* pixels;
  Progress* progress;
  HIWAY_DEVICE void operator()(Grid const& grid, hiway::Inlet<Finished> finished) const {
    hiway::anywhere([&](auto m) {
      shade(m, view, grid, pixels + std::size_t{grid.picture} * view.pixels());
      if (is_finished(m, progress[grid.picture], grid.owned, 1)) finished.put_d({grid.picture});
    });
  }
};

/// A warp cuts a finished picture into strips, or sends one and clears its part of the depth buffer for the next run.
struct Resolve {
  View view;
  picture::Pixel* pixels;
  Progress* progress;

  HIWAY_DEVICE void operator()(hiway::Outlet<Whole> whole, hiway::Outlet<Finished> finished,
                               hiway::Outlet<StripTask> tasks, hiway::Inlet<StripTask> more,
                               hiway::Inlet<Strip> out) const {
    hiway::anywhere([&](auto m) {
      while (m.ballot(m.lanes(), tasks.is_terminate()) == 0) {
        StripTask task{};
        if (tasks.get_warp(task)) {
          out.put_in_place_warp([&](Strip& strip) { fill(m, task, strip); });
          tasks.end_task_warp();
          continue;
        }
        Finished one{};
        if (finished.get_warp(one)) {
          cut(m, one.picture, more);
          finished.end_task_warp();
        }
        Whole all{};
        if (whole.get_warp(all)) {
          std::uint32_t last = 0;
          if (m.lane() == 0) last = is_finished(m, progress[all.picture], 0, -std::int64_t{all.grids}) ? 1 : 0;
          m.sync_warp(
              m.lanes());  // a shuffle orders nothing: the tasks that other lanes put come behind what lane 0 acquired
          if (m.shuffle(m.lanes(), last, 0) != 0) cut(m, all.picture, more);
          whole.end_task_warp();
        }
      }
    });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void cut(Machine m, std::uint32_t picture, hiway::Inlet<StripTask> const& more) const {
    std::uint32_t const strips = (view.pixels() + Strip::most - 1) / Strip::most;
    for (std::uint32_t i = m.lane(); i < strips; i += m.count(m.lanes())) more.put({picture, i});
  }
  template <class Machine>
  HIWAY_DEVICE void fill(Machine m, StripTask const& task, Strip& strip) const {
    std::uint32_t const first = task.strip * Strip::most;
    std::uint32_t const count = view.pixels() - first < Strip::most ? view.pixels() - first : Strip::most;
    if (m.lane() == 0) {
      strip.picture = task.picture;
      strip.first = first;
      strip.count = count;
    }
    picture::Pixel* const from = pixels + std::size_t{task.picture} * view.pixels() + first;
    for (std::uint32_t i = m.lane(); i < count; i += m.count(m.lanes())) {
      strip.colours[i] = picture::colour_of(m.load(from[i], hiway::Order::relaxed), background);
      m.store(from[i], picture::nothing, hiway::Order::relaxed);
    }
  }
};

namespace {

struct Collect {
  Pictures* pictures;
  void operator()(hiway::Outlet<Strip> in) const {
    in.for_each_h([&](Strip const& strip) {
      std::memcpy((*pictures)[strip.picture].data() + strip.first, strip.colours, strip.count * sizeof *strip.colours);
    });
  }
};

class Stream {
 public:
  Stream(Problem const& problem, Job const& job, Form form, Pictures& pictures)
      : problem_(problem),
        pictures_(pictures),
        books_(problem.pictures.size()),
        pipe_(job.pipeline()),
        pixels_(pipe_.create_buffer<picture::Pixel>(problem.pictures.size() * problem.view.pixels())),
        progress_(pipe_.create_buffer<Progress>(problem.pictures.size())) {
    std::vector<picture::Pixel> const clear(problem.view.pixels(), picture::Pixel{picture::nothing});
    for (std::size_t i = 0; i < problem.pictures.size(); ++i) pixels_.copy_in(clear, i * clear.size());
    cli::Scheme const& scheme = job.scheme;
    using hiway::Direction;
    using hiway::from;
    using hiway::into;
    auto& tasks =
        pipe_.create_tunnel<PatchTask>("patches", Direction::cpu_to_cpu, scheme.tunnel({.capacity_items = 4096}));
    auto& leaves = pipe_.create_tunnel<Leaf>("leaves", Direction::cpu_to_gpu, scheme.tunnel({.capacity_items = 16384}));
    auto& whole = pipe_.create_tunnel<Whole>("whole", Direction::cpu_to_gpu, scheme.tunnel());
    auto& grids = pipe_.create_tunnel<Grid>("grids", Direction::gpu_to_gpu, scheme.tunnel({.capacity_items = 65536}));
    auto& finished = pipe_.create_tunnel<Finished>("finished", Direction::gpu_to_gpu, scheme.tunnel());
    auto& strip_tasks =
        pipe_.create_tunnel<StripTask>("strip tasks", Direction::gpu_to_gpu, scheme.tunnel({.capacity_items = 4096}));
    auto& strips = pipe_.create_tunnel<Strip>("strips", Direction::gpu_to_cpu, scheme.tunnel({.capacity_items = 512}));

    bool const emulated = job.device == "simt";
    auto const grid = [&](unsigned blocks, unsigned threads) {
      return hiway::GpuStageOptions{.blocks = emulated ? 1U : blocks, .threads_per_block = emulated ? 32U : threads};
    };
    // Four are left to the library's monitors, to begin and to collect.
    unsigned const threads = std::max(5U, hiway::available_cpus()) - 4;
    picture::Pixel* const pixels = pixels_.view().data;
    Progress* const progress = progress_.view().data;
    pipe_.add_cpu_stage("begin", BeginPictures{&problem_, &books_}, into(tasks));
    pipe_.add_cpu_stage("split", Split{problem.view, &books_}, from(tasks), into(tasks, leaves, whole),
                        {.threads = threads});
    if (form == Form::group) {
      pipe_.add_gpu_group("dice and shade", grid(236, 128), hiway::stage("dice", Dice{}, from(leaves), into(grids)),
                          hiway::stage("shade", Shade{problem.view, pixels, progress}, from(grids), into(finished)));
    } else {
      pipe_.add_gpu_stage("dice", Dice{}, from(leaves), into(grids), grid(132, 128));
      pipe_.add_gpu_stage("shade", Shade{problem.view, pixels, progress}, from(grids), into(finished), grid(132, 128));
    }
    pipe_.add_gpu_stage("resolve", Resolve{problem.view, pixels, progress}, from(whole, finished, strip_tasks),
                        into(strip_tasks, strips), grid(66, 128));
    pipe_.add_cpu_stage("collect", Collect{&pictures_}, from(strips), {.threads = 2});
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  void prepare() { pipe_.prepare(); }
  Measurement run() {
    progress_.copy_in(std::vector<Progress>(progress_.size()));
    books_.split.bits = 0;
    books_.dice.bits = 0;
    for (Colours& colours : pictures_)
      std::ranges::fill(colours, ~0U);  // no colour: a strip that does not come is seen
    hiway::RunReport report = pipe_.run();
    std::vector<Progress> progress(progress_.size());
    progress_.copy_out(progress);
    Measurement measured;
    measured.summary = {books_.split.bits, books_.dice.bits, 0, checksum(pictures_)};
    for (Progress const& p : progress) measured.summary.shade += p.bits == 0 ? 0 : (p.bits >> 32) - 1;
    cli::take_report(measured, std::move(report));
    return measured;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  Problem const& problem_;
  Pictures& pictures_;
  Books books_;
  hiway::Pipeline pipe_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<Progress>& progress_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Form form, Pictures& pictures) {
  Stream stream{problem, job, form, pictures};
  stream.prepare();
  return cli::repeated(job, [&] { return stream.run(); });
}

std::string hiway_graph(std::string const& device) {
  Pictures pictures(1, Colours(4));
  Problem const problem{{Patches(1)}, View{2, 2}};
  return Stream{problem, {.device = device}, Form::group, pictures}.graph();
}

}  // namespace reyes
