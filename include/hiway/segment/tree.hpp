// The tree of a segment as a user declares it: nodes with their children, chains, sinks and loops.
//
//   node("row 4", Place{18}, count<Board>("solutions"))
//   chain(node("row 4", Place{18}), node("row 5", Place{18}), count<Board>("solutions"))
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "hiway/memory.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

/// A channel's end that leads back to the ancestor named by Tag: a loop.
template <class Tag>
struct BackTo {};
template <class Tag>
[[nodiscard]] BackTo<Tag> back_to() {
  return {};
}

/// A sink that counts items, and does not keep them.
template <class T>
struct CountSink {
  using Item = T;
  std::string name;
};
template <class T>
[[nodiscard]] CountSink<T> count(std::string_view name) {
  return {std::string(name)};
}
/// A sink that stores items in a buffer, in no particular order. More items than it holds end the run with an error.
template <class T>
struct StoreSink {
  using Item = T;
  std::string name;
  View<T> view;
};
template <class T>
[[nodiscard]] StoreSink<T> store(std::string_view name, Buffer<T>& buffer) {
  return {std::string(name), buffer.view()};
}

/// A node with what its channels lead to: other nodes, sinks, into(tunnel), back_to<Tag>().
template <class Tag, class F, class... Children>
struct Node {
  using Name = Tag;
  using Callable = F;
  std::string name;
  F function;
  NodeOptions options;
  std::tuple<Children...> children;
};

/// A chain of nodes whose functions have one type. Its length is known only at run time; it is not empty.
template <class F, class Child>
struct Repeat {
  using Callable = F;
  std::vector<std::tuple<std::string, F, NodeOptions>> nodes;
  std::tuple<Child> children;
};

namespace detail {

template <class T>
inline constexpr bool is_node = false;
template <class F, class Child>
inline constexpr bool is_node<Repeat<F, Child>> = true;
template <class Tag, class F, class... Children>
inline constexpr bool is_node<Node<Tag, F, Children...>> = true;
template <class T>
inline constexpr bool is_back = false;
template <class Tag>
inline constexpr bool is_back<BackTo<Tag>> = true;
template <class T>
inline constexpr bool is_tunnel_end = false;
template <class T>
inline constexpr bool is_tunnel_end<Into<T>> = true;

/// The type of item that a child takes; void for a loop's end, which is checked from the root.
template <class Child>
struct Takes {
  using type = typename Child::Item;
};
template <class Tag, class F, class... Children>
struct Takes<Node<Tag, F, Children...>> {
  using type = typename Function<F>::In;
};
template <class F, class Child>
struct Takes<Repeat<F, Child>> {
  using type = typename Function<F>::In;
};
template <class Tag>
struct Takes<BackTo<Tag>> {
  using type = void;
};
template <class T>
struct Takes<Into<T>> {
  using type = ItemOf<T>;
};

template <class Child>
inline constexpr bool of_no_kind = false;
template <class Tag, class F, class... Children>
inline constexpr bool of_no_kind<Node<Tag, F, Children...>> = !Function<F>::known;

/// Whether a child takes Items. If its own function is refused, it takes anything: one mistake gives one error.
template <class Child, class Item>
inline constexpr bool takes = is_back<Child> || of_no_kind<Child> || std::is_same_v<typename Takes<Child>::type, Item>;

/// Checks one node, with a message for each mistake. `ok`: there was none; otherwise checks that depend on the node are
/// skipped.
template <class F, class... Children>
struct CheckNode {
  using Fn = Function<F>;
  static_assert(std::is_trivially_copyable_v<F>,
                "hiway: segment: a node function is copied to the device and must be trivially copyable");
  static_assert(Fn::known,
                "hiway: segment: the node function is of no kind: give it operator() (filter), start, more and next "
                "(expander), count and at (indexed expander), or Input, Output, max_gain and operator() (collective)");
  static_assert(Fn::lanes_per_item == 1 || Fn::lanes_per_item == 2 || Fn::lanes_per_item == 4 ||
                    Fn::lanes_per_item == 8 || Fn::lanes_per_item == 16 || Fn::lanes_per_item == 32,
                "hiway: segment: lanes_per_item is 2, 4, 8, 16 or 32");
  static_assert(Fn::items_per_lane == 1 ||
                    (Fn::items_per_lane >= 1 && Fn::items_per_lane <= 8 && (Fn::returns || Fn::facts.opens)),
                "hiway: segment: items_per_lane is 1 to 8, of a filter that returns its item, or of enumerate");
  static constexpr bool whole = Fn::known && Fn::channels == sizeof...(Children);
  static_assert(
      !Fn::known || whole,
      "hiway: segment: a node has one child for each channel of its function: a node, a sink, into(tunnel) or "
      "back_to<Tag>()");
  static_assert(!Fn::known || Fn::channels <= most_channels, "hiway: segment: a node has at most 4 channels");
  template <std::size_t... C>
  static constexpr bool fits(std::index_sequence<C...>) {
    return (takes<Children, typename Fn::template Out<C>> && ...);
  }
  static constexpr bool typed = [] {
    if constexpr (whole) {
      return fits(std::index_sequence_for<Children...>{});
    } else {
      return true;
    }
  }();
  static_assert(typed, "hiway: segment: a child takes another type of item than its channel gives");
  static constexpr bool one_signal = std::is_void_v<typename Fn::Heard> || std::is_void_v<typename Fn::Raised> ||
                                     std::is_same_v<typename Fn::Heard, typename Fn::Raised>;
  static_assert(one_signal, "hiway: segment: a node function hears another type of signal than it raises");
  static constexpr bool ok =
      whole && typed && one_signal && Fn::channels <= most_channels && std::is_trivially_copyable_v<F>;
};

}  // namespace detail

