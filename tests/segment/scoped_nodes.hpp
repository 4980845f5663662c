// Node functions for the tests of scopes in segments, one of each kind, and what a tree of them makes of an item when a
// loop on the CPU calls them.
#pragma once
#include <cstdint>
#include <tuple>

#include "hiway/launch/stage_words.hpp"
#include "hiway/scope/task.hpp"
#include "hiway/segment/tree.hpp"

namespace hiway::segment_test {

using segment::Emit;
using segment::Maybe;

/// An item that knows the place of its scope, and the node that fails it.
struct Thing {
  static constexpr std::uint16_t none = 0xffff;
  std::uint32_t x = 0;
  std::uint16_t place = none;     ///< none: on the CPU
  std::uint16_t fails_at = none;  ///< number of a node
};

HIWAY_DEVICE inline std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}
HIWAY_DEVICE inline Thing made_of(Thing const& t, std::uint32_t k) { return {mixed(t.x * 5 + k), t.place, t.fails_at}; }
/// Node `number` works on the item. False: it is the node at which the item's scope fails, and nothing comes of it.
HIWAY_DEVICE inline bool works_at(std::uint16_t number, Thing const& t) {
  if (t.place != Thing::none && t.place != scope_index()) fail("a node works on an item in another's scope");
  if (t.fails_at != number) return true;
  fail_scope("a node has failed it");
  return false;
}

struct Drops {
  std::uint16_t number;
  HIWAY_DEVICE Maybe<Thing> operator()(Thing const& t) const {
    return works_at(number, t) && t.x % 5 != 0 ? Maybe<Thing>(made_of(t, number)) : Maybe<Thing>::none();
  }
};
struct WideDrops : Drops {
  static constexpr unsigned items_per_lane = 3;
};
struct Spreads {
  std::uint16_t number;
  std::uint32_t most;
  struct Cursor {
    std::uint32_t k, n;
  };
  static constexpr unsigned max_gain = 16;
  HIWAY_DEVICE Cursor start(Thing const& t) const { return {0, works_at(number, t) ? t.x % (most + 1) : 0}; }
  HIWAY_DEVICE bool more(Thing const&, Cursor const& c) const { return c.k != c.n; }
  HIWAY_DEVICE Maybe<Thing> next(Thing const& t, Cursor& c) const {
    (void)works_at(number, t);
    Thing const out = made_of(t, ++c.k);
    return out.x % 7 == 0 ? Maybe<Thing>::none() : Maybe<Thing>(out);
  }
};
struct Counts {
  std::uint16_t number;
  static constexpr unsigned max_gain = 150;
  HIWAY_DEVICE unsigned count(Thing const& t) const {
    return !works_at(number, t) ? 0 : t.x % 32 == 1 ? max_gain : t.x % 5;
  }
  HIWAY_DEVICE Maybe<Thing> at(Thing const& t, unsigned k) const {
    (void)works_at(number, t);
    Thing const out = made_of(t, k);
    return out.x % 7 == 0 ? Maybe<Thing>::none() : Maybe<Thing>(out);
  }
};
template <unsigned lanes>
struct Tiles {
  std::uint16_t number;
  using Input = Thing;
  using Output = Thing;
  static constexpr unsigned lanes_per_item = lanes;
  template <class Tile>
  HIWAY_DEVICE Maybe<Thing> operator()(Tile tile, Thing const& t) const {
    bool const works = works_at(number, t);
    return works && (t.x >> tile.rank() & 3) == 3 ? Maybe<Thing>(made_of(t, tile.rank())) : Maybe<Thing>::none();
  }
};
struct Parts {
  std::uint16_t number;
  HIWAY_DEVICE void operator()(Thing const& t, Emit<Thing>& a, Emit<Thing>& b, Emit<Thing>& c) const {
    if (!works_at(number, t)) return;
    if ((t.x & 1) != 0) a.put(made_of(t, 1));
    if ((t.x & 2) != 0) b.put(made_of(t, 2));
    if ((t.x & 4) != 0) c.put(made_of(t, 3));
  }
};
struct Turns {
  std::uint16_t number;
  HIWAY_DEVICE void operator()(Thing const& t, Emit<Thing>& again, Emit<Thing>& done) const {
    if (!works_at(number, t)) return;
    if (t.x % 8 == 3) done.put(made_of(t, 3));
    if (t.x % 8 != 0) again.put({t.x - 1, t.place, t.fails_at});
  }
};

/// What came of items: how many, and their sum.
struct Came {
  std::uint64_t items = 0;
  std::uint64_t sum = 0;
  bool operator==(Came const&) const = default;
};
/// By the kind of sink: a tunnel, or any other.
struct CameTo {
  Came tunnels, others;
};

struct LaneOfTile {
  unsigned number;
  [[nodiscard]] HIWAY_DEVICE unsigned rank() const { return number; }
};
struct NoLoop {
  void operator()(Thing const&) const {}
};

/// Calls `to(channel, item)` for all that comes of an item by a node's function.
template <class F, class To>
void work_on(F const& f, Thing const& t, To to) {
  using segment::detail::as_maybe;
  constexpr segment::Kind kind = segment::Function<F>::kind;
  auto const put = [&](Maybe<Thing> const& out) {
    if (out.ok) to(0u, out.value);
  };
  if constexpr (kind == segment::Kind::expander) {
    for (auto c = f.start(t); f.more(t, c);) put(as_maybe(f.next(t, c)));
  } else if constexpr (kind == segment::Kind::indexed) {
    unsigned const n = f.count(t);
    for (unsigned k = 0; k != n; ++k) put(as_maybe(f.at(t, k)));
  } else if constexpr (kind == segment::Kind::tile) {
    for (unsigned k = 0; k != F::lanes_per_item; ++k) put(f(LaneOfTile{k}, t));
  } else if constexpr (segment::Function<F>::returns) {
    put(as_maybe(f(t)));
  } else {
    Emit<Thing> out[3];
    if constexpr (segment::Function<F>::channels == 3) f(t, out[0], out[1], out[2]);
    if constexpr (segment::Function<F>::channels == 2) f(t, out[0], out[1]);
    for (unsigned c = 0; c != 3; ++c) {
      if (out[c].ok) to(c, out[c].value);
    }
  }
}
/// The same for a whole tree. `loop(item)`: where back_to leads.
template <class Child, class Loop = NoLoop>
void walk(Child const& child, Thing const& t, CameTo& came, Loop const& loop = {}) {
  if constexpr (segment::detail::is_node<Child>) {
    auto const own = [&](Thing const& again) { walk(child, again, came); };
    work_on(child.function, t, [&](unsigned channel, Thing const& out) {
      unsigned c = 0;
      auto const visit = [&](auto const& to) {
        if (c++ != channel) return;
        if constexpr (segment::detail::is_back<std::remove_cvref_t<decltype(to)>>) {
          own(out);
        } else {
          walk(to, out, came, loop);
        }
      };
      std::apply([&](auto const&... to) { (visit(to), ...); }, child.children);
    });
  } else {
    Came& to = segment::detail::is_tunnel_end<Child> ? came.tunnels : came.others;
    ++to.items;
    to.sum += t.x;
  }
}

}  // namespace hiway::segment_test
