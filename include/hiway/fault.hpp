// The first error of a run, kept where it happened: one Control at each home.
//
//   word       written by                                      read by
//   aborted    anyone at this home, once a run                  every long wait at this home
//   taken      the first that faults (compare-exchange)         other faulting lanes
//   ready      the winner of taken, after the record (release)  the home's monitor (acquire)
//
//   F1  aborted is set before anything unwinds: raise() records, sets aborted, leaves.
//   F2  only the winner of `taken` writes `record`.
//
// A fault at the device reaches the host through the device monitor, which copies the record and sets a host word.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "hiway/machine/stage_thread.hpp"

namespace hiway {

enum class FaultKind : std::uint32_t {
  none,
  failed,  ///< fail_h, fail_d
  put_after_close,
  put_after_end,     ///< into an ended tunnel
  put_without_task,  ///< inside a cycle, without a task that was got and has not ended
  end_task_too_many,
  items_left,          ///< every reader returned while items were left
  time_out_too_short,  ///< EndDetection::time_out: the time passed with tasks left or under way
  spill_exhausted,
  put_without_scope,  ///< into a tunnel with scopes, without a scope or a task of one
  scope_task_open,    ///< a get from a tunnel with scopes before the last task has ended
  scope_exhausted,    ///< a task has put more than its scope's value allows
  tunnel_full,        ///< WhenFull::fail
  put_with_key,       ///< into a tunnel without TunnelConfig::keyed
  unknown_tunnel,     ///< paper.hpp: no tunnel of that number
  wrong_type,         ///< paper.hpp: not the type of the tunnel's items
  set_twice,          ///< a value of a stencil tunnel, twice in one frame
  outside_matrix,     ///< a value or a place outside the matrix, or in a frame that the run does not have
  wrong_end,          ///< paper.hpp: no put, or get, at this home, or a stage does it
};

/// The text for an error of this kind.
[[nodiscard]] char const* fault_text(FaultKind kind);

/// The stage or tunnel number of a fault that belongs to no stage or tunnel.
inline constexpr std::uint32_t no_id = 0xffffffffu;

struct FaultRecord {
  FaultKind kind = FaultKind::none;
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  std::uint32_t lane = 0;  ///< thread_index of the faulting lane or thread
  std::uint64_t item = 0;  ///< the item's ticket in its tunnel, where the fault has one
  char message[232] = {};  ///< fail_d's message; a longer one is cut off
};

/// What CPU threads and emulated lanes may ask about a run that has ended or aborts. Implemented by the pipeline.
class RunInfo {
 public:
  /// Throws an Unwind that says why the run does not go on, with the reason nested, or Error if the run is another
  /// node's. The text names `tunnel` if it has an open end.
  /// *Threads*: any.
  [[noreturn]] virtual void refuse(std::uint32_t tunnel) = 0;
  /// The name of stage number `stage`. *Threads*: the stage's own.
  [[nodiscard]] virtual std::string stage_name(std::uint32_t stage) const = 0;

 protected:
  ~RunInfo() = default;
};

struct FailedTasks;

struct Control {
  alignas(128) Word<std::uint32_t> aborted{0};
  Word<std::uint32_t> told_of_catcher{0};  ///< 1: a message has already named a stage that catches Unwind
  RunInfo* run = nullptr;                  ///< at the host; kernels do not read it
  FailedTasks* failed_tasks = nullptr;     ///< one for each stage, at this home
  alignas(128) Word<std::uint32_t> taken{0};
  Word<std::uint32_t> ready{0};
  FaultRecord record;
};

template <class Machine>
HIWAY_DEVICE inline bool is_aborted(Machine m, Control& control) {
  if (m.load_ahead(control.aborted) == 0) return false;
  m.acquire_ahead();
  return true;
}

/// Leaves the stage. `tunnel` is the number of the tunnel whose end was called, or no_id.
template <class Machine>
[[noreturn]] HIWAY_DEVICE inline void leave_run(Machine m, Control& control, std::uint32_t tunnel) {
  m.leave_run(control, tunnel);
}

/// Leaves the stage when the run is aborting.
template <class Machine>
HIWAY_DEVICE inline void leave_if_aborted(Machine m, Control& control, std::uint32_t tunnel = no_id) {
  if (is_aborted(m, control)) leave_run(m, control, tunnel);
}

namespace detail {

/// A longer message is cut off; of null nothing is copied.
template <std::size_t N>
HIWAY_DEVICE inline void copy_message(char (&to)[N], char const* message) {
  std::size_t n = 0;
  if (message != nullptr) {
    for (; n + 1 < N && message[n] != '\0'; ++n) to[n] = message[n];
  }
  to[n] = '\0';
}

}  // namespace detail

/// Records the fault if it is the first at this home, sets `aborted`, and returns.
template <class Machine>
HIWAY_DEVICE inline void record_fault(Machine m, Control& control, FaultKind kind, std::uint32_t stage,
                                      std::uint32_t tunnel, std::uint64_t item, char const* message = nullptr) {
  std::uint32_t expected = 0;
  if (!is_aborted(m, control) && m.compare_exchange(control.taken, expected, 1u, MemoryOrder::acq_rel)) {  // F2
    FaultRecord& r = control.record;
    r.kind = kind;
    r.stage = stage;
    r.tunnel = tunnel;
    r.item = item;
    r.lane = m.thread_index();
    detail::copy_message(r.message, message);
    m.store(control.ready, 1u, MemoryOrder::release);
  }
  m.store(control.aborted, 1u, MemoryOrder::release);  // F1
}

/// Records the fault and leaves the stage.
template <class Machine>
[[noreturn]] HIWAY_DEVICE inline void raise(Machine m, Control& control, FaultKind kind, std::uint32_t stage,
                                            std::uint32_t tunnel, std::uint64_t item, char const* message = nullptr) {
  record_fault(m, control, kind, stage, tunnel, item, message);
  leave_run(m, control, tunnel);
}

namespace detail {

/// On a CPU thread, refuses a put or get by an open end at once when the run does not go on: perhaps no reader is left
/// for what it puts. A stage's own end leaves only when it waits.
template <class Machine, class EndView>
HIWAY_DEVICE inline void refuse_if_over(Machine m, EndView const& v) {
  if constexpr (RoleOf<Machine>::outlives_runs) {
    if (v.open) leave_if_aborted(m, *v.control, v.tunnel);
  }
}

/// Throws Drained.
[[noreturn]] void throw_drained();

/// Implements fail_h and fail_d of an end.
template <class Machine, class EndView>
HIWAY_DEVICE inline void fail_at(Machine m, EndView const& v, char const* message) {
  raise(m, *v.control, FaultKind::failed, v.stage, v.open ? v.tunnel : no_id, 0, message);
}

}  // namespace detail
}  // namespace hiway
