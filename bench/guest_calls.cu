#include "bench/guest_calls.hpp"

#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <cuda/atomic>
#include <memory>
#include <stdexcept>
#include <thread>

#include "bench/device_numbers.hpp"
#include "bench/guest_kernels.cuh"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

void check(cudaError_t error, char const* call, int line) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("guest: ") + call + " failed: " + cudaGetErrorString(error) +
                           " (bench/guest_calls.cu:" + std::to_string(line) + ")");
}
#define GUEST_CUDA(call) check((call), #call, __LINE__)

__global__ void computes(float* numbers, int steps) {
  float x = numbers[threadIdx.x];
  for (int i = 0; i < steps; ++i) x = x * 0.999F + 0.001F;
  numbers[threadIdx.x] = x;
}

__global__ void says_that_it_runs(int* word) {
  cuda::atomic_ref<int, cuda::thread_scope_system>(*word).store(1, cuda::std::memory_order_relaxed);
}

/// What the calls use.
struct Guest {
  explicit Guest(std::string const& device) {
    GUEST_CUDA(cudaSetDevice(std::stoi(device.substr(5)) / parts_of_gpu()));
    GUEST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    GUEST_CUDA(cudaMalloc(&memory, 4096));
    GUEST_CUDA(cudaMemset(memory, 0, 4096));
    GUEST_CUDA(cudaHostAlloc(&word, sizeof *word, cudaHostAllocMapped));
  }
  ~Guest() {
    cudaStreamDestroy(stream);
    cudaFree(memory);
    cudaFreeHost(word);
  }
  Guest(Guest const&) = delete;
  Guest& operator=(Guest const&) = delete;
  void wait() const {
    GUEST_CUDA(cudaGetLastError());
    GUEST_CUDA(cudaStreamSynchronize(stream));
  }

  cudaStream_t stream = nullptr;
  float* memory = nullptr;
  int* word = nullptr;
};

std::vector<GuestCall> make_calls(std::string const& device) {
  auto const guest = std::make_shared<Guest>(device);
  constexpr std::size_t mib = std::size_t{1} << 20;
  std::vector<GuestCall> calls;
  calls.push_back({"cudaMalloc, cudaFree", [guest] {
                     void* some = nullptr;
                     GUEST_CUDA(cudaMalloc(&some, mib));
                     GUEST_CUDA(cudaFree(some));
                   }});
  calls.push_back({"cudaMallocHost, cudaFreeHost", [guest] {
                     void* some = nullptr;
                     GUEST_CUDA(cudaMallocHost(&some, mib));
                     GUEST_CUDA(cudaFreeHost(some));
                   }});
  calls.push_back({"cudaDeviceSynchronize", [guest] { GUEST_CUDA(cudaDeviceSynchronize()); }});
  calls.push_back({"launch, 16 KiB of local memory", [guest] {
                     uses_local_memory<<<1, 32, 0, guest->stream>>>(guest->memory);
                     guest->wait();
                   }});
  calls.push_back({"launch", [guest] {
                     adds_one<<<1, 32, 0, guest->stream>>>(guest->memory);
                     guest->wait();
                   }});
  calls.push_back({"launch on the null stream", [guest] {
                     adds_one<<<1, 32>>>(guest->memory);
                     GUEST_CUDA(cudaStreamSynchronize(nullptr));
                   }});
  calls.push_back({"cudaMallocAsync, launch, cudaFreeAsync", [guest] {
                     void* some = nullptr;
                     GUEST_CUDA(cudaMallocAsync(&some, mib, guest->stream));
                     adds_one<<<1, 32, 0, guest->stream>>>(static_cast<float*>(some));
                     GUEST_CUDA(cudaFreeAsync(some, guest->stream));
                     guest->wait();
                   }});
  calls.push_back({"cudaMemcpy", [guest] {
                     float some[16];
                     GUEST_CUDA(cudaMemcpy(some, guest->memory, sizeof some, cudaMemcpyDeviceToHost));
                   }});
  calls.push_back({"cudaHostRegister, cudaHostUnregister", [guest] {
                     static char some[8192];
                     GUEST_CUDA(cudaHostRegister(some, sizeof some, cudaHostRegisterDefault));
                     GUEST_CUDA(cudaHostUnregister(some));
                   }});
  calls.push_back({"cudaEventCreate, record, synchronize", [guest] {
                     cudaEvent_t event = nullptr;
                     GUEST_CUDA(cudaEventCreate(&event));
                     GUEST_CUDA(cudaEventRecord(event, guest->stream));
                     GUEST_CUDA(cudaEventSynchronize(event));
                     GUEST_CUDA(cudaEventDestroy(event));
                   }});
  calls.push_back({"cudaMalloc without an end", [guest, kept = std::make_shared<std::vector<void*>>()] {
                     kept->push_back(nullptr);
                     GUEST_CUDA(cudaMalloc(&kept->back(), 64 * 1024));
                     if (kept->size() < 65536) return;
                     for (void* one : *kept) GUEST_CUDA(cudaFree(one));
                     kept->clear();
                   }});
  return calls;
}

GuestCall make_full_grid(std::string const& device) {
  auto const guest = std::make_shared<Guest>(device);
  int number = 0;
  int processors = 0;
  GUEST_CUDA(cudaGetDevice(&number));
  GUEST_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, number));
  return {"a kernel on the whole device", [guest, blocks = static_cast<unsigned>(2 * processors)] {
            computes<<<blocks, 1024, 0, guest->stream>>>(guest->memory, 400'000);
            guest->wait();
          }};
}

double launch_after(std::string const& device, unsigned rest_ms) {
  Guest const guest(device);
  std::atomic_ref<int> const word(*guest.word);
  double us = 0;
  for (int i = 0; i < 2; ++i) {  // the first one loads the kernel
    word.store(0, std::memory_order_relaxed);
    if (i != 0) std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
    auto const begin = Clock::now();
    says_that_it_runs<<<1, 32, 0, guest.stream>>>(guest.word);
    GUEST_CUDA(cudaGetLastError());
    while (word.load(std::memory_order_relaxed) == 0) {
    }
    us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    guest.wait();
  }
  return us;
}

[[maybe_unused]] bool const known = register_guest_calls({&make_calls, &make_full_grid, &launch_after});

}  // namespace
}  // namespace bench
