// The life of one persistent executor (a block, or a CPU thread): run the stage, meet, close what is still open, count
// as returned.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "hiway/inlet.hpp"
#include "hiway/launch/cuda.cuh"
#include "hiway/launch/stage_words.hpp"
#include "hiway/outlet.hpp"

namespace hiway {

/// The ends of the stages in one kernel or CPU stage, as many as they are.
struct StageEnds {
  std::vector<OutletView> outlets;
  std::vector<InletView> inlets;
  std::vector<StageWords*> stages;
  Control* control = nullptr;
};

/// The same as a kernel takes them: passed by value, Runner gives the counts.
template <class Runner>
struct Ends {
  OutletView outlets[Runner::outlet_count == 0 ? 1 : Runner::outlet_count];
  InletView inlets[Runner::inlet_count == 0 ? 1 : Runner::inlet_count];
  StageWords* stages[Runner::stage_count == 0 ? 1 : Runner::stage_count];
  Control* control = nullptr;
};

/// All of `all` for a runner that has as many.
template <class Runner>
Ends<Runner> make_ends(StageEnds const& all) {
  Ends<Runner> ends{};
  for (unsigned i = 0; i != Runner::outlet_count; ++i) ends.outlets[i] = all.outlets[i];
  for (unsigned i = 0; i != Runner::inlet_count; ++i) ends.inlets[i] = all.inlets[i];
  for (unsigned i = 0; i != Runner::stage_count; ++i) ends.stages[i] = all.stages[i];
  ends.control = all.control;
  return ends;
}

/// Runs `runner` and closes behind it. An executor that leaves because of an abort closes nothing (termination.hpp T6).
template <class Machine, class Runner>
HIWAY_DEVICE inline void run_persistent(Machine m, Runner& runner, Ends<Runner> const& ends) {
  if (m.thread_in_block() == 0) {
    for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->started, 1u, Order::relaxed);
  }
  runner(m, ends.outlets, ends.inlets);
  m.sync_block();
  if (m.thread_in_block() != 0 || is_aborted(m, *ends.control)) return;
  for (unsigned i = 0; i != Runner::inlet_count; ++i) {
    InletView const& inlet = ends.inlets[i];
    if (m.load(inlet.ports[m.block_index()].closed_count, Order::acquire) < m.block_threads())
      detail::count_closed(m, inlet);
  }
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->returned, 1u, Order::acq_rel);
}

/// What every thread of a persistent kernel calls.
template <class Runner>
struct PersistentBody {
  Runner runner;
  Ends<Runner> ends;
  HIWAY_DEVICE void operator()() {
    enter_block(ends.control, Runner::outlet_count > 0 ? ends.outlets[0].stage : ends.inlets[0].stage);
    on_this_device([&](auto m) { run_persistent(m, runner, ends); });
  }
};

/// What every thread of an ordinary launch calls.
template <class F>
struct LaunchBody {
  F body;
  HIWAY_DEVICE void operator()() {
    enter_block(nullptr, no_id);
    body();
  }
};

/// A stage's or group's kernel before its ends are known.
struct StageKernel {
  DeviceKernel unbound;  ///< for its code's sake: residency and loading
  std::function<DeviceKernel(StageEnds const&)> bind;
};

template <class Runner, class Unit>
StageKernel stage_kernel(Runner const& runner) {
  using Body = PersistentBody<Runner>;
  return {device_kernel<Body, Unit>(Body{runner, {}}), [runner](StageEnds const& all) {
            return device_kernel<Body, Unit>(Body{runner, make_ends<Runner>(all)});
          }};
}

}  // namespace hiway
