// Pipeline::Core's look at a run that stands still. It reads the counters of a run while others change them, says what
// they mean (stall_report.hpp), and gives a tunnel more room if that is what is missing.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "hiway/log.hpp"
#include "lib/environment.hpp"
#include "lib/report_signal.hpp"
#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr auto least_look_interval = std::chrono::milliseconds(10);
constexpr std::chrono::milliseconds hint_after{10000};
constexpr auto stats_patience = std::chrono::milliseconds(100);

/// Items of a whole ring whose slots are free again. A stage that works on an item in place may still hold the slot of
/// an item that was taken.
std::uint64_t left(TunnelSnapshot const& s, std::uint64_t room) {
  std::uint64_t const held = s.capacity - std::min(room, s.capacity);
  return s.claimed - std::min(held, s.claimed);
}

TaskCounts sum(std::vector<TaskCounts> const& counts) {
  TaskCounts all;
  for (TaskCounts const& c : counts) {
    all.got += c.got;
    all.finished += c.finished;
  }
  return all;
}

}  // namespace

std::chrono::milliseconds milliseconds_of(char const* variable, char const* what) {
  std::chrono::milliseconds const said(number_from_environment(variable, what, 0).value_or(0));
  return at_most_for_ever<std::chrono::milliseconds>(said);
}

std::chrono::milliseconds stall_after_of_environment() {
  char const* const asked = std::getenv("HIWAY_STALL_AFTER");
  if (asked != nullptr && std::string_view(asked) == "off") return for_ever;
  return milliseconds_of("HIWAY_STALL_AFTER", "a number of milliseconds, or off");
}

PipelineSnapshot Pipeline::Core::snapshot() {
  std::scoped_lock const lock(snapshots_);
  bool const held = driver_held_.count() != 0;  // the copies are old, and kernels_ is the watcher's
  PipelineSnapshot seen =
      held ? read_counters(unseen_words(), Kernels::not_asked) : read_counters(*copies_, Kernels::asked);
  seen.asks_driver = asks_driver_;
  seen.driver_held = driver_held_;
  return seen;
}

/// Copies in which no device's words are seen.
WordCopies Pipeline::Core::unseen_words() const {
  WordCopies unseen;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (is_asked_of_driver(home)) unseen.expect(home);
  }
  return unseen;
}

bool Pipeline::Core::is_asked_of_driver(Home home) const {
  return device(home).monitor != nullptr && !backend(home).is_host();
}

// Asks the driver nothing until the kernels have started: a launch that waits for something may hold the driver.
void Pipeline::Core::fetch_copies() {
  std::uint64_t asked = 0;
  {
    std::scoped_lock const lock(snapshots_);
    asked = copies_asked_;
  }
  auto fetched = std::make_shared<WordCopies>(unseen_words());
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    DriverCall const call(driver_since_ns_);
    if (!is_asked_of_driver(home) || !kernels_started_.load(std::memory_order_acquire)) continue;
    std::vector<std::span<std::byte const>> spans = device(home).words->words();
    std::ranges::copy(device(home).plan->words(), std::back_inserter(spans));
    for (TunnelState const& t : tunnels_) {
      if (t.stencil && t.put_home == home) spans.push_back(std::as_bytes(set_words(t)));
    }
    fetched->fetch(home, backend(home), spans);
  }
  {
    std::scoped_lock const lock(snapshots_);
    copies_ = std::move(fetched);
    copies_served_ = asked;
  }
  copies_came_.notify_all();
}

/// Fresh copies if the watcher brings them in time; otherwise copies in which no device is seen.
std::shared_ptr<WordCopies const> Pipeline::Core::copies_for_stats(std::unique_lock<std::mutex>& snapshots) {
  ThreadRole const& role = role_of_this_thread();
  if (!asks_driver_ || (role.core == this && role.observes))
    return copies_;  // the thread that fetches must not wait for itself
  std::uint64_t const asked = ++copies_asked_;
  watcher_->wake();
  bool const came = copies_came_.wait_for(snapshots, stats_patience, [&] { return copies_served_ >= asked || !live_; });
  return came ? copies_ : std::make_shared<WordCopies>(unseen_words());
}

std::span<Word<std::uint32_t>> Pipeline::Core::set_words(TunnelState const& t) {
  StencilShape const& shape = t.stencil->tunnel->plan().shape;
  return {t.stencil->set, std::size_t{shape.regions()} * shape.buffers};
}

