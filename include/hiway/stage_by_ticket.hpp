// The stage that writes a tunnel with restored order: in value form, from one tunnel. It puts each result at the ticket
// of its item (inlet/at_ticket.hpp). Stages of other tunnels have no code for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "hiway/inlet/at_ticket.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/with_ticket.hpp"
#include "hiway/stage.hpp"
#include "hiway/stage_form.hpp"

namespace hiway {

namespace detail {
template <class T>
inline constexpr bool is_plain = !is_scoped<T> && !is_stencil<T>;
}  // namespace detail

HIWAY_ITEMS_MAY_LOOK_UNSET
template <class F, class... Is, class O>
struct StageRunner<F, From<Is...>, Into<Restored<O>>> {
  using Shape = Form<F, From<Is...>, Into<Restored<O>>>;
  static constexpr bool fits = Shape::value && sizeof...(Is) == 1 && (detail::is_plain<Is> && ...);
  static_assert(
      fits,
      "hiway: into: a tunnel with restored order is written by a stage in value form, O work(I const&), which "
      "gets from one tunnel without scopes: each item has one result, at its place");
  using I = std::tuple_element_t<0, std::tuple<Is...>>;
  using Result = AtTicket<O>;

  static constexpr unsigned outlet_count = 1;
  static constexpr unsigned inlet_count = 1;
  static constexpr unsigned stage_count = 1;
  static constexpr Leaves leaves = Leaves::any_time;
  static constexpr bool keeps_nothing = std::is_invocable_v<F const&, I const&>;
  static constexpr std::size_t held_bytes = sizeof(Held<Result>);

  F body;

  /// As in StageRunner of other tunnels.
  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets, Slice const& slice) {
    SliceClock<Machine> clock(m, slice);
    run(m, *outlets, *inlets, slice, clock);
  }
  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets) {
    NoClock clock;
    run(m, *outlets, *inlets, Slice{}, clock);
  }

 private:
  template <class Machine, class Clock>
  HIWAY_DEVICE void run(Machine m, OutletView const& from, InletView const& into, Slice const& slice, Clock& clock) {
    (void)&detail::calls_what_is_marked_HIWAY_DEVICE<F, I const&>;
    std::uint32_t const group = m.lanes();
    Held<Result>* const held = slice.ns == 0 ? nullptr : reinterpret_cast<Held<Result>*>(slice.held) + m.thread_index();
    Result out;
    bool has = held != nullptr && detail::take_held(m, slice, *held, out);
    bool has_tried = false;  // as in StageRunner::run_and_hold
    for (unsigned misses = 0;;) {
      bool const holds = detail::put_at_or_hold(m, group, has, into, out, held, slice, clock);
      detail::end_tasks(m, from, group, has && !holds);
      if (m.ballot(group, holds) != 0 || (has_tried && clock.is_over_idle(m, group, misses))) return;
      has_tried = true;
      has = detail::work_with_ticket<I>(m, from, group, after_misses(misses), out.ticket,
                                        [&](I const& item) { out.result.item() = static_cast<O>(body(item)); });
      if (m.ballot(group, has) != 0) {
        clock.note_work(m, misses);
        misses = 0;
        continue;
      }
      if (m.ballot(group, detail::stage_ended(m, from)) != 0) {
        m.sync_warp(group);
        return;
      }
      m.relax(misses++);
    }
  }
};
HIWAY_ITEMS_END

}  // namespace hiway
