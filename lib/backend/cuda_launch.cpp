#include "lib/backend/cuda_launch.hpp"

#include <string>

#include "hiway/error.hpp"
#include "lib/backend/cuda_call.hpp"

namespace hiway {
namespace {

constexpr char const* this_file = "lib/backend/cuda_launch.cpp";

dim3 dimensions_of(Extent const& extent) { return {extent.x, extent.y, extent.z}; }

}  // namespace

void require_code(std::string_view name, DeviceKernel const& kernel) {
  if (kernel.cuda.symbol == nullptr) {
    throw ConfigError(std::string(name) +
                      " has no GPU code: its file was not compiled by nvcc (CMake: hiway_cuda_sources(target))");
  }
}

std::size_t dynamic_shared_bytes(DeviceKernel const& kernel, simt::Grid grid) {
  if (kernel.cuda.bytes_of_lane == 0) return grid.shared_bytes;
  return (grid.shared_bytes + 15) / 16 * 16 + grid.threads_per_block * kernel.cuda.bytes_of_lane;
}

void launch_on(GpuStream const& stream, std::string_view name, DeviceKernel const& kernel, simt::Grid grid) {
  Gpu::Current const here(stream.gpu(), name);
  KernelShape const shape = kernel.cuda.shape.value_or(KernelShape{grid.blocks, grid.threads_per_block});
  kernel.cuda.with_arguments([&](void** arguments) {
    HIWAY_CUDA(cudaLaunchKernel(kernel.cuda.symbol, dimensions_of(shape.grid), dimensions_of(shape.block), arguments,
                                dynamic_shared_bytes(kernel, grid), stream.get()),
               name);
  });
}

}  // namespace hiway