PipelineSnapshot Pipeline::Core::read_counters(WordCopies const& reader, Kernels kernels) {
  auto const tasks = [&](OutletPort* ports, unsigned count, Home home) {  // one for each port
    std::vector<TaskCounts> all;
    for (unsigned i = 0; i < count; ++i)
      all.push_back({reader.read(&ports[i].got, home), reader.read(&ports[i].finished, home)});
    return all;
  };
  PipelineSnapshot all;
  all.aborting = is_aborted(ThreadMachine{}, *host_control_);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    StageState const& s = stages_[i];
    StageSnapshot stage;
    stage.name = s.description.name;
    stage.gpu = s.gpu;
    if (s.gpu && devices_.size() > 1) stage.device = device_name(s.home);
    stage.executors = s.executors;
    stage.started = s.description.own_kernel ? s.executors : reader.read(&s.words->started, s.home);
    stage.returned = reader.read(&s.words->returned, s.home);
    stage.ended = reader.read(&s.words->ended, s.home) != 0;
    stage.inside = inside_[i].load(std::memory_order_relaxed);
    if (s.gpu && kernels_started_.load(std::memory_order_acquire) && kernels == Kernels::asked) {
      auto const place = std::find(start_order_.begin(), start_order_.end(), s.owner) - start_order_.begin();
      auto const monitors = std::ranges::count_if(devices_, [](Device const& d) { return d.monitor != nullptr; });
      auto const kernel = static_cast<std::size_t>(place + monitors);
      if (kernel < kernels_.size() && !kernels_[kernel].done) {
        stage.inside = s.executors;
        stage.in_sync_block = kernels_[kernel].kernel->lanes_in_sync_block();
      }
    }
    stage.got.assign(s.executors, 0);
    for (std::size_t f = 0; f < s.description.from.size(); ++f) {
      std::vector<TaskCounts> const each = tasks(s.outlet_ports[f], s.executors, s.home);
      for (unsigned e = 0; e < s.executors; ++e) stage.got[e] += each[e].got;
      stage.from.push_back({s.description.from[f]->id(), sum(each)});
    }
    for (std::size_t o = 0; o < s.description.into.size(); ++o)
      stage.into.push_back(
          {s.description.into[o]->id(), reader.read(s.closed_executors[o], s.home), flow_.stages[i].spills[o]});
    all.stages.push_back(std::move(stage));
  }
  for (TunnelState const& t : tunnels_) {
    TunnelBase const& tunnel = *t.tunnel;
    Home const from = t.put_home;
    Home const to = t.get_home;
    TunnelSnapshot s;
    s.name = tunnel.name();
    s.kind = std::string(direction_name(tunnel.direction())) + " " + movement_name(t);
    s.crosses = t.crosses();
    s.on_device = from != at_host || to != at_host;
    s.capacity = t.capacity;
    s.may_grow_to = tunnel.config().grow_to_items;
    std::uint64_t room = 0;
    for (unsigned k = 0; k < t.put_ring.shards; ++k) {
      s.taken += reader.read(&t.get_ring.words[k].taken, to);
      s.claimed += reader.read(&t.put_ring.words[k].claimed, from);
      s.put_groups += reader.read(&t.put_ring.words[k].put_groups, from);
      s.get_groups += reader.read(&t.get_ring.words[k].get_groups, to);
      if (!s.crosses) room += static_cast<std::uint64_t>(std::max(0, reader.read(&t.put_ring.words[k].free, from)));
    }
    s.retired = s.crosses ? reader.read(t.retired.word, t.retired.home) : left(s, room);
    if (tunnel.config().low_latency) {
      s.published = s.arrived = s.claimed;  // items with tags are not published by a relay
    } else {
      s.arrived = reader.read(t.arrived.word, t.arrived.home);
      s.published = reader.read(t.published.word, t.published.home);
    }
    s.spills = flow(t).spills;
    if (s.spills) {
      RingWords* const pool = words(from).image(t.spill).words;
      s.spill_taken = s.crosses ? reader.read(t.drained, from) : reader.read(&pool->taken, from);
      s.spill_claimed = reader.read(&pool->claimed, from);
      s.spill_capacity = spill_items(tunnel);
    }
    if (std::size_t const by = flow(t).throttled_by; by != FlowPlan::none) {
      s.throttled = reader.read(&t.put_end->throttled, from) != 0;
      s.throttled_by.assign(flow_.cycles[by].pools.begin(), flow_.cycles[by].pools.end());
    }
    bool const end_at_host = to == at_host;
    EndWords* const end = end_at_host ? t.get_end : t.put_end;
    s.closed = reader.read(&end->closed, end_at_host ? to : from) != 0;
    s.ended = reader.read(&end->ended, end_at_host ? to : from) != 0;
    s.open_inlets = t.open_inlets;
    s.open_inlets_closed = reader.read(t.open_closed, from);
    for (OutletPort* port : t.open_outlets) s.open_outlets.push_back(tasks(port, 1, to).front());
    if (t.stencil) {
      std::vector<std::uint32_t> set;
      for (Word<std::uint32_t>& word : set_words(t)) set.push_back(reader.read(&word, from));
      if (reader.devices_seen()) s.frames = incomplete_frame(t.stencil->tunnel->plan().shape, set);
    }
    all.tunnels.push_back(std::move(s));
  }
  all.device_seen = reader.devices_seen();
  return all;
}

