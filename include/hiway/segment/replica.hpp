// Replica: runs the nodes of a segment from the start of a run to its end, on the lanes of a warp or a block.
//
//   intake.hpp      brings items to the root       replica_state.hpp  what the lanes know
//   scheduler.hpp   chooses the node that fires    target.hpp         puts items into queues and sinks
//   firing/         fires it, by its kind          letters.hpp        lends items to other replicas
//   parking.hpp     keeps what it has while the kernel is away
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "hiway/segment/firing/aggregate.hpp"
#include "hiway/segment/firing/collective.hpp"
#include "hiway/segment/firing/enumerate.hpp"
#include "hiway/segment/firing/expander.hpp"
#include "hiway/segment/firing/filter.hpp"
#include "hiway/segment/firing/firing.hpp"
#include "hiway/segment/firing/indexed.hpp"
#include "hiway/segment/firing/tile.hpp"
#include "hiway/segment/intake.hpp"
#include "hiway/segment/letters.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/parking.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica_state.hpp"
#include "hiway/segment/scheduler.hpp"

namespace hiway::segment {

template <class Program, class Lanes>
class Replica {
  using State = ReplicaState<Program, Lanes>;

 public:
  /// `turn`: which part of a range is the replica's first. `number`: of the replica.
  HIWAY_DEVICE Replica(Program const& program, Lanes const& lanes, OutletView const* outlets, InletView const* inlets,
                       Rooms const& rooms, unsigned turn, unsigned number)
      : r_(program, lanes, outlets, inlets, rooms, turn, number) {}

  /// Takes items from the source until it has ended and all items are done, or until the slice is over. All lanes of
  /// the replica call it.
  HIWAY_DEVICE void run() {
    auto const m = r_.lanes.machine();
    Parking<State> parking(r_);
    if (Lanes::is_warp && parking.is_done()) return;  // others of its block are not
    std::uint64_t calls = 0;
    if (parking.has_begun()) {
      parking.come_back(calls);
    } else {
      begin();
      parking.begin();
    }
    r_.watch.looked_at = m.cycles();
    for (;;) {
      Next const next = r_.activity.active() != 0 ? Next::work : refill();
      if (next == Next::nothing) break;
      bool leaves = next == Next::leaves;
      if (!leaves) {
        step(m.lowest(r_.activity.active()));
        leaves = ((++calls & 15u) == 0 || r_.watch.late) && Letters<State>(r_).look_around();
      }
      if (leaves) return parking.leave(calls);
    }
    finish(calls);
    parking.end();
  }

 private:
  HIWAY_DEVICE void begin() {
    for (unsigned i = r_.lanes.rank(); i < r_.program.nodes; i += r_.lanes.size()) {
      r_.states[i] = QueueState{};
      r_.marks.clear(i);
    }
    for (unsigned i = r_.lanes.rank(); i < Program::Sinks::count; i += r_.lanes.size()) r_.sink_counts[i] = 0;
    if (r_.lanes.rank() == 0) r_.program.times[r_.replica] = {.began_ns = r_.lanes.machine().now_ns()};
    for_states<0>([](auto const& f, auto& state) {
      ::new (static_cast<void*>(&state)) std::remove_reference_t<decltype(state)>{};
      f.init(state);
    });
    r_.lanes.sync();
  }
  /// Nothing: everything is done.
  HIWAY_DEVICE Next refill() {
    if constexpr (Program::Source::is_range) {
      if (r_.intake.ended && r_.program.lending.idle != nullptr) return Letters<State>(r_).borrow();
    }
    return Intake<State>(r_).refill();
  }
  HIWAY_DEVICE void step(unsigned active) {
    unsigned const node = Scheduler<State>(r_).choose(active);
    if (node != most_nodes) fire_module<0>(node, r_.rows[node].module);
  }
  template <unsigned M>
  HIWAY_DEVICE void fire_module(unsigned node, unsigned module) {
    using Own = Firing<Function<typename State::template ModuleAt<M>>::kind>;
    if constexpr (M + 1 == Program::Modules::count) {
      Own::template fire<M>(r_, node);
    } else {
      if (module == M) {
        Own::template fire<M>(r_, node);
      } else {
        fire_module<M + 1>(node, module);
      }
    }
  }
  HIWAY_DEVICE void finish(std::uint64_t calls) {
    auto const m = r_.lanes.machine();
    auto const& p = r_.program;
    r_.lanes.sync();
    for_states<0>([](auto const& f, auto& state) { f.finish(state); });
    if constexpr (State::has_regions) {  // from these counts the host computes the lengths of regions
      for (unsigned i = r_.lanes.rank(); i < p.nodes; i += r_.lanes.size())
        m.fetch_add(p.region_words[i].items, std::uint64_t{r_.marks.read(i).put}, MemoryOrder::relaxed);
    }
    for (unsigned i = r_.lanes.rank(); i < Program::Sinks::count; i += r_.lanes.size()) {
      if (r_.sink_counts[i] != 0) m.fetch_add(p.sink_words[i].items, r_.sink_counts[i], MemoryOrder::relaxed);
    }
    if (r_.lanes.rank() == 0) {
      p.times[r_.replica].ended_ns = m.now_ns();
      p.times[r_.replica].scheduler_calls = calls;
    }
  }
  /// Calls `body(function, state)` in the first lane, for every node that keeps a state.
  template <unsigned M, class Body>
  HIWAY_DEVICE void for_states(Body&& body) {
    if constexpr (M != Program::Modules::count) {
      using F = typename State::template ModuleAt<M>;
      if constexpr (Function<F>::has_state) {
        if (r_.lanes.rank() == 0) {
          auto const m = r_.lanes.machine();
          for (std::uint32_t left = r_.program.modules[M]; left != 0; left &= left - 1) {
            unsigned const node = m.lowest(left);
            body(r_.template function_of<M>(r_.rows[node]), r_.template state_of<F>(node));
          }
        }
      }
      for_states<M + 1>(body);
    }
  }

  State r_;
};

}  // namespace hiway::segment
