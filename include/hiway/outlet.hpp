// Outlet<T>: where items come out of a tunnel. A copyable handle that owns nothing; stages get one for each tunnel in
// from(...).
//
// Every item that was got is a task until end_task; its puts come before that. end_task counts at once, in the block's
// (thread's) own word.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "hiway/grouping/warp_group.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/ring.hpp"
#include "hiway/termination.hpp"

namespace hiway {

/// What an outlet points at. Built by the pipeline, one for each stage and tunnel.
struct OutletView {
  Ring ring;
  Ring const* spill = nullptr;  ///< read when the ring is empty; only where producers and consumers share a home
  Control* control = nullptr;
  EndWords* end = nullptr;
  OutletPort* ports = nullptr;                 ///< one for each block; a CPU thread's own; an open outlet's only one
  Word<std::uint32_t>* stage_ended = nullptr;  ///< every tunnel that the stage reads has ended
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  bool open = false;  ///< belongs to the user's own threads or kernels
};

namespace detail {

template <class Machine>
HIWAY_DEVICE inline OutletPort& port_of(Machine m, OutletView const& v) {
  return v.open ? *v.ports : v.ports[m.block_index()];
}

/// The converged lanes that get from the same tunnel.
template <class Machine>
HIWAY_DEVICE inline std::uint32_t together(Machine m, OutletView const& v) {
  return converged_on(m, v.ring.words);
}

template <class Machine, class Read>
HIWAY_DEVICE inline bool get_from(Machine m, OutletView const& v, Ring const& ring, std::uint32_t group, bool need,
                                  Read&& read) {
  Grant const grant = claim_get(m, ring, group, need, &port_of(m, v).got);
  if (!grant.granted) return false;
  finish_get(m, ring, grant.ticket, *v.control, read);
  return true;
}

/// One try for the lanes of `group` with `need`; all lanes of `group` together. True for a lane that got an item.
template <class Machine, class Read>
HIWAY_DEVICE inline bool get_once(Machine m, OutletView const& v, std::uint32_t group, bool need, Read&& read) {
  bool got = get_from(m, v, v.ring, group, need, read);
  if (has_spill(v.spill)) got = get_from(m, v, *v.spill, group, need && !got, read) || got;
  return got;
}

/// Ends one task of each lane of `group` with `need`; all lanes of `group` together. The release follows the tickets of
/// all of them (T1).
template <class Machine>
HIWAY_DEVICE inline void end_tasks(Machine m, OutletView const& v, std::uint32_t group, bool need) {
  std::uint32_t const ending = m.ballot(group, need);
  m.sync_warp(group);
  if (ending == 0 || m.lane() != m.lowest(group)) return;
  OutletPort& port = port_of(m, v);
  auto const n = static_cast<std::uint64_t>(m.count(ending));
  std::uint64_t const finished = m.fetch_add(port.finished, n, Order::acq_rel) + n;  // T1; acquires the siblings' got
  if (finished > m.load(port.got, Order::relaxed))
    raise(m, *v.control, FaultKind::end_task_too_many, v.stage, v.tunnel, finished);
}

template <class Machine>
HIWAY_DEVICE inline bool tunnel_ended(Machine m, OutletView const& v) {
  if (m.load(v.end->ended, Order::acquire) != 0) return true;
  leave_if_aborted(m, *v.control);
  return false;
}

template <class Machine>
HIWAY_DEVICE inline bool stage_ended(Machine m, OutletView const& v) {
  if (m.load(*v.stage_ended, Order::acquire) != 0) return true;
  leave_if_aborted(m, *v.control);
  return false;
}

/// Reads an item as bytes of its type.
template <class T>
struct ReadItem {
  T& item;
  HIWAY_DEVICE void operator()(std::byte const* slot) const { item = *reinterpret_cast<T const*>(slot); }
};

/// Remembers when a CPU thread ran out of items, for RunReport::end_detection_us.
inline void note_idle(OutletView const& v, bool got) {
  OutletPort& port = *v.ports;
  if (port.busy && !got) port.idle_since_ns = std::chrono::steady_clock::now().time_since_epoch().count();
  port.busy = got;
}
template <class Machine>
HIWAY_DEVICE inline void note_result(Machine, OutletView const&, bool) {}
HIWAY_NO_SPACE_CHECK HIWAY_DEVICE inline void note_result(ThreadMachine, OutletView const& v, bool got) {
  if (!v.open) note_idle(v, got);
}

HIWAY_ITEMS_MAY_LOOK_UNSET
/// Room for an item that need not be default-constructible.
template <class T>
struct ItemRoom {
  alignas(T) unsigned char bytes[sizeof(T)];
  HIWAY_DEVICE T& item() { return *reinterpret_cast<T*>(bytes); }
};

/// The persistent loop of `group`: get, body, end_task, back off, until the tunnel has ended.
HIWAY_NO_SPACE_CHECK template <class T, class Machine, class Body>
HIWAY_DEVICE inline void for_each(Machine m, OutletView const& v, std::uint32_t group, Body&& body) {
  for (unsigned misses = 0;;) {
    ItemRoom<T> room;
    bool const got = get_once(m, v, group, true, ReadItem<T>{room.item()});
    note_result(m, v, got);
    if (got) body(room.item());
    end_tasks(m, v, group, got);
    if (m.ballot(group, got) != 0) {
      misses = 0;
      continue;
    }
    if (m.ballot(group, tunnel_ended(m, v)) != 0) {
      m.sync_warp(group);
      return;
    }
    m.relax(misses++);
  }
}

HIWAY_ITEMS_END

}  // namespace detail

template <class T>
class Outlet {
  static_assert(std::is_trivially_copyable_v<T>,
                "hiway: Outlet<T>: T must be trivially copyable (it is moved as bytes between devices)");

