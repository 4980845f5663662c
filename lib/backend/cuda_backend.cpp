// The CUDA backend. Every error names file, line, call and purpose. The caller's current device stays (ADR 0036): a
// call that needs a device runs under Gpu::Current.
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "hiway/backend.hpp"
#include "hiway/launch/device_table.hpp"
#include "hiway/ranges.hpp"
#include "lib/environment.hpp"

namespace hiway {
namespace {

void check(cudaError_t error, char const* call, std::string_view what, int line) {
  if (error == cudaSuccess) return;
  throw CudaError(std::string(what) + ": " + call + " failed: " + cudaGetErrorName(error) + ": " +
                  cudaGetErrorString(error) + " (lib/backend/cuda_backend.cpp:" + std::to_string(line) + ")");
}
#define HIWAY_CUDA(call, what) check((call), #call, what, __LINE__)

/// Driver calls that the runtime lacks. Their entry points are looked up: a program linked with libcuda would not start
/// on a machine without a driver.
struct Driver {
  PFN_cuDevicePrimaryCtxRetain_v7000 retain_primary = nullptr;
  PFN_cuCtxPushCurrent_v4000 push = nullptr;
  PFN_cuCtxPopCurrent_v4000 pop = nullptr;
  PFN_cuStreamWriteValue64_v11070 write_value = nullptr;

  static Driver const& get() {
    static Driver const driver;
    return driver;
  }

 private:
  Driver() {
    find("cuDevicePrimaryCtxRetain", 7000, retain_primary);
    find("cuCtxPushCurrent", 4000, push);
    find("cuCtxPopCurrent", 4000, pop);
    find("cuStreamWriteValue64", 11070, write_value);
  }
  template <class Function>
  static void find(char const* name, unsigned version, Function& function) {
    void* address = nullptr;
    cudaDriverEntryPointQueryResult found{};
    HIWAY_CUDA(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &found), name);
    if (found != cudaDriverEntryPointSuccess) throw CudaError(std::string("the driver has no ") + name);
    function = reinterpret_cast<Function>(address);
  }
};

/// A GPU, by its primary context, which the CUDA runtime uses, too. Never released; the runtime does not release it
/// either.
class Gpu {
 public:
  Gpu(int number, std::string_view what) {
    HIWAY_CUDA(cudaInitDevice(number, 0, 0), what);  // reports the errors that users know
    if (CUresult const result = Driver::get().retain_primary(&context_, number); result != CUDA_SUCCESS)
      throw CudaError(std::string(what) + ": cuDevicePrimaryCtxRetain failed: " + std::to_string(result));
  }

  /// While it lives, the GPU is the calling thread's current device. Afterwards the previous one is again, or none.
  class Current {
   public:
    Current(Gpu gpu, std::string_view what) : Current(gpu) {
      if (result_ != CUDA_SUCCESS)
        throw CudaError(std::string(what) + ": cuCtxPushCurrent failed: " + std::to_string(result_));
    }
    /// For destructors: a failure is ignored.
    explicit Current(Gpu gpu) noexcept : result_(Driver::get().push(gpu.context_)) {}
    ~Current() {
      CUcontext popped = nullptr;
      if (result_ == CUDA_SUCCESS) Driver::get().pop(&popped);
    }
    Current(Current const&) = delete;
    Current& operator=(Current const&) = delete;

   private:
    CUresult result_;
  };

 private:
  CUcontext context_ = nullptr;
};

/// A non-blocking stream.
class Stream {
 public:
  Stream(Gpu gpu, std::string_view what) : gpu_(gpu) {
    Gpu::Current const here(gpu_, what);
    HIWAY_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), what);
  }
  ~Stream() {
    Gpu::Current const here(gpu_);
    cudaStreamDestroy(stream_);
  }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  [[nodiscard]] Gpu gpu() const { return gpu_; }
  /// True when all work given to it is done.
  [[nodiscard]] bool idle(std::string_view what) const {
    Gpu::Current const here(gpu_, what);
    cudaError_t const state = cudaStreamQuery(stream_);
    if (state == cudaErrorNotReady) return false;
    HIWAY_CUDA(state, what);
    return true;
  }

 private:
  Gpu gpu_;
  cudaStream_t stream_ = nullptr;
};

