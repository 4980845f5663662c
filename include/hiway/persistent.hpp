// The life of one persistent executor (a block, or a CPU thread): it runs the stage, its threads meet, it closes what
// is still open, and it counts as returned.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "hiway/inlet.hpp"
#include "hiway/launch/cuda.cuh"
#include "hiway/launch/slice.hpp"
#include "hiway/launch/stage_words.hpp"
#include "hiway/outlet.hpp"
#include "hiway/stage.hpp"

namespace hiway {

/// The ends of the stages in one kernel or CPU stage, in any number.
struct StageEnds {
  std::vector<OutletView> outlets;
  std::vector<InletView> inlets;
  std::vector<StageWords*> stages;
  std::uint32_t first_stage = no_id;  ///< number of the first of these stages
  Control* control = nullptr;
  Slice slice{};  ///< of a kernel that yields
};

/// The same in the form a kernel takes: passed by value, with the counts of Runner.
template <class Runner>
struct Ends {
  OutletView outlets[Runner::outlet_count == 0 ? 1 : Runner::outlet_count];
  InletView inlets[Runner::inlet_count == 0 ? 1 : Runner::inlet_count];
  StageWords* stages[Runner::stage_count == 0 ? 1 : Runner::stage_count];
  std::uint32_t first_stage = no_id;
  Control* control = nullptr;
  Slice slice{};
};

/// The ends in `all`, for a Runner that has as many.
template <class Runner>
Ends<Runner> make_ends(StageEnds const& all) {
  Ends<Runner> ends{};
  for (unsigned i = 0; i != Runner::outlet_count; ++i) ends.outlets[i] = all.outlets[i];
  for (unsigned i = 0; i != Runner::inlet_count; ++i) ends.inlets[i] = all.inlets[i];
  for (unsigned i = 0; i != Runner::stage_count; ++i) ends.stages[i] = all.stages[i];
  ends.first_stage = all.first_stage;
  ends.control = all.control;
  ends.slice = all.slice;
  return ends;
}

/// Closes the inlets that block `block` of a stage has left open, and counts the block as returned; one thread calls
/// it. Nothing is closed when the run is aborting (termination.hpp T6).
template <class Machine, class Runner>
HIWAY_DEVICE inline void close_block(Machine m, Ends<Runner> const& ends, unsigned block, unsigned block_threads) {
  if (is_aborted(m, *ends.control)) return;
  for (unsigned i = 0; i != Runner::inlet_count; ++i) {
    detail::for_each_branch(m, ends.inlets[i], [&](InletView const& inlet) {
      if (m.load(inlet.ports[block].closed_count, MemoryOrder::acquire) < block_threads) detail::count_closed(m, inlet);
    });
  }
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->returned, 1u, MemoryOrder::acq_rel);
}

template <class Runner>
inline constexpr bool runs_in_slices = requires {
  requires Runner::leaves != Leaves::never;
};

/// Whether some of its tunnels have scopes.
template <class Runner>
inline constexpr bool counts_scopes = requires {
  requires Runner::has_scopes;
};

/// The begin of a launch, by one thread of each block.
template <class Machine, class Runner>
HIWAY_DEVICE inline void begin_launch(Machine m, Ends<Runner> const& ends) {
  if (ends.slice.ns != 0 && m.load(ends.slice.words->launch, MemoryOrder::relaxed) != 1) return;
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->started, 1u, MemoryOrder::relaxed);
}

/// Whether the block's stage has ended, or all replicas of its segment are done.
template <class Machine, class Runner>
HIWAY_DEVICE inline bool is_done(Machine m, Runner const& runner, Ends<Runner> const& ends) {
  if constexpr (requires { runner.is_done(m); }) {
    return runner.is_done(m);
  } else {
    for (unsigned i = 0; i != Runner::outlet_count; ++i) {
      if (m.load(*ends.outlets[i].stage_ended, MemoryOrder::acquire) == 0) return false;
    }
    return true;
  }
}

/// The block returns, if it is done and has not returned in an earlier launch: L3.
template <class Machine, class Runner>
HIWAY_DEVICE inline void return_block(Machine m, Runner const& runner, Ends<Runner> const& ends) {
  if (!is_done(m, runner, ends)) return;
  Word<std::uint32_t>& returned = ends.slice.returned[m.block_index()];
  if (m.load(returned, MemoryOrder::relaxed) != 0) return;
  m.store(returned, 1u, MemoryOrder::relaxed);
  close_block(m, ends, m.block_index(), m.block_threads());
  if (m.load(ends.stages[0]->returned, MemoryOrder::acquire) == m.block_count())
    m.store_across(ends.slice.news->over, 1u, MemoryOrder::relaxed);
}

