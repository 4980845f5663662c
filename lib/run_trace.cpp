#include "run_trace.hpp"

#include <algorithm>
#include <utility>

#include "hiway/version.hpp"
#include "node_reports.hpp"
#include "text.hpp"

namespace hiway {
namespace {

enum Process { cpu_stages = 1, gpu_stages, tunnels, bus, whole_run, scopes };
constexpr int processes_of_node = 100;  // node 2 has 201 to 206

/// Writes one object after another, in a list.
class Events {
 public:
  explicit Events(TraceParts const& parts)
      : origin_ns_(parts.origin_ns),
        first_(std::max(parts.node, 0) * processes_of_node),
        of_node_(parts.node < 0 ? std::string() : prefix_of_node(parts.node)) {}

  void name(Process process, char const* text) {
    add("M", process, 0, "process_name", "");
    text_ += ",\"args\":{\"name\":" + json_text(of_node_ + text) + "}}";
  }
  void name(Process process, std::size_t track, std::string const& text) {
    add("M", process, track, "thread_name", "");
    text_ += ",\"args\":{\"name\":" + json_text(text) + "}}";
    add("M", process, track, "thread_sort_index", "");
    text_ += ",\"args\":{\"sort_index\":" + std::to_string(track) + "}}";
  }
  /// `args`: members, without brackets.
  void slice(Process process, std::size_t track, std::string const& name, char const* category, std::int64_t begin_ns,
             std::int64_t end_ns, std::string const& args = {}) {
    begin_ns = std::max(begin_ns, origin_ns_);
    add("X", process, track, name, category);
    text_ += ",\"ts\":" + at(begin_ns) + ",\"dur\":" + microseconds(std::max<std::int64_t>(0, end_ns - begin_ns));
    if (!args.empty()) text_ += ",\"args\":{" + args + "}";
    text_ += "}";
  }
  /// One of several that overlap: its begin and end, which `id` joins.
  void overlapping(Process process, std::size_t track, std::string const& name, char const* category, std::uint64_t id,
                   std::int64_t begin_ns, std::int64_t end_ns, std::string const& args) {
    std::string const joined = ",\"id2\":{\"local\":\"" + std::to_string(id) + "\"},\"ts\":";
    add("b", process, track, name, category);
    text_ += joined + at(std::max(begin_ns, origin_ns_)) + ",\"args\":{" + args + "}}";
    add("e", process, track, name, category);
    text_ += joined + at(std::max(end_ns, origin_ns_)) + "}";
  }
  void counter(Process process, std::string const& name, std::int64_t ns, std::string const& args) {
    add("C", process, 0, name, "");
    text_ += ",\"ts\":" + at(ns) + ",\"args\":{" + args + "}}";
  }
  void instant(RunEvent const& event) {
    add("i", whole_run, 1, of_node_ + event.name, event.category.c_str());
    text_ += ",\"s\":\"g\",\"ts\":" + at(event.ns) + ",\"args\":{\"text\":" + json_text(event.text) + "}}";
  }
  [[nodiscard]] std::string const& text() const { return text_; }

 private:
  void add(char const* kind, Process process, std::size_t track, std::string const& name, char const* category) {
    text_ += (text_.empty() ? "" : ",\n") + std::string("{\"ph\":\"") + kind +
             "\",\"pid\":" + std::to_string(first_ + process) + ",\"tid\":" + std::to_string(track) +
             ",\"name\":" + json_text(name);
    if (*category != '\0') text_ += std::string(",\"cat\":\"") + category + "\"";
  }
  [[nodiscard]] std::string at(std::int64_t ns) const { return microseconds(ns - origin_ns_); }
  /// With all digits: nested slices stay nested.
  static std::string microseconds(std::int64_t ns) {
    ns = std::max<std::int64_t>(0, ns);
    std::string digits = std::to_string(ns % 1000);
    return std::to_string(ns / 1000) + "." + std::string(3 - digits.size(), '0') + digits;
  }

