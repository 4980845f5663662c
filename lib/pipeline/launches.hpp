// Launches: ordinary kernels of the user's, one after another, besides the pipeline's persistent ones.
#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string_view>
#include <tuple>

#include "homes.hpp"

namespace hiway {

inline constexpr std::uint64_t most_threads = 0xffffffff;  ///< that thread_count() can return

/// The grid of a launch. *Throws* ConfigError.
[[nodiscard]] simt::Grid launch_grid(std::string_view name, GpuStageOptions const& options);

/// *Threads*: one at a time.
class Launches {
 public:
  explicit Launches(Homes& homes) : homes_(homes) {}

  /// Starts the kernel after the one before. `running`: a run is under way. *Throws* ConfigError, CudaError.
  void start(std::string_view name, DeviceKernel const& kernel, simt::Grid grid, Home home, bool running);
  /// *Waits* until every launch is done. *Throws* its first error.
  void synchronize();

 private:
  Homes& homes_;
  std::unique_ptr<RunningKernel> last_;  ///< with all before it
  Home last_on_ = own_device;
  std::set<std::tuple<Home, void const*, unsigned, std::size_t>> prepared_;
};

}  // namespace hiway
