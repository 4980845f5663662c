// Pipeline::Core's reports: what the stages and tunnels of a run did, while it runs and after it, and the file of a
// traced run.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iomanip>
#include <locale>
#include <optional>
#include <sstream>

#include "hiway/log.hpp"
#include "hiway/output_file.hpp"
#include "pipeline_core.hpp"
#include "text.hpp"

namespace hiway {
namespace {

constexpr auto sample_interval = std::chrono::milliseconds(1);
// A rest is so many times as long as a sample took, so a thread that waits for the watcher at the end seldom meets a
// sample.
constexpr int rest_after_samples = 20;

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

std::int64_t ns_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

/// *Throws* ConfigError.
void write_or_throw(std::string const& path, std::string const& text, char const* what) {
  if (std::string const why = write_file(path, text); !why.empty())
    throw ConfigError(std::string(what) + ": '" + path + "' cannot be written: " + why);
}

/// A run that has ended keeps its outcome, report or error, even if one of its files cannot be made: that is only
/// logged.
void at_the_end(auto&& write) noexcept {
  try {
    write();
  } catch (std::exception const& e) {
    log(LogLevel::warning, e.what());
  } catch (...) {
    log(LogLevel::warning, "unknown exception");
  }
}

/// Calls `write(path)` if the variable names a file.
void write_where_asked(char const* variable, auto&& write) noexcept {
  char const* const asked = std::getenv(variable);
  if (asked == nullptr || *asked == '\0') return;
  at_the_end([&] { write(std::string(asked)); });
}

/// The picture that Graphviz makes of the file `dot`; none if it fails.
std::optional<std::string> drawn(std::string const& dot) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, dot.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::string arguments[] = {"dot", "-Tsvg"};
  char* list[] = {arguments[0].data(), arguments[1].data(), nullptr};
  pid_t child = 0;
  bool const spawned = posix_spawnp(&child, "dot", &actions, nullptr, list, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  std::string picture;
  char part[1 << 14];
  for (ssize_t got = 1; spawned && got != 0;) {
    got = ::read(pipe_ends[0], part, sizeof part);
    if (got > 0) picture.append(part, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(pipe_ends[0]);
  int status = 0;  // stays 0 if the program ignores SIGCHLD: then there is no status
  while (spawned && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || picture.empty()) return std::nullopt;
  return picture;
}

std::string rate(double per_second) {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::setprecision(3);
  if (per_second >= 1e6) {
    text << per_second / 1e6 << " M/s";
  } else if (per_second >= 1e3) {
    text << per_second / 1e3 << " k/s";
  } else {
    text << per_second << " /s";
  }
  return text.str();
}

}  // namespace

char const* direction_name(Direction direction) {
  switch (direction) {
    case Direction::cpu_to_cpu: return "cpu_to_cpu";
    case Direction::cpu_to_gpu: return "cpu_to_gpu";
    case Direction::gpu_to_cpu: return "gpu_to_cpu";
    case Direction::gpu_to_gpu: return "gpu_to_gpu";
  }
  return "unknown direction";
}

std::string chosen_trace(std::string const& configured) {
  char const* const asked = std::getenv("HIWAY_TRACE");
  return configured.empty() && asked != nullptr ? asked : configured;
}

void Pipeline::Core::start_trace() {
  for (StageState& s : stages_) {
    for (auto& thread : s.threads) *thread = {.trace = {}, .waits = std::vector<WaitWords>(tunnels_.size())};
  }
  trace_.reset();
  if (!config_.trace.empty()) {
    // An error now, not after the run.
    if (std::string const why = why_not_writable(config_.trace); !why.empty())
      throw ConfigError("trace: '" + config_.trace + "' cannot be written: " + why);
    trace_.emplace();
  }
  for (Latency& latency : latencies_) latency.reset();
  show_every_ = milliseconds_of("HIWAY_WATCH");
  next_show_ = {};
  for (Device& d : devices_) {
    for (auto const& line : d.lines) {
      if (line) line->keep_records(trace_.has_value());
    }
  }
}

bool Pipeline::Core::sample_is_due(std::chrono::steady_clock::time_point now) const {
  return trace_ && now >= next_sample_ && !finishing_.load(std::memory_order_relaxed);
}
void Pipeline::Core::sample(std::chrono::steady_clock::time_point now) {
  if (!sample_is_due(now)) return;
  trace_->sample(ns_of(now), snapshot());
  auto const end = std::chrono::steady_clock::now();
  next_sample_ = end + std::max<std::chrono::nanoseconds>(sample_interval, rest_after_samples * (end - now));
}

void Pipeline::Core::trace_event(std::string category, std::string name, std::string text) {
  if (trace_)
    trace_->event({ns_of(std::chrono::steady_clock::now()), std::move(category), std::move(name), std::move(text)});
}

TunnelReport Pipeline::Core::tunnel_report(PipelineSnapshot const& seen, std::size_t tunnel) const {
  TunnelState const& t = tunnels_[tunnel];
  TunnelSnapshot const& s = seen.tunnels[tunnel];
  TunnelReport r;
  r.name = t.tunnel->name();
  r.movement = movement_name(t);
  r.why = t.why;
  r.capacity_items = s.capacity;
  r.direction = direction_name(t.tunnel->direction());
  r.item_bytes = t.tunnel->item_bytes();
  r.spills_to_host = t.spills_to_host;
  r.items = put(s);
  r.finished = tasks(seen, tunnel).finished;
  r.spilled = s.spill_claimed;
  r.holds = in_ring(s) + in_pool(s);
  r.put_groups = s.put_groups;
  r.get_groups = s.get_groups;
  if (!trace_ || running_ || tunnel >= trace_->tunnels().size()) return r;
  TunnelLevels const& levels = trace_->tunnels()[tunnel];
  auto const part = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(levels.samples); };
  r.most_items = static_cast<double>(levels.most);
  r.mean_items = part(levels.sum);
  r.full = part(levels.full);
  r.empty = part(levels.empty);
  return r;
}

StageReport Pipeline::Core::stage_report(std::size_t stage, std::uint64_t tasks, double run_seconds) const {
  StageState const& s = stages_[stage];
  StageReport r;
  r.name = s.description.name;
  r.gpu = s.gpu;
  r.executors = s.executors;
  r.items = tasks;
  for (TunnelBase const* tunnel : s.description.from) r.items_of.push_back({tunnel->name()});
  for (TunnelBase const* tunnel : s.description.into) r.room_in.push_back({tunnel->name()});
  if (s.gpu) {
    r.seconds = run_seconds * s.executors;
    if (!trace_ || running_ || stage >= trace_->stages().size()) return r;
    StageLevels const& levels = trace_->stages()[stage];
    if (levels.left_ns != 0) r.seconds = std::min(r.seconds, seconds(levels.left_ns - ns_of(started_)) * s.executors);
    if (levels.samples != 0 && !s.description.from.empty())
      r.busy = static_cast<double>(levels.active) / static_cast<double>(levels.samples * s.executors);
    return r;
  }
  double waited = 0;
  auto const sum = [&](std::vector<TunnelBase*> const& tunnels, std::vector<WaitReport>& waits,
                       Word<std::uint64_t> WaitWords::* word) {
    for (std::size_t i = 0; i < tunnels.size(); ++i) {
      waits[i].seconds = 0;
      for (auto const& thread : s.threads) {
        Word<std::uint64_t>& ns = thread->waits[tunnels[i]->id()].*word;
        waits[i].seconds += seconds(static_cast<std::int64_t>(ThreadMachine{}.load(ns, Order::relaxed)));
      }
      waited += waits[i].seconds;
    }
  };
  sum(s.description.from, r.items_of, &WaitWords::items_ns);
  sum(s.description.into, r.room_in, &WaitWords::room_ns);
  for (auto const& thread : s.threads) r.seconds += seconds(thread->trace.lived_ns());
  if (r.seconds > 0) r.busy = std::max(0.0, 1 - waited / r.seconds);
  return r;
}

RunReport Pipeline::Core::report_of(PipelineSnapshot const& seen, std::chrono::steady_clock::time_point now) const {
  RunReport report;
  report.device = device_names();
  report.seconds = std::chrono::duration<double>(now - started_).count();
  for (std::size_t t = 0; t < tunnels_.size(); ++t) {
    report.tunnels.push_back(tunnel_report(seen, t));
    report.items += report.tunnels.back().items;
  }
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    std::uint64_t ended = 0;
    for (auto const& from : seen.stages[s].from) ended += from.tasks.finished;
    report.stages.push_back(stage_report(s, ended, report.seconds));
  }
  for (Latency const& latency : latencies_) report.latencies.push_back(latency.report());
  return report;
}

/// Locked, because a tunnel may grow during a run.
std::size_t Pipeline::Core::capacity_of(TunnelState const& t) {
  std::scoped_lock const lock(snapshots_);
  return t.capacity;
}

/// The graph, with the numbers of a run if there is one.
std::string Pipeline::Core::graph() {
  RunReport const now = stats();
  auto const label = [&](std::string const& first, std::string const& more) {
    std::string const quoted = quoted_text(first);
    return "label=" + quoted.substr(0, quoted.size() - 1) + "\\n" + more + "\"";
  };
  std::string dot = "digraph pipeline {\n  rankdir=LR;\n";
  std::vector<StageDescription> all;
  auto const node = [&](StageDescription const& stage, std::string place) {
    auto const report = std::ranges::find(now.stages, stage.name, &StageReport::name);
    if (report != now.stages.end() && report->busy >= 0)
      place += "\\nbusy " + std::to_string(static_cast<int>(100 * report->busy + 0.5)) + " %";
    dot += "  " + quoted_text(stage.name) + " [shape=box, " + label(stage.name, place) + "];\n";
    all.push_back(stage);
  };
  for (CpuStageDescription const& c : cpu_)
    node(with_branches(c.stage),
         "CPU, " + std::to_string(c.options.threads) + (c.options.threads == 1 ? " thread" : " threads"));
  for (GpuKernelDescription const& k : gpu_) {
    std::string const where = devices_.size() > 1 ? device_name(home_of(k.options.device)) : "GPU";
    for (StageDescription const& stage : k.stages)
      node(stage, where + (k.stages.size() > 1 ? ", group " + k.name : ""));
  }
  for (TunnelState const& s : tunnels_) {
    TunnelBase const* const t = s.tunnel.get();
    std::vector<std::string> writers(s.open_inlets, "(open inlet of " + t->name() + ")");
    std::vector<std::string> readers(s.open_outlets.size(), "(open outlet of " + t->name() + ")");
    for (StageDescription const& stage : all) {
      if (contains(stage.into, t)) writers.push_back(stage.name);
      if (contains(stage.from, t)) readers.push_back(stage.name);
    }
    std::string const name = t->name() + " (" + std::to_string(capacity_of(s)) + ")";
    std::string about = "[label=" + quoted_text(name) + "]";
    if (t->id() < now.tunnels.size() && now.seconds > 0) {
      TunnelReport const& r = now.tunnels[t->id()];
      std::string more = std::to_string(r.items) + " items, " + rate(static_cast<double>(r.items) / now.seconds);
      if (running_) more += ", holds " + std::to_string(r.holds);
      if (r.most_items >= 0) more += ", most " + std::to_string(static_cast<std::uint64_t>(r.most_items));
      about = "[" + label(name, more) + "]";
    }
    for (std::string const& w : writers) {
      for (std::string const& r : readers) dot += "  " + quoted_text(w) + " -> " + quoted_text(r) + " " + about + ";\n";
    }
  }
  return dot + "}\n";
}

/// HIWAY_GRAPH names a file. It gets the dot language, or a picture if the name ends with .svg and Graphviz is
/// installed.
void Pipeline::Core::write_graph() noexcept {
  write_where_asked("HIWAY_GRAPH", [&](std::string const& path) {
    if (!path.ends_with(".svg")) return write_or_throw(path, graph(), "HIWAY_GRAPH");
    std::string const dot = path + ".dot";
    write_or_throw(dot, graph(), "HIWAY_GRAPH");
    if (std::optional<std::string> const picture = drawn(dot)) return write_or_throw(path, *picture, "HIWAY_GRAPH");
    log(LogLevel::warning, "HIWAY_GRAPH: '" + path + "' needs Graphviz' program dot; the graph is in '" + dot + "'");
  });
}

/// HIWAY_STATS names a file. Its ending selects the form: .json, .prom, else a table; "-" is stderr.
void Pipeline::Core::write_stats() const noexcept {
  write_where_asked("HIWAY_STATS", [&](std::string const& path) {
    std::string const text = path.ends_with(".json")   ? to_json(report_) + "\n"
                             : path.ends_with(".prom") ? to_prometheus(report_)
                                                       : to_text(report_);
    if (path != "-") return write_or_throw(path, text, "HIWAY_STATS");
    std::fputs(text.c_str(), stderr);
  });
}

bool Pipeline::Core::show_is_due(std::chrono::steady_clock::time_point now) const {
  return show_every_.count() != 0 && now >= next_show_;
}

/// HIWAY_WATCH: prints the table; on a terminal it replaces the previous one.
void Pipeline::Core::show(std::chrono::steady_clock::time_point now) {
  if (!show_is_due(now)) return;
  next_show_ = now + show_every_;
  std::string const table = to_text(report_of(snapshot(), now));
  std::fputs(((isatty(STDERR_FILENO) != 0 ? "\x1b[H\x1b[J" : "") + table).c_str(), stderr);
}

// The report of a live run is made under the lock, so the run's end and the next start wait for it.
RunReport Pipeline::Core::stats() {
  require_own_process("stats");
  std::unique_lock lock(snapshots_);
  if (!live_) return report_;
  std::shared_ptr<WordCopies const> const copies = copies_for_stats(lock);
  if (!live_) return report_;
  return report_of(read_counters(*copies, Kernels::not_asked), std::chrono::steady_clock::now());
}

/// `report` is null for a run that has failed.
void Pipeline::Core::write_trace(std::chrono::steady_clock::time_point end, RunReport const* report) noexcept {
  at_the_end([&] { write_trace_of(end, report != nullptr ? *report : report_of(snapshot(), end)); });
}

void Pipeline::Core::write_trace_of(std::chrono::steady_clock::time_point end, RunReport const& report) {
  TraceParts parts;
  parts.began_ns = ns_of(started_);
  parts.ended_ns = ns_of(end);
  parts.end_detection_ns = static_cast<std::int64_t>(report.end_detection_us * 1000);
  parts.report = report;
  parts.error = what_of(error_.get());
  parts.run = &*trace_;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (unsigned t = 0; t < stages_[s].threads.size(); ++t)
      parts.threads.push_back({s, t, &stages_[s].threads[t]->trace});
  }
  for (Device const& d : devices_) {
    for (std::size_t i = 0; i < 2; ++i) {
      if (!d.lines[i]) continue;
      std::string const way = i == 0 ? "to " : "from ";
      std::string const where = devices_.size() == 1
                                    ? "the device"
                                    : device_name(own_device + static_cast<std::size_t>(&d - &devices_.front()));
      parts.copies.push_back({way + where, &d.lines[i]->records()});
    }
  }
  write_or_throw(config_.trace, chrome_trace(parts), "trace");
}

}  // namespace hiway