/// The end of a launch, by one thread of each block, after the others.
template <class Machine, class Runner>
HIWAY_DEVICE inline void end_launch(Machine m, Runner const& runner, Ends<Runner> const& ends) {
  Slice const& slice = ends.slice;
  if (slice.ns == 0) return close_block(m, ends, m.block_index(), m.block_threads());
  return_block(m, runner, ends);
  if (m.fetch_add(slice.words->left, 1u, MemoryOrder::acq_rel) + 1 == m.block_count())
    leave_last(m, slice.words->launch, slice.words->left, *slice.news);
}

/// Runs `runner`, then closes the block.
template <class Machine, class Runner>
HIWAY_DEVICE inline void run_persistent(Machine m, Runner& runner, Ends<Runner> const& ends) {
  if (m.thread_in_block() == 0) begin_launch(m, ends);
  if constexpr (runs_in_slices<Runner>) {
    runner(m, ends.outlets, ends.inlets, ends.slice);
  } else {
    runner(m, ends.outlets, ends.inlets);
  }
  m.sync_block();
  if (m.thread_in_block() == 0) end_launch(m, runner, ends);
}

/// Runs `runner` on a CPU thread, then closes its inlets. An inlet that user code keeps afterwards refuses every put.
template <class Runner>
void run_persistent(StageThread m, Runner& runner, Ends<Runner> const& ends) {
  struct Closed {
    Ends<Runner> const& ends;
    ~Closed() {
      for (unsigned i = 0; i != Runner::inlet_count; ++i) {
        detail::for_each_branch(StageThread{}, ends.inlets[i], [](InletView const& inlet) {
          StageThread{}.fetch_or(inlet.ports->closed_lanes[0], 1u, MemoryOrder::acq_rel);
        });
      }
    }
  } const closed{ends};
  ThreadContext& context = this_thread_context();
  context.run = ends.control;
  context.stage = ends.first_stage;
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->started, 1u, MemoryOrder::relaxed);
  try {
    runner(m, ends.outlets, ends.inlets);
  } catch (Unwind const& u) {
    if (u.times != 0) throw;
    std::throw_with_nested(Aborted(u.what()));  // from another run: the stage called an open end of it
  }
  if (is_aborted(m, *ends.control)) return;
  for (unsigned i = 0; i != Runner::inlet_count; ++i) detail::close(m, ends.inlets[i]);  // T5: the bit, then the count
  for (unsigned s = 0; s != Runner::stage_count; ++s) m.fetch_add(ends.stages[s]->returned, 1u, MemoryOrder::acq_rel);
}

/// The function that every thread of a persistent kernel calls.
template <class Runner>
struct PersistentBody {
  Runner runner;
  Ends<Runner> ends;
  HIWAY_DEVICE void operator()() {
    if constexpr (counts_scopes<Runner>) on_this_device([](auto m) { enter_scopes(m); });
    enter_block(ends.control, ends.first_stage);
    on_this_device([&](auto m) { run_persistent(m, runner, ends); });
  }
};

/// The function that every thread of an ordinary launch calls.
template <class F>
struct LaunchBody {
  F body;
  HIWAY_DEVICE void operator()() {
    enter_block(nullptr, no_id);
    body();
  }
};

/// A kernel's own data in device memory, besides tunnels (a segment's queues). Called by the pipeline.
class KernelData {
 public:
  virtual ~KernelData() = default;
  /// The blocks, threads and shared memory of this kernel, one of `sharers` on the device. *Throws* ConfigError.
  virtual simt::Grid choose_grid(Backend& backend, DeviceKernel const& kernel, GpuStageOptions options,
                                 unsigned sharers) = 0;
  /// Allocates memory for the chosen grid, and replaces the memory it had.
  virtual void place(Backend& backend, simt::Grid grid, Control* control, std::uint32_t stage, Slice const& slice) = 0;
  /// start: before each run. finish: after each run that ended without an error.
  virtual void start(Backend& backend) = 0;
  virtual void finish(Backend& backend) = 0;
};

