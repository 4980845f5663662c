// A pipeline through one stencil tunnel, of any shape, and what must come of it: every place of every frame once, with the
// sum of its stencil.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "hiway/stencil/stencil_tunnel.hpp"
#include "tests/device.hpp"

namespace stencil_tests {

using namespace hiway;

/// Values and sums are told apart by place and frame.
HIWAY_DEVICE inline std::uint32_t value_at(std::uint32_t x, std::uint32_t y, std::uint32_t frame) {
  std::uint32_t h = (x * 0x9e3779b1u) ^ (y * 0x85ebca77u) ^ (frame * 0xc2b2ae3du);
  h ^= h >> 15;
  return (h * 0x2c1b3c6du) ^ (h >> 12);
}

struct Sum {
  std::uint32_t x, y, frame, sum;
};

/// How consumers take their tasks.
enum class Taking : std::uint32_t { for_each, get, two_at_a_time, next };

struct Shape {
  StencilConfig config;
  Direction direction = Direction::cpu_to_gpu;
  unsigned producers = 1;  ///< threads
  unsigned consumers = 1;  ///< threads; of a GPU in blocks of 32
  std::uint32_t step = 1;  ///< producers go through a frame in steps of so many values; coprime to their number
  bool rows = false;       ///< CPU producers set pieces of rows instead of values, warps of a GPU a value together
  Taking taking = Taking::for_each;
  unsigned seed = 0;
  int put_on = -1;  ///< GpuStageOptions::device of producers, and of consumers
  int got_on = -1;

  [[nodiscard]] std::uint32_t values() const { return config.width * config.height; }
};

/// Sets the values whose turn is the thread's.
struct Produce {
  StencilConfig config;
  std::uint32_t step;
  HIWAY_DEVICE void operator()(StencilInlet<std::uint32_t> out) const {
    std::uint32_t const n = config.width * config.height;
    for (std::uint32_t f = 0; f < config.frames; ++f) {
      for (std::uint32_t i = thread_index(); i < n; i += thread_count()) {
        auto const at = static_cast<std::uint32_t>(std::uint64_t{i} * step % n);
        std::uint32_t const x = at % config.width;
        std::uint32_t const y = at / config.width;
        out.set(x, y, value_at(x, y, f), f);
      }
    }
  }
};
/// The same by pieces of rows, of which no two are of one length.
struct ProduceRows {
  StencilConfig config;
  void operator()(StencilInlet<std::uint32_t> out) const {
    std::vector<std::uint32_t> row(config.width);
    for (std::uint32_t f = 0; f < config.frames; ++f) {
      for (std::uint32_t y = thread_index(); y < config.height; y += thread_count()) {
        for (std::uint32_t x = 0; x < config.width; ++x) row[x] = value_at(x, y, f);
        std::uint32_t length = 1;
        for (std::uint32_t x = 0; x < config.width; x += length++) {
          length = std::min(length, config.width - x);
          out.set_h(x, y, std::span<std::uint32_t const>(row).subspan(x, length), f);
        }
      }
    }
  }
};

/// The same by warps: each lane writes some of a value's bytes.
struct ProduceByWarps {
  StencilConfig config;
  HIWAY_DEVICE void operator()(StencilInlet<std::uint32_t> out) const {
    anywhere([&](auto m) {
      std::uint32_t const lanes = m.count(m.lanes());
      std::uint32_t const n = config.width * config.height;
      for (std::uint32_t f = 0; f < config.frames; ++f) {
        for (std::uint32_t i = thread_index() / lanes; i < n; i += thread_count() / lanes) {
          std::uint32_t const value = value_at(i % config.width, i / config.width, f);
          out.set_in_place_warp(
              i % config.width, i / config.width,
              [&](std::uint32_t& slot) {
                auto* const bytes = reinterpret_cast<std::uint8_t*>(&slot);
                for (unsigned b = m.lane(); b < sizeof slot; b += lanes)
                  bytes[b] = static_cast<std::uint8_t>(value >> 8 * b);
              },
              f);
        }
      }
    });
  }
};

struct Consume {
  StencilConfig config;
  Taking taking;

