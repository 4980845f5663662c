// The one place that knows which machine runs the code: everything below it takes the machine as an argument.
// The choice is made inside function bodies; no type, member or template argument of a kernel depends on it.
//
// On a CPU thread or an emulated lane a call throws Unwind when the run aborts. In two cases (returns_when_left) it
// returns nothing, 0 or `if_left` instead: when an exception is already in flight, because the call is then in a
// destructor; and when the stage's body has caught an Unwind before and the call has a result, so that the body's loop
// can end.
#pragma once
#include <exception>
#include <type_traits>

#include "hiway/machine/cuda_machine.cuh"
#include "hiway/machine/fiber_machine.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway {

/// Throws WrongDevice unless an emulated lane calls it.
void require_lane();
namespace detail {

[[noreturn]] void throw_on_lane();

}  // namespace detail

/// Throws WrongDevice when an emulated lane calls it.
inline void require_thread() {
  if (simt::on_lane()) detail::throw_on_lane();
}

namespace detail {

template <class Machine, class Body, class... Left>
HIWAY_PART_OF_CALLER inline decltype(auto) call_or_leave(Machine m, Body& body, Left... if_left) {
  using Result = decltype(body(m));
  constexpr bool has_result = !std::is_void_v<Result>;
  if constexpr (has_result && !std::is_arithmetic_v<Result>) {
    return body(m);
  } else {
    try {
      return body(m);
    } catch (Unwind const& u) {
      if (!returns_when_left(u.times, has_result)) throw;
    } catch (MisuseError const&) {  // the lane was to meet lanes that have left
      if (std::uncaught_exceptions() == 0) throw;
    }
    if constexpr (has_result) return Result(if_left...);
  }
}

}  // namespace detail

/// Calls `body` with the machine of device code: a GPU lane, or an emulated one. *Throws* WrongDevice on a CPU thread.
HIWAY_NO_SPACE_CHECK template <class Body, class... Left>
HIWAY_DEVICE inline decltype(auto) on_this_device(Body&& body, [[maybe_unused]] Left... if_left) {
#if defined(__CUDA_ARCH__)
  return body(CudaMachine{});
#else
  require_lane();
  return detail::call_or_leave(FiberMachine{}, body, if_left...);
#endif
}

/// Calls `body` with the machine of a CPU thread. *Throws* WrongDevice on an emulated lane.
template <class Body, class... Left>
HIWAY_PART_OF_CALLER inline decltype(auto) on_this_thread(Body&& body, Left... if_left) {
  require_thread();
  return detail::call_or_leave(StageThread{}, body, if_left...);
}

/// Calls `body` with the machine that runs the code.
HIWAY_NO_SPACE_CHECK template <class Body, class... Left>
HIWAY_DEVICE inline decltype(auto) anywhere(Body&& body, [[maybe_unused]] Left... if_left) {
#if defined(__CUDA_ARCH__)
  return body(CudaMachine{});
#else
  if (simt::on_lane()) return detail::call_or_leave(FiberMachine{}, body, if_left...);
  return detail::call_or_leave(StageThread{}, body, if_left...);
#endif
}

}  // namespace hiway
