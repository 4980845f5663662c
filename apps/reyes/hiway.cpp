// Method hiway: all stages at the same time, and of all pictures of the stream. split runs on the GPU, in a cycle:
//
//                       +-halves-+
//                       v        |
//   begin (CPU) -> split (GPU) --+-Leaf-> dice -Grid-> shade      begin -Finished-> resolve -Strip-> collect (CPU)
//                         (one kernel on the GPU)                                   ^  |
//                                                                                   +--+ StripTask
// or on CPU threads:
//
//   begin (CPU) -> split (CPU) -Leaf-> dice -Grid-> shade         and so on
//                  ^   |         (one kernel on the GPU)
//                  +---+
//
// Nobody knows how many grids a picture has before its last patch is split. So a picture is a scope: when that has
// ended, all of its grids are shaded.
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reyes/gpu_stages.hpp"
#include "reyes/methods.hpp"

namespace reyes {

/// What CPU threads have split.
struct Books {
  hiway::Word<std::uint64_t> split{0};
  hiway::Word<std::uint64_t> dice{0};
};

struct BeginPictures {
  Problem const* problem;
  hiway::Scopes* scopes;
  void operator()(hiway::Inlet<PatchTask> out, hiway::Inlet<Finished> finished) const {
    std::vector<hiway::Scope> begun;
    std::uint32_t told = 0;
    for (std::uint32_t i = 0; i < problem->pictures.size(); ++i) {
      begun.push_back(scopes->open_h());
      for (Patch const& patch : problem->pictures[i]) out.put_h({patch, i, 0}, begun.back());
      begun.back().close_h();
      for (; told < begun.size() && begun[told].wait_for(std::chrono::seconds(0)); ++told) finished.put_h({told});
    }
    for (; told < begun.size(); ++told) {
      begun[told].wait();
      finished.put_h({told});
    }
  }
};

/// Patches of few halvings are split one by one, so that all threads have some; the others to their leaves at once.
struct Split {
  static constexpr unsigned at_once = 3;
  View view;
  Books* books;
  void operator()(hiway::Outlet<PatchTask> in, hiway::Inlet<PatchTask> again, hiway::Inlet<Leaf> leaves) const {
    Splits all;
    in.for_each_h([&](PatchTask const& task) {
      Splits done;
      split(
          view, task.patch, task.picture, task.splits, at_once, done,
          [&](Patch const& part, unsigned splits) {
            again.put_h({part, task.picture, splits});
          },
          [&](Leaf const& leaf) { leaves.put_h(leaf); });
      all += done;
    });
    hiway::anywhere([&](auto m) {
      m.fetch_add(books->split, all.split, hiway::Order::relaxed);
      m.fetch_add(books->dice, all.dice, hiway::Order::relaxed);
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
        pipe_(job.pipeline()),
        scopes_(pipe_.create_scopes("pictures", {.most_open = problem.pictures.size()})),
        pixels_(pipe_.create_buffer<picture::Pixel>(problem.pictures.size() * problem.view.pixels())),
        points_(pipe_.create_buffer<Points>(problem.pictures.size())) {
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
    std::vector<Points> points(points_.size());
    points_.copy_in(points);
    books_.split.bits = 0;
    books_.dice.bits = 0;
    for (Colours& colours : pictures_)
      std::ranges::fill(colours, ~0U);  // no colour: a strip that does not come is seen
    hiway::RunReport report = pipe_.run();
    points_.copy_out(points);
    Measurement measured;
    measured.summary = {books_.split.bits, books_.dice.bits, 0, checksum(pictures_)};
    if (options_.splitter == Splitter::gpu) {
      measured.summary.split = done(report, "patches") + done(report, "halves");
      measured.summary.dice = done(report, "leaves");
    }
    for (Points const& p : points) measured.summary.shade += p.bits;
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
      all += splits_of(problem_.view, of_picture);
      patches += of_picture.size();
    }
    // As many as there are leaves, and patches that nobody sees, may be there at once.
    std::size_t const at_once = (all.split + patches) / 2;
    auto& tasks = pipe_.create_tunnel<PatchTask>("patches", Direction::cpu_to_gpu, of_pictures(scheme));
    auto& halves =
        pipe_.create_tunnel<PatchTask>("halves", Direction::gpu_to_gpu, of_pictures(scheme, room_for(at_once)));
    auto& leaves = pipe_.create_tunnel<Leaf>("leaves", Direction::gpu_to_gpu, of_pictures(scheme, room_for(all.dice)));
    auto& grids = pipe_.create_tunnel<Grid>("grids", Direction::gpu_to_gpu, of_pictures(scheme, room_for(all.grids)));
    begin(scheme, tasks);
    SplitInCycle const split{problem_.view};
    Shade const shade = make_shade();
    auto const dice_spec = hiway::stage("dice", Dice{}, from(leaves), into(grids));
    auto const shade_spec = hiway::stage("shade", shade, from(grids));
    if (options_.form == Form::group) {
      pipe_.add_gpu_group("split, dice and shade", grid(options_.blocks, 224),
                          hiway::stage("split", split, from(tasks, halves), into(halves, leaves)), dice_spec,
                          shade_spec);
    } else {
      pipe_.add_gpu_stage("split", split, from(tasks, halves), into(halves, leaves), grid(options_.blocks, 88));
      pipe_.add_gpu_group("dice and shade", grid(options_.blocks, 136), dice_spec, shade_spec);
    }
    send_back(scheme);
  }
  void split_on_cpu(cli::Scheme const& scheme) {
    using hiway::from;
    using hiway::into;
    auto& tasks = pipe_.create_tunnel<PatchTask>("patches", Direction::cpu_to_cpu, of_pictures(scheme, {4096}));
    auto& leaves = pipe_.create_tunnel<Leaf>("leaves", Direction::cpu_to_gpu, of_pictures(scheme, {16384}));
    auto& grids = pipe_.create_tunnel<Grid>("grids", Direction::gpu_to_gpu, of_pictures(scheme, {65536}));
    // Four are left to the library's monitors, to begin and to collect.
    unsigned const threads = std::max(5U, hiway::available_cpus()) - 4;
    begin(scheme, tasks);
    pipe_.add_cpu_stage("split", Split{problem_.view, &books_}, from(tasks), into(tasks, leaves), {.threads = threads});
    Shade const shade = make_shade();
    if (options_.form == Form::group) {
      pipe_.add_gpu_group("dice and shade", grid(options_.blocks, 236),
                          hiway::stage("dice", Dice{}, from(leaves), into(grids)),
                          hiway::stage("shade", shade, from(grids)));
    } else {
      pipe_.add_gpu_stage("dice", Dice{}, from(leaves), into(grids), grid(options_.blocks, 132));
      pipe_.add_gpu_stage("shade", shade, from(grids), grid(options_.blocks, 132));
    }
    send_back(scheme);
  }

  void begin(cli::Scheme const& scheme, hiway::Tunnel<hiway::Scoped<PatchTask>>& tasks) {
    finished_ = &pipe_.create_tunnel<Finished>("finished", Direction::cpu_to_gpu, scheme.tunnel());
    pipe_.add_cpu_stage("begin", BeginPictures{&problem_, &scopes_}, hiway::into(tasks, *finished_));
  }
  [[nodiscard]] Shade make_shade() const { return {problem_.view, pixels_.view().data, points_.view().data}; }
  /// From finished pictures to their colours on the CPU.
  void send_back(cli::Scheme const& scheme) {
    auto& tasks =
        pipe_.create_tunnel<StripTask>("strip tasks", Direction::gpu_to_gpu, scheme.tunnel({.capacity_items = 4096}));
    auto& strips = pipe_.create_tunnel<Strip>("strips", Direction::gpu_to_cpu, scheme.tunnel({.capacity_items = 512}));
    pipe_.add_gpu_stage("resolve", Resolve{problem_.view, pixels_.view().data}, hiway::from(*finished_, tasks),
                        hiway::into(tasks, strips), grid(0, 66));
    pipe_.add_cpu_stage("collect", Collect{&pictures_}, hiway::from(strips), {.threads = options_.collectors});
  }

  /// Of a tunnel whose items belong to pictures.
  [[nodiscard]] hiway::ScopedTunnelConfig of_pictures(cli::Scheme const& scheme, hiway::TunnelConfig config = {}) {
    config = scheme.tunnel(config);
    return {.capacity_items = config.capacity_items,
            .movement = config.movement,
            .grouping = config.grouping,
            .spill_items = config.spill_items,
            .scopes = &scopes_};
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
  hiway::Scopes& scopes_;
  hiway::Buffer<picture::Pixel>& pixels_;
  hiway::Buffer<Points>& points_;
  hiway::Tunnel<Finished>* finished_ = nullptr;
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
