#include "lib/backend/cuda_gate.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hiway/error.hpp"
#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_gate.cpp";
constexpr char const* what = "a stream that waits for the run";

using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

/// cuStreamWaitValue32: the program links no library of the driver's.
WaitValue wait_value() {
  static WaitValue const found = [] {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    HIWAY_CUDA(cudaGetDriverEntryPointByVersion("cuStreamWaitValue32", &function, 12000, cudaEnableDefault, &result),
               what);
#else
    HIWAY_CUDA(cudaGetDriverEntryPoint("cuStreamWaitValue32", &function, cudaEnableDefault, &result), what);
#endif
    if (function == nullptr) throw CudaError("the CUDA driver has no cuStreamWaitValue32");
    return reinterpret_cast<WaitValue>(function);
  }();
  return found;
}

/// A number that only grows, in pinned memory, and where kernels and streams find it.
struct GateWord {
  std::atomic<std::uint32_t>* at_host = nullptr;
  CUdeviceptr on_device = 0;
};

// A stream may come to where it waits after the gate has gone. So words stay for the life of the process, and a gate
// that gets the word of an earlier one goes on from its number.
class GateWords {
 public:
  [[nodiscard]] GateWord lend() {
    std::scoped_lock const lock(mutex_);
    if (free_.empty()) add_page();
    GateWord const word = free_.back();
    free_.pop_back();
    return word;
  }
  void take_back(GateWord word) noexcept {
    std::scoped_lock const lock(mutex_);
    free_.push_back(word);  // there is room: it was there before
  }

 private:
  static constexpr std::size_t words_of_page = 512;
  static constexpr std::size_t word_bytes = 8;

  void add_page() {
    void* page = nullptr;
    void* on_device = nullptr;
    free_.reserve(pages_ * words_of_page + words_of_page);
    HIWAY_CUDA(cudaHostAlloc(&page, words_of_page * word_bytes, cudaHostAllocPortable | cudaHostAllocMapped), what);
    HIWAY_CUDA(cudaHostGetDevicePointer(&on_device, page, 0), what);
    ++pages_;
    for (std::size_t i = 0; i < words_of_page; ++i) {
      std::size_t const at = i * word_bytes;
      free_.push_back({::new (static_cast<std::byte*>(page) + at) std::atomic<std::uint32_t>(0),
                       reinterpret_cast<CUdeviceptr>(on_device) + at});
    }
  }

  std::mutex mutex_;
  std::size_t pages_ = 0;
  std::vector<GateWord> free_;
};

GateWords& gate_words() {
  static auto* const words = new GateWords;  // a pipeline may end after static objects
  return *words;
}

class GpuGate final : public StreamGate {
 public:
  GpuGate() : wait_(wait_value()), word_(gate_words().lend()) {}
  ~GpuGate() override {
    open();
    gate_words().take_back(word_);
  }
  GpuGate(GpuGate const&) = delete;
  GpuGate& operator=(GpuGate const&) = delete;

  void hold(CUstream_st* stream) override {
    std::uint32_t const next = word_.at_host->load(std::memory_order_relaxed) + 1;
    CUresult const result = wait_(stream, word_.on_device, next, CU_STREAM_WAIT_VALUE_GEQ);
    if (result != CUDA_SUCCESS)
      throw CudaError(std::string(what) + ": cuStreamWaitValue32 failed: " + std::to_string(result));
  }
  void open() noexcept override { word_.at_host->fetch_add(1, std::memory_order_release); }

 private:
  WaitValue wait_;
  GateWord word_;
};

}  // namespace

std::unique_ptr<StreamGate> make_gpu_gate() { return std::make_unique<GpuGate>(); }

}  // namespace hiway
