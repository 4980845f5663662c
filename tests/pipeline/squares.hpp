// A batch stage that squares numbers between two CPU stages, for the tests of batches on any device.
#pragma once
#include <cstddef>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace hiway_tests {

/// A source of 1 to n.
inline auto numbers(int n) {
  return [n](hiway::Inlet<int> out) {
    for (int i = 1; i <= n; ++i) out.put_h(i);
  };
}

struct Square {
  int const* in;
  int* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) out[i] = in[i] * in[i];
  }
};
struct SquareAll {
  unsigned blocks = 1;
  void operator()(hiway::Batch<int const> in, hiway::Batch<int> out, hiway::Stream stream) const {
    out.resize(in.size());
    stream.launch(Square{in.data(), out.data(), in.size()}, blocks, 32);
  }
};

/// What comes out of the stage in two runs; its batches lie on options.device.
inline std::vector<int> squares_of(int n, hiway::BatchOptions const& options, std::size_t capacity = 64,
                                   unsigned blocks = 1) {
  using hiway::Direction;
  bool const on_device = options.device >= 0;
  hiway::Pipeline pipe(bounded());
  auto& there = pipe.create_tunnel<int>("there", on_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu,
                                        {.capacity_items = capacity});
  auto& back = pipe.create_tunnel<int>("back", on_device ? Direction::gpu_to_cpu : Direction::cpu_to_cpu,
                                       {.capacity_items = capacity});
  std::vector<int> all;
  pipe.add_cpu_stage("feed", numbers(n), hiway::into(there));
  pipe.add_batch_stage("square", SquareAll{blocks}, hiway::from(there), hiway::into(back), options);
  pipe.add_cpu_stage(
      "keep", [&](int const& x) { all.push_back(x); }, hiway::from(back));
  pipe.run();
  pipe.run();
  return all;
}
inline std::vector<int> expected_squares(int n) {
  std::vector<int> all;
  for (int run = 0; run < 2; ++run)
    for (int i = 1; i <= n; ++i) all.push_back(i * i);
  return all;
}

}  // namespace hiway_tests
