// Launching on a GPU: the only kernels that stages become. Without nvcc there are none, and a stage is told so by name when it starts.
#pragma once
#include "hiway/backend.hpp"
#include "hiway/launch/block_context.hpp"

namespace hiway {

/// Tells units apart that nvcc did or did not compile: a default template argument, so that the same stage may be used from both
/// without one instantiation hiding the other.
struct NvccUnit {};
struct PlainUnit {};

#if defined(__CUDACC__)
using ThisUnit = NvccUnit;

namespace detail {

template <class Runner>
Ends<Runner> make_ends(StageEnds const& all);

template <class Runner>
__global__ void stage_kernel(Runner runner, Ends<Runner> ends) {
  set_block_context(ends.control, Runner::outlet_count > 0 ? ends.outlets[0].stage : ends.inlets[0].stage);
  run_persistent(CudaMachine{}, runner, ends);
}

template <class F>
__global__ void plain_kernel(F body) {
  set_block_context(nullptr, no_id);
  body();
}

inline bool const cuda_registered = register_cuda(cuda_support());

}  // namespace detail

/// The kernel of a stage or group.
template <class Runner, class Unit>
CudaKernel cuda_stage_kernel(Runner const& runner) {
  CudaKernel kernel;
  kernel.symbol = reinterpret_cast<void const*>(&detail::stage_kernel<Runner>);
  kernel.with_arguments = [runner](StageEnds const& all, std::function<void(void**)> const& call) {
    Runner copy = runner;
    Ends<Runner> ends = detail::make_ends<Runner>(all);
    void* arguments[] = {&copy, &ends};
    call(arguments);
  };
  return kernel;
}

/// The kernel of an ordinary launch.
template <class F, class Unit>
CudaKernel cuda_plain_kernel(F const& body) {
  CudaKernel kernel;
  kernel.symbol = reinterpret_cast<void const*>(&detail::plain_kernel<F>);
  kernel.with_arguments = [body](StageEnds const&, std::function<void(void**)> const& call) {
    F copy = body;
    void* arguments[] = {&copy};
    call(arguments);
  };
  return kernel;
}
#else
using ThisUnit = PlainUnit;

template <class Runner, class Unit>
CudaKernel cuda_stage_kernel(Runner const&) {
  return {};
}
template <class F, class Unit>
CudaKernel cuda_plain_kernel(F const&) {
  return {};
}
#endif

namespace detail {

/// The ends of one kernel as it takes them.
template <class Runner>
Ends<Runner> make_ends(StageEnds const& all) {
  Ends<Runner> ends{};
  for (unsigned i = 0; i != Runner::outlet_count; ++i) ends.outlets[i] = all.outlets[i];
  for (unsigned i = 0; i != Runner::inlet_count; ++i) ends.inlets[i] = all.inlets[i];
  for (unsigned i = 0; i != Runner::stage_count; ++i) ends.stages[i] = all.stages[i];
  ends.control = all.control;
  return ends;
}

}  // namespace detail

/// The kernel of a stage or group for both devices.
template <class Runner, class Unit>
DeviceKernel stage_kernel(Runner const& runner) {
  DeviceKernel kernel;
  kernel.lane_body = [runner](StageEnds const& all) {
    Runner copy = runner;
    Ends<Runner> const ends = detail::make_ends<Runner>(all);
    run_persistent(FiberMachine{}, copy, ends);
  };
  kernel.cuda = cuda_stage_kernel<Runner, Unit>(runner);
  return kernel;
}

/// An ordinary kernel for both devices.
template <class F, class Unit>
DeviceKernel plain_kernel(F const& body) {
  DeviceKernel kernel;
  kernel.lane_body = [body](StageEnds const&) {
    F copy = body;
    copy();
  };
  kernel.cuda = cuda_plain_kernel<F, Unit>(body);
  return kernel;
}

}  // namespace hiway
