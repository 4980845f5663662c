// Sinks of a segment on the device: what the lanes do with items that leave the tree. The tunnels among them are the
// stage's inlets.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "hiway/fault.hpp"
#include "hiway/inlet.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/signature.hpp"
#include "hiway/segment/tasks.hpp"
#include "hiway/segment/tree.hpp"
#include "hiway/segment/tree_types.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

namespace detail {

template <class T>
struct CountOnDevice {
  using Item = T;
  template <class Replica>
  HIWAY_DEVICE void put(Replica&, T const&, bool, Tally const&, bool) const {}
};
template <class T>
struct StoreOnDevice {
  using Item = T;
  T* data = nullptr;
  std::uint64_t size = 0;
  Word<std::uint64_t>* used = nullptr;
  char full[96] = {};  ///< the error's text
  template <class Replica>
  HIWAY_DEVICE void put(Replica& r, T const& item, bool brings, Tally const& tally, bool) const {
    if (tally.all == 0) return;
    auto const m = r.lanes.machine();
    std::uint64_t base = 0;
    if (r.lanes.rank() == 0) base = m.fetch_add(*used, static_cast<std::uint64_t>(tally.all), MemoryOrder::relaxed);
    base = r.lanes.share(base);
    if (base + tally.all > size) {
      if (r.lanes.rank() == 0)
        record_fault(m, *r.program.control, FaultKind::failed, r.program.stage, no_id, base, full);
      r.lanes.sync();
      m.leave();
    }
    if (brings) data[base + tally.before] = item;
  }
};
template <class T, unsigned Inlet>
struct PutOnDevice {
  using Item = ItemOf<T>;
  template <class Replica>
  HIWAY_DEVICE void put(Replica& r, Item const& item, bool brings, Tally const&, [[maybe_unused]] bool last) const {
    auto const m = r.lanes.machine();
    InletView const& inlet = r.inlets[Inlet];
    if constexpr (is_scoped<T>) {
      std::uint64_t const word = brings ? word_into(m, inlet, last) : 0;
      hiway::detail::put_together(m, inlet, m.lanes(), brings, WriteScoped<Item>{item, word});
    } else {
      hiway::detail::put_together(m, inlet, m.lanes(), brings, WriteItem<T>{item});
    }
    leave_if_aborted(m, *r.program.control);
  }
};

template <class... Sinks>
struct SinkList;
template <>
struct SinkList<> {
  static constexpr unsigned count = 0;
  template <class T, class Replica>
  HIWAY_DEVICE void put(Replica&, unsigned, T const&, bool, Tally const&, bool) const {}
};
template <class First, class... Rest>
struct SinkList<First, Rest...> {
  static constexpr unsigned count = 1 + sizeof...(Rest);
  First first;
  SinkList<Rest...> rest;
  template <class T, class Replica>
  HIWAY_DEVICE void put(Replica& r, unsigned sink, T const& item, bool brings, Tally const& tally, bool last) const {
    if constexpr (std::is_same_v<T, typename First::Item>) {
      if (sink == 0) {
        first.put(r, item, brings, tally, last);
        return;
      }
    }
    rest.template put<T>(r, sink - 1, item, brings, tally, last);
  }
};

/// The device's form of each sink of a list, in order; the tunnels among them are the stage's inlets.
template <class Sinks, unsigned Inlet = 0>
struct SinksOnDevice;
template <unsigned Inlet>
struct SinksOnDevice<Types<>, Inlet> {
  using type = Types<>;
  using Out = Into<>;
};
template <class T, class... Rest, unsigned Inlet>
struct SinksOnDevice<Types<CountSink<T>, Rest...>, Inlet> {
  using type = typename Join<Types<CountOnDevice<T>>, typename SinksOnDevice<Types<Rest...>, Inlet>::type>::type;
  using Out = typename SinksOnDevice<Types<Rest...>, Inlet>::Out;
};
template <class T, class... Rest, unsigned Inlet>
struct SinksOnDevice<Types<StoreSink<T>, Rest...>, Inlet> {
  using type = typename Join<Types<StoreOnDevice<T>>, typename SinksOnDevice<Types<Rest...>, Inlet>::type>::type;
  using Out = typename SinksOnDevice<Types<Rest...>, Inlet>::Out;
};
template <class A, class B>
struct JoinInto;
template <class... As, class... Bs>
struct JoinInto<Into<As...>, Into<Bs...>> {
  using type = Into<As..., Bs...>;
};
template <class T, class... Rest, unsigned Inlet>
struct SinksOnDevice<Types<Into<T>, Rest...>, Inlet> {
  using Others = SinksOnDevice<Types<Rest...>, Inlet + 1>;
  using type = typename Join<Types<PutOnDevice<T, Inlet>>, typename Others::type>::type;
  using Out = typename JoinInto<Into<T>, typename Others::Out>::type;
};
template <class List>
struct ListOf;
template <class... Ts>
struct ListOf<Types<Ts...>> {
  using type = SinkList<Ts...>;
};

/// Calls `visit` for all sinks of a tree, in the order of declaration.
template <class Child, class Visit>
void for_sinks(Child const& child, Visit&& visit) {
  if constexpr (is_node<Child>) {
    std::apply([&](auto const&... c) { (for_sinks(c, visit), ...); }, child.children);
  } else if constexpr (!is_back<Child>) {
    visit(child);
  }
}
inline void fill_sink(SinkList<>&, unsigned, auto const&) {}
template <class First, class... Rest, class Sink>
void fill_sink(SinkList<First, Rest...>& list, unsigned at, Sink const& sink) {
  if (at != 0) {
    fill_sink(list.rest, at - 1, sink);
    return;
  }
  if constexpr (
      requires { sink.view; } && requires { list.first.full; }) {
    if constexpr (std::is_same_v<typename First::Item, typename Sink::Item>) {
      list.first.data = sink.view.data;
      list.first.size = sink.view.size;
      std::string text("'");
      text.append(sink.name, 0, 40).append("' is full: it holds ").append(std::to_string(sink.view.size));
      std::memcpy(list.first.full, text.c_str(), (std::min)(text.size(), sizeof list.first.full - 1));
    }
  }
}
inline void place_sink(SinkList<>&, SinkWords*) {}
template <class First, class... Rest>
void place_sink(SinkList<First, Rest...>& list, SinkWords* words) {
  if constexpr (requires { list.first.used; }) list.first.used = &words->used;
  place_sink(list.rest, words + 1);
}

}  // namespace detail

}  // namespace hiway::segment
