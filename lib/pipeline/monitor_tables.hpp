// The tables that monitors read: transfer lines, the end check, throttles, and each device monitor's own. The first
// device that is used is the checker for all homes. It asks the monitors of the other devices about what is there.
#pragma once
#include "layout.hpp"

namespace hiway {

/// Places the tables for what is prepared, and loads the kernels that read them. *Throws* ConfigError, CudaError.
void build_monitors(Layout& layout);

[[nodiscard]] DeviceKernel monitor_kernel(Layout const& layout, Home home);
[[nodiscard]] inline simt::Grid monitor_grid(Layout const& layout, Home home) {
  return {1, layout.homes.backend(home).monitor(nullptr).threads, 0};
}
/// Closes what a user's own kernel left open, in one warp.
[[nodiscard]] DeviceKernel close_kernel(Layout const& layout, std::size_t kernel);
inline constexpr simt::Grid close_grid{1, 32, 0};

}  // namespace hiway
