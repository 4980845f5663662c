// Method baseline: double buffering by hand. Threads fill one buffer, in pinned memory, while the other is copied,
// transformed and searched. Each buffer has a stream, so copies of one go beside kernels of the other. Hits are written
// to pinned memory.
#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "cli/cuda_calls.cuh"
#include "cli/device.hpp"
#include "spectrum/cufft_calls.cuh"
#include "spectrum/on_gpu.hpp"

namespace spectrum {
namespace {

constexpr std::uint32_t at_once = 4096;  // packets; 16 MiB
using Channels = std::array<Complex, channels>;

__global__ void unpack(Voltages const* packets, std::uint32_t count, Channels* spectra) {
  for (std::uint32_t p = blockIdx.x; p < count; p += gridDim.x)
    for (std::uint32_t c = threadIdx.x; c < channels; c += blockDim.x) spectra[p][c] = in_floats(packets[p][c]);
}

/// A block for one spectrum after another.
__global__ void search(Channels const* spectra, std::uint32_t count, std::uint64_t first, Hit* hits,
                       std::uint32_t* found) {
  for (std::uint32_t s = blockIdx.x; s < count; s += gridDim.x) {
    for (std::uint32_t c = threadIdx.x; c < channels; c += blockDim.x) {
      if (float const p = power(spectra[s][c]); p > threshold) {
        std::uint32_t const at = atomicAdd(found, 1U);
        if (at < at_once) hits[at] = {first + s, c, p};
      }
    }
  }
}

struct Buffer {
  Buffer() {
    CLI_CUDA(cudaMallocHost(&host, at_once * sizeof(Voltages)));
    CLI_CUDA(cudaMalloc(&device, at_once * sizeof(Voltages)));
    CLI_CUDA(cudaMalloc(&spectra, at_once * sizeof(Channels)));
    CLI_CUDA(cudaMallocHost(&hits, at_once * sizeof(Hit)));
    CLI_CUDA(cudaMalloc(&found, sizeof *found));
    CLI_CUDA(cudaMallocHost(&found_here, sizeof *found_here));
    CLI_CUDA(cudaStreamCreate(&stream));
    CLI_CUDA(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    SPECTRUM_CUFFT(cufftPlan1d(&plan, channels, CUFFT_C2C, at_once));
    SPECTRUM_CUFFT(cufftSetStream(plan, stream));
  }
  ~Buffer() {
    cudaStreamSynchronize(stream);
    cufftDestroy(plan);
    cudaEventDestroy(copied);
    cudaStreamDestroy(stream);
    cudaFreeHost(found_here);
    cudaFree(found);
    cudaFreeHost(hits);
    cudaFree(spectra);
    cudaFree(device);
    cudaFreeHost(host);
  }
  Buffer(Buffer const&) = delete;
  Buffer& operator=(Buffer const&) = delete;

  /// Gives the stream the work on the packets in `host`.
  void give(std::uint64_t first, std::uint32_t count) {
    CLI_CUDA(cudaMemcpyAsync(device, host, count * sizeof(Voltages), cudaMemcpyHostToDevice, stream));
    CLI_CUDA(cudaEventRecord(copied, stream));
    CLI_CUDA(cudaMemsetAsync(found, 0, sizeof *found, stream));
    unpack<<<1056, 256, 0, stream>>>(device, count, spectra);
    CLI_CUDA(cudaGetLastError());
    auto* const values = reinterpret_cast<cufftComplex*>(spectra);
    SPECTRUM_CUFFT(cufftExecC2C(plan, values, values, CUFFT_FORWARD));
    search<<<1056, 256, 0, stream>>>(spectra, count, first, hits, found);
    CLI_CUDA(cudaGetLastError());
    CLI_CUDA(cudaMemcpyAsync(found_here, found, sizeof *found, cudaMemcpyDeviceToHost, stream));
    has_hits = true;
  }
  /// Waits for the stream, and takes what it has found.
  void take(Summary& summary) {
    if (!has_hits) return;
    CLI_CUDA(cudaStreamSynchronize(stream));
    for (std::uint32_t i = 0; i < std::min(*found_here, at_once); ++i) summary.add(hits[i].packet, hits[i].channel);
    has_hits = false;
  }

  Voltages* host = nullptr;
  Voltages* device = nullptr;
  Channels* spectra = nullptr;
  Hit* hits = nullptr;
  std::uint32_t* found = nullptr;
  std::uint32_t* found_here = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t copied = nullptr;
  cufftHandle plan{};
  bool has_hits = false;
};

class Receiver {
 public:
  explicit Receiver(Problem const& problem) : problem_(problem), threads_(makers(problem)) {}

  Summary run() {
    Summary summary;
    std::uint64_t const rounds = (problem_.packets + at_once - 1) / at_once;
    std::barrier begun(threads_ + 1);
    std::barrier filled(threads_ + 1);
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < threads_; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
          begun.arrive_and_wait();
          for (std::uint32_t i = t; i < count_of(round); i += threads_)
            make_voltages(problem_.seed, round * at_once + i, buffers_[round % 2].host[i]);
          filled.arrive_and_wait();
        }
      });
    }
    // Where a call fails, the threads go on alone.
    struct Leave {
      std::barrier<>& begun;
      std::barrier<>& filled;
      ~Leave() {
        begun.arrive_and_drop();
        filled.arrive_and_drop();
      }
    } const leave{begun, filled};
    for (std::uint64_t round = 0; round <= rounds; ++round) {
      if (round < rounds) {
        if (round >= 2) CLI_CUDA(cudaEventSynchronize(buffers_[round % 2].copied));
        static_cast<void>(begun.arrive());
      }
      if (round >= 1) {
        Buffer& full = buffers_[(round - 1) % 2];
        full.take(summary);
        full.give((round - 1) * at_once, count_of(round - 1));
      }
      if (round < rounds) filled.arrive_and_wait();
    }
    for (Buffer& b : buffers_) b.take(summary);
    return summary;
  }

 private:
  [[nodiscard]] std::uint32_t count_of(std::uint64_t round) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(at_once, problem_.packets - round * at_once));
  }

  Problem problem_;
  unsigned threads_;
  std::array<Buffer, 2> buffers_;
};

std::vector<Measurement> run(Problem const& problem, Job const& job) {
  CLI_CUDA(cudaSetDevice(cli::number_of(job.device)));
  Receiver receiver{problem};
  (void)Receiver{Problem{.packets = 1, .threads = 1}}.run();  // loads the kernels
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    Summary const summary = receiver.run();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return Measurement{.summary = summary, .seconds = seconds, .items = problem.packets};
  });
}

bool const known = (on_gpu().baseline = run) != nullptr;

}  // namespace
}  // namespace spectrum
