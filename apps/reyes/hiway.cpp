// Method hiway: all stages at the same time, and of all pictures of the stream. split runs on the GPU, in a cycle:
//
//                       +-halves-+
//                       v        |
//   begin (CPU) -> split (GPU) --+-Leaf-> dice -Grid-> shade -Finished-> resolve -Strip-> collect (CPU)
//                       |         (one kernel on the GPU)                 ^   ^  |
//                       +--Finished: nothing of a picture is seen---------+   +--+ StripTask
//
// or on CPU threads:
//
//   begin (CPU) -> split (CPU) -Leaf-> dice -Grid-> shade -Finished-> resolve -Strip-> collect (CPU)
//                  ^   |   |          (one kernel on the GPU)         ^   ^  |
//                  +---+   +-Whole------------------------------------+   +--+ StripTask
//
// Nobody knows how many grids a picture has before its last patch is split. On the GPU a picture's word counts what is
// open of it: patches to be split and grids to be shaded. It begins with the patches; a lane that makes several of one
// counts them before they can be got. On the CPU patches are counted there: so shade counts a picture's grids up, and
// split's Whole counts them down by how many there are. Either way the one that comes to 0 has the last one: the
// picture is finished.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "reyes/gpu_stages.hpp"
#include "reyes/methods.hpp"