/// Streams that are lent to kernels. They are created before kernels run: creating many beside running kernels blocks.
/// *Threads*: any.
class StreamPool {
 public:
  explicit StreamPool(Gpu gpu) : gpu_(gpu) {}
  std::shared_ptr<Stream> lend(std::string_view what) {
    std::scoped_lock const lock(mutex_);
    for (auto& stream : streams_) {
      if (stream.use_count() == 1) return stream;
    }
    return streams_.emplace_back(std::make_shared<Stream>(gpu_, what));
  }
  void reserve(std::size_t count, std::string_view what) {
    std::scoped_lock const lock(mutex_);
    while (streams_.size() < count) streams_.push_back(std::make_shared<Stream>(gpu_, what));
  }

 private:
  Gpu gpu_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

void require_code(std::string_view name, DeviceKernel const& kernel) {
  if (kernel.cuda.symbol == nullptr) {
    throw ConfigError(std::string(name) +
                      " has no GPU code: its file was not compiled by nvcc (CMake: hiway_cuda_sources(target))");
  }
}

void launch_on(Stream const& stream, std::string_view name, DeviceKernel const& kernel, simt::Grid grid) {
  Gpu::Current const here(stream.gpu(), name);
  kernel.cuda.with_arguments([&](void** arguments) {
    HIWAY_CUDA(cudaLaunchKernel(kernel.cuda.symbol, dim3(grid.blocks), dim3(grid.threads_per_block), arguments,
                                grid.shared_bytes, stream.get()),
               name);
  });
}

class GpuKernel final : public RunningKernel {
 public:
  GpuKernel(std::string name, std::shared_ptr<Stream> stream) : name_(std::move(name)), stream_(std::move(stream)) {}
  bool then(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    name_ = std::string(name) + ", or one before it";
    launch_on(*stream_, name, kernel, grid);
    return true;
  }
  bool done() override { return stream_->idle(name_); }

 private:
  std::string name_;
  std::shared_ptr<Stream> stream_;
};

struct DestroyEvent {
  Gpu gpu;
  void operator()(cudaEvent_t event) const {
    Gpu::Current const here(gpu);
    cudaEventDestroy(event);
  }
};
using Event = std::unique_ptr<CUevent_st, DestroyEvent>;

/// An event without timing.
Event make_event(Gpu gpu, std::string_view what) {
  Gpu::Current const here(gpu, what);
  cudaEvent_t event = nullptr;
  HIWAY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), what);
  return {event, {gpu}};
}

struct FreePinned {
  Gpu gpu;
  void operator()(void* address) const {
    Gpu::Current const here(gpu);
    cudaFreeHost(address);
  }
};
template <class T>
using Pinned = std::unique_ptr<T[], FreePinned>;

template <class T>
Pinned<T> make_pinned(Gpu gpu, std::size_t count, std::string_view what) {
  Gpu::Current const here(gpu, what);
  void* address = nullptr;
  HIWAY_CUDA(cudaHostAlloc(&address, std::max<std::size_t>(count, 1) * sizeof(T), cudaHostAllocPortable), what);
  return {static_cast<T*>(address), {gpu}};
}

static_assert(CUDART_VERSION >= 13000, "hiway: cudaMemcpyBatchAsync as CUDA 13 has it");

