// What the tunnels stand beside, written by hand with the CUDA runtime: bench/raw_cuda.cu, which is there where the
// program was built with CUDA and makes itself known before main.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/echo.hpp"
#include "bench/mover.hpp"

namespace bench {

/// The ways without hiway.
enum class ByHand : std::uint8_t {
  large_copy,  ///< cudaMemcpyAsync of pinned memory, as large as it can be; nobody makes or checks items meanwhile.
               ///< Between two devices of 64 MiB, from one's memory into the other's
  launch_per_batch,  ///< each CPU thread: a batch made or checked, a copy and a launch for it, four batches under way
  managed_ring,      ///< each CPU thread: a ring in managed memory to or from a block of a persistent kernel
  stores_of_64_blocks,  ///< a kernel stores 16-byte items into another device's memory; nobody looks at them meanwhile
  stores_of_a_full_grid,  ///< likewise, by as many blocks as fit
};
[[nodiscard]] char const* name_of(ByHand way);

struct RawCuda {
  /// Null where the device cannot do it, or the way has no such flow.
  std::unique_ptr<Mover> (*make)(ByHand way, Work const& work, std::size_t batch_bytes) = nullptr;
  /// Microseconds of `count` launches of an empty kernel, each with its synchronization.
  std::vector<double> (*launch_and_sync)(std::string const& device, unsigned count) = nullptr;
  /// Likewise of 8 bytes copied to the device, a kernel of one warp that changes them, and the copy back.
  std::vector<double> (*copy_launch_and_sync)(std::string const& device, unsigned count) = nullptr;
  /// 16 bytes with their number between a lane on `device` and one on `to_device`, each looking at its own memory. Null
  /// where either does not reach the other's.
  std::unique_ptr<Echo> (*make_ping_pong)(std::string const& device, int to_device) = nullptr;
};
/// *Threads*: before main. Returns true.
bool register_raw_cuda(RawCuda raw) noexcept;
/// Null for a device that is no GPU, or in a program without CUDA.
[[nodiscard]] RawCuda const* raw_cuda(std::string const& device);

}  // namespace bench
