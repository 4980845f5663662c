// Stages: how a user's function is called, in whatever form it is (stage_form.hpp), on any machine.
#pragma once
#include <concepts>
#include <cstddef>
#include <new>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "hiway/inlet.hpp"
#include "hiway/inlet/held.hpp"
#include "hiway/launch/callable.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/outlet.hpp"
#include "hiway/stage_form.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

/// Makes the `I`-th outlet of a stage from all its views.
template <std::size_t I, class In, class Out>
struct OutletOf;
template <std::size_t I, class... Is, class... Os>
struct OutletOf<I, From<Is...>, Into<Os...>> {
  using Item = std::tuple_element_t<I, std::tuple<Is...>>;
  /// How many stencil tunnels come before it in the list.
  static constexpr unsigned before = []<std::size_t... K>(std::index_sequence<K...>) {
    return (0u + ... + (is_stencil<std::tuple_element_t<K, std::tuple<Is...>>> ? 1u : 0u));
  }
  (std::make_index_sequence<I>{});
  HIWAY_DEVICE static Outlet<ItemOf<Item>> open(OutletView const* outlets, [[maybe_unused]] InletView const* inlets) {
    if constexpr (is_stencil<Item>) {
      return Outlet<Item>(outlets[I], outlets[sizeof...(Is) + before], inlets[sizeof...(Os) + before]);
    } else {
      return Outlet<ItemOf<Item>>(outlets[I], is_scoped<Item>);
    }
  }
};
/// The inlet that a stage gets for a tunnel of `O`.
template <class O>
HIWAY_DEVICE inline Inlet<ItemOf<O>> inlet_of(InletView const& view) {
  if constexpr (is_stencil<O>) {
    return Inlet<O>(view);
  } else {
    return Inlet<ItemOf<O>>(view, is_scoped<O>);
  }
}

namespace detail {

/// nvcc prints this name when a GPU stage's operator() is not marked HIWAY_DEVICE. Stages take its address and never
/// call it: with a call through it, nvcc made different code of a kernel, which hung (docs/adr/0024).
template <class F, class... Args>
HIWAY_DEVICE inline void calls_what_is_marked_HIWAY_DEVICE(F& body, Args&&... arguments) {
  body(std::forward<Args>(arguments)...);
}

}  // namespace detail

/// Wraps a CPU stage's function, which may be host-only code.
template <class F>
struct CpuBody {
  using Wraps = F;
  F body;
  HIWAY_NO_SPACE_CHECK template <class... Args>
  requires std::invocable<F&, Args...> HIWAY_DEVICE decltype(auto) operator()(Args&&... args) {
    return body(std::forward<Args>(args)...);
  }
};

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Runs one stage's function on a machine, given the views of its ends.
template <class F, class In, class Out>
struct StageRunner;
template <class F, class... Is, class... Os>
struct StageRunner<F, From<Is...>, Into<Os...>> {
  using Shape = Form<F, From<Is...>, Into<Os...>>;
  static constexpr unsigned outlet_count = sizeof...(Is) + stencils_among<Is...>;
  static constexpr unsigned inlet_count = sizeof...(Os) + stencils_among<Is...>;
  static constexpr unsigned stage_count = 1;

  static constexpr bool has_scopes = (is_scoped<Is> || ...) || (is_scoped<Os> || ...);
  /// Value form: its results belong to no scope, so the scope's part ends after each has been put.
  static constexpr bool ends_scopes = Shape::value && (is_scoped<Is> || ...) && !(is_scoped<Os> || ...);
  /// Items of cancelled scopes are not dropped: a frame of a stencil tunnel that lacks values keeps its buffer.
  static constexpr bool works_on_cancelled = ((is_scoped<Os> && is_stencil<Os>) || ...);

