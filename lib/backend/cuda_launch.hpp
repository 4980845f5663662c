// Launches of kernels on a stream of a GPU.
#pragma once
#include <cuda_runtime_api.h>

#include <string_view>

#include "hiway/backend.hpp"
#include "lib/backend/cuda_stream.hpp"

namespace hiway {

/// *Throws* ConfigError if the kernel has no GPU code.
void require_code(std::string_view name, DeviceKernel const& kernel);
/// Of a block: what the grid asks for, and what the kernel's lanes have.
[[nodiscard]] std::size_t dynamic_shared_bytes(DeviceKernel const& kernel, simt::Grid grid);
/// *Throws* CudaError.
void launch_on(GpuStream const& stream, std::string_view name, DeviceKernel const& kernel, simt::Grid grid);

}  // namespace hiway
