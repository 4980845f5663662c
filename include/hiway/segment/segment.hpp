// Segment: a tree of nodes that runs inside one persistent kernel. It takes items from a tunnel, a buffer or a range,
// and puts items into tunnels and buffers. Here are the user's declarations, their checks at compile time, and the
// stage that a segment becomes.
//
//   auto rows = chain(node("row 4", Place{18}), node("row 5", Place{18}), count<Board>("solutions"));
//   auto& queens = pipe.add_segment("queens", load(boards), rows);
//   pipe.run();
//   queens.items("solutions");
//
// node.hpp: what a node function is. scheduler.hpp: how it runs. docs/segments.md: a worked example.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/memory.hpp"
#include "hiway/persistent.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/region.hpp"
#include "hiway/segment/replica.hpp"
#include "hiway/segment/sizing.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

/// What forms a replica, which runs a copy of the tree with queues of its own: a block, or each warp of a block.
enum class ReplicaOf : std::uint8_t { block, warp };

/// How the lanes of an expander are kept busy. lanes: a lane that has put all outputs of its item takes the next item;
/// when the node is left, items and cursors of all lanes are kept. ensembles: all lanes take items together, and wait
/// for each other (MERCATOR's way; then every node has ceil(items / lanes) ensembles).
enum class Refill : std::uint8_t { lanes, ensembles };

/// What a segment's kernel is compiled for.
struct Shape {
  ReplicaOf replica = ReplicaOf::block;
  Refill refill = Refill::lanes;
  bool counters = false;  ///< whether it counts for Segment::counters()
};

/// SegmentConfig::lend_after: replicas never lend.
inline constexpr std::chrono::nanoseconds never = (std::chrono::nanoseconds::max)();

/// Settings of one segment. 0: the library chooses.
struct SegmentConfig {
  unsigned blocks = 0;             ///< 0: as many as the device holds at once
  unsigned threads_per_block = 0;  ///< whole warps
  int device = -1;                 ///< as GpuStageOptions::device
  /// Bytes for all queues and saved cursors of all replicas (sizing.hpp). queue_bytes is never exceeded: less than they
  /// need is refused (ConfigError). queue_target_bytes is shared out by the law alone, and what queues need beyond
  /// their shares comes on top. If both are 0, each queue has 8 slots per lane, or the least that it needs if that is
  /// more.
  std::size_t queue_bytes = 0;
  std::size_t queue_target_bytes = 0;
  std::size_t shared_bytes = 0;  ///< shared memory of a block, which holds queues as long as they fit
  /// Signals that a queue holds, in a segment with signals; 0: two for each lane.
  unsigned signal_slots = 0;
  Context context = Context::automatic;  ///< of nodes in regions that do not set their own (region.hpp)
  /// Parents that an arena holds; 0: as many as all queues inside have slots for marks, and one for each lane.
  unsigned region_slots = 0;
  unsigned least_claim = 0;  ///< least items of a range that a replica claims at once; 0: one for each lane
  unsigned most_claim = 0;   ///< most items that a replica claims at once
  /// When a range has ended, replicas without work take some from others that have worked for so long. In shorter runs
  /// this costs more than it saves: it takes letters, and ensembles are less full.
  std::chrono::nanoseconds lend_after = std::chrono::milliseconds(1);
  /// For tests: bytes before and behind each queue and each node's cursors, which nothing may write. With them, all
  /// queues and cursors lie in device memory, and the bytes are checked at the end of each run. *Errors*: Error, which
  /// names the node.
  unsigned guard_bytes = 0;
};

