// Checks of a whole tree at compile time, with a message for each mistake. tree.hpp checks single nodes.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/signature.hpp"
#include "hiway/segment/tree.hpp"
#include "hiway/segment/tree_types.hpp"

namespace hiway::segment {

namespace detail {

/// The nodes and loops of a tree, for checks at compile time.
struct TreeShape {
  bool nodes_ok = true;
  unsigned nodes = 0;
  int parent[most_nodes + 1] = {};
  void const* tag[most_nodes + 1] = {};
  bool one_at_most[most_nodes + 1] = {};
  unsigned backs = 0;
  int back_from[most_nodes + 1] = {};
  void const* back_to[most_nodes + 1] = {};
};
template <class Child>
struct Walk {
  static constexpr void into(TreeShape&, int) {}
};
template <class Tag>
struct Walk<BackTo<Tag>> {
  static constexpr void into(TreeShape& s, int parent) {
    if (s.backs > most_nodes) return;
    s.back_from[s.backs] = parent;
    s.back_to[s.backs++] = &tag_id<Tag>;
  }
};
template <class Tag, class F, class... Children>
struct Walk<Node<Tag, F, Children...>> {
  static constexpr void into(TreeShape& s, int parent) {
    s.nodes_ok = s.nodes_ok && CheckNode<F, Children...>::ok;
    if (s.nodes > most_nodes) return;
    auto const own = static_cast<int>(s.nodes++);
    s.parent[own] = parent;
    s.tag[own] = std::is_void_v<Tag> ? nullptr : &tag_id<Tag>;
    s.one_at_most[own] = Function<F>::known && !Function<F>::facts.spreads;
    (Walk<Children>::into(s, own), ...);
  }
};
template <class F, class Child>
struct Walk<Repeat<F, Child>> : Walk<Node<void, F, Child>> {};
enum class TreeFault { none, too_many, tag_twice, no_ancestor, crossing, gain };
constexpr TreeFault fault_of(TreeShape const& s) {
  if (s.nodes > most_nodes) return TreeFault::too_many;
  for (unsigned a = 0; a != s.nodes; ++a) {
    for (unsigned b = 0; b != a; ++b) {
      if (s.tag[a] != nullptr && s.tag[a] == s.tag[b]) return TreeFault::tag_twice;
    }
  }
  bool looped[most_nodes] = {};
  for (unsigned k = 0; k != s.backs; ++k) {
    int head = s.back_from[k];
    while (head >= 0 && s.tag[head] != s.back_to[k]) head = s.parent[head];
    if (head < 0) return TreeFault::no_ancestor;
    for (int n = s.back_from[k];; n = s.parent[n]) {
      if (looped[n]) return TreeFault::crossing;
      looped[n] = true;
      if (!s.one_at_most[n]) return TreeFault::gain;
      if (n == head) break;
    }
  }
  return TreeFault::none;
}
/// The type of item that the node with `Tag` takes: a loop's end must give this type.
template <class Tree, class Tag>
struct Tagged {
  using In = void;
};
template <class A, class B>
using Either = std::conditional_t<std::is_void_v<A>, B, A>;
template <class Tag, class... Trees>
struct FirstTagged {
  using In = void;
};
template <class Tag, class T, class... Ts>
struct FirstTagged<Tag, T, Ts...> {
  using In = Either<typename Tagged<T, Tag>::In, typename FirstTagged<Tag, Ts...>::In>;
};
template <class Own, class F, class... Children, class Tag>
struct Tagged<Node<Own, F, Children...>, Tag> {
  using In = std::conditional_t<std::is_same_v<Own, Tag>, typename Function<F>::In,
                                typename FirstTagged<Tag, Children...>::In>;
};
template <class F, class Child, class Tag>
struct Tagged<Repeat<F, Child>, Tag> : Tagged<Node<void, F, Child>, Tag> {};
template <class Root, class Child, class Out>
inline constexpr bool closes = true;
template <class Root, class Tag, class Out>
inline constexpr bool closes<Root, BackTo<Tag>, Out> =
    std::is_void_v<typename Tagged<Root, Tag>::In> || std::is_same_v<typename Tagged<Root, Tag>::In, Out>;
template <class Root, class Tree>
struct LoopTypes {
  static constexpr bool ok = true;
};
template <class Root, class Tag, class F, class... Children>
struct LoopTypes<Root, Node<Tag, F, Children...>> {
  template <std::size_t... C>
  static constexpr bool each(std::index_sequence<C...>) {
    return ((closes<Root, Children, typename Function<F>::template Out<C>> && LoopTypes<Root, Children>::ok) && ...);
  }
  static constexpr bool ok = each(std::index_sequence_for<Children...>{});
};

template <class Root, class F, class Child>
struct LoopTypes<Root, Repeat<F, Child>> : LoopTypes<Root, Node<void, F, Child>> {};

/// Faults in the regions of a tree. `Open` below: the types of the open regions' parents, the innermost first.
enum class RegionFault { none, closes_nothing, closes_another, parents };
template <class Some, class All>
inline constexpr bool begins_with = false;
template <class... All>
inline constexpr bool begins_with<Types<>, Types<All...>> = true;
template <class T, class... Some, class... All>
inline constexpr bool begins_with<Types<T, Some...>, Types<T, All...>> = begins_with<Types<Some...>, Types<All...>>;
template <class F, class Open>
constexpr bool hooks_fit() {
  if constexpr (HearsBegin<F>) {
    if (!begins_with<Types<typename Signature<decltype(&F::begin)>::Item>, Open>) return false;
  }
  if constexpr (HearsEnd<F>) return begins_with<Types<typename Signature<decltype(&F::end)>::Item>, Open>;
  return true;
}
template <class Child, class Open>
struct CheckRegions {
  static constexpr RegionFault fault = RegionFault::none;
};
template <class F, class Open>
struct Inside {
  using Within = Open;  ///< the parents' types for its children
};
template <class F, class... Open>
requires(Function<F>::facts.opens) struct Inside<F, Types<Open...>> {
  using Within = Types<typename Function<F>::In, Open...>;
};
template <class F, class First, class... Open>
requires(Function<F>::facts.closes) struct Inside<F, Types<First, Open...>> {
  using Within = Types<Open...>;
};
template <class F, class Open, class... Children>
constexpr RegionFault region_fault() {
  if constexpr (Function<F>::facts.closes) {
    if (Open::count == 0) return RegionFault::closes_nothing;
    if (!begins_with<Types<typename Function<F>::Parent>, Open>) return RegionFault::closes_another;
  }
  if (!begins_with<typename Function<F>::Parents, Open> || !hooks_fit<F, Open>()) return RegionFault::parents;
  RegionFault fault = RegionFault::none;
  using Within = typename Inside<F, Open>::Within;
  ((fault = fault == RegionFault::none ? CheckRegions<Children, Within>::fault : fault), ...);
  return fault;
}
template <class Tag, class F, class... Children, class Open>
struct CheckRegions<Node<Tag, F, Children...>, Open> {
  static constexpr RegionFault fault = region_fault<F, Open, Children...>();
};
template <class F, class Child, class Open>
struct CheckRegions<Repeat<F, Child>, Open> : CheckRegions<Node<void, F, Child>, Open> {};

template <class Tree>
struct CheckTree {
  static constexpr TreeShape shape = [] {
    TreeShape s;
    Walk<Tree>::into(s, -1);
    return s;
  }();
  static constexpr TreeFault fault = fault_of(shape);
  static_assert(fault != TreeFault::too_many, "hiway: segment: at most 32 nodes");
  static_assert(fault != TreeFault::tag_twice,
                "hiway: segment: two nodes have the same tag: one path leads to each node of a segment");
  static_assert(fault != TreeFault::no_ancestor, "hiway: segment: back_to<Tag>() leads to no ancestor of its node");
  static_assert(fault != TreeFault::crossing, "hiway: segment: loops neither nest nor overlap");
  static_assert(
      fault != TreeFault::gain,
      "hiway: segment: the nodes of a loop are filters: each puts at most one item into the loop for one it takes");
  static constexpr bool typed = [] {
    if constexpr (fault == TreeFault::none && shape.nodes_ok) {
      return LoopTypes<Tree, Tree>::ok;
    } else {
      return true;
    }
  }();
  static_assert(typed, "hiway: segment: back_to<Tag>() gives another type of item than the loop's first node takes");
  using Signals = SignalOf<typename InTree<Tree>::Functions>;
  static_assert(Signals::agree, "hiway: segment: all nodes of a segment hear and raise one type of signal");
  static constexpr bool ordered = shape.backs == 0 || std::is_void_v<typename Signals::type>;
  static_assert(ordered, "hiway: segment: a segment with signals has no loops: they do not keep the order of items");
  static constexpr RegionFault regions = [] {
    if constexpr (fault == TreeFault::none && shape.nodes_ok) {
      return CheckRegions<Tree, Types<>>::fault;
    } else {
      return RegionFault::none;
    }
  }();
  static_assert(regions != RegionFault::closes_nothing, "hiway: segment: aggregate: no enumerate above it is open");
  static_assert(regions != RegionFault::closes_another,
                "hiway: segment: aggregate: close takes another type of parent than the innermost enumerate opens");
  static_assert(
      regions != RegionFault::parents,
      "hiway: segment: a node function takes parents that are not those of the regions it is in, the innermost first");
  static constexpr bool ok =
      typed && ordered && Signals::agree && fault == TreeFault::none && shape.nodes_ok && regions == RegionFault::none;
};

}  // namespace detail

}  // namespace hiway::segment
