// The CUDA backend. Every error names file, line, call and purpose (cuda_call.hpp). The caller's current device stays
// (ADR 0036): a call that needs a device runs under Gpu::Current.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/launch/device_table.hpp"
#include "hiway/ranges.hpp"
#include "lib/backend/cuda_batch_stream.hpp"
#include "lib/backend/cuda_call.hpp"
#include "lib/backend/cuda_copies.hpp"
#include "lib/backend/cuda_event.hpp"
#include "lib/backend/cuda_gate.hpp"
#include "lib/backend/cuda_launch.hpp"
#include "lib/backend/cuda_peeks.hpp"
#include "lib/backend/cuda_stream.hpp"
#include "lib/environment.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_backend.cpp";

class GpuKernel final : public RunningKernel {
 public:
  GpuKernel(std::string name, std::shared_ptr<GpuStream> stream) : name_(std::move(name)), stream_(std::move(stream)) {}
  bool then(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    name_ = std::string(name) + ", or one before it";
    launch_on(*stream_, name, kernel, grid);
    return true;
  }
  bool done() override { return stream_->idle(name_); }

 private:
  std::string name_;
  std::shared_ptr<GpuStream> stream_;
};

/// How many devices a GPU counts as; they share its processors. With this, pipelines over several devices run on one
/// GPU.
int parts_of_gpu() {
  return static_cast<int>(number_from_environment("HIWAY_GPU_PARTS", "a number from 1 to 8", 1, 8).value_or(1));
}

/// An SM divides its memory into L1 and shared memory when a kernel comes to it while it has none, as that kernel needs
/// it, and keeps to that while blocks are there. Beside one with little shared memory cuFFT's kernels were 60 times
/// slower (H200). *Throws* CudaError.
void leave_shared_memory(std::string_view name, DeviceKernel const& kernel, std::size_t bytes_of_sm,
                         cudaFuncAttributes const& attributes, cudaDeviceProp const& device) {
  if (attributes.preferredShmemCarveout != cudaSharedmemCarveoutDefault) return;  // the user's choice, or ours before
  if (2 * bytes_of_sm > device.sharedMemPerMultiprocessor) return;
  HIWAY_CUDA(cudaFuncSetAttribute(kernel.cuda.symbol, cudaFuncAttributePreferredSharedMemoryCarveout, 50), name);
}

