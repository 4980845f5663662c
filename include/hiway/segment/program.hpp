// Program: the data of a segment's kernel, in device memory, and the code that every thread runs.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"
#include "hiway/segment/lanes.hpp"
#include "hiway/segment/lending.hpp"
#include "hiway/segment/node.hpp"
#include "hiway/segment/parking.hpp"
#include "hiway/segment/placement.hpp"
#include "hiway/segment/queue.hpp"
#include "hiway/segment/replica.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/segment/signature.hpp"
#include "hiway/segment/tree_types.hpp"

namespace hiway::segment {

/// The data of a segment's kernel, in device memory.
template <class Source_, class Modules_, class Sinks_, Shape shape_, unsigned root_module_,
          std::uint32_t shared_modules, detail::Ends ends>
struct Program : Placement {
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
};

/// The code that every thread of a segment's kernel runs.
template <class Program, unsigned Outlets, unsigned Inlets>
struct SegmentRunner {
  static constexpr unsigned outlet_count = Outlets;
  static constexpr unsigned inlet_count = Inlets;
  static constexpr unsigned stage_count = 1;
  static constexpr bool has_scopes = Program::Source::has_scopes;

  static constexpr Leaves leaves = Leaves::between_tasks;
  static constexpr bool keeps_nothing = true;  // its nodes' functions are const
  static constexpr std::size_t held_bytes = 0;

  Program const* program;

  template <class Machine>
  HIWAY_DEVICE void operator()(Machine m, OutletView const* outlets, InletView const* inlets, Slice const&) const {
    Program const& p = *program;
    std::byte* const shared = m.shared_memory();
    auto* const rows = reinterpret_cast<NodeRow*>(shared);
    if (p.parked != nullptr && is_done(m)) return;
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

  /// Whether all replicas of the block are done.
  template <class Machine>
  HIWAY_DEVICE bool is_done(Machine m) const {
    unsigned const per_block = program->replicas / m.block_count();
    for (unsigned i = 0; i != per_block; ++i) {
      std::byte const* const at = parked_at(*program, m.block_index() * per_block + i);
      if (!reinterpret_cast<ParkedHead const*>(at)->is_done) return false;
    }
    return true;
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
    unsigned const turn = in_block * (p.replicas / per_block) + m.block_index();
    Replica<Program, Lanes>(p, lanes, outlets, inlets, rooms, turn, replica).run();
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

}  // namespace hiway::segment
