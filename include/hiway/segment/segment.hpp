// Segment: a tree of nodes that runs inside one persistent kernel. It takes items from a tunnel, a buffer or a range,
// and puts items into tunnels and buffers.
//
//   auto rows = chain(node("row 4", Place{18}), node("row 5", Place{18}), count<Board>("solutions"));
//   auto& queens = pipe.add_segment("queens", load(boards), rows);
//   pipe.run();
//   queens.items("solutions");
//
//   tree.hpp   node functions in a tree (node.hpp: what they are)    program.hpp       what the kernel runs
//   source.hpp, sinks.hpp   where items come from, and where to      replica.hpp       how it runs
//   tree_checks.hpp   checks at compile time                         segment_base.hpp  results, and the host's side
//
// docs/segments.md has a worked example.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/segment/collector.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/placement.hpp"
#include "hiway/segment/program.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/scope_checks.hpp"
#include "hiway/segment/segment_base.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/segment/sinks.hpp"
#include "hiway/segment/source.hpp"
#include "hiway/segment/tree.hpp"
#include "hiway/segment/tree_checks.hpp"
#include "hiway/segment/tree_types.hpp"
#include "hiway/stage.hpp"

namespace hiway::segment {

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
  static constexpr bool has_scopes = Traits::OnDevice::has_scopes;
  static constexpr bool scopes_ok = detail::CheckScopes<Tree, has_scopes>::ok;
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
  using Runner =
      std::conditional_t<tree_ok && root_ok && scopes_ok, SegmentRunner<Code, outlets, inlets>, RefusedRunner>;

  Segment(std::string name, Source source, Tree const& tree, SegmentConfig config,
          detail::Collector<Modules, shape.refill, has_scopes> collected, Code* code)
      : SegmentBase(std::move(name), config, shape, std::move(collected.nodes), std::move(collected.sinks),
                    Modules::count, root_takes),
        code_(code) {
    program_.source = Traits::device(source);
    unsigned at = 0;
    detail::for_sinks(tree, [&](auto const& sink) { detail::fill_sink(program_.sinks, at++, sink); });
  }
  static auto collect(Tree const& tree) {
    detail::Collector<Modules, shape.refill, has_scopes> c;
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
  static constexpr RootTakes root_takes = [] {
    if (!Traits::OnDevice::is_range) return RootTakes::tunnel;
    constexpr detail::TreeShape s = detail::CheckTree<Tree>::shape;
    for (unsigned k = 0; k != s.backs; ++k) {
      if (s.tag[0] != nullptr && s.back_to[k] == s.tag[0]) return RootTakes::range_and_loop;
    }
    return RootTakes::range;
  }();
  template <std::size_t... I>
  static Out make_into(std::vector<TunnelBase*> const& all, std::index_sequence<I...>) {
    return Out(static_cast<std::remove_pointer_t<std::tuple_element_t<I, decltype(Out::tunnels)>>&>(*all[I])...);
  }
  void upload_program(Backend& backend, Placement const& placement, std::vector<ModulePlace> const& modules) override {
    static_cast<Placement&>(program_) = placement;
    for (unsigned i = 0; i != Modules::count; ++i) {
      program_.functions[i] = modules[i].functions;
      program_.modules[i] = modules[i].nodes;
    }
    detail::place_sink(program_.sinks, placement.sink_words);
    backend.upload(code_, &program_, sizeof program_);
  }

  Code program_{};
  Code* code_;  ///< in device memory
};

}  // namespace hiway::segment