  /// How its kernel may leave (launch/slice.hpp). In value form with one outlet and a small result a put is the last
  /// that a task does, so what finds no room can be held.
  static constexpr Leaves leaves = [] {
    if constexpr (Shape::loop || sizeof...(Is) == 0 || stencils_among<Is...> != 0) {
      return Leaves::never;
    } else if constexpr (sizeof...(Os) == 0) {
      return Leaves::any_time;
    } else if constexpr (Shape::value && sizeof...(Is) == 1) {
      using O = std::tuple_element_t<0, std::tuple<Os...>>;
      return stays_in_slot<O> || ends_scopes ? Leaves::between_tasks : Leaves::any_time;
    } else {
      return Leaves::between_tasks;
    }
  }();
  /// Whether it puts for all lanes at once, or holds what finds no room.
  static constexpr bool may_hold = leaves == Leaves::any_time && sizeof...(Os) != 0;
  /// It keeps nothing from item to item, so that a launch which begins anew cannot be told from one that goes on.
  static constexpr bool keeps_nothing = [] {
    if constexpr (Shape::each) {
      return (std::invocable<F const&, ItemOf<Is> const&, Inlet<ItemOf<Os>>...> && ...);
    } else {
      return (std::invocable<F const&, ItemOf<Is> const&> && ...);
    }
  }();
  /// What a thread may have to hold between two launches.
  static constexpr std::size_t held_bytes = [] {
    if constexpr (may_hold) {
      return sizeof(Held<std::tuple_element_t<0, std::tuple<Os...>>>);
    } else {
      return 0;
    }
  }();

  F body;