// Submissions alternate between two streams: the copies of one are under way while the other's words are set, which
// takes some microseconds (docs/adr/0037). Submission n has event n mod most_under_way to itself until it has
// completed. Its words are set by stream operations after its copies; the stream makes the copies' writes visible
// first. These operations also wait for the event of the submission before, so words are set in the order of
// submissions.
class GpuCopies final : public CopyStream {
 public:
  explicit GpuCopies(Gpu gpu) : streams_{{gpu, what}, {gpu, what}} {
    for (std::uint64_t i = 0; i != most_under_way; ++i) events_.push_back(make_event(gpu, what));
  }
  ~GpuCopies() override {
    Gpu::Current const here(gpu());
    for (Stream const& stream : streams_) cudaStreamSynchronize(stream.get());  // before the events are destroyed
  }

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    Gpu::Current const here(gpu(), what);
    cudaStream_t const stream = streams_[submitted_ % 2].get();
    copy(copies, stream);
    if (!words.empty() && submitted_ != 0) HIWAY_CUDA(cudaStreamWaitEvent(stream, event_of(submitted_ - 1)), what);
    for (WordCopy const& w : words) set(w, stream);
    HIWAY_CUDA(cudaEventRecord(event_of(submitted_), stream), what);
    return ++submitted_;
  }
  std::uint64_t completed() override {
    Gpu::Current const here(gpu(), what);
    for (; completed_ != submitted_; ++completed_) {
      cudaError_t const state = cudaEventQuery(event_of(completed_));
      if (state == cudaErrorNotReady) break;
      HIWAY_CUDA(state, what);
    }
    return completed_;
  }

 private:
  [[nodiscard]] Gpu gpu() const { return streams_[0].gpu(); }
  [[nodiscard]] cudaEvent_t event_of(std::uint64_t submission) const {
    return events_[submission % most_under_way].get();
  }
  static void set(WordCopy const& w, cudaStream_t stream) {
    CUresult const result = Driver::get().write_value(stream, reinterpret_cast<CUdeviceptr>(w.word), w.value, 0);
    if (result != CUDA_SUCCESS)
      throw CudaError(std::string(what) + ": cuStreamWriteValue64 failed: " + std::to_string(result));
  }
  void copy(std::span<Copy const> copies, cudaStream_t stream) {
    targets_.clear();
    sources_.clear();
    bytes_.clear();
    for (Copy const& c : copies) {
      if (c.rows != 1) {
        HIWAY_CUDA(cudaMemcpy2DAsync(c.target, c.pitch, c.source, c.pitch, c.bytes, c.rows, cudaMemcpyDefault, stream),
                   what);
        continue;
      }
      targets_.push_back(c.target);
      sources_.push_back(c.source);
      bytes_.push_back(c.bytes);
    }
    if (bytes_.empty()) return;
    if (bytes_.size() == 1) {
      HIWAY_CUDA(cudaMemcpyAsync(targets_[0], sources_[0], bytes_[0], cudaMemcpyDefault, stream), what);
      return;
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;  // persistent kernels leave no SM free to copy with
    std::size_t of_all = 0;
    HIWAY_CUDA(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), bytes_.data(), bytes_.size(), &attributes,
                                    &of_all, 1, stream),
               what);
  }

  static constexpr char const* what = "copy stream";
  std::vector<Event> events_;
  Stream streams_[2];
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  // The lists of one submission; they are members so that their memory is reused.
  std::vector<void*> targets_;
  std::vector<void const*> sources_;
  std::vector<std::size_t> bytes_;
};

/// Copies from device memory beside running kernels, with a stream and pinned memory made before the kernels start.
class Peeks {
 public:
  explicit Peeks(Gpu gpu) : stream_(gpu, "peeks"), staging_(make_pinned<std::byte>(gpu, staging_bytes, "peeks")) {}

