// Backend: what a pipeline needs from the device it runs on: memory, copies, and starting kernels. There are two
// implementations in lib/backend, the emulated device and CUDA. The CUDA one registers itself from every unit that nvcc
// compiled (launch/cuda.cuh).
#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/config.hpp"
#include "hiway/launch/simt.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/memory.hpp"

struct CUstream_st;  // cudaStream_t points to it

namespace hiway {

/// A kernel of the user's unit, for cudaLaunchKernel. Empty in a unit that nvcc did not compile.
struct CudaKernel {
  void const* symbol = nullptr;
  std::optional<KernelShape> shape{};  ///< of a user's own; else the grid has one dimension
  std::size_t bytes_of_lane = 0;       ///< dynamic shared memory of each, after what the grid asks for
  /// Calls the function it is given with the kernel's arguments.
  std::function<void(std::function<void(void**)> const&)> with_arguments;
};

/// One kernel with its arguments, for either device.
struct DeviceKernel {
  std::function<void()> lane_body;  ///< the function that each emulated lane runs
  CudaKernel cuda;
  bool goes_first = false;              ///< on a GPU its blocks start before others that wait for a place
  std::optional<CUstream_st*> after{};  ///< on a GPU it starts after the work that this stream has by then
};

/// A kernel that has been started. *Threads*: one at a time.
class RunningKernel {
 public:
  virtual ~RunningKernel() = default;
  /// True once it has ended. *Throws* CudaError, naming the kernel, when it failed.
  virtual bool done() = 0;
  /// The kernel's failure, while parts of it may still run; null if it has not failed.
  [[nodiscard]] virtual std::exception_ptr failure() const { return nullptr; }
  /// How many lanes wait in sync_block for others of their block; no value if the device cannot tell.
  [[nodiscard]] virtual std::optional<unsigned> lanes_in_sync_block() const { return {}; }
  /// Lets the device start `kernel` when this one has ended; from then on this object stands for both kernels. False if
  /// the device cannot: the caller must then wait in between.
  [[nodiscard]] virtual bool then(std::string_view, DeviceKernel const&, simt::Grid) { return false; }
};

/// The direction of a stream of copies.
enum class BusDirection : std::uint8_t { to_device, from_device };

/// Bytes to copy across the bus.
struct Copy {
  void* target = nullptr;
  void const* source = nullptr;
  std::size_t bytes = 0;  ///< of each row
  std::size_t rows = 1;
  std::size_t pitch = 0;  ///< bytes from one row to the next, at both ends
};
/// A word at the device's home to set.
struct WordCopy {
  Word<std::uint64_t>* word = nullptr;
  std::uint64_t value = 0;
};

/// A stream of submissions of copies, made while kernels run. Copies of several submissions may happen at once, but a
/// submission completes, and sets its words, only after the one before it. *Threads*: one at a time.
class CopyStream {
 public:
  static constexpr std::uint64_t most_under_way = 64;  ///< limit on submissions that have not completed

  virtual ~CopyStream() = default;
  /// Starts the copies, in any order among themselves, and sets the words after all of them (no words when the stream
  /// goes from the device). Returns the submission's number, counted from 1. Nobody else may use the sources and
  /// targets until it has completed. Never waits; must not be called while most_under_way submissions have not
  /// completed. *Throws* CudaError.
  virtual std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) = 0;
  /// The number of the last submission that has completed; all before it have, too. *Throws* CudaError.
  virtual std::uint64_t completed() = 0;
};

struct MonitorTable;
class BatchStream;

/// The device monitor's kernel.
struct MonitorKernel {
  CudaKernel cuda{};     ///< empty on the emulated device, which runs its lane body
  unsigned threads = 0;  ///< of its block: one warp, or one for each of its parts
};

/// Sets one unit's device table pointer (launch/device_table.hpp) on the current GPU. *Throws* CudaError.
using TableSetter = void (*)(void const* table);

/// A copy out of device memory.
struct Peek {
  void* to;
  void const* device;
  std::size_t bytes;
};

/// Which kernels run on the device beside one: none but the pipeline's, or others, too. Then it takes no more than half
/// of a processor's shared memory, if that is enough for its grid.
enum class Neighbours : std::uint8_t { own, others };

class Backend {
 public:
  virtual ~Backend() = default;
  /// "simt" or "cuda:N".
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  /// The device's number, as in GpuStageOptions::device.
  [[nodiscard]] virtual int number() const = 0;
  /// Lets kernels here read and write the other device's memory from now on, if the devices are able to.
  virtual void enable_peer_access(Backend const& other) = 0;
  /// Whether kernels here can read and write the other device's memory.
  [[nodiscard]] virtual bool reaches(Backend const& other) const = 0;
  /// Whether device memory is host memory.
  [[nodiscard]] virtual bool is_host() const { return false; }
  /// Whether the calling process is a fork() of the one that made this object; it cannot use the object then.
  [[nodiscard]] virtual bool left_behind_by_fork() const = 0;

