// Method cuda: Hetero-Mark's scheme by the calls that its program makes, and the library has no part in it. Block by
// block: the block and the samples before it are copied in, a kernel filters them, the result is copied out to its
// place. From and to ordinary memory a copy is cudaMemcpy. From and to pinned memory all is given to one stream, which
// does one thing after another, and the CPU waits once, at the end.
#include <algorithm>
#include <span>
#include <vector>

#include "cli/cuda_calls.cuh"
#include "cli/device.hpp"
#include "fir/methods.hpp"
#include "fir/stages.hpp"

namespace fir {
namespace {

__global__ void filter(Taps taps, float const* samples, float* result, std::uint32_t count) {
  std::uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) result[i] = filtered(taps, samples + i);
}

/// Made once for all runs.
class Blocks {
 public:
  Blocks(Signal const& signal, Job const& job, std::span<float> filtered)
      : taps_(signal.taps), block_(signal.block_samples), from_(signal.samples), to_(filtered) {
    CLI_CUDA(cudaSetDevice(cli::number_of(job.device)));
    CLI_CUDA(cudaMalloc(&samples_, (history + std::size_t{block_}) * sizeof(float)));
    CLI_CUDA(cudaMalloc(&result_, block_ * sizeof(float)));
    if (job.pinned) {
      std::size_t const count = from_.size();
      CLI_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
      CLI_CUDA(cudaMallocHost(&pinned_, 2 * count * sizeof(float)));
      std::ranges::copy(from_, pinned_);
      std::fill_n(pinned_ + count, count, 0.0F);
      from_ = {pinned_, count};
      to_ = {pinned_ + count, count};
    }
    filter_block(0);  // loads the kernel
    CLI_CUDA(cudaStreamSynchronize(stream_));
  }
  ~Blocks() {
    cudaStreamSynchronize(stream_);
    cudaFreeHost(pinned_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
    cudaFree(result_);
    cudaFree(samples_);
  }
  Blocks(Blocks const&) = delete;
  Blocks& operator=(Blocks const&) = delete;

  Measurement run() {
    arrays::Clock const clock;
    CLI_CUDA(cudaMemsetAsync(samples_, 0, history * sizeof(float), stream_));  // nothing is before the first block
    for (std::size_t first = 0; first < from_.size(); first += block_) filter_block(first);
    CLI_CUDA(cudaStreamSynchronize(stream_));
    double const seconds = clock.seconds();
    return {.summary = summarize(to_), .seconds = seconds, .items = from_.size()};
  }
  [[nodiscard]] std::span<float const> filtered() const { return to_; }

 private:
  void filter_block(std::size_t first) {
    constexpr unsigned threads = 64;  // the original's
    std::size_t const before = std::min<std::size_t>(history, first);
    copy(samples_ + history - before, &from_[first - before], before + block_, cudaMemcpyHostToDevice);
    filter<<<(block_ + threads - 1) / threads, threads, 0, stream_>>>(taps_, samples_ + history, result_, block_);
    CLI_CUDA(cudaGetLastError());
    copy(&to_[first], result_, block_, cudaMemcpyDeviceToHost);
  }
  void copy(float* to, float const* from, std::size_t count, cudaMemcpyKind kind) {
    if (stream_ == nullptr) {
      CLI_CUDA(cudaMemcpy(to, from, count * sizeof(float), kind));
    } else {
      CLI_CUDA(cudaMemcpyAsync(to, from, count * sizeof(float), kind, stream_));
    }
  }

  Taps taps_;
  std::uint32_t block_;
  std::span<float const> from_;
  std::span<float> to_;
  float* pinned_ = nullptr;  // the signal, and what is made of it
  float* samples_ = nullptr;
  float* result_ = nullptr;
  cudaStream_t stream_ = nullptr;  // null: ordinary memory
};

std::vector<Measurement> run(Signal const& signal, Job const& job, std::vector<float>& filtered) {
  filtered.assign(signal.samples.size(), 0);
  Blocks blocks{signal, job, filtered};
  std::vector<Measurement> const runs = cli::repeated(job, [&] { return blocks.run(); });
  if (job.pinned) std::ranges::copy(blocks.filtered(), filtered.begin());
  return runs;
}

bool const known = (cuda_method() = run) != nullptr;

}  // namespace
}  // namespace fir
