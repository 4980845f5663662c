// The scopes of a stencil tunnel's tasks (docs/adr/0070). Its two plain tunnels carry items with words.
//
//   a region   belongs to the scope of the task that sets its last value: its reference is a put of that task
//   a cell     belongs to the scope of the last region that it needs: taking a reference is a task, which puts strips
//   a strip    is an item for all of its places, which are tasks one after the other. A place begins with all of the
//              strip's word, and puts the rest as an item that the same lane gets for the next one; the last place
//              keeps all. What a place has left goes back to the rest, as the word of an item that was not put. So
//              values and counts add up (scope/word.hpp S1, S2), and a place may hand its part on
//   a frame    that is complete frees its buffer also if scopes are cancelled: all references become strips, and
//              places whose body is not called are counted as ended
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/inlet/view.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/scope/table.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/scope/word.hpp"
#include "hiway/stencil/matrix.hpp"
#include "hiway/stencil/region.hpp"

namespace hiway::detail {

/// What the tunnels of references and of strips carry with scopes; it is laid out as Scoped is.
struct ScopedReference : RegionReference {
  std::uint64_t scope;
};
struct ScopedStrip : StencilStrip {
  std::uint64_t scope;
};

template <class Carried>
inline constexpr bool has_word = std::is_same_v<Carried, ScopedReference> || std::is_same_v<Carried, ScopedStrip>;
/// What the tunnel of references carries where that of strips carries `Strip`.
template <class Strip>
using ReferenceFor = std::conditional_t<has_word<Strip>, ScopedReference, RegionReference>;

/// Begins a place of a strip whose places to come have `rest`.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void begin_place(Machine m, OutletView const& strips, InletView const& into_strips,
                                     std::uint64_t& rest, bool is_last) {
  begin_scope_task(m, strips, rest);
  if (!is_last) rest = share_scope(m, into_strips);
}
/// Ends it. A place has no more counts than it had, or was lent at once, and the rest has half of the strip's.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline void end_place(Machine m, OutletView const& strips, std::uint64_t& rest, bool is_last) {
  static_assert(counts_at_once + most_counts / 2 <= most_counts);
  if (is_last) return end_scope_task(m, strips);
  if (!has_scope(m, strips)) return;  // after put_last
  take_scope_back(m, rest);
  rest = m.scope().word;
  m.set_scope({});
}

/// A CPU thread's task of a scope that a program names, until the end of the block; then it goes on with the task that
/// it had. *Throws* Error.
template <class Machine>
class TaskFromOutside {
 public:
  TaskFromOutside(Machine m, Scope const& scope, InletView const& view) : m_(m), view_(view), before_(m.scope()) {
    begin_scope_task(m, view, word_from_outside(scope, view));  // S4
  }
  ~TaskFromOutside() {
    end_scope_task(m_, view_);
    m_.set_scope(before_);
  }
  TaskFromOutside(TaskFromOutside const&) = delete;
  TaskFromOutside& operator=(TaskFromOutside const&) = delete;

 private:
  Machine m_;
  InletView const& view_;
  LaneScope before_;
};

}  // namespace hiway::detail