  /// Memory aligned to 256 bytes, not cleared. `what` names its user in an error. Not while kernels run.
  /// *Throws* ConfigError for managed memory if kernels and CPU threads may not use it at the same time.
  [[nodiscard]] virtual void* allocate(Memory memory, std::size_t bytes, std::string_view what) = 0;
  virtual void release(Memory memory, void* address) noexcept = 0;
  /// Copies to and from device memory, and sets device memory to 0; each waits until it is done.
  virtual void upload(void* device, void const* host, std::size_t bytes) = 0;
  virtual void download(void* host, void const* device, std::size_t bytes) = 0;
  virtual void clear(void* device, std::size_t bytes) = 0;
  /// upload() and clear() that may return before they are done. Before a kernel uses the memory, and before the memory
  /// at `host` changes, finish_uploads() waits for all.
  virtual void begin_upload(void* device, void const* host, std::size_t bytes) { upload(device, host, bytes); }
  virtual void begin_clear(void* device, std::size_t bytes) { clear(device, bytes); }
  virtual void finish_uploads() {}
  /// Copies words of device memory while kernels change them: each word is read whole, but not all at the same moment.
  /// Addresses and sizes are multiples of 4. False when the copies did not come through within a second, or when the
  /// device has failed. *Threads*: one at a time. Only after reserve_streams.
  [[nodiscard]] virtual bool peek(std::span<Peek const> copies) = 0;
  /// A stream of copies from or to this device. Not while kernels run.
  [[nodiscard]] virtual std::unique_ptr<CopyStream> open_stream() = 0;
  /// A stream for the batch stage with this title, for so many batches under way. Not while kernels run.
  [[nodiscard]] virtual std::unique_ptr<BatchStream> open_batch_stream(std::string title, std::size_t batches) = 0;

  /// Makes the streams for `kernels` kernels at once, and for peek, ahead of time: making a stream while kernels run
  /// blocks.
  virtual void reserve_streams(std::size_t kernels) = 0;
  /// Loads the kernel, so that starting it while others run does not stall them. *Throws* ConfigError when it has no
  /// code for this device.
  virtual void prepare(std::string_view name, DeviceKernel const& kernel, simt::Grid grid, Neighbours neighbours) = 0;
  /// False if a kernel that was not prepared before must wait for running ones to end.
  [[nodiscard]] virtual bool loads_beside_kernels() const = 0;
  /// What the pipeline may have of the device from now on: so many SMs (0, or more than there are: all), and memory
  /// from `memory`, if it is not null.
  void keep_to(unsigned processors, MemoryResource* memory) {
    most_processors_ = processors == 0 ? ~0u : processors;
    drawn_.draw_from(memory);
  }
  /// The number of SMs that they may have, and how many blocks of this kernel fit on one SM at once.
  [[nodiscard]] virtual unsigned processors() const = 0;
  [[nodiscard]] virtual unsigned resident_blocks(DeviceKernel const& kernel, simt::Grid grid) = 0;
  /// `wanted`, with the library's choice for every 0 that the user left, for one of `sharers` kernels.
  [[nodiscard]] virtual simt::Grid default_grid(simt::Grid wanted, unsigned sharers) const = 0;
  /// The number of blocks of a kernel that is to fill its part of the device, with `sharers` kernels and the monitor
  /// there: all that are resident at once. Only after prepare().
  [[nodiscard]] virtual unsigned full_grid(DeviceKernel const& kernel, simt::Grid grid, unsigned sharers) = 0;
  /// Starts the kernel on a stream of its own.
  [[nodiscard]] virtual std::unique_ptr<RunningKernel> start(std::string_view name, DeviceKernel const& kernel,
                                                             simt::Grid grid) = 0;
  /// Sets the device table pointer (launch/device_table.hpp) in every unit. Not while kernels run. *Throws* CudaError.
  virtual void set_device_table(void const* table) = 0;
  [[nodiscard]] virtual MonitorKernel monitor(MonitorTable* table) const = 0;

 protected:
  unsigned most_processors_ = ~0u;  ///< that the kernels may have
  detail::DrawnMemory drawn_;
};

/// A device that a pipeline may run on.
struct DeviceInfo {
  std::string name;  ///< what PipelineConfig::device takes
  std::string description;
  bool usable = false;
};

/// Every device this program knows: the emulated one, and the GPUs if it was built for CUDA.
[[nodiscard]] std::vector<DeviceInfo> devices();

/// Where streams of the user's wait. *Threads*: one at a time.
class StreamGate {
 public:
  virtual ~StreamGate() = default;
  /// What is given to the stream from now on waits for the next open(). *Throws* CudaError.
  virtual void hold(CUstream_st* stream) = 0;
  virtual void open() noexcept = 0;
};

/// The functions by which the CUDA library registers itself.
struct CudaSupport {
  std::unique_ptr<Backend> (*make)(int device) = nullptr;
  std::vector<DeviceInfo> (*list)() = nullptr;
  std::unique_ptr<StreamGate> (*make_gate)() = nullptr;
};
/// *Threads*: before main, or one at a time. Returns true.
bool register_cuda(CudaSupport support) noexcept;
/// Defined in the CUDA library (lib/backend/cuda_backend.cpp, monitors/device_monitor.cu).
[[nodiscard]] CudaSupport cuda_support() noexcept;
[[nodiscard]] CudaKernel cuda_monitor_kernel(MonitorTable* table);

/// Null in a program that was built without CUDA. *Throws* CudaError.
[[nodiscard]] std::unique_ptr<StreamGate> make_stream_gate();

/// Makes the backend for a device's name as PipelineConfig::device takes it. If "auto" had to choose, it says so on
/// stderr once.
/// *Throws* NoDevice when there is no such device.
[[nodiscard]] std::unique_ptr<Backend> make_backend(std::string const& device);

}  // namespace hiway
