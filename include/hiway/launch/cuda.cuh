// Launching on a GPU: the one __global__ template of which all stages and launches are instances. A unit that nvcc did
// not compile has no instances; starting one of its stages on a GPU is an error that names it.
#pragma once
#include "hiway/backend.hpp"
#include "hiway/machine/on_this_device.hpp"

namespace hiway {

/// Distinguishes units that nvcc compiled from others. It is a default template argument, so that one stage may be used
/// in both kinds of units without one instantiation hiding the other.
struct NvccUnit {};
struct PlainUnit {};

#if defined(__CUDACC__)
using ThisUnit = NvccUnit;

namespace detail {

template <class Body>
__global__ void call_body(Body body) {
  assume_one_dimension();
  body();
}

inline bool const cuda_registered = register_cuda(cuda_support());

}  // namespace detail

/// The GPU kernel that calls `body()` in every thread.
template <class Body, class Unit>
CudaKernel cuda_kernel(Body const& body) {
  CudaKernel kernel;
  kernel.symbol = reinterpret_cast<void const*>(&detail::call_body<Body>);
  kernel.with_arguments = [body](std::function<void(void**)> const& call) {
    Body copy = body;
    void* arguments[] = {&copy};
    call(arguments);
  };
  return kernel;
}
#else
using ThisUnit = PlainUnit;

template <class Body, class Unit>
CudaKernel cuda_kernel(Body const&) {
  return {};
}
#endif

/// The kernel for both devices: a copy of `body` is called in every thread or lane.
template <class Body, class Unit>
DeviceKernel device_kernel(Body const& body) {
  DeviceKernel kernel;
  kernel.lane_body = [body] {
    Body copy = body;
    copy();
  };
  kernel.cuda = cuda_kernel<Body, Unit>(body);
  return kernel;
}

}  // namespace hiway