/// A stage's or group's kernel before its ends are known.
struct StageKernel {
  DeviceKernel unbound;  ///< without ends: for questions about its code (residency) and to load it
  std::function<DeviceKernel(StageEnds const&)> bind;
  /// Only for a user's own kernel, which does not close its inlets: one warp closes them when the kernel has ended.
  /// Else empty.
  std::function<DeviceKernel(StageEnds const&, simt::Grid)> close_behind = {};
  std::shared_ptr<KernelData> data = {};  ///< or null
  Leaves leaves = Leaves::never;
  bool keeps_nothing = false;  ///< its functors keep nothing from item to item
  std::size_t held_bytes = 0;  ///< of each thread (launch/slice.hpp)
};

/// The number of ends of a user's own kernel.
template <class In, class Out>
struct OwnKernel;
template <class... Is, class... Os>
struct OwnKernel<From<Is...>, Into<Os...>> {
  static constexpr unsigned outlet_count = sizeof...(Is) + stencils_among<Is...>;
  static constexpr unsigned inlet_count = sizeof...(Os) + stencils_among<Is...>;
  static constexpr unsigned stage_count = 1;
};

/// The function that one warp calls after a user's own kernel.
template <class Runner>
struct CloseBehindBody {
  Ends<Runner> ends;
  unsigned blocks;
  unsigned block_threads;
  HIWAY_DEVICE void operator()() const {
    enter_block(nullptr, no_id);
    on_this_device([&](auto m) {
      for (unsigned b = m.thread_in_block(); b < blocks; b += m.block_threads()) close_block(m, ends, b, block_threads);
    });
  }
};

/// A user's own function as a stage's functor, if it is not a __global__ function.
template <class Kernel, class... Args>
struct CallKernel {
  using Wraps = Kernel;
  Kernel kernel;
  std::tuple<Args...> arguments;
  template <class... Handles>
  void operator()(Handles... handles) const {
    std::apply([&](Args const&... args) { kernel(handles..., args...); }, arguments);
  }
};

/// The stage kernel of a user's own __global__ function, which takes its outlets, its inlets and `arguments`.
template <class... Is, class... Os, class... Ps, class... Args>
StageKernel own_kernel(From<Is...>, Into<Os...>, void (*kernel)(Ps...), KernelShape shape, Args... arguments) {
  using Own = OwnKernel<From<Is...>, Into<Os...>>;
  StageKernel made;
  made.unbound.cuda.symbol = reinterpret_cast<void const*>(kernel);
  made.unbound.cuda.shape = shape;
  made.bind = [=, unbound = made.unbound](StageEnds const& all) {
    DeviceKernel bound = unbound;
    bound.cuda.with_arguments = [=](std::function<void(void**)> const& call) {
      std::tuple<Ps...> parameters = [&]<std::size_t... I, std::size_t... O>(std::index_sequence<I...>,
                                                                             std::index_sequence<O...>) {
        return std::tuple<Ps...>(OutletOf<I, From<Is...>, Into<Os...>>::open(all.outlets.data(), all.inlets.data())...,
                                 Inlet<Os>(all.inlets[O])..., arguments...);
      }
      (std::index_sequence_for<Is...>{}, std::index_sequence_for<Os...>{});
      std::apply(
          [&](Ps&... each) {
            void* pointers[] = {&each...};
            call(pointers);
          },
          parameters);
    };
    return bound;
  };
  made.close_behind = [](StageEnds const& all, simt::Grid grid) {
    using Body = CloseBehindBody<Own>;
    return device_kernel<Body, NvccUnit>(Body{make_ends<Own>(all), grid.blocks, grid.threads_per_block});
  };
  return made;
}

template <class Runner, class Unit>
StageKernel stage_kernel(Runner const& runner) {
  auto const kernel = [runner](Ends<Runner> const& ends) {
    DeviceKernel one = device_kernel<PersistentBody<Runner>, Unit>({runner, ends});
    if constexpr (counts_scopes<Runner>) one.cuda.bytes_of_lane = scope_bytes_of_lane;
    return one;
  };
  StageKernel made{kernel({}), [kernel](StageEnds const& all) { return kernel(make_ends<Runner>(all)); }};
  if constexpr (runs_in_slices<Runner>) {
    made.leaves = Runner::leaves;
    made.keeps_nothing = Runner::keeps_nothing;
    made.held_bytes = Runner::held_bytes;
  }
  return made;
}

}  // namespace hiway
