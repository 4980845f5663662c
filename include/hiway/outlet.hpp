// Outlet<T>: where items come out of a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in
// from(...).
//
// Each call comes in three names: x_h on a CPU thread, x_d in a kernel, x wherever it runs. All three have one body,
// which takes the machine. How a get works stands in outlet/get.hpp, how tasks end in outlet/tasks.hpp.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "hiway/durations.hpp"
#include "hiway/fault.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/machine/time_left.hpp"
#include "hiway/outlet/for_each.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/span.hpp"
#include "hiway/outlet/team_outlet.hpp"
#include "hiway/outlet/view.hpp"

namespace hiway {

/// What came of Outlet::next_for_h.
enum class Get : std::uint8_t {
  done,    ///< there is an item
  empty,   ///< none came in time
  ended,   ///< the tunnel has ended
  aborted  ///< the run has failed, or none is under way
};

/// Where items come out of a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in from(...).
template <class T>
class Outlet : public TeamOutlet<T> {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiway: Outlet<T>: T must be trivially copyable (it is moved as bytes between devices)");
  using TeamOutlet<T>::misses_;
  using TeamOutlet<T>::next_;
  using TeamOutlet<T>::scoped_;
  using TeamOutlet<T>::view_;

 public:
  using value_type = T;

  Outlet() = default;
  HIWAY_DEVICE explicit Outlet(OutletView const& view, bool scoped = false) : TeamOutlet<T>(view, scoped) {}

