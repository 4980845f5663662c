// A stage that calls a library: CUB keeps some of the numbers of each batch. How many, the device alone knows. Needs
// nvcc and a GPU.
#include <cstdint>
#include <cstdio>
#include <cub/device/device_select.cuh>
#include <hiway/hiway.hpp>
#include <stdexcept>

struct IsMultipleOfSeven {
  HIWAY_DEVICE bool operator()(unsigned n) const { return n % 7 == 0; }
};

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

int main() {
  constexpr unsigned limit = 1'000'000;
  constexpr int most = 1 << 16;
  hiway::Pipeline pipe({.device = "cuda:0"});
  auto& numbers = pipe.create_tunnel<unsigned>("numbers", hiway::Direction::cpu_to_gpu, {.capacity_items = 4 * most});
  auto& kept = pipe.create_tunnel<unsigned>("kept", hiway::Direction::gpu_to_cpu, {.capacity_items = 4 * most});

  std::size_t bytes =
      0;  // of CUB's work space; all bodies of a stage have one stream, so one, and one count, is enough
  unsigned* const none = nullptr;
  check(cub::DeviceSelect::If(nullptr, bytes, none, none, none, most, IsMultipleOfSeven{}));
  hiway::Buffer<std::byte>& work = pipe.create_buffer<std::byte>(bytes);
  hiway::Buffer<std::uint32_t>& count = pipe.create_buffer<std::uint32_t>(1);

  auto const feed = [](hiway::Inlet<unsigned> out) {
    for (unsigned n = 1; n <= limit; ++n) out.put_h(n);
  };
  auto const keep = [&](hiway::Batch<unsigned const> in, hiway::Batch<unsigned> out, hiway::Stream stream) {
    check(cub::DeviceSelect::If(work.view().data, bytes, in.data(), out.data(), count.view().data,
                                static_cast<int>(in.size()), IsMultipleOfSeven{}, stream.cuda()));
    out.resize_on_device(count.view().data);
  };
  unsigned seen = 0;
  unsigned long long sum = 0;
  pipe.add_cpu_stage("feed", feed, hiway::into(numbers));
  pipe.add_batch_stage("keep", keep, hiway::from(numbers), hiway::into(kept), {.max_items = most, .device = 0});
  pipe.add_cpu_stage(
      "sum", [&](unsigned const& n) { ++seen, sum += n; }, hiway::from(kept));
  pipe.run();
  std::printf("%u multiples of 7 up to %u, which add up to %llu\n", seen, limit, sum);
  return seen == limit / 7 && sum == 7ull * seen * (seen + 1) / 2 ? 0 : 1;
}