  std::int64_t origin_ns_;
  int first_;
  std::string of_node_;
  std::string text_;
};

void add_threads(Events& events, TraceParts const& parts) {
  std::vector<TunnelReport> const& tunnels = parts.report.tunnels;
  for (std::size_t track = 0; track < parts.threads.size(); ++track) {
    ThreadTrack const& thread = parts.threads[track];
    std::string const& stage = parts.report.stages[thread.stage].name;
    events.name(cpu_stages, track + 1, "stage '" + stage + "', thread " + std::to_string(thread.thread));
    if (thread.trace->began_ns() == 0) continue;
    std::int64_t const ended = thread.trace->ended_ns() != 0 ? thread.trace->ended_ns() : parts.ended_ns;
    events.slice(cpu_stages, track + 1, stage, "stage", thread.trace->began_ns(), ended);
    for (TraceSlice const& s : thread.trace->slices()) {
      std::string const& tunnel = tunnels[s.tunnel].name;
      std::string args = "\"tunnel\":" + json_text(tunnel);
      if (s.kind == TraceSlice::Kind::task)
        args += ",\"first\":" + std::to_string(s.first) + ",\"items\":" + std::to_string(s.gets);
      auto const [what, category] = s.kind == TraceSlice::Kind::task ? std::pair{"task of '", "task"}
                                    : s.kind == TraceSlice::Kind::waits_for_items
                                        ? std::pair{"waits for items of '", "get"}
                                        : std::pair{"waits for room in '", "put"};
      events.slice(cpu_stages, track + 1, what + tunnel + "'", category, s.begin_ns, s.end_ns, args);
    }
  }
}

void add_gpu_stages(Events& events, TraceParts const& parts) {
  for (std::size_t s = 0; s < parts.report.stages.size(); ++s) {
    StageReport const& stage = parts.report.stages[s];
    if (!stage.gpu) continue;
    events.name(gpu_stages, s + 1, "stage '" + stage.name + "'");
    std::int64_t const left = s < parts.run->stages().size() ? parts.run->stages()[s].left_ns : 0;
    events.slice(gpu_stages, s + 1, stage.name, "stage", parts.began_ns, left != 0 ? left : parts.ended_ns);
    std::int64_t from = 0;  // of the slice that is open
    std::int64_t before = parts.began_ns;
    std::uint64_t sum = 0;
    std::uint64_t samples = 0;
    auto const close = [&](std::int64_t to) {
      if (samples == 0) return;
      events.slice(gpu_stages, s + 1, "active", "device", from, to,
                   "\"blocks\":" + json_number(double(sum) / double(samples)));
      sum = samples = 0;
    };
    for (RunSample const& sample : parts.run->samples()) {
      events.counter(gpu_stages, stage.name + ": active blocks", sample.ns,
                     "\"active\":" + std::to_string(sample.active[s]));
      if (sample.active[s] == 0) {
        close(before);
      } else {
        if (samples++ == 0) from = before;
        sum += sample.active[s];
      }
      before = sample.ns;
    }
    close(before);
  }
}

void add_tunnels(Events& events, TraceParts const& parts) {
  for (std::size_t t = 0; t < parts.report.tunnels.size(); ++t) {
    TunnelReport const& tunnel = parts.report.tunnels[t];
    auto const total = [&](std::int64_t ns, std::uint64_t put, std::uint64_t ended) {
      events.counter(tunnels, tunnel.name + ": total", ns,
                     "\"put\":" + std::to_string(put) + ",\"ended\":" + std::to_string(ended));
    };
    for (RunSample const& sample : parts.run->samples()) {
      RunSample::Tunnel const& seen = sample.tunnels[t];
      events.counter(tunnels, tunnel.name, sample.ns,
                     "\"items\":" + std::to_string(seen.items) + ",\"spilled\":" + std::to_string(seen.spilled));
      total(sample.ns, seen.put, seen.ended);
    }
    total(parts.ended_ns, tunnel.items, tunnel.finished);
  }
}

void add_bus(Events& events, TraceParts const& parts) {
  for (std::size_t track = 0; track < parts.copies.size(); ++track) {
    events.name(bus, track + 1, parts.copies[track].name);
    for (CopyRecord const& c : *parts.copies[track].copies) {
      events.slice(bus, track + 1, "copy", "dma", c.begin_ns, c.end_ns,
                   "\"items\":" + std::to_string(c.items) + ",\"bytes\":" + std::to_string(c.bytes) +
                       ",\"batches\":" + std::to_string(c.batches));
    }
  }
}

constexpr char const* name_of(detail::ScopeOutcome outcome) {
  switch (outcome) {
    case detail::ScopeOutcome::well: break;
    case detail::ScopeOutcome::failed: return "failed";
    case detail::ScopeOutcome::cancelled: return "cancelled";
  }
  return "ended well";
}

/// Where CPU stages worked on the scope: the microseconds from its opening to the first and the last task of each.
std::string stages_of(detail::ScopeRecord const& scope, RunReport const& report) {
  std::string all;
  auto const us = [&](std::int64_t ns) { return json_number(static_cast<double>(ns - scope.begin_ns) / 1000); };
  for (detail::ScopeVisit const& v : scope.visits) {
    if (!all.empty()) all += ",";
    all += json_text(report.stages[v.stage].name) + ":[" + us(v.first_ns) + "," + us(v.last_ns) + "]";
  }
  return "{" + all + "}";
}

/// A kind's places are one track of a viewer each.
void add_scopes(Events& events, TraceParts const& parts) {
  std::uint64_t first = 0;
  for (std::size_t kind = 0; kind < parts.scopes.size(); ++kind) {
    ScopesTrack const& track = parts.scopes[kind];
    events.name(scopes, kind + 1, "scopes '" + track.name + "'");
    for (detail::ScopeRecord const& s : track.ended) {
      events.overlapping(scopes, kind + 1, track.name, "scope", first + s.place, s.begin_ns, s.end_ns,
                         "\"place\":" + std::to_string(s.place) + ",\"outcome\":\"" + name_of(s.outcome) +
                             "\",\"tasks_us\":" + stages_of(s, parts.report));
    }
    first += parts.report.scopes[kind].most_open;
  }
}

/// `more`: members of the file's object "hiway".
std::string file_text(std::string const& events, std::string const& more, RunReport const& report,
                      std::string const& error) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events +
                     "\n],\n\"hiway\":{\"version\":\"" HIWAY_VERSION_STRING "\",\"trace_version\":1," + more +
                     "\"stats\":" + to_json(report);
  if (!error.empty()) text += ",\"error\":" + json_text(error);
  return text + "}}\n";
}

}  // namespace

