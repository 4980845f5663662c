// The device monitor's kernel on a GPU.
#include "device_monitor.hpp"

#include "hiway/backend.hpp"
#include "hiway/machine/cuda_machine.cuh"

namespace hiway {
namespace {

__global__ void device_monitor_kernel(MonitorTable* table) {
  assume_one_dimension();
  // Enough for the check of a dozen tunnels. It is small because a stage's blocks may fill the processor.
  __shared__ alignas(16) std::byte room[4096];
  run_device_monitor(CudaMachine{}, *table, parts_of(threadIdx.x / 32, blockDim.x / 32), {room, sizeof room});
}

}  // namespace

CudaKernel cuda_monitor_kernel(MonitorTable* table) {
  CudaKernel kernel;
  kernel.symbol = reinterpret_cast<void const*>(&device_monitor_kernel);
  kernel.with_arguments = [table](std::function<void(void**)> const& call) {
    MonitorTable* copy = table;
    void* arguments[] = {&copy};
    call(arguments);
  };
  return kernel;
}

}  // namespace hiway
