// CUDA's backend. Any failure carries file, line, call, and what it was done for.
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "hiway/backend.hpp"
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

/// A non-blocking stream.
class Stream {
 public:
  explicit Stream(std::string_view what) {
    HIWAY_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), what);
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  /// True when everything given to it is done.
  [[nodiscard]] bool idle(std::string_view what) const {
    cudaError_t const state = cudaStreamQuery(stream_);
    if (state == cudaErrorNotReady) return false;
    HIWAY_CUDA(state, what);
    return true;
  }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Streams are made before kernels run and lent to them: making many beside running kernels blocks.
/// *Threads*: any.
class StreamPool {
 public:
  std::shared_ptr<Stream> lend(std::string_view what) {
    std::scoped_lock const lock(mutex_);
    for (auto& stream : streams_) {
      if (stream.use_count() == 1) return stream;
    }
    return streams_.emplace_back(std::make_shared<Stream>(what));
  }
  void reserve(std::size_t count, std::string_view what) {
    std::scoped_lock const lock(mutex_);
    while (streams_.size() < count) streams_.push_back(std::make_shared<Stream>(what));
  }

 private:
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
  kernel.cuda.with_arguments([&](void** arguments) {
    HIWAY_CUDA(cudaLaunchKernel(kernel.cuda.symbol, dim3(grid.blocks), dim3(grid.threads_per_block), arguments,
                                grid.shared_bytes, stream.get()),
               name);
  });
}

class GpuKernel final : public RunningKernel {
 public:
  GpuKernel(std::string name, int device, std::shared_ptr<Stream> stream)
      : name_(std::move(name)), device_(device), stream_(std::move(stream)) {}
  bool then(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    HIWAY_CUDA(cudaSetDevice(device_), name);
    name_ = std::string(name) + ", or one before it";
    launch_on(*stream_, name, kernel, grid);
    return true;
  }
  bool done() override {
    HIWAY_CUDA(cudaSetDevice(device_), name_);
    return stream_->idle(name_);
  }

 private:
  std::string name_;
  int device_;
  std::shared_ptr<Stream> stream_;
};

/// An event without a time.
class Event {
 public:
  Event() { HIWAY_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "copy stream"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

struct FreePinned {
  void operator()(void* address) const { cudaFreeHost(address); }
};

static_assert(CUDART_VERSION >= 13000, "hiway: cudaMemcpyBatchAsync as CUDA 13 has it");

// Submission n has event and values n mod most_under_way, which are its own until it has completed. Items and words
// are two operations of the stream: copies within one batch have no order, and only a later operation publishes.
class GpuCopies final : public CopyStream {
 public:
  GpuCopies(int device, std::size_t words) : device_(device), words_(words), stream_("copy stream") {
    if (words_ == 0) return;
    void* values = nullptr;
    HIWAY_CUDA(cudaHostAlloc(&values, most_under_way * words_ * sizeof(std::uint64_t), cudaHostAllocPortable),
               "copy stream");
    values_.reset(static_cast<std::uint64_t*>(values));
  }
  ~GpuCopies() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_.get());  // before events and values go
  }

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    HIWAY_CUDA(cudaSetDevice(device_), "copy stream");
    std::size_t const place = submitted_ % most_under_way;
    copy(copies);
    settings_.clear();
    for (WordCopy const& w : words) {
      std::uint64_t& value = values_[place * words_ + settings_.size()];
      value = w.value;
      settings_.push_back({w.word, &value, sizeof value});
    }
    copy(settings_);
    HIWAY_CUDA(cudaEventRecord(events_[place].get(), stream_.get()), "copy stream");
    return ++submitted_;
  }
  std::uint64_t completed() override {
    HIWAY_CUDA(cudaSetDevice(device_), "copy stream");
    for (; completed_ != submitted_; ++completed_) {
      cudaError_t const state = cudaEventQuery(events_[completed_ % most_under_way].get());
      if (state == cudaErrorNotReady) break;
      HIWAY_CUDA(state, "copy stream");
    }
    return completed_;
  }

 private:
  void copy(std::span<Copy const> copies) {
    targets_.clear();
    sources_.clear();
    bytes_.clear();
    for (Copy const& c : copies) {
      if (c.rows != 1) {
        HIWAY_CUDA(
            cudaMemcpy2DAsync(c.target, c.pitch, c.source, c.pitch, c.bytes, c.rows, cudaMemcpyDefault, stream_.get()),
            "copy stream");
        continue;
      }
      targets_.push_back(c.target);
      sources_.push_back(c.source);
      bytes_.push_back(c.bytes);
    }
    if (bytes_.empty()) return;
    if (bytes_.size() == 1) {
      HIWAY_CUDA(cudaMemcpyAsync(targets_[0], sources_[0], bytes_[0], cudaMemcpyDefault, stream_.get()), "copy stream");
      return;
    }
    cudaMemcpyAttributes attributes{};
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    attributes.flags = cudaMemcpyFlagPreferOverlapWithCompute;  // persistent kernels leave no SM to copy with
    std::size_t of_all = 0;
    HIWAY_CUDA(cudaMemcpyBatchAsync(targets_.data(), sources_.data(), bytes_.data(), bytes_.size(), &attributes,
                                    &of_all, 1, stream_.get()),
               "copy stream");
  }

  int device_;
  std::size_t words_;  ///< of a submission, at most
  std::array<Event, most_under_way> events_;
  std::unique_ptr<std::uint64_t[], FreePinned> values_;
  Stream stream_;
  std::uint64_t submitted_ = 0;
  std::uint64_t completed_ = 0;
  // One submission's, kept for their memory.
  std::vector<Copy> settings_;
  std::vector<void*> targets_;
  std::vector<void const*> sources_;
  std::vector<std::size_t> bytes_;
};