void RunTrace::sample(std::int64_t ns, PipelineSnapshot const& seen) {
  tunnels_.resize(seen.tunnels.size());
  stages_.resize(seen.stages.size());
  got_.resize(seen.stages.size());
  RunSample sample{.ns = ns, .tunnels = {}, .active = {}};
  sample_tunnels(sample, seen);
  sample_stages(sample, seen);
  if (moments_++ % every_ == 0) keep(std::move(sample));
}

void RunTrace::sample_tunnels(RunSample& sample, PipelineSnapshot const& seen) {
  for (std::size_t t = 0; t < seen.tunnels.size(); ++t) {
    TunnelSnapshot const& tunnel = seen.tunnels[t];
    std::uint64_t const items = in_ring(tunnel);
    sample.tunnels.push_back({items, in_pool(tunnel), put(tunnel), tasks(seen, t).finished});
    TunnelLevels& levels = tunnels_[t];
    ++levels.samples;
    levels.sum += items;
    levels.most = std::max(levels.most, items);
    levels.full += items >= tunnel.capacity ? 1 : 0;
    levels.empty += items == 0 ? 1 : 0;
    if (tunnel.spill_claimed != 0 && levels.spilled == 0)
      event({sample.ns, "spill", "'" + tunnel.name + "' spills", ""});
    levels.spilled = tunnel.spill_claimed;
  }
}

void RunTrace::sample_stages(RunSample& sample, PipelineSnapshot const& seen) {
  for (std::size_t s = 0; s < seen.stages.size(); ++s) {
    StageSnapshot const& stage = seen.stages[s];
    std::uint32_t active = 0;
    for (std::size_t e = 0; e < stage.got.size(); ++e)
      active += stage.got[e] != (got_[s].empty() ? 0 : got_[s][e]) ? 1 : 0;
    got_[s] = stage.got;
    sample.active.push_back(active);
    bool const returned = stage.returned >= stage.executors;
    if (returned && stages_[s].left_ns == 0) stages_[s].left_ns = sample.ns;
    if (returned || stage.started == 0) continue;
    ++stages_[s].samples;
    stages_[s].active += active;
  }
}

void RunTrace::keep(RunSample sample) {
  samples_.push_back(std::move(sample));
  if (samples_.size() < most_samples) return;
  for (std::size_t i = 0; 2 * i < samples_.size(); ++i) samples_[i] = std::move(samples_[2 * i]);
  samples_.resize(samples_.size() / 2);
  every_ *= 2;
}

std::string trace_events(TraceParts const& parts) {
  Events events(parts);
  events.name(cpu_stages, "CPU stages");
  events.name(gpu_stages, "GPU stages");
  events.name(tunnels, "tunnels");
  events.name(bus, "bus");
  events.name(whole_run, "run");
  add_threads(events, parts);
  add_gpu_stages(events, parts);
  add_tunnels(events, parts);
  add_bus(events, parts);
  if (!parts.scopes.empty()) events.name(scopes, "scopes");
  add_scopes(events, parts);
  events.name(whole_run, 1, "run");
  events.slice(whole_run, 1, "run", "run", parts.began_ns, parts.ended_ns);
  if (parts.end_detection_ns > 0) {
    std::int64_t const from = std::max(parts.began_ns, parts.ended_ns - parts.end_detection_ns);
    events.slice(whole_run, 1, "end detection", "end", from, parts.ended_ns);
  }
  for (RunEvent const& event : parts.run->events()) events.instant(event);
  return events.text();
}

std::string chrome_trace(TraceParts const& parts) {
  return file_text(trace_events(parts), "", parts.report, parts.error);
}

std::string chrome_trace(std::vector<TraceOfNode> const& nodes, RunReport const& report, std::string const& error) {
  std::string events;
  std::string about;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    TraceOfNode const& one = nodes[node];
    if (!one.events.empty()) events.append(events.empty() ? "" : ",\n").append(one.events);
    about.append(about.empty() ? "" : ",").append(numbered("{\"node\":", node));
    if (one.missing.empty()) {
      about.append(",\"clock_error_us\":").append(json_number(static_cast<double>(one.clock_error_ns) / 1000));
    } else {
      about.append(",\"missing\":").append(json_text(one.missing));
    }
    about.append("}");
  }
  return file_text(events, "\"nodes\":[" + about + "],", report, error);
}

}  // namespace hiway