/// Options of one node of the tree.
struct NodeOptions {
  /// Whether an expander may be left between two outputs. If not, its child's queue has room for all that an ensemble
  /// may give: max_gain items for each lane.
  bool interruptible = true;
  double gain = 1;  ///< average number of items that one item gives; used to size queues and to choose contexts
  /// Slots of its input queue; 0: by SegmentConfig::queue_bytes. *Errors*: fewer than the least.
  std::uint32_t queue_slots = 0;
  /// Of a node in a region: how its lanes know their parents. If its kind does not support the context, it is sparse.
  /// Expanders do not support lane, and support dense only if all nodes after them in the region do. Collectives, tiles
  /// and filters of several items a lane are always sparse.
  Context context = Context::automatic;
  unsigned region_slots = 0;  ///< of an enumerate: parents that its arena holds; 0: by SegmentConfig::region_slots
};

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
  using type = T;
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
  static_assert(Fn::items_per_lane == 1 || (Fn::items_per_lane >= 1 && Fn::items_per_lane <= 8 &&
                                            (Fn::returns || Fn::kind == Kind::enumerate)),
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

// ---- sources

/// A source that makes items from their numbers, from 0 on.
template <class T, class Make>
struct Range {
  using Item = T;
  static constexpr bool is_range = true;
  std::uint64_t size = 0;
  Make make;
  HIWAY_DEVICE T item(std::uint64_t i) const { return make(i); }
};
template <class T>
struct MakeIndex {
  HIWAY_DEVICE T operator()(std::uint64_t i) const { return static_cast<T>(i); }
};
template <class T>
struct MakeLoad {
  T const* data = nullptr;
  HIWAY_DEVICE T operator()(std::uint64_t i) const { return data[i]; }
};
/// The numbers 0 to n - 1. *Throws* ConfigError if T does not hold them.
template <class T = std::uint32_t>
[[nodiscard]] Range<T, MakeIndex<T>> indices(std::uint64_t n) {
  if (n != 0 && static_cast<std::uint64_t>(static_cast<T>(n - 1)) != n - 1)
    throw ConfigError("segment: indices: the item type does not hold " + std::to_string(n - 1));
  return {n, {}};
}
/// The first `n` items of a buffer, or all.
template <class T>
[[nodiscard]] Range<T, MakeLoad<T>> load(Buffer<T>& buffer) {
  return {buffer.size(), {buffer.view().data}};
}
template <class T>
[[nodiscard]] Range<T, MakeLoad<T>> load(Buffer<T>& buffer, std::uint64_t n) {
  check_buffer_range(0, n, buffer.size());
  return {n, {buffer.view().data}};
}
/// The items `make(i)` for i from 0 to n - 1. `make` has `T operator()(std::uint64_t) const`, HIWAY_DEVICE.
template <class Make>
[[nodiscard]] auto generate(std::uint64_t n, Make make) {
  static_assert(std::is_trivially_copyable_v<Make>,
                "hiway: segment: generate: the function must be trivially copyable");
  return Range<std::remove_cvref_t<std::invoke_result_t<Make const&, std::uint64_t>>, Make>{n, make};
}
/// A source that takes a tunnel's items.
template <class T>
struct TunnelSource {
  using Item = T;
  static constexpr bool is_range = false;
};

namespace detail {

template <class Source>
struct SourceTraits {
  using OnDevice = Source;
  using In = From<>;
  static In ends(Source const&) { return From<>(NoTunnels{}); }
  static OnDevice device(Source const& s) { return s; }
};
template <class T>
struct SourceTraits<From<T>> {
  using OnDevice = TunnelSource<T>;
  using In = From<T>;
  static In ends(From<T> const& s) { return s; }
  static OnDevice device(From<T> const&) { return {}; }
};

// ---- sinks on the device

template <class T>
struct CountOnDevice {
  using Item = T;
  template <class Replica>
  HIWAY_DEVICE void put(Replica&, T const&, bool, Tally const&) const {}
};
template <class T>
struct StoreOnDevice {
  using Item = T;
  T* data = nullptr;
  std::uint64_t size = 0;
  Word<std::uint64_t>* used = nullptr;
  char full[96] = {};  ///< the error's text
  template <class Replica>
  HIWAY_DEVICE void put(Replica& r, T const& item, bool brings, Tally const& tally) const {
    if (tally.all == 0) return;
    auto const m = r.lanes.machine();
    std::uint64_t base = 0;
    if (r.lanes.rank() == 0) base = m.fetch_add(*used, static_cast<std::uint64_t>(tally.all), Order::relaxed);
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
  using Item = T;
  template <class Replica>
  HIWAY_DEVICE void put(Replica& r, T const& item, bool brings, Tally const&) const {
    auto const m = r.lanes.machine();
    hiway::detail::put_together(m, r.inlets[Inlet], m.lanes(), brings, WriteItem<T>{item});
    leave_if_aborted(m, *r.program.control);
  }
};

template <class... Sinks>
struct SinkList;
template <>
struct SinkList<> {
  static constexpr unsigned count = 0;
  template <class T, class Replica>
  HIWAY_DEVICE void put(Replica&, unsigned, T const&, bool, Tally const&) const {}
};
template <class First, class... Rest>
struct SinkList<First, Rest...> {
  static constexpr unsigned count = 1 + sizeof...(Rest);
  First first;
  SinkList<Rest...> rest;
  template <class T, class Replica>
  HIWAY_DEVICE void put(Replica& r, unsigned sink, T const& item, bool brings, Tally const& tally) const {
    if constexpr (std::is_same_v<T, typename First::Item>) {
      if (sink == 0) {
        first.put(r, item, brings, tally);
        return;
      }
    }
    rest.template put<T>(r, sink - 1, item, brings, tally);
  }
};

// ---- facts from the tree's types

template <class... Lists>
struct Join;
template <>
struct Join<> {
  using type = Types<>;
};
template <class... Ts>
struct Join<Types<Ts...>> {
  using type = Types<Ts...>;
};
template <class... As, class... Bs, class... More>
struct Join<Types<As...>, Types<Bs...>, More...> : Join<Types<As..., Bs...>, More...> {};

/// The types of the node functions in a tree, from the root down, and of its sinks.
template <class Child>
struct InTree {
  using Functions = Types<>;
  using Sinks = Types<Child>;
};
template <class Tag>
struct InTree<BackTo<Tag>> {
  using Functions = Types<>;
  using Sinks = Types<>;
};
template <class Tag, class F, class... Children>
struct InTree<Node<Tag, F, Children...>> {
  using Functions = typename Join<Types<F>, typename InTree<Children>::Functions...>::type;
  using Sinks = typename Join<Types<>, typename InTree<Children>::Sinks...>::type;
};

template <class F, class Child>
struct InTree<Repeat<F, Child>> {
  using Functions = typename Join<Types<F, F>, typename InTree<Child>::Functions>::type;
  using Sinks = typename InTree<Child>::Sinks;
};

template <class List, class Seen = Types<>>
struct Unique;
template <class... Seen>
struct Unique<Types<>, Types<Seen...>> {
  using type = Types<Seen...>;
};
template <class T, class... Ts, class... Seen>
struct Unique<Types<T, Ts...>, Types<Seen...>>
    : Unique<Types<Ts...>, std::conditional_t<(std::is_same_v<T, Seen> || ...), Types<Seen...>, Types<Seen..., T>>> {};

template <class T, class List>
inline constexpr unsigned times_in = 0;
template <class T, class... Ts>
inline constexpr unsigned times_in<T, Types<Ts...>> = (0u + ... + (std::is_same_v<T, Ts> ? 1u : 0u));
template <class T, class List>
inline constexpr unsigned place_in = 0;
template <class T, class First, class... Ts>
inline constexpr unsigned place_in<T, Types<First, Ts...>> =
    std::is_same_v<T, First> ? 0u : 1u + place_in<T, Types<Ts...>>;

/// The type of signal that functions hear and raise; void if none does. `agree`: they have at most one such type.
template <class List>
struct SignalOf;
template <>
struct SignalOf<Types<>> {
  using type = void;
  static constexpr bool agree = true;
};
template <class F, class... Fs>
struct SignalOf<Types<F, Fs...>> {
  using own = typename Function<F>::Signal;
  using others = typename SignalOf<Types<Fs...>>::type;
  using type = std::conditional_t<std::is_void_v<own>, others, own>;
  static constexpr bool agree =
      SignalOf<Types<Fs...>>::agree && (std::is_void_v<own> || std::is_void_v<others> || std::is_same_v<own, others>);
};

template <class Tag>
inline constexpr char tag_id{};

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
    s.one_at_most[own] = Function<F>::kind == Kind::filter;
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
requires(Function<F>::kind == Kind::enumerate) struct Inside<F, Types<Open...>> {
  using Within = Types<typename Function<F>::In, Open...>;
};
template <class F, class First, class... Open>
requires(Function<F>::kind == Kind::aggregate) struct Inside<F, Types<First, Open...>> {
  using Within = Types<Open...>;
};
template <class F, class Open, class... Children>
constexpr RegionFault region_fault() {
  if constexpr (Function<F>::kind == Kind::aggregate) {
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

namespace detail {

/// Bits of the functions' types with a channel to a queue, and of those with one to a sink.
struct Ends {
  std::uint32_t queues = 0;
  std::uint32_t sinks = 0;
};
template <class Child>
constexpr void add_end(Ends& ends, std::uint32_t bit) {
  (is_node<Child> || is_back<Child> ? ends.queues : ends.sinks) |= bit;
}
template <class Modules>
struct EndsIn {
  template <class Child>
  static constexpr void add(Ends&, Child const*) {}
  template <class Tag, class F, class... Children>
  static constexpr void add(Ends& ends, Node<Tag, F, Children...> const*) {
    (add_end<Children>(ends, 1u << place_in<F, Modules>), ...);
    (add(ends, static_cast<Children const*>(nullptr)), ...);
  }
  template <class F, class Child>
  static constexpr void add(Ends& ends, Repeat<F, Child> const*) {
    ends.queues |= 1u << place_in<F, Modules>;
    add_end<Child>(ends, 1u << place_in<F, Modules>);
    add(ends, static_cast<Child const*>(nullptr));
  }
};
template <class Tree, class Modules>
constexpr Ends ends_of() {
  Ends ends;
  EndsIn<Modules>::add(ends, static_cast<Tree const*>(nullptr));
  return ends;
}

}  // namespace detail

/// The data of a segment's kernel, in device memory.
template <class Source_, class Modules_, class Sinks_, Shape shape_, unsigned root_module_,
          std::uint32_t shared_modules, detail::Ends ends>
struct Program {
  using Source = Source_;
  using Modules = Modules_;
  using Sinks = Sinks_;
  using Signal = typename detail::SignalOf<Modules>::type;
  static constexpr Shape shape = shape_;
  static constexpr unsigned root_module = root_module_;
  static constexpr bool refills_lanes = shape.refill == Refill::lanes;
  /// Whether more than one node has a function of this type.
  static constexpr bool may_share(unsigned module) { return (shared_modules >> module & 1u) != 0; }
  template <class F>
  static constexpr Leads leads = [] {
    constexpr std::uint32_t bit = 1u << detail::place_in<F, Modules>;
    return (ends.sinks & bit) == 0 ? Leads::queues : (ends.queues & bit) == 0 ? Leads::sinks : Leads::either;
  }();

  Source source;
  Sinks sinks;
  void const* functions[Modules::count] = {};
  std::uint32_t modules[Modules::count] = {};  ///< for each module, bits of its nodes
  NodeRow const* rows = nullptr;
  std::uint32_t nodes = 0;
  std::uint32_t openers = 0;  ///< bits of the nodes that open regions
  std::uint32_t replicas = 0;
  std::uint32_t states_at = 0;  ///< in the near room, as are the next four
  std::uint32_t sinks_at = 0;
  std::uint32_t marks_at = 0;
  std::uint32_t sums_at = 0;
  std::uint32_t scratch_at = 0;
  std::uint32_t block_bytes = 0;  ///< of a block's shared memory before the near rooms
  std::uint32_t near_bytes = 0;
  std::uint64_t far_bytes = 0;
  std::byte* far_rooms = nullptr;
  std::uint64_t least_claim = 1;
  std::uint64_t most_claim = 1;
  SharedWords* words = nullptr;
  SinkWords* sink_words = nullptr;
  RegionWords* region_words = nullptr;  ///< one for each node
  NodeCounters* counters = nullptr;
  std::uint32_t* made = nullptr;  ///< if the shape counts: one for each node and lane of each replica
  ReplicaTimes* times = nullptr;
  Lending lending;
  std::uint64_t lend_after_ns = 0;  ///< after the lender's start
  Control* control = nullptr;
  std::uint32_t stage = no_id;
};

/// The code that every thread of a segment's kernel runs.
template <class Program, unsigned Outlets, unsigned Inlets>
struct SegmentRunner {
  static constexpr unsigned outlet_count = Outlets;
  static constexpr unsigned inlet_count = Inlets;
  static constexpr unsigned stage_count = 1;

  Program const* program;

  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets) const {
    Program const& p = *program;
    std::byte* const shared = m.shared_memory();
    auto* const rows = reinterpret_cast<NodeRow*>(shared);
    for (unsigned i = m.thread_in_block(); i < p.nodes; i += m.block_threads()) rows[i] = p.rows[i];
    fill_tables<0>(m, shared);
    m.sync_block();
    if constexpr (Program::shape.replica == ReplicaOf::warp) {
      run<WarpLanes<Machine>>(m, outlets, inlets, m.thread_in_block() / Machine::warp_lanes,
                              m.block_threads() / Machine::warp_lanes);
    } else {
      run<BlockLanes<Machine>>(m, outlets, inlets, 0, 1);
    }
  }

 private:
  template <unsigned M, class Machine>
  HIWAY_DEVICE void fill_tables(Machine m, std::byte* shared) const {
    if constexpr (M != Program::Modules::count) {
      using F = typename detail::TypeAt<M, typename Program::Modules>::type;
      if constexpr (Function<F>::has_table) {
        using InBlock = detail::InBlock<F>;
        auto const* const functions = static_cast<F const*>(program->functions[M]);
        for (std::uint32_t left = program->modules[M]; left != 0; left &= left - 1) {
          NodeRow const& row = program->rows[m.lowest(left)];
          auto* const own = reinterpret_cast<InBlock*>(shared + row.in_block_at);
          functions[row.index].fill(own->table, m.thread_in_block(), m.block_threads());
          if (m.thread_in_block() != 0) continue;
          own->function = functions[row.index];
          own->function.use(own->table);
        }
      }
      fill_tables<M + 1>(m, shared);
    }
  }
  template <class Lanes, class Machine>
  HIWAY_DEVICE void run(Machine m, OutletView const* outlets, InletView const* inlets, unsigned in_block,
                        unsigned per_block) const {
    Program const& p = *program;
    unsigned const replica = m.block_index() * per_block + in_block;
    std::byte* const shared = m.shared_memory();
    std::byte* const near_room = shared + p.block_bytes + in_block * p.near_bytes;
    Lanes const lanes(m, reinterpret_cast<std::uint32_t*>(near_room + p.scratch_at));
    Rooms const rooms{shared, near_room, p.far_rooms + replica * p.far_bytes};
    IntakeState const intake{outlets, in_block * (p.replicas / per_block) + m.block_index()};
    Replica<Program, Lanes>(p, lanes, inlets, rooms, intake, replica).run();
  }
};

/// Stands in for the runner of a refused tree, so that the compiler prints nothing but the message.
struct RefusedRunner {
  static constexpr unsigned outlet_count = 0;
  static constexpr unsigned inlet_count = 0;
  static constexpr unsigned stage_count = 1;

  void const* program;

  template <class Machine>
  HIWAY_DEVICE void operator()(Machine, OutletView const*, InletView const*) const {}
};

// ---- the host's side

/// A node as the host knows it. Nodes are listed in the order of declaration.
struct NodeDescription {
  std::string name;
  int parent = -1;
  unsigned channel = 0;  ///< the parent's channel that leads to it
  unsigned module = 0;
  NodeOptions options;
  Kind kind = Kind::unknown;
  unsigned max_gain = 0;
  std::uint32_t item_bytes = 0;
  std::uint32_t item_align = 1;
  std::uint32_t cursor_bytes = 0;  ///< 0: it cannot suspend
  std::uint32_t mark_bytes = 0;    ///< of one mark in its queue; 0: the segment has no signals
  bool raises = false;
  unsigned items_per_lane = 1;
  unsigned lanes_per_item = 1;
  std::uint32_t state_bytes = 0;  ///< 0: it keeps no state
  std::uint32_t state_align = 1;
  std::uint32_t in_block_bytes = 0;  ///< 0: it has no table
  std::uint32_t in_block_align = 1;
  std::uint32_t value_bytes = 0;  ///< of an aggregate: of one region's value
  std::uint32_t value_align = 1;
  std::vector<int> opened{};  ///< the openers of the regions that it is in, the innermost first
  std::vector<std::byte> function;
  std::vector<int> to;     ///< where each channel leads: a node of this list, or -1 - a sink's number
  std::uint32_t loop = 0;  ///< 1 + the number of its loop; 0: it is in none
  bool loop_head = false;
};

/// The size and place chosen for a node's input queue.
struct QueueSize {
  std::string node;
  std::uint32_t queue_slots = 0;
  std::uint32_t least = 0;
  std::uint32_t item_bytes = 0;
  std::uint64_t bytes = 0;  ///< of one replica, with cursors
  bool in_shared_memory = false;
  Context context = Context::sparse;  ///< the context chosen for a node in a region
};

/// Counters of one node in one replica.
struct CountersOf {
  std::string node;
  unsigned replica = 0;
  NodeCounters counters;
};

/// Counters of one node, over all replicas together.
struct CountersOfNode {
  std::string node;
  NodeCounters counters;
};

/// A segment that a pipeline runs, whatever its nodes are. Made by Pipeline::add_segment. *Lifetime*: the pipeline's.
class SegmentBase : public KernelData {
 public:
  SegmentBase(std::string name, SegmentConfig config, Shape shape, std::vector<NodeDescription> nodes,
              std::vector<std::string> sinks, unsigned modules, bool is_range, bool root_is_queued);
  ~SegmentBase() override;

  /// Items that the last run has put into a sink. *Throws* ConfigError if there is no sink of that name.
  [[nodiscard]] std::uint64_t items(std::string_view sink) const;
  /// Valid after prepare(). Contexts are those of the last run; before any run, those of the first.
  [[nodiscard]] std::vector<QueueSize> const& queues() const { return queues_; }
  /// Bytes of queues and cursors that the device keeps for all replicas.
  [[nodiscard]] std::uint64_t queue_bytes() const { return queue_bytes_; }
  /// The part of queue_bytes() that safe minima take beyond the shares of the target or budget (sizing.hpp).
  [[nodiscard]] std::uint64_t bloat_bytes() const { return bloat_bytes_; }
  [[nodiscard]] unsigned replicas() const { return replicas_; }
  /// Lanes of a replica.
  [[nodiscard]] unsigned lanes() const { return lanes_; }
  /// Counters of the last run, node by node. Empty unless Shape::counters is set.
  [[nodiscard]] std::vector<CountersOf> counters() const;
  /// The same, summed over the replicas, in the order of nodes().
  [[nodiscard]] std::vector<CountersOfNode> node_counters() const;
  /// Times of each replica in the last run.
  [[nodiscard]] std::vector<ReplicaTimes> const& times() const { return times_; }
  /// From the start of the first replica to the end of the last one.
  [[nodiscard]] double kernel_seconds() const;
  /// The fraction of kernel_seconds() in which an average replica had no work: not started, ended, or waiting for work.
  [[nodiscard]] double imbalance() const;
  [[nodiscard]] std::vector<NodeDescription> const& nodes() const { return nodes_; }
  /// The tree as sizing.hpp takes it. If the last run counted (Shape::counters), gains and service times are measured;
  /// else gains are as declared, and there are no times. Valid after prepare().
  [[nodiscard]] SizedNodes measured_nodes() const;
  /// Bytes that were asked for all queues and cursors of all replicas: SegmentConfig's target, else its budget, else
  /// the bytes that they take.
  [[nodiscard]] std::uint64_t asked_bytes() const;
  /// Proposes what brings the queues nearer to the law, and what saves time (sizing.hpp). `budget_bytes` is for all
  /// replicas; the bytes in the result are of one replica. `queue_ns`: the cost of an item in a queue; the default was
  /// measured on an H200. *Throws* ConfigError.
  [[nodiscard]] Advice advice(std::uint64_t budget_bytes, double queue_ns = 2) const;

  simt::Grid choose_grid(Backend& backend, DeviceKernel const& kernel, GpuStageOptions options,
                         unsigned sharers) override;
  void place(Backend& backend, simt::Grid grid, Control* control, std::uint32_t stage) override;
  void start(Backend& backend) override;
  void finish(Backend& backend) override;

 protected:
  /// The values that the typed part copies into its program.
  struct Placed {
    NodeRow const* rows;
    std::vector<void const*> functions;  ///< of each module
    std::vector<std::uint32_t> modules;  ///< of each module, bits of its nodes
    SinkWords* sink_words;
    RegionWords* region_words;
    SharedWords* words;
    NodeCounters* counters;
    std::uint32_t* made;
    ReplicaTimes* times;
    Lending lending;
    Control* control;
    std::uint32_t stage, nodes, openers, replicas, states_at, sinks_at, marks_at, sums_at, scratch_at, block_bytes,
        near_bytes;
    std::uint64_t far_bytes, least_claim, most_claim, lend_after_ns;
    std::byte* far_rooms;
  };
  virtual void upload_program(Backend& backend, Placed const& placed) = 0;
  /// Sets the function of a node for the next runs.
  void set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes);

 private:
  struct Memory;
  [[nodiscard]] SizedNodes sized_nodes() const;
  [[nodiscard]] std::vector<std::uint32_t> slots_for_all();
  void layout(std::size_t near_limit, std::vector<std::uint32_t> const& queue_slots);
  [[nodiscard]] bool has_queue(std::size_t node) const { return node != 0 || root_is_queued_; }
  [[nodiscard]] bool suspends(NodeDescription const& node) const;
  [[nodiscard]] std::uint32_t width_of(NodeDescription const& node) const;
  [[nodiscard]] std::uint32_t least_slots(std::size_t node) const;
  [[nodiscard]] std::uint32_t mark_slots() const {
    return config_.signal_slots != 0 ? config_.signal_slots : 2 * lanes_;
  }
  [[nodiscard]] std::uint64_t mark_bytes(std::size_t node) const;
  [[nodiscard]] std::uint64_t tag_bytes(std::size_t node, std::uint32_t queue_slots) const;
  [[nodiscard]] std::uint32_t arena_slots(std::size_t opener) const;
  [[nodiscard]] std::uint16_t ends_of(std::size_t opener) const;
  /// Lengths of regions. known: as in the last run; before any run, as declared. shortest: as short as possible.
  enum class Lengths : std::uint8_t { known, shortest };
  [[nodiscard]] double items_of_a_region(std::size_t node) const;
  [[nodiscard]] Context context_of(std::size_t node, Lengths lengths = Lengths::known) const;
  [[nodiscard]] bool is_mixed(std::size_t node, Lengths lengths = Lengths::known) const;
  [[nodiscard]] bool gets_mixed(std::size_t node, Lengths lengths = Lengths::known) const;
  void choose_contexts();
  void place_regions(std::uint64_t& near_room, std::uint64_t& far_room, std::size_t near_limit);
  [[nodiscard]] std::uint32_t room_of(std::size_t node) const;
  [[nodiscard]] unsigned number_of(std::size_t node) const { return numbers_[node]; }
  void number_nodes();
  void check_guards(Backend& backend) const;
  void measure_regions(Backend& backend);

  std::string name_;
  SegmentConfig config_;
  Shape shape_;
  std::vector<NodeDescription> nodes_;
  std::vector<std::string> sinks_;
  unsigned modules_;
  bool is_range_;
  bool root_is_queued_;
  bool has_regions_;
  std::vector<unsigned> numbers_;  ///< each node's number on the device
  std::vector<NodeRow> rows_;      ///< by number
  std::vector<QueueSize> queues_;
  std::vector<std::pair<std::size_t, std::uint64_t>>
      guards_;  ///< of each guard: its node, and its place in a replica's far room
  std::uint64_t queue_bytes_ = 0;
  std::uint64_t bloat_bytes_ = 0;
  unsigned replicas_ = 0;
  unsigned lanes_ = 0;
  Placed placed_{};
  std::unique_ptr<Memory> memory_;
  std::vector<std::uint64_t> sink_items_;
  std::vector<NodeCounters> counters_;
  std::vector<ReplicaTimes> times_;
  std::vector<double> region_items_;  ///< for each node, average items of a region in the last run; negative: no region
};

namespace detail {

/// Collects a tree's nodes and sinks for the host.
template <class Modules, Refill refill>
struct Collector {
  std::vector<NodeDescription> nodes;
  std::vector<std::string> sinks;
  std::vector<std::pair<void const*, void const*>> sink_kinds;  ///< each sink's type, and its buffer's memory
  std::vector<std::pair<void const*, int>> tags;
  unsigned loops = 0;

  template <class T>
  int add(CountSink<T> const& s, int, unsigned) {
    return add_sink<CountSink<T>>(s.name);
  }
  template <class T>
  int add(StoreSink<T> const& s, int, unsigned) {
    return add_sink<StoreSink<T>>(s.name, s.view.data);
  }
  template <class T>
  int add(Into<T> const& s, int, unsigned) {
    return add_sink<Into<T>>(std::get<0>(s.tunnels)->name());
  }
  template <class Tag>
  int add(BackTo<Tag> const&, int from, unsigned) {
    int head = 0;
    for (auto const& [tag, node] : tags) {
      if (tag == &tag_id<Tag>) head = node;
    }
    ++loops;
    for (int n = from;; n = nodes[static_cast<std::size_t>(n)].parent) {
      nodes[static_cast<std::size_t>(n)].loop = loops;
      if (n == head) break;
    }
    nodes[static_cast<std::size_t>(head)].loop_head = true;
    return head;
  }
  template <class Tag, class F, class... Children>
  int add(Node<Tag, F, Children...> const& n, int parent, unsigned channel) {
    int const own = add_node<F>(n.name, n.function, n.options, parent, channel);
    if constexpr (!std::is_void_v<Tag>) tags.emplace_back(&tag_id<Tag>, own);
    unsigned c = 0;
    std::vector<int> to;
    std::apply([&](auto const&... child) { ((to.push_back(add(child, own, c)), ++c), ...); }, n.children);
    nodes[static_cast<std::size_t>(own)].to = std::move(to);
    return own;
  }
  template <class F, class Child>
  int add(Repeat<F, Child> const& r, int parent, unsigned channel) {
    auto const first = static_cast<int>(nodes.size());
    for (auto const& [name, function, options] : r.nodes) {
      int const own = add_node<F>(name, function, options, parent, channel);
      nodes[static_cast<std::size_t>(own)].to = {own + 1};
      parent = own;
      channel = 0;
    }
    int const behind = add(std::get<0>(r.children), parent, 0);
    nodes[static_cast<std::size_t>(parent)].to = {behind};
    return first;
  }
  template <class F>
  int add_node(std::string const& name, F const& function, NodeOptions options, int parent, unsigned channel) {
    using Fn = Function<F>;
    NodeDescription d;
    d.name = name;
    d.parent = parent;
    d.channel = channel;
    d.module = place_in<F, Modules>;
    d.options = options;
    d.kind = Fn::kind;
    d.max_gain = Fn::max_gain;
    using Signal = typename SignalOf<Modules>::type;
    if constexpr (!std::is_void_v<Signal>) {
      static_assert(std::is_trivially_copyable_v<Signal> && alignof(Signal) <= 16,
                    "hiway: segment: a signal is trivially copyable, and aligned to 16 bytes at most");
      d.mark_bytes = sizeof(Mark<Signal>);
    }
    d.raises = Fn::raises;
    d.items_per_lane = Fn::items_per_lane;
    d.lanes_per_item = Fn::lanes_per_item;
    d.item_bytes = sizeof(typename Fn::In);
    d.item_align = alignof(typename Fn::In);
    if constexpr (Fn::kind == Kind::expander && refill == Refill::lanes) {
      d.cursor_bytes = sizeof(LaneOf<F>);
    } else if constexpr (Fn::can_suspend && !std::is_same_v<typename Fn::Cursor, NoCursor>) {
      d.cursor_bytes = sizeof(typename Fn::Cursor);
    }
    if constexpr (Fn::has_state) {
      d.state_bytes = sizeof(typename Fn::State);
      d.state_align = alignof(typename Fn::State);
    }
    if constexpr (Fn::kind == Kind::aggregate) {
      using Value = typename Fn::Value;
      static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) <= 16,
                    "hiway: segment: aggregate: a value is trivially copyable, and aligned to 16 bytes at most");
      d.value_bytes = sizeof(Value);
      d.value_align = alignof(Value);
    }
    if (parent >= 0) {
      NodeDescription const& from = nodes[static_cast<std::size_t>(parent)];
      d.opened = from.opened;
      if (from.kind == Kind::enumerate) d.opened.insert(d.opened.begin(), parent);
      if (from.kind == Kind::aggregate) d.opened.erase(d.opened.begin());
    }
    if constexpr (Fn::has_table) {
      d.in_block_bytes = sizeof(InBlock<F>);
      d.in_block_align = alignof(InBlock<F>);
    }
    d.function.resize(sizeof(F));
    std::memcpy(d.function.data(), &function, sizeof(F));
    nodes.push_back(std::move(d));
    return static_cast<int>(nodes.size()) - 1;
  }
  /// Sinks of the same name are one sink, to which several channels lead.
  template <class Sink>
  int add_sink(std::string const& name, void const* memory = nullptr) {
    auto const place = static_cast<std::size_t>(std::ranges::find(sinks, name) - sinks.begin());
    std::pair const kind(static_cast<void const*>(&tag_id<Sink>), memory);
    if (place != sinks.size() && sink_kinds[place] != kind)
      throw ConfigError("segment: two sinks of different kinds, items or buffers are called '" + name + "'");
    sinks.push_back(name);
    sink_kinds.push_back(kind);
    return -1 - static_cast<int>(place);
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

/// A segment whose nodes are known at compile time.
template <class Tree, class Source, Shape shape>
class Segment final : public SegmentBase {
  static_assert(detail::is_node<Tree>,
                "hiway: segment: the tree is a node with children, or a chain that ends in one or a sink");
  using Traits = detail::SourceTraits<Source>;
  using Functions = typename detail::InTree<Tree>::Functions;
  using Modules = typename detail::Unique<Functions>::type;
  using OnDevice = detail::SinksOnDevice<typename detail::InTree<Tree>::Sinks>;
  using RootItem = typename detail::Takes<Tree>::type;
  static constexpr bool tree_ok = detail::CheckTree<Tree>::ok;
  static constexpr bool root_ok = std::is_same_v<RootItem, typename Traits::OnDevice::Item>;
  static_assert(!tree_ok || root_ok, "hiway: segment: the root takes another type of item than the source gives");
  template <class... Fs>
  static constexpr std::uint32_t shared(detail::Types<Fs...>) {
    std::uint32_t bits = 0;
    unsigned at = 0;
    ((bits |= (detail::times_in<Fs, Functions> > 1 ? 1u : 0u) << at++), ...);
    return bits;
  }
  static constexpr detail::Ends ends = [] {
    if constexpr (tree_ok) {
      return detail::ends_of<Tree, Modules>();
    } else {
      return detail::Ends{};
    }
  }();

 public:
  using In = typename Traits::In;
  using Out = typename OnDevice::Out;
  using Code = Program<typename Traits::OnDevice, Modules, typename detail::ListOf<typename OnDevice::type>::type,
                       shape, 0, shared(Modules{}), ends>;
  static constexpr unsigned outlets = std::tuple_size_v<decltype(In::tunnels)>;
  static constexpr unsigned inlets = std::tuple_size_v<decltype(Out::tunnels)>;
  using Runner = std::conditional_t<tree_ok && root_ok, SegmentRunner<Code, outlets, inlets>, RefusedRunner>;

  Segment(std::string name, Source source, Tree const& tree, SegmentConfig config,
          detail::Collector<Modules, shape.refill> collected, Code* code)
      : SegmentBase(std::move(name), config, shape, std::move(collected.nodes), std::move(collected.sinks),
                    Modules::count, Traits::OnDevice::is_range, !Traits::OnDevice::is_range || CheckLoop::root),
        code_(code) {
    program_.source = Traits::device(source);
    unsigned at = 0;
    detail::for_sinks(tree, [&](auto const& sink) { detail::fill_sink(program_.sinks, at++, sink); });
  }
  static detail::Collector<Modules, shape.refill> collect(Tree const& tree) {
    detail::Collector<Modules, shape.refill> c;
    c.add(tree, -1, 0);
    return c;
  }
  static Out tunnels_of(Tree const& tree) {
    if constexpr (inlets == 0) {
      return Into<>(NoTunnels{});
    } else {
      std::vector<TunnelBase*> all;
      detail::for_sinks(tree, [&]<class S>(S const& sink) {
        if constexpr (detail::is_tunnel_end<S>) all.push_back(std::get<0>(sink.tunnels));
      });
      return make_into(all, std::make_index_sequence<inlets>{});
    }
  }

  /// Sets the function of a node for the next runs. *Throws* ConfigError if there is no such node.
  template <class F>
  void set(std::string_view node, F const& function) {
    static_assert(detail::times_in<F, Modules> == 1, "hiway: segment: set: no node has a function of this type");
    set_function(node, detail::place_in<F, Modules>, &function, sizeof(F));
  }
  /// Sets the function of every node whose function has this type.
  template <class F>
  void set_all(F const& function) {
    for (NodeDescription const& n : nodes()) {
      if (n.module == detail::place_in<F, Modules>) set(n.name, function);
    }
  }
  /// Sets the source of the next runs: another buffer, or another number of items.
  void set_source(Source source) { program_.source = Traits::device(source); }

 private:
  struct CheckLoop {
    static constexpr bool root = [] {
      constexpr detail::TreeShape s = detail::CheckTree<Tree>::shape;
      for (unsigned k = 0; k != s.backs; ++k) {
        if (s.tag[0] != nullptr && s.back_to[k] == s.tag[0]) return true;
      }
      return false;
    }();
  };
  template <std::size_t... I>
  static Out make_into(std::vector<TunnelBase*> const& all, std::index_sequence<I...>) {
    return Out(static_cast<std::remove_pointer_t<std::tuple_element_t<I, decltype(Out::tunnels)>>&>(*all[I])...);
  }
  void upload_program(Backend& backend, Placed const& at) override {
    program_.rows = at.rows;
    for (unsigned i = 0; i != Modules::count; ++i) {
      program_.functions[i] = at.functions[i];
      program_.modules[i] = at.modules[i];
    }
    detail::place_sink(program_.sinks, at.sink_words);
    program_.nodes = at.nodes;
    program_.openers = at.openers;
    program_.replicas = at.replicas;
    program_.states_at = at.states_at;
    program_.sinks_at = at.sinks_at;
    program_.marks_at = at.marks_at;
    program_.sums_at = at.sums_at;
    program_.scratch_at = at.scratch_at;
    program_.block_bytes = at.block_bytes;
    program_.near_bytes = at.near_bytes;
    program_.far_bytes = at.far_bytes;
    program_.far_rooms = at.far_rooms;
    program_.least_claim = at.least_claim;
    program_.most_claim = at.most_claim;
    program_.words = at.words;
    program_.sink_words = at.sink_words;
    program_.region_words = at.region_words;
    program_.counters = at.counters;
    program_.made = at.made;
    program_.times = at.times;
    program_.lending = at.lending;
    program_.lend_after_ns = at.lend_after_ns;
    program_.control = at.control;
    program_.stage = at.stage;
    backend.upload(code_, &program_, sizeof program_);
  }

  Code program_{};
  Code* code_;  ///< in device memory
};

}  // namespace hiway::segment