namespace reyes {

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
              m.fetch_add(patches, 1U, hiway::MemoryOrder::relaxed);
              again.put_h({part, task.picture, splits});
            },
            [&](Leaf const& leaf) {
              ready.push_back(leaf);
              if (ready.size() == together) send();
            });
        if (!ready.empty()) send();
        all += done;
        m.fetch_add(grids, done.grids, hiway::MemoryOrder::relaxed);
        if (m.fetch_add(patches, ~0U, hiway::MemoryOrder::acq_rel) == 1) {
          std::uint64_t const in_all = m.load(grids, hiway::MemoryOrder::relaxed);
          if (in_all > most_grids) in.fail_h(too_many_points);
          whole.put_h({task.picture, static_cast<std::uint32_t>(in_all)});
        }
      });
    });
    hiway::anywhere([&](auto m) {
      m.fetch_add(books->split, all.split, hiway::MemoryOrder::relaxed);
      m.fetch_add(books->dice, all.dice, hiway::MemoryOrder::relaxed);
    });
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
  Stream(Problem const& problem, Job const& job, Options const& options, Pictures& pictures)
      : problem_(problem),
        options_(options),
        emulated_(job.device == "simt"),
        pictures_(pictures),
        books_(problem.pictures.size()),
        pipe_(job.pipeline()),
        pixels_(pipe_.create_buffer<picture::Pixel>(problem.pictures.size() * problem.view.pixels())),
        progress_(pipe_.create_buffer<Progress>(problem.pictures.size())) {
    std::vector<picture::Pixel> const clear(problem.view.pixels(), picture::Pixel{picture::nothing});
    for (std::size_t i = 0; i < problem.pictures.size(); ++i) pixels_.copy_in(clear, i * clear.size());
    if (options.splitter == Splitter::gpu) {
      split_on_gpu(job.scheme);
    } else {
      split_on_cpu(job.scheme);
    }
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;

  void prepare() { pipe_.prepare(); }
  Measurement run() {
    std::vector<Progress> progress(progress_.size());
    if (options_.splitter == Splitter::gpu) {
      for (std::size_t i = 0; i < progress.size(); ++i) progress[i].bits = problem_.pictures[i].size();
    }
    progress_.copy_in(progress);
    books_.split.bits = 0;
    books_.dice.bits = 0;
    for (Colours& colours : pictures_)
      std::ranges::fill(colours, ~0U);  // no colour: a strip that does not come is seen
    hiway::RunReport report = pipe_.run();
    progress_.copy_out(progress);
    Measurement measured;
    measured.summary = {books_.split.bits, books_.dice.bits, 0, checksum(pictures_)};
    if (options_.splitter == Splitter::gpu) {
      measured.summary.split = done(report, "patches") + done(report, "halves");
      measured.summary.dice = done(report, "leaves");
    }
    for (Progress const& p : progress) measured.summary.shade += p.bits >> 32;
    cli::take_report(measured, std::move(report));
    return measured;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  using Direction = hiway::Direction;

  // How many blocks: a multiprocessor holds two of those that split or dice and five of resolve's, for their registers.
  void split_on_gpu(cli::Scheme const& scheme) {
    using hiway::from;
    using hiway::into;
    Splits all;
    std::size_t patches = 0;
    for (Patches const& of_picture : problem_.pictures) {
      Splits const splits = splits_of(problem_.view, of_picture);
      if (splits.grids > most_grids) throw cli::BadInput{std::string("--split gpu: ") + too_many_points};
      all += splits;
      patches += of_picture.size();
    }
    // As many as there are leaves, and patches that nobody sees, may be there at once.
    std::size_t const at_once = (all.split + patches) / 2;
    auto& tasks = pipe_.create_tunnel<PatchTask>("patches", Direction::cpu_to_gpu, scheme.tunnel());
    auto& halves = pipe_.create_tunnel<PatchTask>("halves", Direction::gpu_to_gpu, scheme.tunnel(room_for(at_once)));
    auto& leaves = pipe_.create_tunnel<Leaf>("leaves", Direction::gpu_to_gpu, scheme.tunnel(room_for(all.dice)));
    auto& grids = pipe_.create_tunnel<Grid>("grids", Direction::gpu_to_gpu, scheme.tunnel(room_for(all.grids)));
    auto& finished = pipe_.create_tunnel<Finished>("finished", Direction::gpu_to_gpu, scheme.tunnel());
    Progress* const progress = progress_.view().data;
    pipe_.add_cpu_stage("begin", BeginPictures{&problem_, &books_}, into(tasks));
    SplitInCycle const split{problem_.view, progress};
    Shade const shade{problem_.view, pixels_.view().data, progress, -1};
    auto const dice_spec = hiway::stage("dice", Dice{}, from(leaves), into(grids));
    auto const shade_spec = hiway::stage("shade", shade, from(grids), into(finished));
    if (options_.form == Form::group) {
      pipe_.add_gpu_group("split, dice and shade", grid(options_.blocks, 224),
                          hiway::stage("split", split, from(tasks, halves), into(halves, leaves, finished)), dice_spec,
                          shade_spec);
    } else {
      pipe_.add_gpu_stage("split", split, from(tasks, halves), into(halves, leaves, finished),
                          grid(options_.blocks, 88));
      pipe_.add_gpu_group("dice and shade", grid(options_.blocks, 136), dice_spec, shade_spec);
    }
    send_back(scheme, from(finished, strip_tasks(scheme)));
  }
  void split_on_cpu(cli::Scheme const& scheme) {
    using hiway::from;
    using hiway::into;
    auto& tasks =
        pipe_.create_tunnel<PatchTask>("patches", Direction::cpu_to_cpu, scheme.tunnel({.capacity_items = 4096}));
    auto& leaves = pipe_.create_tunnel<Leaf>("leaves", Direction::cpu_to_gpu, scheme.tunnel({.capacity_items = 16384}));
    auto& whole = pipe_.create_tunnel<Whole>("whole", Direction::cpu_to_gpu, scheme.tunnel());
    auto& grids = pipe_.create_tunnel<Grid>("grids", Direction::gpu_to_gpu, scheme.tunnel({.capacity_items = 65536}));
    auto& finished = pipe_.create_tunnel<Finished>("finished", Direction::gpu_to_gpu, scheme.tunnel());
    // Four are left to the library's monitors, to begin and to collect.
    unsigned const threads = std::max(5U, hiway::available_cpus()) - 4;
    pipe_.add_cpu_stage("begin", BeginPictures{&problem_, &books_}, into(tasks));
    pipe_.add_cpu_stage("split", Split{problem_.view, &books_}, from(tasks), into(tasks, leaves, whole),
                        {.threads = threads});
    Shade const shade{problem_.view, pixels_.view().data, progress_.view().data, 1};
    if (options_.form == Form::group) {
      pipe_.add_gpu_group("dice and shade", grid(options_.blocks, 236),
                          hiway::stage("dice", Dice{}, from(leaves), into(grids)),
                          hiway::stage("shade", shade, from(grids), into(finished)));
    } else {
      pipe_.add_gpu_stage("dice", Dice{}, from(leaves), into(grids), grid(options_.blocks, 132));
      pipe_.add_gpu_stage("shade", shade, from(grids), into(finished), grid(options_.blocks, 132));
    }
    send_back(scheme, from(whole, finished, strip_tasks(scheme)));
  }

  hiway::Tunnel<StripTask>& strip_tasks(cli::Scheme const& scheme) {
    strip_tasks_ =
        &pipe_.create_tunnel<StripTask>("strip tasks", Direction::gpu_to_gpu, scheme.tunnel({.capacity_items = 4096}));
    return *strip_tasks_;
  }
  /// From finished pictures to their colours on the CPU.
  template <class From>
  void send_back(cli::Scheme const& scheme, From ends) {
    auto& strips = pipe_.create_tunnel<Strip>("strips", Direction::gpu_to_cpu, scheme.tunnel({.capacity_items = 512}));
    pipe_.add_gpu_stage("resolve", Resolve{problem_.view, pixels_.view().data, progress_.view().data}, ends,
                        hiway::into(*strip_tasks_, strips), grid(0, 66));
    pipe_.add_cpu_stage("collect", Collect{&pictures_}, hiway::from(strips), {.threads = options_.collectors});
  }

  /// `asked`: blocks; 0: `chosen`.
  [[nodiscard]] hiway::GpuStageOptions grid(unsigned asked, unsigned chosen) const {
    if (emulated_) return {.blocks = 1, .threads_per_block = 32};
    return {.blocks = asked == 0 ? chosen : asked, .threads_per_block = 128};
  }
  /// So that `items` at once have a place, in the ring or in its pool.
  [[nodiscard]] static hiway::TunnelConfig room_for(std::size_t items) {
    return {.capacity_items = std::clamp(std::bit_ceil(items), std::size_t{1024}, std::size_t{65536}),
            .spill_items = std::max<std::size_t>(1, items)};
  }
  /// Tasks of a tunnel.
  [[nodiscard]] static std::uint64_t done(hiway::RunReport const& report, std::string_view tunnel) {
    return std::ranges::find(report.tunnels, tunnel, &hiway::TunnelReport::name)->finished;
  }

  Problem const& problem_;
  Options options_;
  bool emulated_;
  Pictures& pictures_;
  Books books_;
  hiway::Pipeline pipe_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<Progress>& progress_;
  hiway::Tunnel<StripTask>* strip_tasks_ = nullptr;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Options const& options, Pictures& pictures) {
  Stream stream{problem, job, options, pictures};
  stream.prepare();
  return cli::repeated(job, [&] { return stream.run(); });
}

std::string hiway_graph(std::string const& device, Options const& options) {
  Pictures pictures(1, Colours(4));
  Problem const problem{{Patches(1)}, View{2, 2}};
  return Stream{problem, {.device = device}, options, pictures}.graph();
}

}  // namespace reyes