// A put needs only more credit: the slots exist already.
void Pipeline::Core::grow(TunnelState& t) {
  std::size_t const more = std::min(t.capacity, t.tunnel->config().grow_to_items - t.capacity);
  trace_event("growth", "tunnel '" + t.tunnel->name() + "' grows",
              "from " + std::to_string(t.capacity) + " to " + std::to_string(t.capacity + more) + " items");
  std::scoped_lock const lock(snapshots_);
  t.capacity += more;
  host_words_->image(t.put_ring.words).free.bits = static_cast<std::int32_t>(t.capacity);  // also for the next run
  ThreadMachine{}.fetch_add(t.put_ring.words->free, static_cast<std::int32_t>(more), Order::relaxed);
}

bool Pipeline::Core::growth_is_due(std::chrono::steady_clock::time_point now) const {
  return tunnels_may_grow_ && now >= next_growth_look_ && threads_running_.load(std::memory_order_relaxed) != 0;
}
void Pipeline::Core::grow_tunnels(std::chrono::steady_clock::time_point now) {
  if (!growth_is_due(now)) return;
  next_growth_look_ = now + std::max<std::chrono::nanoseconds>(config_.grow_after / 4, std::chrono::milliseconds(1));
  PipelineSnapshot const seen = snapshot();
  if (!growth_watch_.look(now, progress(seen))) return;
  if (std::optional<std::size_t> const tunnel = tunnel_to_grow(seen)) grow(tunnels_[*tunnel]);
}

/// True if all threads and kernels of the run have left.
bool Pipeline::Core::has_left() const {
  return threads_running_.load(std::memory_order_relaxed) == 0 && kernels_done_.load(std::memory_order_relaxed);
}

/// Watches for stall_after, or for the hint if that is not set.
void Pipeline::Core::start_stall_watch() {
  stall_watch_ = StallWatch(config_.stall_after.count() == 0 ? hint_after : config_.stall_after);
  next_look_ = started_;
  hinted_ = false;
  signals_seen_ = report_signals();
}

bool Pipeline::Core::stall_look_is_due(std::chrono::steady_clock::time_point now) const {
  if (has_left()) return false;
  return report_signals() != signals_seen_ || now >= next_look_;
}

// Without stall_after, a run that stands still says so once, in one line.
void Pipeline::Core::report_stalls(std::chrono::steady_clock::time_point now) {
  if (!stall_look_is_due(now)) return;
  auto const say = [&](LogLevel level, std::string const& text) {
    log(level, text);
    trace_event("stall", "stall", text);
  };
  PipelineSnapshot const seen = snapshot();
  if (unsigned const signals_now = report_signals(); signals_now != signals_seen_) {
    signals_seen_ = signals_now;
    say(LogLevel::error, describe_stall(seen, "asked by SIGUSR1"));
    write_graph();
  }
  if (now < next_look_) return;
  next_look_ = now + std::max<std::chrono::nanoseconds>(stall_watch_.stall_after() / 4, least_look_interval);
  if (!stall_watch_.look(now, progress(seen))) return;
  auto const still = std::chrono::duration_cast<std::chrono::milliseconds>(stall_watch_.still());
  if (config_.stall_after.count() == 0) {
    if (waits_for_outside(seen) || std::exchange(hinted_, true)) return;
    return say(LogLevel::warning,
               "nothing has moved for " + std::to_string(still.count() / 1000) + " s: " + find_waits(seen).front() +
                   " (HIWAY_STALL_AFTER=MILLISECONDS tells all, " + "HIWAY_STALL_AFTER=off nothing)");
  }
  std::string const text = describe_stall(seen, "no progress for " + std::to_string(still.count()) + " ms");
  say(LogLevel::error, text);
  if (config_.on_stall == OnStall::abort) set_error(std::make_exception_ptr(Aborted(text)));
}

}  // namespace hiway