void* managed(std::size_t bytes, std::string const& whose) {
  void* address = nullptr;
  HIWAY_CUDA(cudaMallocManaged(&address, bytes, cudaMemAttachGlobal), whose);
  return address;
}
/// For slots that one side writes while the other reads the next ones, many in a page. Without advice a page goes back
/// and forth. No CPU thread reaches memory of a GPU across PCIe; the GPU reaches the host's.
void* managed_at_host(std::size_t bytes, std::string const& whose, int device, cudaStream_t stream) {
  void* const address = managed(bytes, whose);
  cudaMemLocation const host{cudaMemLocationTypeHost, 0};
  try {
    HIWAY_CUDA(cudaMemAdvise(address, bytes, cudaMemAdviseSetPreferredLocation, host), whose);
    HIWAY_CUDA(cudaMemAdvise(address, bytes, cudaMemAdviseSetAccessedBy, {cudaMemLocationTypeDevice, device}), whose);
    HIWAY_CUDA(cudaMemPrefetchAsync(address, bytes, host, 0, stream), whose);
    HIWAY_CUDA(cudaStreamSynchronize(stream), whose);
  } catch (...) {
    cudaFree(address);
    throw;
  }
  return address;
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int number)
      : number_(number),
        parts_(parts_of_gpu()),
        device_(number / parts_),
        peers_(peers_wanted()),
        properties_(properties_of_usable()),
        gpu_(device_, name()),
        streams_(gpu_),
        first_streams_(gpu_, true) {}

  std::string name() const override { return std::string("cuda:").append(std::to_string(number_)); }
  std::string description() const override {
    return std::string(properties_.name) + ", " + std::to_string(processors()) + " SMs";
  }

  int number() const override { return number_; }
  [[nodiscard]] bool left_behind_by_fork() const override {
    return process_ != getpid();
  }  // CUDA does not survive fork
  void enable_peer_access(Backend const& other) override {
    int const others = other.number() / parts_;
    int possible = 0;
    if (!peers_ || reaches(other)) return;
    if (cudaDeviceCanAccessPeer(&possible, device_, others) != cudaSuccess || possible == 0) return;
    Gpu::Current const here(gpu_, name());
    cudaError_t const error = cudaDeviceEnablePeerAccess(others, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) static_cast<void>(cudaGetLastError());
    if (error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled) reached_.push_back(others);
  }
  bool reaches(Backend const& other) const override {
    int const others = other.number() / parts_;
    return peers_ && (others == device_ || std::ranges::find(reached_, others) != reached_.end());
  }

  void* allocate(Memory memory, std::size_t bytes, std::string_view what) override {
    Gpu::Current const here(gpu_, name());
    bytes = std::max<std::size_t>(bytes, 1);
    void* address = drawn_.allocate(memory, bytes, number_, what);
    if (address != nullptr) return address;
    std::string const whose = std::string(what) + " (" + std::to_string(bytes) + " bytes)";
    switch (memory) {
      case Memory::pinned:
        HIWAY_CUDA(cudaHostAlloc(&address, bytes, cudaHostAllocPortable | cudaHostAllocMapped), whose);
        break;
      case Memory::device: HIWAY_CUDA(cudaMalloc(&address, bytes), whose); break;
      case Memory::managed:
        if (properties_.concurrentManagedAccess == 0) {
          throw ConfigError(std::string(what) + ": " + name() +
                            " gives CPU threads no managed memory while kernels run; use Movement::dma or direct");
        }
        address = managed_advice_wanted() ? managed_at_host(bytes, whose, device_, stream()) : managed(bytes, whose);
        break;
    }
    return address;
  }
  void release(Memory memory, void* address) noexcept override {
    Gpu::Current const here(gpu_);
    if (drawn_.release(address)) return;
    if (memory == Memory::pinned) {
      cudaFreeHost(address);
    } else {
      cudaFree(address);
    }
  }
  void upload(void* device, void const* host, std::size_t bytes) override {
    begin_upload(device, host, bytes);
    finish_uploads();
  }
  void download(void* host, void const* device, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()), "copy out");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy out");
  }
  void clear(void* device, std::size_t bytes) override {
    begin_clear(device, bytes);
    finish_uploads();
  }
  void begin_upload(void* device, void const* host, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "copy in");
  }
  void begin_clear(void* device, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemsetAsync(device, 0, bytes, stream()), "clear");
  }
  void finish_uploads() override {
    if (!copies_) return;
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy in");
  }
  bool peek(std::span<Peek const> copies) override { return peeks_ && peeks_->copy(copies); }
  std::unique_ptr<CopyStream> open_stream() override { return make_gpu_copies(gpu_); }
  std::unique_ptr<BatchStream> open_batch_stream(std::string title, std::size_t batches) override {
    return make_gpu_batch_stream(gpu_, std::move(title), batches);
  }

  void reserve_streams(std::size_t kernels) override {
    streams_.reserve(kernels, "kernel streams");
    first_streams_.reserve(1, "kernel streams");
    if (!peeks_) peeks_ = std::make_unique<GpuPeeks>(gpu_);
  }
  void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid grid, Neighbours neighbours) override {
    require_code(name, kernel);
    Gpu::Current const here(gpu_, name);
    cudaFuncAttributes attributes{};
    HIWAY_CUDA(cudaFuncGetAttributes(&attributes, kernel.cuda.symbol), name);  // loads the kernel
    if (grid.threads_per_block > static_cast<unsigned>(attributes.maxThreadsPerBlock)) {
      throw ConfigError(std::string(name) + ": " + std::to_string(grid.threads_per_block) +
                        " threads a block, the kernel takes at most " + std::to_string(attributes.maxThreadsPerBlock));
    }
    std::size_t const dynamic = dynamic_shared_bytes(kernel, grid);
    std::size_t const most_shared =
        properties_.sharedMemPerBlockOptin - attributes.sharedSizeBytes - (dynamic - grid.shared_bytes);
    if (grid.shared_bytes > most_shared) {
      throw ConfigError(std::string(name) + ": " + std::to_string(grid.shared_bytes) +
                        " shared bytes a block, the kernel takes at most " + std::to_string(most_shared));
    }
    if (dynamic > 48 * 1024) {
      HIWAY_CUDA(cudaFuncSetAttribute(kernel.cuda.symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(dynamic)),
                 name);
    }
    if (neighbours == Neighbours::others) {
      std::size_t const of_block = attributes.sharedSizeBytes + dynamic + properties_.reservedSharedMemPerBlock;
      unsigned const blocks = (grid.blocks + processors() - 1) / processors();
      leave_shared_memory(name, kernel, blocks * of_block, attributes, properties_);
    }
    // A launch that needs more local memory than any before would wait for every running kernel; so the limit is raised
    // here.
    std::size_t stack = 0;
    HIWAY_CUDA(cudaDeviceGetLimit(&stack, cudaLimitStackSize), name);
    if (attributes.localSizeBytes > stack)
      HIWAY_CUDA(cudaDeviceSetLimit(cudaLimitStackSize, attributes.localSizeBytes), name);
  }
  bool loads_beside_kernels() const override {
    char const* const loading = std::getenv("CUDA_MODULE_LOADING");
    return loading != nullptr && std::string_view(loading) == "EAGER";
  }
  unsigned processors() const override {
    return std::min(most_processors_, static_cast<unsigned>(properties_.multiProcessorCount / parts_));
  }
  unsigned resident_blocks(DeviceKernel const& kernel, simt::Grid grid) override {
    Gpu::Current const here(gpu_, name());
    int blocks = 0;
    HIWAY_CUDA(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel.cuda.symbol, static_cast<int>(grid.threads_per_block), dynamic_shared_bytes(kernel, grid)),
        "occupancy");
    return static_cast<unsigned>(blocks);
  }
  // One block per SM, shared among the kernels. Two SMs are left for the monitor and for copies that the driver makes
  // with kernels.
  simt::Grid default_grid(simt::Grid wanted, unsigned sharers) const override {
    if (wanted.threads_per_block == 0) wanted.threads_per_block = 256;
    if (wanted.blocks == 0) wanted.blocks = std::max(1u, (std::max(3u, processors()) - 2) / std::max(1u, sharers));
    return wanted;
  }
  unsigned full_grid(DeviceKernel const& kernel, simt::Grid grid, unsigned sharers) override {
    unsigned const each = resident_blocks(kernel, grid);
    return std::max(1u, default_grid({0, grid.threads_per_block, grid.shared_bytes}, sharers).blocks * each);
  }
  std::unique_ptr<RunningKernel> start(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    std::shared_ptr<GpuStream> stream = (kernel.goes_first ? first_streams_ : streams_).lend(name);
    // Before the launch, which cannot be undone.
    auto running = std::make_unique<GpuKernel>(std::string(name), stream);
    if (kernel.after) order(*kernel.after, *stream, name);
    launch_on(*stream, name, kernel, grid);
    return running;
  }
  void set_device_table(void const* table) override {
    Gpu::Current const here(gpu_, name());
    for (TableSetter const set : device_table_setters()) set(table);
  }
  MonitorKernel monitor(MonitorTable* table) const override {
    return {cuda_monitor_kernel(table), 5 * 32};  // MonitorPart of monitors/device_monitor.hpp
  }

 private:
  [[nodiscard]] cudaDeviceProp properties_of_usable() const {
    int count = 0;
    cudaError_t const error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || device_ >= count) {
      throw NoDevice("no device '" + name() + "': " +
                     (error != cudaSuccess ? std::string(cudaGetErrorString(error))
                                           : "there are " + std::to_string(count * parts_) + " GPUs"));
    }
    cudaDeviceProp found{};
    HIWAY_CUDA(cudaGetDeviceProperties(&found, device_), name());
    // Without mapped memory, as in confidential computing, kernels and CPU threads have no word in common.
    if (found.unifiedAddressing == 0 || found.canMapHostMemory == 0 || found.major < 7) {
      throw NoDevice("no device '" + name() +
                     "': it must have unified addressing, mapped host memory and compute capability 7.0 or more");
    }
    return found;
  }
  cudaStream_t stream() {
    if (!copies_) copies_ = std::make_unique<GpuStream>(gpu_, "copies");
    return copies_->get();
  }

  pid_t process_ = getpid();
  int number_;
  int parts_;
  int device_;  ///< CUDA's number
  bool peers_;
  std::vector<int> reached_;  ///< CUDA's numbers of the other devices whose memory is reached
  cudaDeviceProp properties_;
  Gpu gpu_;
  std::unique_ptr<GpuStream> copies_;
  std::unique_ptr<GpuPeeks> peeks_;
  GpuStreamPool streams_;
  GpuStreamPool first_streams_;
};