  /// Runs the stage until it has nothing more to do, or its slice is over. All lanes of a block call it.
  template <class Machine>
  requires(leaves != Leaves::never) HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets,
                                                                 InletView const* inlets, Slice const& slice) {
    SliceClock<Machine> clock(m, slice);
    if constexpr (may_hold) {
      run_and_hold(m, *outlets, *inlets, slice, clock);
    } else {
      run_items(m, outlets, inlets, clock);
    }
  }

  /// Runs the stage until it has nothing more to do. All lanes of a block call it.
  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets) {
    if constexpr (Shape::loop) {
      if constexpr (has_scopes) m.set_scope({});
      call_loop(outlets, inlets, std::index_sequence_for<Is...>{}, std::index_sequence_for<Os...>{});
    } else {
      NoClock clock;
      run_items(m, outlets, inlets, clock);
    }
  }

  /// The next ticket at each outlet (ring/tags.hpp TagReader).
  struct Next {
    std::uint32_t at[outlet_count == 0 ? 1 : outlet_count];
  };
  /// Item forms: tries each outlet once, in turn; true when any of them gave an item. A CPU thread tries those of a
  /// lower priority only if the others gave none. All lanes of `group` call it together.
  template <class Machine>
  HIWAY_DEVICE bool step(Machine m, std::uint32_t group, OutletView const* outlets, InletView const* inlets,
                         Credits credits, Next& next) {
    return step_each(m, group, outlets, inlets, credits, next, std::index_sequence_for<Is...>{});
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void run_and_hold(Machine m, OutletView const& from, InletView const& into, Slice const& slice,
                                 SliceClock<Machine>& clock) {
    using I = std::tuple_element_t<0, std::tuple<Is...>>;
    using O = std::tuple_element_t<0, std::tuple<Os...>>;
    (void)&detail::calls_what_is_marked_HIWAY_DEVICE<F, ItemOf<I> const&>;
    std::uint32_t const group = m.lanes();
    Held<O>* const held = slice.ns == 0 ? nullptr : reinterpret_cast<Held<O>*>(slice.held) + m.thread_index();
    ItemRoom<O> result;
    bool has = held != nullptr && detail::take_held(m, slice, *held, result.item());
    std::uint32_t next = 0;
    bool has_tried = false;  // to get: each launch does, however short its slice
    for (unsigned misses = 0;;) {
      bool const holds = detail::put_or_hold(m, group, has, into, result.item(), held, slice, clock);
      detail::end_tasks(m, from, group, has && !holds);
      if (m.ballot(group, holds) != 0 || (has_tried && clock.is_over_idle(m, group, misses))) return;
      has_tried = true;
      has = detail::work_once<I>(m, from, group, after_misses(misses), next,
                                 [&](I const& item) { make_result(m, from, into, item, result); });
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
  template <class Machine, class Clock>
  HIWAY_DEVICE void run_items(Machine m, OutletView const* outlets, InletView const* inlets, Clock& clock) {
    std::uint32_t const group = m.lanes();
    Next next{};
    for (unsigned misses = 0;;) {
      if (step(m, group, outlets, inlets, outlet_count == 1 ? after_misses(misses) : Credits::doubtful, next)) {
        clock.note_work(m, misses);
        if (clock.is_over(m, group)) return;
        misses = 0;
        continue;
      }
      if (m.ballot(group, detail::stage_ended(m, outlets[0])) != 0) {
        m.sync_warp(group);
        return;
      }
      if (clock.is_over_idle(m, group, misses)) return;
      m.relax(misses++);
    }
  }
  template <std::size_t... I, std::size_t... O>
  HIWAY_DEVICE void call_loop(OutletView const* outlets, InletView const* inlets, std::index_sequence<I...>,
                              std::index_sequence<O...>) {
    (void)outlets, (void)inlets;
    (void)&detail::calls_what_is_marked_HIWAY_DEVICE<
        F, decltype(OutletOf<I, From<Is...>, Into<Os...>>::open(outlets, inlets))..., Inlet<ItemOf<Os>>...>;
    body(OutletOf<I, From<Is...>, Into<Os...>>::open(outlets, inlets)..., inlet_of<Os>(inlets[O])...);
  }
  template <class Machine, std::size_t... I>
  HIWAY_DEVICE bool step_each(Machine m, std::uint32_t group, OutletView const* outlets, InletView const* inlets,
                              Credits credits, Next& next, std::index_sequence<I...>) {
    bool any = false;
    if constexpr (sizeof...(Is) > 1 && RoleOf<Machine>::keeps_hand) {
      for (unsigned rank = 0; rank < sizeof...(Is) && !any; ++rank) {
        auto const is_due = [&](OutletView const& outlet) { return outlet.rank == rank; };
        ((any = (is_due(outlets[I]) && step_outlet<Is>(m, group, outlets[I], inlets, credits, next.at[I])) || any),
         ...);
      }
    } else {
      ((any = step_outlet<Is>(m, group, outlets[I], inlets, credits, next.at[I]) || any), ...);
    }
    return any;
  }
  template <class I, class Machine>
  HIWAY_DEVICE bool step_outlet(Machine m, std::uint32_t group, OutletView const& outlet, InletView const* inlets,
                                Credits credits, std::uint32_t& next) {
    bool got = false;
    if constexpr (!Shape::each) (void)&detail::calls_what_is_marked_HIWAY_DEVICE<F, ItemOf<I> const&>;
    if constexpr (Shape::each) {
      got = work_and_end<I>(m, group, outlet, credits, next, [&](I const& item) {
        call_item(m, outlet, item, inlets, std::index_sequence_for<Os...>{});
      });
    } else if constexpr (stays_in_slot<std::tuple_element_t<0, std::tuple<Os...>>>) {
      // A large result is made in its slot: `body` neither gets nor puts, so it may run while the lane holds a ticket.
      using O = std::tuple_element_t<0, std::tuple<Os...>>;
      got = work_and_end<I>(m, group, outlet, credits, next,
                            [&](I const& item) { make_in_place<O>(m, outlet, inlets[0], item); });
    } else if constexpr (RoleOf<Machine>::stages_puts) {
      using O = std::tuple_element_t<0, std::tuple<Os...>>;
      got = work_and_end<I>(m, group, outlet, credits, next, [&](I const& item) {
        ItemRoom<O> result;
        make_result(m, outlet, inlets[0], item, result);
        detail::put(m, inlets[0], WriteItem<O>{result.item()});
        if constexpr (ends_scopes) detail::end_scope_task(m, outlet);
      });
    } else {
      using O = std::tuple_element_t<0, std::tuple<Os...>>;
      ItemRoom<O> result;
      got = detail::work_once<I>(m, outlet, group, credits, next,
                                 [&](I const& item) { make_result(m, outlet, inlets[0], item, result); });
      detail::put_together(m, inlets[0], group, got, WriteItem<O>{result.item()});
      if constexpr (ends_scopes) {
        if (got) detail::end_scope_task(m, outlet);
      }
      detail::end_tasks(m, outlet, group, got);
    }
    return m.ballot(group, got) != 0;
  }
  /// One try for all lanes of `group`, and the ends of its tasks.
  template <class I, class Machine, class Work>
  HIWAY_DEVICE bool work_and_end(Machine m, std::uint32_t group, OutletView const& outlet, Credits credits,
                                 std::uint32_t& next, Work&& work) {
    bool const got = detail::work_once<I>(m, outlet, group, credits, next, work);
    detail::end_and_work_through<I>(m, outlet, group, got, work);
    return got;
  }
  template <class I, class Machine, std::size_t... O>
  HIWAY_DEVICE void call_item(Machine m, OutletView const& outlet, I const& item, InletView const* inlets,
                              std::index_sequence<O...>) {
    (void)inlets;
    (void)&detail::calls_what_is_marked_HIWAY_DEVICE<F, ItemOf<I> const&, Inlet<ItemOf<Os>>...>;
    if constexpr (is_scoped<I>) {
      detail::begin_scope_task(m, outlet, item.scope);
      if (works_on_cancelled || !detail::is_cancelled(m, outlet, item.scope))
        body(item.item, inlet_of<Os>(inlets[O])...);
      detail::end_scope_task(m, outlet);
    } else {
      if constexpr (has_scopes) m.set_scope({});  // a lane begins with none set, a kept thread may have an old one
      body(item, inlet_of<Os>(inlets[O])...);
    }
  }
  /// Value form: works on an item and makes its result. One for a tunnel with scopes has all that the task has.
  template <class I, class Machine, class O>
  HIWAY_DEVICE void make_result(Machine m, OutletView const& outlet, InletView const& inlet, I const& item,
                                ItemRoom<O>& result) {
    if constexpr (is_scoped<I>) {
      detail::begin_scope_task(m, outlet, item.scope);
      if constexpr (is_scoped<O>) {
        result.item().item = static_cast<ItemOf<O>>(body(item.item));
        result.item().scope = detail::hand_scope_on(m, inlet);
      } else {
        result.item() = static_cast<O>(body(item.item));
      }
    } else {
      result.item() = static_cast<O>(body(item));
    }
  }
  /// The same of a large result, in its slot.
  template <class O, class Machine, class I>
  HIWAY_DEVICE void make_in_place(Machine m, OutletView const& outlet, InletView const& inlet, I const& item) {
    if constexpr (is_scoped<I>) {
      detail::begin_scope_task(m, outlet, item.scope);
      detail::put(m, inlet, [&](std::byte* slot) {
        if constexpr (is_scoped<O>) {
          ::new (&item_in<O>(slot).item) ItemOf<O>(static_cast<ItemOf<O>>(body(item.item)));
          item_in<O>(slot).scope = detail::hand_scope_on(m, inlet);
        } else {
          ::new (slot) O(static_cast<O>(body(item.item)));
        }
      });
      detail::end_scope_task(m, outlet);
    } else {
      detail::put(m, inlet, [&](std::byte* slot) { ::new (slot) O(static_cast<O>(body(item))); });
    }
  }
};

HIWAY_ITEMS_END

/// A stage of a group; made by stage(...).
template <class F, class In, class Out>
struct StageSpec {
  std::string name;
  F body;
  In in;
  Out out;
};

/// Describes one stage of add_gpu_group: item or value form.
template <class F, class... Is, class... Os>
[[nodiscard]] StageSpec<F, From<Is...>, Into<Os...>> stage(std::string_view name, F body, From<Is...> in,
                                                           Into<Os...> out) {
  static_assert(detail::runs_in_kernels<F> || !detail::is_closure<F>,
                "hiway: stage: this lambda cannot run on a GPU: mark it HIWAY_DEVICE, capture by value, and give nvcc "
                "--extended-lambda; or write a trivially copyable struct at namespace scope");
  static_assert(detail::runs_in_kernels<F> || detail::is_closure<F>,
                "hiway: stage: the functor is copied into the kernel and must be trivially copyable");
  static_assert(Form<F, From<Is...>, Into<Os...>>::item,
                "hiway: a stage of a group is given per item, not as a loop: (const T&, Inlet<U>...) or U(const T&)");
  static_assert(!(detail::is_restored<Os> || ...),
                "hiway: a stage of a group cannot write a tunnel with restored order: make it a stage of its own");
  return {std::string(name), std::move(body), in, out};
}
template <class F, class... Is>
[[nodiscard]] StageSpec<F, From<Is...>, Into<>> stage(std::string_view name, F body, From<Is...> in) {
  return stage(name, std::move(body), in, Into<>(NoTunnels{}));
}

}  // namespace hiway
