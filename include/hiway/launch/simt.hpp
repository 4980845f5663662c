// Launching on the emulated SIMT device: one fiber per lane (Boost.Context), blocks resident up to a limit.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hiway::simt {

/// The emulated device's size. Residency is limited as on a GPU.
struct DeviceLimits {
  unsigned processors = 4;              ///< emulated SMs
  unsigned lanes_per_processor = 2048;  ///< resident at once, in whole warps
  unsigned blocks_per_processor = 32;   ///< resident at once
  std::size_t shared_bytes_per_processor = 256 * 1024;
  unsigned os_threads = 0;               ///< threads that run the lanes; 0: half the cores, at least 1, at most 8
  std::size_t stack_bytes = 512 * 1024;  ///< a lane's stack; a guard page lies below it
};

/// Extent of a launch.
struct Grid {
  unsigned blocks = 1;
  unsigned threads_per_block = 32;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
};

class Device;

/// A handle of one launch, for waiting.
class Launch {
 public:
  Launch() = default;
  /// True once every lane has left. Never waits.
  [[nodiscard]] bool done() const;
  /// The error of a block that could not start; other blocks of the launch may run. Null if there is none so far.
  [[nodiscard]] std::exception_ptr start_failure() const;
  /// *Waits* until every lane has left. *Throws* the first exception that left a lane's body.
  void wait() const;
  /// The number of lanes that wait in sync_block now. Never waits.
  [[nodiscard]] unsigned lanes_in_sync_block() const noexcept;

 private:
  friend class Device;
  struct State;
  std::shared_ptr<State> state_;
};

/// An emulated device. Blocks of a launch start in order, as soon as they fit beside the resident ones, so a grid
/// larger than the device runs in waves, as on a GPU. A caller that needs all blocks at once asks `resident_blocks`
/// first.
/// *Threads*: every member may be called from any CPU thread. *Lifetime*: the destructor waits for nothing; all
/// launches must be done.
class Device {
 public:
  explicit Device(DeviceLimits limits = {});
  ~Device();
  Device(Device const&) = delete;
  Device& operator=(Device const&) = delete;

  /// Starts `body` on every lane of `grid` and returns at once.
  /// *Throws* ConfigError when one block does not fit an empty processor, or an extent is 0; Error when a thread of the
  /// device cannot be started; std::bad_alloc. Nothing runs then.
  Launch launch(std::string_view name, Grid grid, std::function<void()> body);
  /// How many blocks of this shape fit on one processor at once (CUDA's occupancy). `grid.blocks` is not read.
  [[nodiscard]] unsigned resident_blocks(Grid grid) const noexcept;
  [[nodiscard]] DeviceLimits const& limits() const noexcept;
  /// Whether the calling process was forked after a launch, so that it has none of the device's threads.
  [[nodiscard]] bool left_behind_by_fork() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hiway::simt
