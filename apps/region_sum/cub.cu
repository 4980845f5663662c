// Method cub: cub::DeviceSegmentedReduce::Reduce over the ints, with the regions' offsets as they are. What a
// program that has only CUB would call.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_segmented_reduce.cuh>
#include <vector>

#include "cli/cuda_calls.cuh"
#include "cli/device.hpp"
#include "region_sum/cub.hpp"

namespace region_sum {
namespace {

/// `count` values in the device's memory; one where the count is 0.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(std::size_t count) : count_(count) {
    CLI_CUDA(cudaMalloc(&data_, std::max<std::size_t>(1, count) * sizeof(T)));
  }
  explicit OnDevice(std::vector<T> const& from) : OnDevice(from.size()) {
    CLI_CUDA(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(OnDevice const&) = delete;
  OnDevice& operator=(OnDevice const&) = delete;

  [[nodiscard]] T* data() const { return data_; }
  void copy_out(std::vector<T>& to) const {
    CLI_CUDA(cudaMemcpy(to.data(), data_, to.size() * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

struct Add {
  __host__ __device__ std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};

/// The device's side, made once for all runs.
class Device {
 public:
  explicit Device(Problem const& problem)
      : regions_(problem.regions()),
        ints_(problem.ints),
        offsets_(problem.offsets),
        sums_(problem.regions()),
        scratch_(scratch_bytes()) {
    run();  // loads the kernels
  }

  void run() {
    if (regions_ == 0) return;
    std::size_t bytes = scratch_bytes_;
    reduce(scratch_.data(), bytes);
    CLI_CUDA(cudaDeviceSynchronize());
  }
  [[nodiscard]] Sums sums() const {
    Sums sums(regions_);
    sums_.copy_out(sums);
    return sums;
  }

 private:
  void reduce(void* scratch, std::size_t& bytes) {
    CLI_CUDA(cub::DeviceSegmentedReduce::Reduce(scratch, bytes, ints_.data(), sums_.data(),
                                                static_cast<std::int64_t>(regions_), offsets_.data(),
                                                offsets_.data() + 1, Add{}, std::uint64_t{0}));
  }
  std::size_t scratch_bytes() {
    if (regions_ != 0) reduce(nullptr, scratch_bytes_);
    return scratch_bytes_;
  }

  std::size_t regions_;
  OnDevice<std::uint32_t> ints_;
  OnDevice<std::uint64_t> offsets_;
  OnDevice<std::uint64_t> sums_;
  std::size_t scratch_bytes_ = 0;
  OnDevice<std::byte> scratch_;
};

std::vector<Measurement> run(Problem const& problem, Job const& job, Sums& sums) {
  CLI_CUDA(cudaSetDevice(cli::number_of(job.device)));
  Device device{problem};
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    device.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    sums = device.sums();
    return Measurement{.summary = summarize(sums), .seconds = seconds, .items = problem.ints.size()};
  });
}

bool const known = register_cub(run);

}  // namespace
}  // namespace region_sum