 public:
  using value_type = T;

  Outlet() = default;
  HIWAY_DEVICE explicit Outlet(OutletView const& view) : view_(view) {}

  /// Gets an item if there is one; never waits for one, but backs off by itself after repeated misses: a CPU thread
  /// whose gets have all missed for 50 ms sleeps for 1 ms in each, after 200 ms for 2 ms.
  /// Each item that was got is a task: end_task says that its work, puts included, is done.
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

  /// Ends the task of one item that was got. *Errors*: one more than was got ends the run (end_task_too_many).
  void end_task_h() const {
    on_this_thread([&](auto m) { detail::end_tasks(m, view_, detail::together(m, view_), true); });
  }
  HIWAY_DEVICE void end_task_d() const {
    on_this_device([&](auto m) { detail::end_tasks(m, view_, detail::together(m, view_), true); });
  }
  HIWAY_DEVICE void end_task() const {
    anywhere([&](auto m) { detail::end_tasks(m, view_, detail::together(m, view_), true); });
  }

  /// This tunnel brings no more: its writers have closed and its tasks are ended.
  [[nodiscard]] bool has_ended_h() const {
    return on_this_thread([&](auto m) { return detail::tunnel_ended(m, view_); });
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended_d() const {
    return on_this_device([&](auto m) { return detail::tunnel_ended(m, view_); });
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended() const {
    return anywhere([&](auto m) { return detail::tunnel_ended(m, view_); });
  }

  /// No outlet of this stage brings more.
  [[nodiscard]] bool is_terminate_h() const {
    return on_this_thread([&](auto m) { return detail::stage_ended(m, view_); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate_d() const {
    return on_this_device([&](auto m) { return detail::stage_ended(m, view_); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate() const {
    return anywhere([&](auto m) { return detail::stage_ended(m, view_); });
  }

  /// Calls `body(item)` for every item and ends its task, until the tunnel has ended: the whole persistent loop.
  template <class Body>
  void for_each_h(Body&& body) const {
    on_this_thread([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_d(Body&& body) const {
    on_this_device([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each(Body&& body) const {
    anywhere([&](auto m) { detail::for_each<T>(m, view_, detail::together(m, view_), body); });
  }

  /// For the library's own loops.
  HIWAY_DEVICE OutletView const& view() const { return view_; }

 private:
  template <class Machine>
  HIWAY_DEVICE bool get_with(Machine m, T& item) const {
    bool const got = detail::get_once(m, view_, detail::together(m, view_), true, detail::ReadItem<T>{item});
    detail::note_result(m, view_, got);
    unsigned& misses = m.misses(misses_);
    if (got) {
      misses = 0;
    } else {
      leave_if_aborted(m, *view_.control);
      m.relax(misses++);
    }
    return got;
  }
  template <class Machine>
  HIWAY_DEVICE bool next_with(Machine m, T& item) const {
    while (!get_with(m, item)) {
      if (detail::tunnel_ended(m, view_)) return false;
    }
    return true;
  }

  OutletView view_{};
  mutable unsigned misses_ = 0;  // where the machine keeps no count
};

}  // namespace hiway
