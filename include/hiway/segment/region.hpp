// Regions: an item, the parent, is opened into a stream of elements. All elements of the region have this parent.
//
//   chain(enumerate("lines", Characters{text}),     // opens each line: count(line) elements, at(line, k)
//         node("words", Words{}),                   // Maybe<Word> operator()(char const&, Line const& parent) const
//         aggregate("longest", Longest{}),          // closes it: one value of all words of a line
//         store("out", out))
//
// The opener of a region puts a mark (marks.hpp) before its first element and behind its last one. The mark says where
// the parent lies in the replica's arena. An arena is a ring: regions are freed in the order in which they were opened.
// A region is freed when its mark has reached the end of each channel on which the region ends: an aggregate, or a
// sink. The context of a node is how its lanes know the parents of their items:
//
//   sparse   no ensemble spans a mark, so all lanes have the same parent
//   lane     ensembles span marks; each lane finds the last mark before its item. Nothing is stored beside the item
//   dense    each item has a tag of two bytes beside it, the parent's place. So expanders may mix the items of several
//            regions
//
//   what          written by                                   read by
//   ArenaState    the opener's first lane; the first lane      the opener
//                 of a node where regions end
//   heads         the lane that opens a region; the lanes      the same, and lanes that look for an outer parent
//                 that close it
//   parents       the lane that opens a region                 every node of the region
//   values        an aggregate's lanes, one for a region       the lane that closes it
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/launch/stage_words.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// A region's entry in its arena.
struct RegionHead {
  std::uint16_t ends = 0;                ///< number of channels on which it has not been closed yet
  std::uint16_t outer = Boundary::none;  ///< the region that its parent lies in
};

namespace detail {

/// An arena's ring in one replica.
struct ArenaState {
  std::uint32_t next = 0;  ///< where the next parent goes
  std::uint32_t live = 0;
};

template <class F>
struct Opens : F {
  using OpensRegionsOf = typename Signature<decltype(&F::at)>::Item;
  using State = ArenaState;
  HIWAY_DEVICE void init(State& state) const { state = {}; }
  HIWAY_DEVICE void finish(State& state) const {
    if (state.live != 0) fail("segment: regions are left open");
  }
};
template <class F>
struct Closes : F {
  using ClosesRegionsOf = typename Signature<decltype(&F::close)>::Item;
};

/// One lane's parents, the innermost first.
template <class List>
struct ParentList;
template <>
struct ParentList<Types<>> {
  template <class Call, class... Before>
  HIWAY_DEVICE decltype(auto) apply(Call&& call, Before const&... before) const {
    return call(before...);
  }
};
template <class P, class... Rest>
struct ParentList<Types<P, Rest...>> {
  P const* first;
  ParentList<Types<Rest...>> rest;
  template <class Call, class... Before>
  HIWAY_DEVICE decltype(auto) apply(Call&& call, Before const&... before) const {
    return rest.apply(call, before..., *first);
  }
};

/// A node function bound to the parents that it takes after its item, and its cursor or number.
template <class F, class List>
struct Bound {
  F const& f;
  ParentList<List> parents;
  /// Whether a member takes the parents, after its item and its cursor or number.
  template <class Member>
  static constexpr bool asks = Signature<Member>::Others::count > 1;

  template <class In, class... Emits>
  HIWAY_DEVICE auto operator()(In const& item, Emits&... emits) const {
    return parents.apply([&](auto const&... p) { return f(item, p..., emits...); });
  }
  template <class In>
  HIWAY_DEVICE auto start(In const& item) const {
    return parents.apply([&](auto const&... p) { return f.start(item, p...); });
  }
  template <class In, class Cursor>
  HIWAY_DEVICE bool more(In const& item, Cursor const& cursor) const {
    return parents.apply([&](auto const&... p) {
      if constexpr (asks<decltype(&F::more)>) {
        return f.more(item, cursor, p...);
      } else {
        return f.more(item, cursor);
      }
    });
  }
  template <class In, class Cursor>
  HIWAY_DEVICE auto next(In const& item, Cursor& cursor) const {
    return parents.apply([&](auto const&... p) {
      if constexpr (asks<decltype(&F::next)>) {
        return f.next(item, cursor, p...);
      } else {
        return f.next(item, cursor);
      }
    });
  }
  template <class In>
  HIWAY_DEVICE unsigned count(In const& item) const {
    return parents.apply([&](auto const&... p) { return f.count(item, p...); });
  }
  template <class In>
  HIWAY_DEVICE auto at(In const& item, unsigned k) const {
    return parents.apply([&](auto const&... p) {
      if constexpr (asks<decltype(&F::at)>) {
        return f.at(item, k, p...);
      } else {
        return f.at(item, k);
      }
    });
  }
  template <class In>
  HIWAY_DEVICE auto value(In const& item) const {
    return parents.apply([&](auto const&... p) { return f.value(item, p...); });
  }
};

}  // namespace detail

/// The region of a lane's item: its place in the arena; none if the item is in no region.
struct InRegion {
  std::uint16_t region = Boundary::none;
};

}  // namespace hiway::segment
