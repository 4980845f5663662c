#include "observer.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "hiway/log.hpp"
#include "lib/report_signal.hpp"
#include "lib/scope/places.hpp"
#include "run_config.hpp"

namespace hiway {
namespace {

constexpr auto glance = std::chrono::milliseconds(20);  // looked at this long before the deadline: do items still move?
constexpr auto least_glance = std::chrono::milliseconds(5);  // a look that came late is followed by one after this long
constexpr auto least_look_interval = std::chrono::milliseconds(10);
constexpr std::chrono::milliseconds hint_after{10000};
constexpr auto sample_interval = std::chrono::milliseconds(1);
// A rest is so many times as long as a sample took, so a thread that waits for the watcher at the end seldom meets a
// sample.
constexpr int rest_after_samples = 20;

}  // namespace

void Observer::begin() {
  PipelineConfig const& config = layout_.config;
  deadline_ = {.next_look = state_.started + (config.deadline - glance)};
  next_sample_ = state_.started;
  growth_ = {.watch = StallWatch(config.grow_after), .next_look = state_.started};
  // Watches for stall_after, or for the hint if that is not set.
  stalls_ = {.watch = StallWatch(config.stall_after.count() == 0 ? hint_after : config.stall_after),
             .next_look = state_.started,
             .hinted = false,
             .signals_seen = report_signals(),
             .times_asked = over_nodes_.times_asked()};
  table_ = {.every = milliseconds_of("HIWAY_WATCH")};
  told_of_failed_task_.assign(layout_.prepared.stages.size(), false);
}

bool Observer::is_due(Time now) {
  std::scoped_lock const lock(observing_);
  return deadline_is_due(now) || sample_is_due(now) || table_is_due(now) || growth_is_due(now) || stall_is_due(now);
}

void Observer::try_observe(Time now, std::chrono::nanoseconds driver_held) noexcept {
  std::unique_lock const looks(observing_, std::try_to_lock);
  if (!looks) return;
  driver_held_ = driver_held;
  try {
    check_deadline(now);
    sample(now);
    show_table(now);
    grow_tunnels(now);
    report_stalls(now);
  } catch (...) {  // W2
    errors_.fail(errors_.parts.watcher, std::current_exception());
  }
}

void Observer::trace_event(std::string category, std::string name, std::string text) {
  if (reports_.trace())
    reports_.trace()->event(
        {ns_of(std::chrono::steady_clock::now()), std::move(category), std::move(name), std::move(text)});
}

// ---- the deadline

bool Observer::deadline_is_due(Time now) const {
  return layout_.config.deadline.count() > 0 && !deadline_.passed && now >= deadline_.next_look &&
         !state_.kernels_done.load(std::memory_order_relaxed);
}

// One moment cannot tell whether a slow run has stalled or still moves: two looks do, shortly before the deadline and
// at it. If the machine was too busy for the first one, both come later.
void Observer::check_deadline(Time now) {
  if (!deadline_is_due(now)) return;
  if (errors_.get()) {
    deadline_.passed = true;
    return;
  }
  auto const deadline = layout_.config.deadline;
  PipelineSnapshot const seen = snapshot();
  Progress counters = progress(seen);
  if (!deadline_.before) {
    deadline_.before = std::move(counters);
    deadline_.next_look = std::max(state_.started + deadline, now + least_glance);
    return;
  }
  deadline_.passed = true;
  bool const still = counters == *deadline_.before || driver_held_.count() != 0;
  std::string const why = still ? ": " + find_waits(seen).front() : ", items still moved";
  errors_.set(
      std::make_exception_ptr(Aborted("the deadline of " + std::to_string(deadline.count()) + " ms has passed" + why)));
}

// ---- samples of a trace, and HIWAY_WATCH

bool Observer::sample_is_due(Time now) const {
  return reports_.is_traced() && now >= next_sample_ && !state_.finishing.load(std::memory_order_relaxed);
}
void Observer::sample(Time now) {
  if (!sample_is_due(now)) return;
  reports_.trace()->sample(ns_of(now), snapshot());
  auto const end = std::chrono::steady_clock::now();
  next_sample_ = end + std::max<std::chrono::nanoseconds>(sample_interval, rest_after_samples * (end - now));
}

/// Prints the table; on a terminal it replaces the previous one. Over nodes node 0 logs those of all.
void Observer::show_table(Time now) {
  if (!table_is_due(now)) return;
  table_.next = now + table_.every;
  std::string const table = to_text(reports_.of(snapshot(), now));
  if (over_nodes_.has_others()) return over_nodes_.log_at_node_0(LogLevel::info, "now\n" + table);
  std::fputs(((isatty(STDERR_FILENO) != 0 ? "\x1b[H\x1b[J" : "") + table).c_str(), stderr);
}

// ---- tasks that have failed

void Observer::log_failed_tasks(PipelineSnapshot const& seen) {
  for (std::size_t s = 0; s < seen.stages.size(); ++s) {
    FirstFailure const& first = seen.stages[s].first_failure;
    if (first.without_scope == 0 || told_of_failed_task_[s]) continue;
    told_of_failed_task_[s] = true;
    over_nodes_.log_at_node_0(LogLevel::warning, "stage '" + seen.stages[s].name + "': a task has failed: " +
                                                     first.message + " (later ones of the stage are only counted)");
  }
}

// ---- growth

bool Observer::growth_is_due(Time now) const {
  return layout_.graph.may_grow() && now >= growth_.next_look &&
         state_.threads_running.load(std::memory_order_relaxed) != 0;
}
void Observer::grow_tunnels(Time now) {
  if (!growth_is_due(now)) return;
  growth_.next_look =
      now + std::max<std::chrono::nanoseconds>(layout_.config.grow_after / 4, std::chrono::milliseconds(1));
  PipelineSnapshot const seen = snapshot();
  if (!growth_.watch.look(now, progress(seen))) return;
  if (std::optional<std::size_t> const tunnel = tunnel_to_grow(seen)) grow(layout_.placement.tunnels()[*tunnel]);
}

// A put needs only more credit: the slots exist already.
void Observer::grow(PlacedTunnel& tunnel) {
  std::size_t const more = std::min(tunnel.capacity, tunnel.base->config().grow_to_items - tunnel.capacity);
  trace_event("growth", tunnel.title() + " grows",
              "from " + std::to_string(tunnel.capacity) + " to " + std::to_string(tunnel.capacity + more) + " items");
  auto const held = snapshots_.hold();
  tunnel.capacity += more;
  RingWords* const words = tunnel.put.ring.words;
  auto const capacity = static_cast<std::int32_t>(tunnel.capacity);
  layout_.homes.host().words->image(words).free.bits = capacity;  // also for the next run
  ThreadMachine{}.fetch_add(words->free, static_cast<std::int32_t>(more), MemoryOrder::relaxed);
}

// ---- stalls

bool Observer::stall_is_due(Time now) const {
  if (state_.has_left(std::memory_order_relaxed)) return false;
  return report_signals() != stalls_.signals_seen || over_nodes_.times_asked() != stalls_.times_asked ||
         now >= stalls_.next_look;
}

void Observer::note_stall(std::string const& text) { trace_event("stall", "stall", text); }

void Observer::report_stalls(Time now) {
  if (!stall_is_due(now)) return;
  PipelineSnapshot const seen = snapshot();
  report_as_asked(seen);
  log_failed_tasks(seen);
  if (now < stalls_.next_look) return;
  stalls_.next_look = now + std::max<std::chrono::nanoseconds>(stalls_.watch.stall_after() / 4, least_look_interval);
  if (stalls_.watch.look(now, progress(seen))) report_stall(seen);
}

std::string Observer::describe(PipelineSnapshot seen, std::string_view occasion) const {
  constexpr std::size_t most_named = 4;
  for (auto const& scopes : layout_.scopes) {
    Scopes::Places const& places = ScopesAccess::places(*scopes);
    ScopesReport const report = places.report();
    seen.scopes.push_back({report.name, report.most_open, report.open, report.ended, places.oldest(most_named)});
  }
  return describe_stall(seen, occasion);
}

// What comes of a signal to node 0 is in its log (RunOverNodes::answer). A signal to another node is for that one
// alone, which says it itself: node 0 may be what it waits for.
void Observer::report_as_asked(PipelineSnapshot const& seen) {
  unsigned const signals_now = report_signals();
  unsigned const times_asked = over_nodes_.times_asked();
  bool const by_signal = std::exchange(stalls_.signals_seen, signals_now) != signals_now;
  bool const by_node_0 = std::exchange(stalls_.times_asked, times_asked) != times_asked;
  if (!by_signal && !by_node_0) return;
  std::string const text = describe(seen, asked_by_signal);
  if (by_node_0 || layout_.over_nodes.node == 0) {
    over_nodes_.log_at_node_0(LogLevel::error, text);
  } else {
    log(LogLevel::error, text);
  }
  note_stall(text);
  if (by_signal) write_graph_();
}

// Without stall_after, a run that stands still says so once, in one line.
void Observer::report_stall(PipelineSnapshot const& seen) {
  auto const still = std::chrono::duration_cast<std::chrono::milliseconds>(stalls_.watch.still());
  if (layout_.config.stall_after.count() == 0) {
    if (waits_for_outside(seen) || std::exchange(stalls_.hinted, true)) return;
    std::string const hint = "nothing has moved for " + std::to_string(still.count() / 1000) +
                             " s: " + find_waits(seen).front() + " (HIWAY_STALL_AFTER=MILLISECONDS tells all, " +
                             "HIWAY_STALL_AFTER=off nothing)";
    over_nodes_.log_at_node_0(LogLevel::warning, hint);
    return note_stall(hint);
  }
  std::string const text = describe(seen, "no progress for " + std::to_string(still.count()) + " ms");
  over_nodes_.log_at_node_0(LogLevel::error, text);
  note_stall(text);
  if (layout_.config.on_stall == OnStall::abort) errors_.set(std::make_exception_ptr(Aborted(text)));
}

}  // namespace hiway