  bool copy(void* to, void const* device, std::size_t bytes) {
    Gpu::Current const here(stream_.gpu());
    for (std::size_t at = 0; at < bytes; at += staging_bytes) {
      std::size_t const n = std::min(staging_bytes, bytes - at);
      // An earlier copy that was given up may still write to the staging memory.
      if (cudaStreamQuery(stream_.get()) != cudaSuccess) return false;
      if (cudaMemcpyAsync(staging_.get(), static_cast<std::byte const*>(device) + at, n, cudaMemcpyDeviceToHost,
                          stream_.get()) != cudaSuccess)
        return false;
      auto const until = std::chrono::steady_clock::now() + patience;
      cudaError_t state = cudaErrorNotReady;
      while ((state = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::yield();
      }
      if (state != cudaSuccess) return false;
      std::memcpy(static_cast<std::byte*>(to) + at, staging_.get(), n);
    }
    return true;
  }

 private:
  static constexpr std::size_t staging_bytes = std::size_t{64} * 1024;
  static constexpr auto patience = std::chrono::seconds(1);
  Stream stream_;
  Pinned<std::byte> staging_;
};

/// How many devices a GPU counts as; they share its processors. With this, pipelines over several devices run on one
/// GPU.
int parts_of_gpu() {
  return static_cast<int>(number_from_environment("HIWAY_GPU_PARTS", "a number from 1 to 8", 1, 8).value_or(1));
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
        streams_(gpu_) {}

  std::string name() const override { return std::string("cuda:").append(std::to_string(number_)); }
  std::string description() const override {
    return std::string(properties_.name) + ", " + std::to_string(processors()) + " SMs";
  }

  int number() const override { return number_; }
  [[nodiscard]] bool left_behind_by_fork() const override {
    return process_ != getpid();
  }  // CUDA does not survive fork
  bool reaches(Backend& other) override {
    if (!peers_) return false;
    int const others = other.number() / parts_;
    if (others == device_) return true;
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, device_, others) != cudaSuccess || possible == 0) return false;
    Gpu::Current const here(gpu_, name());
    cudaError_t const error = cudaDeviceEnablePeerAccess(others, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) static_cast<void>(cudaGetLastError());
    return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
  }

  void* allocate(Memory memory, std::size_t bytes, std::string_view what) override {
    Gpu::Current const here(gpu_, name());
    void* address = nullptr;
    bytes = std::max<std::size_t>(bytes, 1);
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
        HIWAY_CUDA(cudaMallocManaged(&address, bytes, cudaMemAttachGlobal), whose);
        break;
    }
    return address;
  }
  void release(Memory memory, void* address) noexcept override {
    Gpu::Current const here(gpu_);
    if (memory == Memory::pinned) {
      cudaFreeHost(address);
    } else {
      cudaFree(address);
    }
  }
  void upload(void* device, void const* host, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "copy in");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy in");
  }
  void download(void* host, void const* device, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()), "copy out");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy out");
  }
  void clear(void* device, std::size_t bytes) override {
    Gpu::Current const here(gpu_, name());
    HIWAY_CUDA(cudaMemsetAsync(device, 0, bytes, stream()), "clear");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "clear");
  }
  bool peek(void* to, void const* device, std::size_t bytes) override {
    return peeks_ && peeks_->copy(to, device, bytes);
  }
  std::unique_ptr<CopyStream> open_stream() override { return std::make_unique<GpuCopies>(gpu_); }

  void reserve_streams(std::size_t kernels) override {
    streams_.reserve(kernels, "kernel streams");
    if (!peeks_) peeks_ = std::make_unique<Peeks>(gpu_);
  }
  void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    Gpu::Current const here(gpu_, name);
    cudaFuncAttributes attributes{};
    HIWAY_CUDA(cudaFuncGetAttributes(&attributes, kernel.cuda.symbol), name);  // loads the kernel
    if (grid.threads_per_block > static_cast<unsigned>(attributes.maxThreadsPerBlock)) {
      throw ConfigError(std::string(name) + ": " + std::to_string(grid.threads_per_block) +
                        " threads a block, the kernel takes at most " + std::to_string(attributes.maxThreadsPerBlock));
    }
    std::size_t const most_shared = properties_.sharedMemPerBlockOptin - attributes.sharedSizeBytes;
    if (grid.shared_bytes > most_shared) {
      throw ConfigError(std::string(name) + ": " + std::to_string(grid.shared_bytes) +
                        " shared bytes a block, the kernel takes at most " + std::to_string(most_shared));
    }
    if (grid.shared_bytes > 48 * 1024) {
      HIWAY_CUDA(cudaFuncSetAttribute(kernel.cuda.symbol, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(grid.shared_bytes)),
                 name);
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
  unsigned processors() const override { return static_cast<unsigned>(properties_.multiProcessorCount / parts_); }
  unsigned resident_blocks(DeviceKernel const& kernel, simt::Grid grid) override {
    Gpu::Current const here(gpu_, name());
    int blocks = 0;
    HIWAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &blocks, kernel.cuda.symbol, static_cast<int>(grid.threads_per_block), grid.shared_bytes),
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
    std::shared_ptr<Stream> stream = streams_.lend(name);
    // Before the launch, which cannot be undone.
    auto running = std::make_unique<GpuKernel>(std::string(name), stream);
    launch_on(*stream, name, kernel, grid);
    return running;
  }
  void set_device_table(void const* table) override {
    Gpu::Current const here(gpu_, name());
    for (TableSetter const set : device_table_setters()) set(table);
  }
  CudaKernel monitor_kernel(MonitorTable* table) const override { return cuda_monitor_kernel(table); }
  unsigned monitor_threads() const override { return 4 * 32; }

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
    if (found.unifiedAddressing == 0 || found.major < 7) {
      throw NoDevice("no device '" + name() + "': it must have unified addressing and compute capability 7.0 or more");
    }
    return found;
  }
  cudaStream_t stream() {
    if (!copies_) copies_ = std::make_unique<Stream>(gpu_, "copies");
    return copies_->get();
  }

  pid_t process_ = getpid();
  int number_;
  int parts_;
  int device_;  ///< CUDA's number
  bool peers_;
  cudaDeviceProp properties_;
  Gpu gpu_;
  std::unique_ptr<Stream> copies_;
  std::unique_ptr<Peeks> peeks_;
  StreamPool streams_;
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
    bool const usable = p.unifiedAddressing != 0 && p.major >= 7;
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
  return {&make_cuda_backend, &list_gpus};
}

}  // namespace hiway
