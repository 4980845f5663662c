// Checks at compile time of segments with scopes, with a message for each mistake.
#pragma once
#include <type_traits>

#include "hiway/segment/node.hpp"
#include "hiway/segment/signature.hpp"
#include "hiway/segment/tree.hpp"
#include "hiway/segment/tree_types.hpp"

namespace hiway::segment::detail {

template <class List>
inline constexpr bool some_with_scopes = false;
template <class... Sinks>
inline constexpr bool some_with_scopes<Types<Sinks...>> = (hiway::detail::names_scopes<Sinks> || ...);
template <class List>
inline constexpr bool some_together = false;
template <class... Fs>
inline constexpr bool some_together<Types<Fs...>> =
    ((Function<Fs>::kind == Kind::collective || Function<Fs>::kind == Kind::by_hand) || ...);

/// `has_scopes`: of the segment's source.
template <class Tree, bool has_scopes>
struct CheckScopes {
  using Functions = typename InTree<Tree>::Functions;
  using Signal = typename SignalOf<Functions>::type;
  static constexpr bool fed = has_scopes || !some_with_scopes<typename InTree<Tree>::Sinks>;
  static_assert(fed, "hiway: segment: only a segment that takes its items from a tunnel with scopes may put into one");
  static constexpr bool apart = !has_scopes || !some_together<Functions>;
  static_assert(apart,
                "hiway: segment: with scopes there are no collectives, and no nodes by hand: what their lanes put "
                "together belongs to no single item's scope");
  static constexpr bool of_regions = has_scopes && std::is_same_v<Signal, Boundary>;
  static_assert(!of_regions, "hiway: segment: with scopes there are no regions yet");
  static constexpr bool of_signals = has_scopes && !std::is_void_v<Signal> && !of_regions;
  static_assert(!of_signals, "hiway: segment: with scopes there are no signals: what a node puts for one has no scope");
  static constexpr bool ok = fed && apart && !of_regions && !of_signals;
};

}  // namespace hiway::segment::detail