/// Copies from device memory beside running kernels, by a stream and pinned memory made before they start.
class Peeks {
 public:
  Peeks() : stream_("peeks") { HIWAY_CUDA(cudaHostAlloc(&staging_, staging_bytes, cudaHostAllocPortable), "peeks"); }
  ~Peeks() { cudaFreeHost(staging_); }
  Peeks(Peeks const&) = delete;
  Peeks& operator=(Peeks const&) = delete;

  bool copy(void* to, void const* device, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += staging_bytes) {
      std::size_t const n = std::min(staging_bytes, bytes - at);
      // A copy given up before may still write to the staging memory.
      if (cudaStreamQuery(stream_.get()) != cudaSuccess) return false;
      if (cudaMemcpyAsync(staging_, static_cast<std::byte const*>(device) + at, n, cudaMemcpyDeviceToHost,
                          stream_.get()) != cudaSuccess)
        return false;
      auto const until = std::chrono::steady_clock::now() + patience;
      cudaError_t state = cudaErrorNotReady;
      while ((state = cudaStreamQuery(stream_.get())) == cudaErrorNotReady) {
        if (std::chrono::steady_clock::now() >= until) return false;
        std::this_thread::yield();
      }
      if (state != cudaSuccess) return false;
      std::memcpy(static_cast<std::byte*>(to) + at, staging_, n);
    }
    return true;
  }

 private:
  static constexpr std::size_t staging_bytes = std::size_t{64} * 1024;
  static constexpr auto patience = std::chrono::seconds(1);
  Stream stream_;
  void* staging_ = nullptr;
};

