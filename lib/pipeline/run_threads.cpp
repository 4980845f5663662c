#include "run_threads.hpp"

#include <cxxabi.h>

#include <string>

#include "hiway/ranges.hpp"
#include "lib/affinity.hpp"
#include "views.hpp"

namespace hiway {

ThreadRole& role_of_this_thread() noexcept {
  thread_local ThreadRole role;
  return role;
}

unsigned RunThreads::count() const {
  unsigned all = 0;
  for (Stage const& stage : layout_.prepared.stages) all += stage.gpu ? 0 : stage.executors;
  return all;
}

void RunThreads::begin(bool traced) {
  traced_ = traced;
  for (std::size_t s = 0; s < layout_.prepared.stages.size(); ++s) reset_ends(s);
  for (PlacedTunnel const& t : layout_.placement.tunnels()) reset_stripes(layout_.prepared.staged_of(t), t);
}

/// As reset_ends, of open inlets.
void RunThreads::reset_stripes(StagedPuts const& staged, PlacedTunnel const& tunnel) {
  for (std::size_t i = 0; i < staged.of_stripes.size(); ++i) {
    InletView const& inlet = tunnel.open.inlets[i / detail::inlet_stripes];
    staged.of_stripes[i]->reset(inlet);
    staged.of_stripes[i]->owner().follow(&layout_.monitors_bell);
  }
}

/// Before monitors and readers look at them.
void RunThreads::reset_ends(std::size_t stage) {
  auto const& threads = layout_.prepared.places[stage].threads;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    for (auto const& hand : threads[t]->hands) hand->reset();
    for (StagedEnd& end : threads[t]->staged) end.reset();
    if (threads[t]->stagings.empty()) continue;
    StageEnds const ends = stage_ends(layout_, {stage}, static_cast<unsigned>(t));
    for (std::size_t i = 0; i < threads[t]->stagings.size(); ++i) {
      if (Staging* const staging = threads[t]->stagings[i].get(); staging != nullptr) staging->reset(ends.inlets[i]);
    }
  }
}

void RunThreads::add_posts(std::vector<KeptThreads::Post>& posts) {
  for (std::size_t s = 0; s < layout_.prepared.stages.size(); ++s) {
    Stage const& stage = layout_.prepared.stages[s];
    if (stage.gpu) continue;
    for (unsigned t = 0; t < stage.executors; ++t) {
      posts.push_back({stage.title() + ": thread " + std::to_string(t + 1) + " of " + std::to_string(stage.executors),
                       [this, s, t] { run(s, t); }});
    }
  }
}

// The threads wake while the kernels are launched.
void RunThreads::await_kernels() const {
  for (unsigned misses = 0; !state_.kernels_started.load(std::memory_order_acquire); ++misses) relax_thread(misses);
}

// A thread ended by pthread_exit is counted, too.
void RunThreads::run(std::size_t stage, unsigned thread) {
  struct Leaving {
    RunState& state;
    std::size_t stage;
    std::function<void()> const& last_left;
    ~Leaving() {
      state.last_thread_end_ns.store(ns_of(std::chrono::steady_clock::now()), std::memory_order_relaxed);
      state.inside[stage].fetch_sub(1, std::memory_order_relaxed);
      if (state.threads_running.fetch_sub(1, std::memory_order_acq_rel) == 1) last_left();
    }
  };
  role_of_this_thread() = {.layout = &layout_};
  this_thread_context() = {};
  state_.inside[stage].fetch_add(1, std::memory_order_relaxed);
  Leaving const leaving{state_, stage, last_left_};
  StagePlace const& place = layout_.prepared.places[stage];
  try {
    await_kernels();
    run_body(stage, thread);
  } catch (Unwind const&) {
    errors_.import_fault(ThreadMachine{}, *layout_.homes.host().control);
  } catch (abi::__forced_unwind const&) {
    errors_.fail(place.failure, errors_.known.thread_ended_itself);
    throw;
  } catch (...) {
    errors_.fail(place.failure, std::current_exception());
  }
  for (auto const& staging : place.threads[thread]->stagings) {
    if (staging != nullptr) staging->owner().end(ThreadMachine{});
  }
  try {
    place.threads[thread]->trace.end();
  } catch (...) {
    errors_.fail(place.failure, std::current_exception());
  }
  pop_range();
}

void RunThreads::run_body(std::size_t stage, unsigned thread) {
  Stage const& s = layout_.prepared.stages[stage];
  CpuStageDescription const& declared = layout_.graph.cpu()[s.owner];
  CpuStageOptions const& options = declared.options;
  this_thread_context() = {.thread = thread, .threads = s.executors, .wait = options.wait};
  push_range(s.description.name.c_str());
  ThreadLog& log = *layout_.prepared.places[stage].threads[thread];
  bool const is_source = s.description.from.empty();
  log.trace.begin(traced_, is_source, log.waits);
  for (auto const& staging : log.stagings) {
    if (staging != nullptr) staging->owner().begin(staging->view().ports->bell, traced_ && is_source);
  }
  if (!options.pin.empty()) pin_this_thread(options.pin[thread % options.pin.size()]);
  declared.body(stage_ends(layout_, {stage}, thread));
}

}  // namespace hiway