std::unique_ptr<Backend> make_cuda_backend(int number) { return std::make_unique<CudaBackend>(number); }

std::vector<DeviceInfo> list_gpus() {
  int count = 0;
  if (cudaError_t const error = cudaGetDeviceCount(&count); error != cudaSuccess || count == 0) {
    cudaGetLastError();
    return {{"cuda", error != cudaSuccess ? cudaGetErrorString(error) : "no GPU", false}};
  }
  int const parts = parts_of_gpu();
  std::vector<DeviceInfo> all;
  for (int i = 0; i < count * parts; ++i) {
    cudaDeviceProp p{};
    if (cudaGetDeviceProperties(&p, i / parts) != cudaSuccess) continue;
    bool const usable = p.unifiedAddressing != 0 && p.canMapHostMemory != 0 && p.major >= 7;
    all.push_back({std::string("cuda:").append(std::to_string(i)),
                   std::string(p.name) + ", " + std::to_string(p.multiProcessorCount / parts) + " SMs", usable});
  }
  return all;
}

}  // namespace

CudaSupport cuda_support() noexcept {
  set_range_calls({.push = [](char const* name) { nvtxRangePushA(name); },
                   .pop = [] { nvtxRangePop(); },
                   .start = [](char const* name) -> std::uint64_t { return nvtxRangeStartA(name); },
                   .stop = [](std::uint64_t range) { nvtxRangeEnd(range); }});
  return {&make_cuda_backend, &list_gpus, &make_gpu_gate};
}

}  // namespace hiway
