// Method baseline: task-based copies. CPU threads make the values and put a task for each place, with its five values,
// into a plain tunnel; a persistent GPU stage works on them. Passes behind the first are ordinary kernels over the
// whole frame.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stencil/methods.hpp"

namespace stencil {

/// A place with all that it needs. Its number counts through all frames, of which there are at most 2^32 values.
struct CarriedTask {
  std::uint32_t place;
  Cross values;
};

struct CarriedPass {
  Problem problem;
  float* out;
  HIWAY_DEVICE void operator()(hiway::Outlet<CarriedTask> in) const {
    in.for_each_d([&](CarriedTask const& t) {
      std::uint32_t const x = t.place % problem.width;
      std::uint32_t const y = t.place / problem.width % problem.height;
      out[t.place] = problem.is_inside(x, y) ? five_point(t.values) : t.values.centre;
    });
  }
};

/// A pass over all frames.
struct WholePass {
  Problem problem;
  float const* in;
  float* out;
  HIWAY_DEVICE void operator()() const {
    std::uint64_t const all = problem.values() * problem.frames;
    for (std::uint64_t i = hiway::thread_index(); i < all; i += hiway::thread_count()) {
      auto const x = static_cast<std::uint32_t>(i % problem.width);
      auto const y = static_cast<std::uint32_t>(i / problem.width % problem.height);
      out[i] = in[i];
      if (problem.is_inside(x, y))
        out[i] = five_point({in[i], in[i - 1], in[i + 1], in[i - problem.width], in[i + problem.width]});
    }
  }
};

namespace {

/// Puts the tasks of rows whose turn is the thread's, of which it makes the values itself, by bands of rows.
struct GenerateTasks {
  Problem problem;
  static constexpr std::uint32_t band = 16;

  void make_row(std::vector<float>& row, std::uint32_t y, std::uint32_t frame) const {
    std::uint32_t const hash = row_hash(problem, y, frame);
    for (std::uint32_t x = 0; x < problem.width; ++x) row[x] = hashed_value(hash, x);
  }
  void operator()(hiway::Inlet<CarriedTask> out) const {
    std::array<std::vector<float>, 3> rows;
    for (auto& row : rows) row.resize(problem.width);
    std::vector<CarriedTask> tasks(problem.width);
    std::uint32_t const bands = (problem.height + band - 1) / band;
    for (std::uint32_t frame = 0; frame < problem.frames; ++frame) {
      for (std::uint32_t b = hiway::thread_index(); b < bands; b += hiway::thread_count()) {
        std::uint32_t const end = std::min(problem.height, (b + 1) * band);
        make_row(rows[1], b == 0 ? 0 : b * band - 1, frame);
        make_row(rows[2], b * band, frame);
        for (std::uint32_t y = b * band; y < end; ++y) {
          std::rotate(rows.begin(), rows.begin() + 1, rows.end());
          make_row(rows[2], std::min(y + 1, problem.height - 1), frame);
          std::uint64_t const first = (std::uint64_t{frame} * problem.height + y) * problem.width;
          for (std::uint32_t x = 0; x < problem.width; ++x) {
            std::uint32_t const left = x == 0 ? x : x - 1;
            std::uint32_t const right = std::min(x + 1, problem.width - 1);
            tasks[x] = {static_cast<std::uint32_t>(first + x),
                        {rows[1][x], rows[1][left], rows[1][right], rows[0][x], rows[2][x]}};
          }
          out.put_h(std::span<CarriedTask const>(tasks));
        }
      }
    }
  }
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Values const* oracle) {
  hiway::Pipeline pipe(job.pipeline());
  std::size_t const all = problem.values() * problem.frames;
  hiway::Buffer<float>& first = pipe.create_buffer<float>(all);
  hiway::Buffer<float>& second = pipe.create_buffer<float>(problem.iterations > 1 ? all : 1);
  auto& tasks =
      pipe.create_tunnel<CarriedTask>("tasks", hiway::Direction::cpu_to_gpu,
                                      job.scheme.tunnel({.capacity_items = 262144, .movement = hiway::Movement::dma}));
  unsigned const threads = std::max(3U, hiway::available_cpus()) - 2;
  pipe.add_cpu_stage("generate", GenerateTasks{problem}, hiway::into(tasks), {.threads = threads});
  bool const emulated = job.device == "simt";
  hiway::GpuStageOptions const grid{.blocks = emulated ? 1u : 128u, .threads_per_block = emulated ? 32u : 256u};
  pipe.add_gpu_stage("pass 1", CarriedPass{problem, first.view().data}, hiway::from(tasks), grid);
  pipe.prepare();
  auto const pass = [&](hiway::Buffer<float>& in, hiway::Buffer<float>& out) {
    pipe.launch("pass", WholePass{problem, in.view().data, out.view().data}, grid);
  };
  if (problem.iterations > 1) {
    pass(first, second);  // loads the kernel
    pipe.synchronize();
  }
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    hiway::RunReport const report = pipe.run();
    auto const begin = std::chrono::steady_clock::now();
    hiway::Buffer<float>* in = &first;
    hiway::Buffer<float>* out = &second;
    for (std::uint32_t k = 1; k < problem.iterations; ++k) {
      pass(*in, *out);
      std::swap(in, out);
    }
    pipe.synchronize();
    std::chrono::duration<double> const behind = std::chrono::steady_clock::now() - begin;
    Values values(all);
    in->copy_out(values);
    Measurement measured{.checksum = checksum(values)};
    measured.right = oracle == nullptr || values == *oracle;
    measured.seconds = report.seconds + (problem.iterations > 1 ? behind.count() : 0);
    measured.items = report.items;
    measured.bytes_moved = report.items * sizeof(Cross);
    measured.tunnels = report.tunnels;
    runs.push_back(std::move(measured));
    job.ran();
  }
  return runs;
}

}  // namespace stencil
