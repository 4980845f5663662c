// Regions: an item that is opened into a stream of elements, and what holds for all of them: their parent.
//
//   chain(enumerate("lines", Characters{text}),     // opens each line: count(line) elements, at(line, k)
//         node("words", Words{}),                   // Maybe<Word> operator()(char const&, Line const& parent) const
//         aggregate("longest", Longest{}),          // closes it: one value of all that is left of a line's elements
//         store("out", out))
//
// What opens a region puts a mark before its first element and behind its last one (marks.hpp), which says where its parent
// lies in the arena of the replica. An arena is a ring: regions are freed in the order in which they were opened, when the mark
// has reached the end of each channel on which the region ends: an aggregate, or a sink. How a lane knows the parent of its
// item, the node's context:
//
//   sparse   no ensemble spans a mark: all lanes have the same parent
//   lane     ensembles span marks: each lane finds the last one before its item. Nothing is stored beside the item
//   dense    the parent's place lies beside each item, as a tag of two bytes. Expanders may then mix the items of several regions
//
//   what          written by                                   read by
//   ArenaState    the opener's first lane; where regions       the opener
//                 end, likewise
//   heads         the lane that opens a region; those that     the same, and who is asked for an outer parent
//                 close it
//   parents       the lane that opens a region                 every node of the region
//   values        an aggregate's lanes, one for a region       the lane that closes it
#pragma once
#include <cstdint>
#include <type_traits>

#include "hiway/launch/stage_words.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// How a lane knows the parent of its item. automatic: lane. Of an expander, which cannot: dense where fewer items of a region come
/// to it than it has lanes; else sparse. How many came is counted in each run, for the next one; before the first, by
/// NodeOptions::gain of the nodes before it.
enum class Context : std::uint8_t { automatic, sparse, dense, lane };

/// Of a region in its arena.
struct RegionHead {
  std::uint16_t ends = 0;                ///< channels on which it has not been closed
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

/// A node function with the parents that it takes behind its other arguments.
template <class F, class List>
struct Bound {
  F const& f;
  ParentList<List> parents;
  /// Whether a member takes them behind its item and its cursor or number.
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

/// How an item moves among regions: where a lane's item lies in its arena, or nothing where the segment has no regions.
struct InRegion {
  std::uint16_t region = Boundary::none;
};

}  // namespace hiway::segment
