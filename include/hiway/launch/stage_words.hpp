// Functions for stage code that need no handle: thread_index, sync_block, shared_memory, fail_d and the like.
#pragma once
#include "hiway/failed_tasks.hpp"
#include "hiway/fault.hpp"
#include "hiway/grouping/block_group.hpp"
#include "hiway/machine/on_this_device.hpp"

namespace hiway {

/// A failure that stage code reports with fail_h or fail_d, on a CPU thread or an emulated lane. Stage code must not
/// catch it.
struct StageFailure : Error {
  using Error::Error;
};

/// Throws StageFailure.
[[noreturn]] void throw_stage_failure(char const* message);

#if defined(__CUDACC__)
struct BlockContext {
  std::uint64_t grid;  ///< the launch that set this: shared memory keeps what an earlier kernel left
  Control* control;
  std::uint32_t stages[32];  ///< the stage that each warp is in
};
__device__ inline BlockContext& block_context() {
  __shared__ BlockContext context;
  return context;
}
/// The launch whose lanes have places for their tasks' scopes. Apart: most kernels need no room for it.
__device__ inline std::uint64_t& scopes_grid() {
  __shared__ std::uint64_t grid;
  return grid;
}
#endif

/// Sets the control that fail_d reports to, and the stage, and clears the places through which the block's warps share
/// claims. All threads of a block call it first. `control` is null in an ordinary launch.
HIWAY_NO_SPACE_CHECK HIWAY_DEVICE inline void enter_block([[maybe_unused]] Control* control, std::uint32_t stage) {
#if defined(__CUDA_ARCH__)
  unsigned const thread = CudaMachine{}.thread_in_block();
  if (thread == 0) {
    block_context().grid = CudaMachine{}.grid_id();
    block_context().control = control;
    detail::clear_places(CudaMachine{}.block_room<BlockGroup>());
  }
  if (thread % 32 == 0) block_context().stages[thread / 32] = stage;
  __syncthreads();
#else
  simt::set_lane_mark(stage);
  simt::set_lane_run(control);
#endif
}
/// No task has a scope yet. In kernels of stages with tunnels that have scopes all threads call it before enter_block.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void enter_scopes(Machine m) {
  m.set_scope({});
#if defined(__CUDA_ARCH__)
  if (CudaMachine{}.thread_in_block() == 0) scopes_grid() = CudaMachine{}.grid_id();
#endif
}
/// Sets the stage of its group that the warp is in from now on; all its lanes call it.
HIWAY_NO_SPACE_CHECK HIWAY_DEVICE inline void enter_stage(std::uint32_t stage) {
#if defined(__CUDA_ARCH__)
  unsigned const thread = CudaMachine{}.thread_in_block();
  if (thread % 32 == 0) block_context().stages[thread / 32] = stage;
  __syncwarp(CudaMachine{}.lanes());
#else
  if (simt::on_lane()) simt::set_lane_mark(stage);  // other machines that run the group's loop have no mark
#endif
}

namespace detail {

/// The scope of the calling lane's or thread's task. A kernel without scopes has no places for them: what lies there is
/// of other kernels.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline LaneScope scope_here(Machine m) {
#if defined(__CUDA_ARCH__)
  if (scopes_grid() != CudaMachine{}.grid_id()) return {};
#endif
  return m.scope();
}

/// Of the stage whose code calls it; null outside of stages, and in a user's own kernel on a GPU.
HIWAY_NO_SPACE_CHECK HIWAY_DEVICE inline FailedTasks* failed_tasks_here() {
#if defined(__CUDA_ARCH__)
  BlockContext const& context = block_context();
  if (context.grid != CudaMachine{}.grid_id() || context.control == nullptr) return nullptr;
  return context.control->failed_tasks + context.stages[CudaMachine{}.thread_in_block() / 32];
#else
  bool const on_lane = simt::on_lane();
  Control const* const run = on_lane ? simt::lane_run() : this_thread_context().run;
  return run == nullptr ? nullptr : run->failed_tasks + (on_lane ? simt::lane_mark() : this_thread_context().stage);
#endif
}

}  // namespace detail

/// Ends the run with an error that names the stage and says `message`. Does not return.
HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE inline void fail_d(char const* message) {
#if defined(__CUDA_ARCH__)
  BlockContext const& context = block_context();
  // In an ordinary launch, or a user's own kernel, the device reports the trap.
  if (context.grid != CudaMachine{}.grid_id() || context.control == nullptr) __trap();
  record_fault(CudaMachine{}, *context.control, FaultKind::failed, context.stages[CudaMachine{}.thread_in_block() / 32],
               no_id, 0, message);
  CudaMachine{}.leave();
#else
  require_lane();
  throw_stage_failure(message);
#endif
}
/// The same on a CPU thread.
[[noreturn]] inline void fail_h(char const* message) {
  require_thread();
  throw_stage_failure(message);
}
/// The same, wherever the code runs.
HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE inline void fail(char const* message) {
#if defined(__CUDA_ARCH__)
  fail_d(message);
#else
  throw_stage_failure(message);
#endif
}

/// The calling thread's or lane's number in its stage, and how many there are.
[[nodiscard]] HIWAY_DEVICE inline unsigned thread_index() {
  return anywhere([](auto m) { return m.thread_index(); });
}
[[nodiscard]] HIWAY_DEVICE inline unsigned thread_count() {
  return anywhere([](auto m) { return m.thread_count(); });
}
/// The block's number in its stage, and how many there are; a CPU thread is a block of its own.
HIWAY_NO_SPACE_CHECK [[nodiscard]] HIWAY_DEVICE inline unsigned block_index() {
#if defined(__CUDA_ARCH__)
  return CudaMachine{}.block_index();
#else
  return simt::on_lane() ? simt::lane_id().block : this_thread_context().thread;
#endif
}
[[nodiscard]] HIWAY_DEVICE inline unsigned block_count() {
  return anywhere([](auto m) { return m.block_count(); });
}
/// The number of the lowest set bit of `mask`; any number for 0. In stage code do not use std::countr_zero: nvcc
/// silently compiles it to a constant.
[[nodiscard]] HIWAY_DEVICE inline unsigned lowest_bit(std::uint32_t mask) {
  return anywhere([=](auto m) { return m.lowest(mask); });
}
/// All threads of the block meet.
HIWAY_DEVICE inline void sync_block() {
  anywhere([](auto m) { m.sync_block(); });
}
/// The block's dynamic shared memory, aligned to 128 bytes; null on a CPU thread.
[[nodiscard]] HIWAY_DEVICE inline std::byte* shared_memory() {
  return anywhere([](auto m) { return m.shared_memory(); });
}

}  // namespace hiway