/// A node of the tree. `Tag`: a type that names it for back_to<Tag>().
template <class Tag = void, class F, class... Children>
[[nodiscard]] auto node(std::string_view name, F function, NodeOptions options, Children... children) {
  static_assert(sizeof(detail::CheckNode<F, Children...>) != 0);  // gives its messages
  return Node<Tag, F, Children...>{std::string(name), function, options, {std::move(children)...}};
}

/// A node that chain() has yet to give its child.
template <class Tag, class F>
struct OpenNode {
  std::string name;
  F function;
  NodeOptions options;
};
template <class Tag = void, class F>
[[nodiscard]] OpenNode<Tag, F> node(std::string_view name, F function) {
  return {std::string(name), function, {}};
}
template <class Tag = void, class F>
[[nodiscard]] OpenNode<Tag, F> node(std::string_view name, F function, NodeOptions options) {
  return {std::string(name), function, options};
}
template <class Tag = void, class F, class First, class... Children>
requires(!std::is_same_v<First, NodeOptions>)
    [[nodiscard]] auto node(std::string_view name, F function, First first, Children... children) {
  return node<Tag>(name, function, NodeOptions{}, std::move(first), std::move(children)...);
}

/// A node that opens each item into its elements: a region (region.hpp). F: an indexed expander. Its items_per_lane, up
/// to 8, is the number of elements that a lane makes at once. `rest`: options and child, as for node().
template <class F, class... Rest>
[[nodiscard]] auto enumerate(std::string_view name, F function, Rest... rest) {
  return node(name, detail::Opens<F>{function}, std::move(rest)...);
}
/// A node that closes the regions of the innermost enumerate() above it, with one value of all items of each. F, where
/// V is trivially copyable:
///   V identity() const;  V value(In const&) const
///   V join(V const&, V const&) const                           called in any order
///   Out close(Parent const&, V const&) const, or Maybe<Out>    called once for each region
template <class F, class... Rest>
[[nodiscard]] auto aggregate(std::string_view name, F function, Rest... rest) {
  return node(name, detail::Closes<F>{function}, std::move(rest)...);
}

/// A chain of nodes whose length is known at run time.
template <class F>
struct OpenRepeat {
  std::vector<std::tuple<std::string, F, NodeOptions>> nodes;
};
/// For chain(): each node leads to the next, and the last one to what follows. *Throws* ConfigError if there are none.
template <class F>
[[nodiscard]] OpenRepeat<F> repeat(std::vector<OpenNode<void, F>> const& nodes) {
  static_assert(std::is_same_v<typename Function<F>::In, typename Function<F>::template Out<0>>,
                "hiway: segment: repeat: the function takes another type of item than it gives");
  if (nodes.empty()) throw ConfigError("segment: repeat: there is no node");
  OpenRepeat<F> all;
  for (auto const& n : nodes) all.nodes.emplace_back(n.name, n.function, n.options);
  return all;
}

/// A chain: each node leads to the next. The last argument is a whole child: a node with children, or a sink.
template <class Last>
[[nodiscard]] Last chain(Last last) {
  return last;
}
template <class Tag, class F, class... Rest>
requires(sizeof...(Rest) > 0) [[nodiscard]] auto chain(OpenNode<Tag, F> first, Rest... rest) {
  return node<Tag>(first.name, first.function, first.options, chain(std::move(rest)...));
}

template <class F, class... Rest>
requires(sizeof...(Rest) > 0) [[nodiscard]] auto chain(OpenRepeat<F> first, Rest... rest) {
  auto child = chain(std::move(rest)...);
  static_assert(detail::CheckNode<F, decltype(child)>::ok);
  return Repeat<F, decltype(child)>{std::move(first.nodes), {std::move(child)}};
}

}  // namespace hiway::segment
