// Method hiway: generate (CPU threads) -> pass 1 -> ... -> pass N (persistent GPU stages), all at the same time: a region moves
// on when it is whole, and a place is worked on when its neighbours are there. Passes may be shared out over several GPUs.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <hiway/stencil/stencil_tunnel.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stencil/methods.hpp"

namespace stencil {
namespace {

/// A pass's value of one place, of the pass before; at the edges a copy.
template <class Outlet>
HIWAY_DEVICE float pass_value(Problem const& p, Outlet const& in, hiway::StencilTask const& t) {
  std::int64_t const x = t.x;
  std::int64_t const y = t.y;
  float const centre = in.fetch_d(x, y);
  if (!p.is_inside(t.x, t.y)) return centre;
  return five_point({centre, in.fetch_d(x - 1, y), in.fetch_d(x + 1, y), in.fetch_d(x, y - 1), in.fetch_d(x, y + 1)});
}

}  // namespace

/// A pass between two others.
struct MiddlePass {
  Problem problem;
  HIWAY_DEVICE void operator()(hiway::StencilOutlet<float> in, hiway::StencilInlet<float> out) const {
    in.for_each_d([&](hiway::StencilTask const& t) { out.set_d(t.x, t.y, pass_value(problem, in, t), t.frame); });
  }
};
/// The last pass, whose values stay on the device.
struct LastPass {
  Problem problem;
  float* out;
  HIWAY_DEVICE void operator()(hiway::StencilOutlet<float> in) const {
    in.for_each_d([&](hiway::StencilTask const& t) {
      std::size_t const row = std::size_t{t.frame} * problem.height + t.y;
      out[row * problem.width + t.x] = pass_value(problem, in, t);
    });
  }
};

namespace {

/// Sets the rows whose turn is the thread's.
struct Generate {
  Problem problem;
  void operator()(hiway::StencilInlet<float> out) const {
    std::vector<float> row(problem.width);
    for (std::uint32_t frame = 0; frame < problem.frames; ++frame) {
      for (std::uint32_t y = hiway::thread_index(); y < problem.height; y += hiway::thread_count()) {
        std::uint32_t const hash = row_hash(problem, y, frame);
        for (std::uint32_t x = 0; x < problem.width; ++x) row[x] = hashed_value(hash, x);
        out.set_h(0, y, std::span<float const>(row), frame);
      }
    }
  }
};

class Passes {
 public:
  Passes(Problem const& problem, Job const& job)
      : problem_(problem),
        gpus_(std::min(job.gpus, problem.iterations)),
        pipe_(job.pipeline()),
        out_(pipe_.create_buffer<float>(problem.values() * problem.frames, device_of(problem.iterations))) {
    hiway::StencilConfig config{.width = problem.width,
                                .height = problem.height,
                                .stencil_width = std::min(3u, problem.width),
                                .stencil_height = std::min(3u, problem.height),
                                .region_width = problem.region_width,
                                .region_height = problem.region_height,
                                .frames = problem.frames,
                                .edges = hiway::StencilEdges::clipped,
                                .movement = job.scheme.movement};
    auto* in = &pipe_.create_stencil_tunnel<float>("input", hiway::Direction::cpu_to_gpu, config);
    // Two threads are left to the library's monitors.
    unsigned const threads = std::max(3U, hiway::available_cpus()) - 2;
    pipe_.add_cpu_stage("generate", Generate{problem}, hiway::into(*in), {.threads = threads});
    bool const emulated = job.device == "simt";
    unsigned const passes_a_gpu = (problem.iterations + gpus_ - 1) / gpus_;
    hiway::GpuStageOptions options{.blocks = emulated ? 1u : std::max(1u, 128u / passes_a_gpu),
                                   .threads_per_block = emulated ? 32u : 256u};
    for (std::uint32_t pass = 1; pass < problem.iterations; ++pass) {
      std::string const name = "pass " + std::to_string(pass);
      auto* const next = &pipe_.create_stencil_tunnel<float>(name, hiway::Direction::gpu_to_gpu, config);
      options.device = device_of(pass);
      pipe_.add_gpu_stage(name, MiddlePass{problem}, hiway::from(*in), hiway::into(*next), options);
      in = next;
    }
    options.device = device_of(problem.iterations);
    pipe_.add_gpu_stage("pass " + std::to_string(problem.iterations), LastPass{problem, out_.view().data},
                        hiway::from(*in), options);
  }
  Passes(Passes const&) = delete;
  Passes& operator=(Passes const&) = delete;

  void prepare() { pipe_.prepare(); }

  Measurement run(Values const* oracle) {
    hiway::RunReport report = pipe_.run();
    Values values(out_.size());
    out_.copy_out(values);
    hiway::StencilReport const input = report.stencils.front();
    std::uint64_t tasks = 0;
    std::uint64_t moved = 0;
    for (hiway::StencilReport const& s : report.stencils) {
      tasks += s.tasks;
      moved += s.bytes_moved;
    }
    Measurement measured{.checksum = checksum(values)};
    cli::take_report(measured, std::move(report));
    measured.right = oracle == nullptr || values == *oracle;
    measured.items = tasks;
    measured.bytes_moved = input.bytes_moved;
    measured.bytes_between_gpus = moved - input.bytes_moved;
    measured.region_copies = input.region_copies;
    measured.first_task_before_last_set = input.first_task_before_last_set;
    return measured;
  }

  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  /// Of a pass, counted from 1: each GPU has passes that follow one another, so that a frame goes from one to the next once.
  [[nodiscard]] int device_of(std::uint32_t pass) const {
    return gpus_ == 1 ? -1 : static_cast<int>((pass - 1) * gpus_ / problem_.iterations);
  }

  Problem problem_;
  unsigned gpus_;  ///< that have a pass
  hiway::Pipeline pipe_;
  hiway::Buffer<float>& out_;
};

}  // namespace

std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Values const* oracle) {
  Passes passes{problem, job};
  passes.prepare();
  return cli::repeated(job, [&] { return passes.run(oracle); });
}

std::string hiway_graph(std::string const& device) {
  return Passes{{.width = 8, .height = 8, .iterations = 2}, {.device = device}}.graph();
}

}  // namespace stencil