  /// Gets an item if there is one; never waits for one, but backs off by itself after repeated misses: a CPU thread
  /// whose gets have all missed for 50 ms sleeps for 1 ms in each, after 500 ms for 10 ms.
  /// Each item got is a task: end_task says that its work, puts included, is done. A CPU thread may take several items
  /// by one claim (outlet/hand.hpp); it still gets them one by one, in order, unless other readers take some meanwhile.
  [[nodiscard]] bool get_h(T& item) const {
    return on_this_thread([&](auto m) { return get_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_d(T& item) const {
    return on_this_device([&](auto m) { return get_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get(T& item) const {
    return anywhere([&](auto m) { return get_with(m, item); });
  }

  /// Gets an item. *Waits* until there is one; false when the tunnel has ended.
  [[nodiscard]] bool next_h(T& item) const {
    return on_this_thread([&](auto m) { return next_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_d(T& item) const {
    return on_this_device([&](auto m) { return next_with(m, item); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next(T& item) const {
    return anywhere([&](auto m) { return next_with(m, item); });
  }

  /// Gets an item if one comes within `timeout`, about; 0 looks once. Unlike next_h, no Unwind leaves it: a stage
  /// returns when a call is `aborted`. *Waits* as get backs off.
  template <class Rep, class Period>
  [[nodiscard]] Get next_for_h(T& item, std::chrono::duration<Rep, Period> timeout) const {
    return on_this_thread([&](auto m) { return next_within(m, item, at_most_for_ever(timeout)); });
  }

  /// Gets as many items as there are, at most items.size(), in order; returns how many. Never waits, like get of one.
  /// Lanes may ask for different numbers, or for none; converged lanes share a claim, and each gets at most 4,096. On a
  /// device not for items above 256 bytes.
  [[nodiscard]] std::size_t get_h(std::span<T> items) const {
    return on_this_thread([&](auto m) { return get_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return get_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t get(std::span<T> items) const {
    return anywhere([&](auto m) { return get_all(m, items); });
  }
  /// The same, but *waits* until there is one; 0 when the tunnel has ended or `items` is empty.
  [[nodiscard]] std::size_t next_h(std::span<T> items) const {
    return on_this_thread([&](auto m) { return next_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next_d(std::span<T> items) const {
    return on_this_device([&](auto m) { return next_all(m, items); });
  }
  [[nodiscard]] HIWAY_DEVICE std::size_t next(std::span<T> items) const {
    return anywhere([&](auto m) { return next_all(m, items); });
  }

  /// Calls `body(item)` for every item and ends its task, until the tunnel has ended: the whole persistent loop.
  template <class Body>
  void for_each_h(Body&& body) const {
    on_this_thread([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_d(Body&& body) const {
    on_this_device([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each(Body&& body) const {
    anywhere([&](auto m) { each_with(m, body); });
  }

 private:
  HIWAY_NO_SPACE_CHECK template <class Machine>
  HIWAY_DEVICE bool get_with(Machine m, T& item) const {
    if (!scoped_) return get_one(m, item);
    return get_scoped(m, item, [&](Scoped<T>& got) { return get_one(m, got); });
  }
  /// `get(Scoped<T>&)` gets an item with its scope's word.
  HIWAY_NO_SPACE_CHECK template <class Machine, class GetOne>
  HIWAY_DEVICE bool get_scoped(Machine m, T& item, GetOne&& get) const {
    if (detail::has_open_scope_task(m, view_))
      raise(m, *view_.control, FaultKind::scope_task_open, view_.stage, view_.tunnel, 0);
    ItemRoom<Scoped<T>> room;
    while (get(room.item())) {
      copy_item(item, room.item().item);
      detail::begin_scope_task(m, view_, room.item().scope);
      if (!detail::is_cancelled(m, view_, room.item().scope)) return true;
      this->end_task();
    }
    return false;
  }
  // Item: T, or Scoped<T>.
  HIWAY_NO_SPACE_CHECK template <class Machine, class Item>
  HIWAY_DEVICE bool get_one(Machine m, Item& item) const {
    if constexpr (RoleOf<Machine>::keeps_hand) {
      if (!detail::get_held(m, view_, ReadItem<Item>{item})) return claim_apart(m, item);
      m.misses(misses_) = 0;
      return true;
    } else {
      return claim_with(m, item);
    }
  }
  /// Where most items lie in a hand, and this is not to be compiled into each call.
  template <class Machine, class Item>
  [[gnu::noinline]] bool claim_apart(Machine m, Item& item) const {
    return claim_with(m, item);
  }
  template <class Machine, class Item>
  HIWAY_DEVICE bool claim_with(Machine m, Item& item) const {
    bool const got = claim_without_pause(m, item);
    this->pause_unless(m, got);
    return got;
  }
  template <class Machine, class Item>
  HIWAY_DEVICE bool claim_without_pause(Machine m, Item& item) const {
    Credits const credits = after_misses(m.misses(misses_));
    bool const got = detail::get_once(m, view_, detail::together(m, view_), true, Credit::early, ReadItem<Item>{item},
                                      credits, detail::LookIn::all, next_);
    note_get(m, got);
    return got;
  }
  /// One try of a CPU thread, without a pause.
  template <class Machine>
  bool try_once(Machine m, T& item) const {
    auto const get = [&](auto& got) {
      return detail::get_held(m, view_, ReadItem<std::remove_reference_t<decltype(got)>>{got}) ||
             claim_without_pause(m, got);
    };
    return scoped_ ? get_scoped(m, item, get) : get(item);
  }
  template <class Machine>
  Get next_within(Machine m, T& item, std::chrono::nanoseconds timeout) const try {
    for (TimeLeft time(timeout);;) {
      unsigned& misses = m.misses(misses_);
      if (try_once(m, item)) {
        misses = 0;
        return Get::done;
      }
      if (this->ended_with(m)) return Get::ended;
      if (!time.relax(misses)) return Get::empty;
      ++misses;
    }
  } catch (Unwind const&) {
    return Get::aborted;
  }
  template <class Machine>
  HIWAY_DEVICE bool next_with(Machine m, T& item) const {
    if (!scoped_) return next_one(m, item);
    return get_scoped(m, item, [&](Scoped<T>& got) { return next_one(m, got); });
  }
  template <class Machine, class Item>
  HIWAY_DEVICE bool next_one(Machine m, Item& item) const {
    while (!get_one(m, item)) {
      if (this->ended_with(m)) return false;
    }
    return true;
  }
  template <class Machine>
  HIWAY_DEVICE std::size_t get_all(Machine m, std::span<T> items) const {
    if (scoped_) return !items.empty() && get_with(m, items[0]) ? 1 : 0;
    std::size_t const n = detail::get_items(m, view_, items, misses_);
    note_get(m, n != 0);
    this->pause_unless(m, n != 0);
    return n;
  }
  template <class Machine>
  HIWAY_DEVICE std::size_t next_all(Machine m, std::span<T> items) const {
    for (;;) {
      if (std::size_t const n = get_all(m, items); n != 0 || items.empty()) return n;
      if (this->ended_with(m)) return 0;
    }
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Body>
  HIWAY_PART_OF_CALLER HIWAY_DEVICE void each_with(Machine m, Body&& body) const {
    if (scoped_) {
      return detail::for_each<Scoped<T>>(m, view_, detail::together(m, view_), [&](Scoped<T> const& got) {
        detail::begin_scope_task(m, view_, got.scope);
        if (!detail::is_cancelled(m, view_, got.scope)) body(got.item);
        detail::end_scope_task(m, view_);
      });
    }
    detail::for_each<T>(m, view_, detail::together(m, view_), body);
  }
  template <class Machine>
  HIWAY_DEVICE void note_get(Machine m, bool got) const {
    detail::note_result(m, view_, got);
    if (!got) leave_if_aborted(m, *view_.control, view_.tunnel);
  }
};

}  // namespace hiway
