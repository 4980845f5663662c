// Collector: lists a tree's nodes and sinks for the host.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "hiway/segment/firing/expander.hpp"
#include "hiway/segment/marks.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/segment_base.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/segment/slot.hpp"
#include "hiway/segment/tree.hpp"
#include "hiway/segment/tree_types.hpp"

namespace hiway::segment {

namespace detail {

/// Collects a tree's nodes and sinks for the host.
template <class Modules, Refill refill, bool has_scopes>
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
    NodeDescription d = describe<F>();
    d.name = name;
    d.parent = parent;
    d.channel = channel;
    d.options = options;
    if (parent >= 0) {
      NodeDescription const& from = nodes[static_cast<std::size_t>(parent)];
      d.opened = from.opened;
      if (from.facts.opens) d.opened.insert(d.opened.begin(), parent);
      if (from.facts.closes) d.opened.erase(d.opened.begin());
    }
    d.function.resize(sizeof(F));
    std::memcpy(d.function.data(), &function, sizeof(F));
    nodes.push_back(std::move(d));
    return static_cast<int>(nodes.size()) - 1;
  }
  /// What is known of a node from its function's type.
  template <class F>
  static NodeDescription describe() {
    using Fn = Function<F>;
    NodeDescription d;
    d.module = place_in<F, Modules>;
    d.kind = Fn::kind;
    d.facts = Fn::facts;
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
    d.item_bytes = sizeof(SlotOf<typename Fn::In, has_scopes>);
    d.item_align = alignof(SlotOf<typename Fn::In, has_scopes>);
    if constexpr (Fn::facts.refills_lanes && refill == Refill::lanes) {
      d.cursor_bytes = sizeof(LaneOf<F, has_scopes>);
    } else if constexpr (Fn::can_suspend && !std::is_same_v<typename Fn::Cursor, NoCursor>) {
      d.cursor_bytes = sizeof(typename Fn::Cursor);
    }
    if constexpr (Fn::has_state) {
      d.state_bytes = sizeof(typename Fn::State);
      d.state_align = alignof(typename Fn::State);
    }
    if constexpr (Fn::facts.closes) {
      using Value = typename Fn::Value;
      static_assert(std::is_trivially_copyable_v<Value> && alignof(Value) <= 16,
                    "hiway: segment: aggregate: a value is trivially copyable, and aligned to 16 bytes at most");
      d.value_bytes = sizeof(Value);
      d.value_align = alignof(Value);
    }
    if constexpr (Fn::has_table) {
      d.in_block_bytes = sizeof(InBlock<F>);
      d.in_block_align = alignof(InBlock<F>);
    }
    return d;
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

}  // namespace detail

}  // namespace hiway::segment