  HIWAY_DEVICE Sum sum_of(StencilOutlet<std::uint32_t> const& in, StencilTask const& task) const {
    std::int64_t const left = std::int64_t{task.x} - config.stencil_width / 2;
    std::int64_t const top = std::int64_t{task.y} - config.stencil_height / 2;
    std::uint32_t sum = in.is_stencil_ready(task.x, task.y) ? 0 : 1;
    for (std::int64_t y = top; y < top + config.stencil_height; ++y) {
      for (std::int64_t x = left; x < left + config.stencil_width; ++x) {
        bool const inside = x >= 0 && x < config.width && y >= 0 && y < config.height;
        if (inside) sum = sum * 31 + in.fetch(x, y);
      }
    }
    return {task.x, task.y, task.frame, sum};
  }
  HIWAY_DEVICE void operator()(StencilOutlet<std::uint32_t> in, Inlet<Sum> out) const {
    StencilTask task;
    switch (taking) {
      case Taking::for_each: in.for_each([&](StencilTask const& t) { out.put(sum_of(in, t)); }); return;
      case Taking::get:
        while (!in.is_terminate()) {
          if (!in.get(task)) continue;
          out.put(sum_of(in, task));
          in.end_task();
        }
        return;
      case Taking::two_at_a_time:  // as far as there are two
        while (in.next(task)) {
          StencilTask second;
          bool const two = in.get(second);
          out.put(sum_of(in, task));
          if (two) out.put(sum_of(in, second));
          in.end_task();
          if (two) in.end_task();
        }
        return;
      case Taking::next:
        while (in.next(task)) {
          out.put(sum_of(in, task));
          in.end_task();
        }
        return;
    }
  }
};

/// What is wrong with what came; empty when nothing is.
inline std::string wrong(StencilConfig const& c, std::vector<Sum> sums) {
  std::sort(sums.begin(), sums.end(),
            [](Sum const& a, Sum const& b) { return std::tie(a.frame, a.y, a.x) < std::tie(b.frame, b.y, b.x); });
  bool const inside = c.edges == StencilEdges::inside;
  std::uint32_t const left = c.stencil_width / 2;
  std::uint32_t const up = c.stencil_height / 2;
  std::size_t at = 0;
  for (std::uint32_t f = 0; f < c.frames; ++f) {
    for (std::uint32_t y = 0; y < c.height; ++y) {
      for (std::uint32_t x = 0; x < c.width; ++x) {
        bool const whole = x >= left && x + (c.stencil_width - 1 - left) < c.width && y >= up &&
                           y + (c.stencil_height - 1 - up) < c.height;
        if (inside && !whole) continue;
        std::uint32_t sum = 0;
        for (std::uint32_t dy = 0; dy < c.stencil_height; ++dy) {
          for (std::uint32_t dx = 0; dx < c.stencil_width; ++dx) {
            std::int64_t const vx = std::int64_t{x} - left + dx;
            std::int64_t const vy = std::int64_t{y} - up + dy;
            if (vx < 0 || vy < 0 || vx >= c.width || vy >= c.height) continue;
            sum = sum * 31 + value_at(static_cast<std::uint32_t>(vx), static_cast<std::uint32_t>(vy), f);
          }
        }
        std::string const place =
            "(" + std::to_string(x) + ", " + std::to_string(y) + ") of frame " + std::to_string(f);
        if (at == sums.size()) return "no task came for " + place + " and what is behind it";
        Sum const& s = sums[at++];
        if (s.x != x || s.y != y || s.frame != f)
          return "the task behind those before " + place + " is (" + std::to_string(s.x) + ", " + std::to_string(s.y) +
                 ") of frame " + std::to_string(s.frame);
        if (s.sum != sum) return "the sum of " + place + " is wrong";
      }
    }
  }
  return at == sums.size() ? "" : std::to_string(sums.size() - at) + " tasks too many";
}

/// Runs the shape; says what is wrong. `pipe`'s report is left there.
inline std::string run(Shape const& shape, Pipeline& pipe, RunReport& report) {
  bool const from_gpu = shape.direction == Direction::gpu_to_cpu || shape.direction == Direction::gpu_to_gpu;
  bool const to_gpu = shape.direction == Direction::cpu_to_gpu || shape.direction == Direction::gpu_to_gpu;
  auto& matrix = pipe.create_stencil_tunnel<std::uint32_t>("matrix", shape.direction, shape.config);
  auto& out = pipe.create_tunnel<Sum>("sums", to_gpu ? Direction::gpu_to_cpu : Direction::cpu_to_cpu,
                                      {.movement = Movement::direct});
  GpuStageOptions const producing{.blocks = (shape.producers + 31) / 32,
                                  .threads_per_block = std::min(shape.producers, 32u),
                                  .device = shape.put_on};
  GpuStageOptions const consuming{.blocks = (shape.consumers + 31) / 32,
                                  .threads_per_block = std::min(shape.consumers, 32u),
                                  .device = shape.got_on};
  if (from_gpu && shape.rows) {
    pipe.add_gpu_stage("produce", ProduceByWarps{shape.config}, into(matrix), producing);
  } else if (from_gpu) {
    pipe.add_gpu_stage("produce", Produce{shape.config, shape.step}, into(matrix), producing);
  } else if (shape.rows) {
    pipe.add_cpu_stage("produce", ProduceRows{shape.config}, into(matrix), {.threads = shape.producers});
  } else {
    pipe.add_cpu_stage("produce", Produce{shape.config, shape.step}, into(matrix), {.threads = shape.producers});
  }
  Consume const consume{shape.config, shape.taking};
  if (to_gpu) {
    pipe.add_gpu_stage("consume", consume, from(matrix), into(out), consuming);
  } else {
    pipe.add_cpu_stage("consume", consume, from(matrix), into(out), {.threads = shape.consumers});
  }
  std::vector<Sum> sums;
  pipe.add_cpu_stage(
      "collect", [&](Sum const& s) { sums.push_back(s); }, from(out));
  report = pipe.run();
  std::string found = wrong(shape.config, sums);
  if (!found.empty()) return found;
  sums.clear();
  report = pipe.run();  // a second run starts empty
  return wrong(shape.config, std::move(sums));
}
inline std::string run(Shape const& shape) {
  Pipeline pipe(hiway_tests::bounded());
  RunReport report;
  return run(shape, pipe, report);
}

/// A shape of any kind.
inline Shape random_shape(unsigned seed) {
  std::mt19937 rng(seed);
  auto const number = [&](std::uint32_t least, std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(least, most)(rng);
  };
  auto const one_in = [&](std::uint32_t n) { return number(1, n) == 1; };
  Shape s;
  s.seed = seed;
  StencilConfig& c = s.config;
  c.width = number(1, one_in(4) ? 70 : 12);
  c.height = number(1, one_in(4) ? 40 : 12);
  c.stencil_width = number(1, std::min(c.width, one_in(3) ? c.width : 5));
  c.stencil_height = number(1, std::min(c.height, one_in(3) ? c.height : 5));
  c.region_width = one_in(5) ? 0 : number(1, c.width);
  c.region_height = one_in(5) ? 0 : number(1, c.height);
  c.frames = one_in(2) ? 1 : number(2, 5);
  c.buffers = number(0, 3);
  c.edges = one_in(2) ? StencilEdges::inside : StencilEdges::clipped;
  c.tasks = one_in(4) ? StencilTasks::put_back : StencilTasks::when_ready;
  s.direction = static_cast<Direction>(number(0, 3));
  Movement const movements[] = {Movement::automatic, Movement::direct, Movement::dma};
  c.movement = movements[number(0, 2)];
  s.producers = number(1, 4) * (one_in(2) ? 1 : 13);
  s.consumers = number(1, 4) * (one_in(2) ? 1 : 13);
  if (s.direction == Direction::cpu_to_cpu || s.direction == Direction::cpu_to_gpu) s.producers = number(1, 3);
  if (s.direction == Direction::cpu_to_cpu || s.direction == Direction::gpu_to_cpu) s.consumers = number(1, 3);
  s.rows = one_in(3);
  s.taking = static_cast<Taking>(number(0, 3));
  do s.step = number(1, std::max(1u, s.values() - 1));
  while (std::gcd(s.step, s.values()) != 1);
  return s;
}

inline std::string text_of(Shape const& s) {
  StencilConfig const& c = s.config;
  return "seed " + std::to_string(s.seed) + ": " + std::to_string(c.width) + " x " + std::to_string(c.height) +
         ", stencil " + std::to_string(c.stencil_width) + " x " + std::to_string(c.stencil_height) + ", region " +
         std::to_string(c.region_width) + " x " + std::to_string(c.region_height) + ", frames " +
         std::to_string(c.frames) + " in " + std::to_string(c.buffers) + ", direction " +
         std::to_string(static_cast<int>(s.direction)) + ", movement " + std::to_string(static_cast<int>(c.movement)) +
         ", devices " + std::to_string(s.put_on) + " and " + std::to_string(s.got_on) + ", producers " +
         std::to_string(s.producers) + (s.rows ? " by rows" : "") + ", consumers " + std::to_string(s.consumers) +
         " taking " + std::to_string(static_cast<int>(s.taking)) +
         (c.edges == StencilEdges::clipped ? ", clipped" : "") +
         (c.tasks == StencilTasks::put_back ? ", put back" : "");
}

}  // namespace stencil_tests