/// As how many devices a GPU counts, which share its processors: pipelines over several devices run on one GPU, too.
int parts_of_gpu() { return number_from_environment("HIWAY_GPU_PARTS", "a number from 1 to 8", 1, 8).value_or(1); }

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int number)
      : number_(number), parts_(parts_of_gpu()), device_(number / parts_), peers_(peers_wanted()) {
    int count = 0;
    cudaError_t const error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || device_ >= count) {
      throw NoDevice("no device '" + name() + "': " +
                     (error != cudaSuccess ? std::string(cudaGetErrorString(error))
                                           : "there are " + std::to_string(count * parts_) + " GPUs"));
    }
    use();
    HIWAY_CUDA(cudaGetDeviceProperties(&properties_, device_), name());
    if (properties_.unifiedAddressing == 0 || properties_.major < 7) {
      throw NoDevice("no device '" + name() + "': it must have unified addressing and compute capability 7.0 or more");
    }
  }

  std::string name() const override { return std::string("cuda:").append(std::to_string(number_)); }
  std::string description() const override {
    return std::string(properties_.name) + ", " + std::to_string(processors()) + " SMs";
  }

  int number() const override { return number_; }
  bool reaches(Backend& other) override {
    if (!peers_) return false;
    int const others = other.number() / parts_;
    if (others == device_) return true;
    int possible = 0;
    if (cudaDeviceCanAccessPeer(&possible, device_, others) != cudaSuccess || possible == 0) return false;
    use();
    cudaError_t const error = cudaDeviceEnablePeerAccess(others, 0);
    if (error == cudaErrorPeerAccessAlreadyEnabled) static_cast<void>(cudaGetLastError());
    return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
  }

  void* allocate(Memory memory, std::size_t bytes, std::string_view what) override {
    use();
    void* address = nullptr;
    bytes = std::max<std::size_t>(bytes, 1);
    switch (memory) {
      case Memory::pinned:
        HIWAY_CUDA(cudaHostAlloc(&address, bytes, cudaHostAllocPortable | cudaHostAllocMapped), what);
        break;
      case Memory::device: HIWAY_CUDA(cudaMalloc(&address, bytes), what); break;
      case Memory::managed:
        if (properties_.concurrentManagedAccess == 0) {
          throw ConfigError(std::string(what) + ": " + name() +
                            " gives CPU threads no managed memory while kernels run; use Movement::dma or direct");
        }
        HIWAY_CUDA(cudaMallocManaged(&address, bytes, cudaMemAttachGlobal), what);
        break;
    }
    return address;
  }
  void release(Memory memory, void* address) noexcept override {
    cudaSetDevice(device_);
    if (memory == Memory::pinned) {
      cudaFreeHost(address);
    } else {
      cudaFree(address);
    }
  }
  void upload(void* device, void const* host, std::size_t bytes) override {
    use();
    HIWAY_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "copy in");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy in");
  }
  void download(void* host, void const* device, std::size_t bytes) override {
    use();
    HIWAY_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()), "copy out");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "copy out");
  }
  void clear(void* device, std::size_t bytes) override {
    use();
    HIWAY_CUDA(cudaMemsetAsync(device, 0, bytes, stream()), "clear");
    HIWAY_CUDA(cudaStreamSynchronize(stream()), "clear");
  }
  bool peek(void* to, void const* device, std::size_t bytes) override {
    return peeks_ && cudaSetDevice(device_) == cudaSuccess && peeks_->copy(to, device, bytes);
  }
  std::unique_ptr<CopyStream> open_stream(BusDirection, std::size_t words) override {
    use();
    return std::make_unique<GpuCopies>(device_, words);
  }

  void reserve_streams(std::size_t kernels) override {
    use();
    streams_.reserve(kernels, "kernel streams");
    if (!peeks_) peeks_ = std::make_unique<Peeks>();
  }
  void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid grid) override {
    require_code(name, kernel);
    use();
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
    // A first launch that needs more local memory than any before would wait for every running kernel.
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
    use();
    int blocks = 0;
    HIWAY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                   &blocks, kernel.cuda.symbol, static_cast<int>(grid.threads_per_block), grid.shared_bytes),
               "occupancy");
    return static_cast<unsigned>(blocks);
  }
  // One block an SM, shared among the kernels, two SMs left for the monitor and for copies that the driver makes with
  // kernels.
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
    use();
    std::shared_ptr<Stream> stream = streams_.lend(name);
    launch_on(*stream, name, kernel, grid);
    return std::make_unique<GpuKernel>(std::string(name), device_, std::move(stream));
  }
  CudaKernel monitor_kernel(MonitorTable* table) const override { return cuda_monitor_kernel(table); }
  unsigned monitor_threads() const override { return 4 * 32; }

 private:
  void use() const { HIWAY_CUDA(cudaSetDevice(device_), name()); }
  cudaStream_t stream() {
    if (!copies_) copies_ = std::make_unique<Stream>("copies");
    return copies_->get();
  }

  int number_;
  int parts_;
  int device_;  ///< CUDA's number
  bool peers_;
  cudaDeviceProp properties_{};
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
