#include "bench/small_kernels.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "bench/device_numbers.hpp"

namespace bench {
namespace {

struct AddOne {
  std::uint32_t const* in;
  std::uint32_t* out;
  HIWAY_DEVICE void operator()() const {
    for (unsigned i = hiway::thread_index(); i < chain_items; i += hiway::thread_count()) out[i] = in[i] + 1;
  }
};

}  // namespace

Turn small_kernels(std::string const& device, unsigned batches, bool capture) {
  using hiway::Direction;
  hiway::Pipeline pipe({.device = device, .deadline = std::chrono::seconds(60)});
  hiway::TunnelConfig const config{.capacity_items = 8 * chain_items};
  auto& there = pipe.create_tunnel<std::uint32_t>("there", Direction::cpu_to_gpu, config);
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu, config);
  auto const feed = [=](hiway::Inlet<std::uint32_t> out) {
    std::vector<std::uint32_t> batch(chain_items);
    for (unsigned b = 0; b != batches; ++b) {
      std::iota(batch.begin(), batch.end(), b * chain_items);
      out.put_h(std::span<std::uint32_t const>(batch));
    }
  };
  auto const chain = [](hiway::Batch<std::uint32_t const> in, hiway::Batch<std::uint32_t> out, hiway::Stream stream) {
    out.resize(in.size());
    for (unsigned k = 0; k != chain_kernels; ++k)
      stream.launch(AddOne{k == 0 ? in.data() : out.data(), out.data()}, 4, 256);
  };
  std::uint32_t next = chain_kernels;
  std::uint64_t wrong = 0;
  auto const check = [&](hiway::Outlet<std::uint32_t> in) {
    std::vector<std::uint32_t> items(chain_items);
    while (std::size_t const n = in.next_h(std::span<std::uint32_t>(items))) {
      for (std::size_t i = 0; i != n; ++i) wrong += items[i] != next++ ? 1 : 0;
      in.end_task_h(n);
    }
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(there));
  pipe.add_batch_stage("chain", chain, hiway::from(there), hiway::into(back),
                       {.max_items = chain_items,
                        .min_items = chain_items,
                        .max_wait = std::chrono::seconds(10),
                        .in_flight = 4,
                        .device = number_of(device),
                        .capture = capture});
  pipe.add_cpu_stage("check", check, hiway::from(back));
  pipe.prepare();
  auto const begin = std::chrono::steady_clock::now();
  (void)pipe.run();
  double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  bool const all = next == chain_kernels + batches * chain_items;
  return {batches / seconds, all && wrong == 0, all ? "an item is not what the kernels make it" : "items were lost"};
}

}  // namespace bench
