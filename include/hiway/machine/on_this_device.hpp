// The one place that knows which machine runs the code: everything below it takes the machine as an argument.
// The choice is inside function bodies; no type, member or template argument of a kernel depends on it.
#pragma once
#include "hiway/machine/cuda_machine.cuh"
#include "hiway/machine/fiber_machine.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// Throws WrongDevice unless an emulated lane calls it.
void require_lane();
/// Throws WrongDevice when an emulated lane calls it.
void require_thread();

/// Calls `body` with the machine of device code: a GPU lane, or an emulated one. *Throws* WrongDevice on a CPU thread.
HIWAY_NO_SPACE_CHECK template <class Body>
HIWAY_DEVICE inline decltype(auto) on_this_device(Body&& body) {
#if defined(__CUDA_ARCH__)
  return body(CudaMachine{});
#else
  require_lane();
  return body(FiberMachine{});
#endif
}

/// Calls `body` with the machine of a CPU thread. *Throws* WrongDevice on an emulated lane.
template <class Body>
inline decltype(auto) on_this_thread(Body&& body) {
  require_thread();
  return body(ThreadMachine{});
}

/// Calls `body` with whichever machine runs the code.
HIWAY_NO_SPACE_CHECK template <class Body>
HIWAY_DEVICE inline decltype(auto) anywhere(Body&& body) {
#if defined(__CUDA_ARCH__)
  return body(CudaMachine{});
#else
  if (simt::on_lane()) return body(FiberMachine{});
  return body(ThreadMachine{});
#endif
}

}  // namespace hiway
