// The life of one persistent executor (a block, or a CPU thread): run the stage, meet, close what is still open, count as returned.
#pragma once
#include <cstdint>

#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"

namespace hiway {

/// All ends of the stages in one kernel (a group has several), passed by value. Runner gives the counts.
template <class Runner>
struct Ends {
  OutletView outlets[Runner::outlet_count == 0 ? 1 : Runner::outlet_count];
  InletView inlets[Runner::inlet_count == 0 ? 1 : Runner::inlet_count];
  StageWords* stages[Runner::stage_count == 0 ? 1 : Runner::stage_count];
  Control* control = nullptr;
};

/// Runs `runner` and closes behind it. An executor that leaves because of an abort closes nothing (termination.hpp T6).
template <class Machine, class Runner>
HIWAY_DEVICE inline void run_persistent(Machine m, Runner& runner, Ends<Runner> const& ends) {
  runner(m, ends.outlets, ends.inlets);
  m.sync_block();
  if (m.thread_in_block() != 0 || is_aborted(m, *ends.control)) return;
  for (unsigned i = 0; i != Runner::inlet_count; ++i) {
    InletView const& inlet = ends.inlets[i];
    if (m.load(inlet.ports[m.block_index()].closed_count, Order::acquire) < m.block_threads()) detail::count_closed(m, inlet);
  }
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->returned, 1u, Order::acq_rel);
}

}  // namespace hiway
