#include "cli/trace_file.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "cli/app.hpp"
#include "cli/bad_input.hpp"
#include "cli/text.hpp"

namespace cli {

using hiway::RunReport;
using hiway::ScopesReport;
using hiway::StageReport;
using hiway::TunnelReport;
using hiway::WaitReport;

namespace {

constexpr std::size_t most_bytes = std::size_t{2} << 30;

/// Reads values of one file; a complaint names it and the pointer.
class Reader {
 public:
  explicit Reader(std::string const& file) : file_{file} {}

  /// Names of the file may have line breaks.
  [[noreturn]] void fail(std::string what) const {
    std::ranges::replace_if(
        what, [](unsigned char c) { return c < ' '; }, '?');
    throw BadInput{file_ + ": " + what};
  }
  [[noreturn]] void fail_at(std::string const& pointer, std::string const& what) const {
    fail((pointer.empty() ? "/" : pointer) + ": " + what);
  }

  [[nodiscard]] Json const& object(Json const& value, std::string const& pointer) const {
    if (!value.is_object()) fail_at(pointer, needed("an object", value));
    return value;
  }
  [[nodiscard]] Json const& list(Json const& value, std::string const& pointer) const {
    if (!value.is_array()) fail_at(pointer, needed("a list", value));
    return value;
  }
  [[nodiscard]] Json const& member(Json const& parent, std::string const& pointer, char const* key) const {
    auto const found = object(parent, pointer).find(key);
    if (found == parent.end()) fail_at(pointer, std::string{"'"} + key + "' is missing");
    return *found;
  }
  [[nodiscard]] std::string text(Json const& parent, std::string const& pointer, char const* key) const {
    Json const& value = member(parent, pointer, key);
    if (!value.is_string()) fail_at(pointer + "/" + key, needed("a text", value));
    return value.get<std::string>();
  }
  [[nodiscard]] double number(Json const& parent, std::string const& pointer, char const* key) const {
    Json const& value = member(parent, pointer, key);
    if (!value.is_number()) fail_at(pointer + "/" + key, needed("a number", value));
    return value.get<double>();
  }
  template <class Count = std::uint64_t>
  [[nodiscard]] Count count(Json const& parent, std::string const& pointer, char const* key) const {
    double const value = number(parent, pointer, key);
    if (value < 0 || value != std::floor(value)) fail_at(pointer + "/" + key, "a whole number, 0 or more, is needed");
    if (value >= static_cast<double>(std::numeric_limits<Count>::max())) fail_at(pointer + "/" + key, "is too large");
    Json const& exact = parent[key];
    return exact.is_number_unsigned() ? exact.get<Count>() : static_cast<Count>(value);
  }
  /// 0 to 1, or -1 where it is not known.
  [[nodiscard]] double fraction(Json const& parent, std::string const& pointer, char const* key) const {
    double const value = number(parent, pointer, key);
    if (value != -1 && (value < 0 || value > 1 + 1e-6)) fail_at(pointer + "/" + key, "0 to 1, or -1, is needed");
    return std::min(value, 1.0);
  }

 private:
  static std::string needed(std::string const& what, Json const& value) {
    return what + " is needed, not " +
           (value.is_object()    ? "an object"
            : value.is_array()   ? "a list"
            : value.is_string()  ? "a text"
            : value.is_number()  ? "a number"
            : value.is_boolean() ? "a boolean"
                                 : "null");
  }

  std::string const& file_;
};

/// `stage_seconds`: what the file's fractions are of.
std::vector<WaitReport> read_waits(Reader const& read, Json const& stage, std::string const& pointer, char const* key,
                                   double stage_seconds) {
  std::vector<WaitReport> all;
  for (Json const& one : read.list(read.member(stage, pointer, key), pointer + "/" + key)) {
    std::string const at = pointer + "/" + key + "/" + std::to_string(all.size());
    double const waits = read.fraction(one, at, "waits");
    all.push_back({read.text(one, at, "tunnel"), waits < 0 ? -1 : waits * stage_seconds});
  }
  return all;
}

StageReport read_stage(Reader const& read, Json const& json, std::string const& at) {
  StageReport stage;
  stage.name = read.text(json, at, "name");
  Json const& gpu = read.member(json, at, "gpu");
  if (!gpu.is_boolean()) read.fail_at(at + "/gpu", "true or false is needed");
  stage.gpu = gpu.get<bool>();
  stage.executors = read.count<unsigned>(json, at, "executors");
  if (json.contains("launches")) stage.launches = read.count<unsigned>(json, at, "launches");  // older traces lack it
  stage.items = read.count(json, at, "items");
  if (json.contains("failed_tasks")) {  // older traces lack both
    stage.failed_tasks = read.count(json, at, "failed_tasks");
    stage.first_failure = read.text(json, at, "first_failure");
  }
  stage.seconds = read.number(json, at, "seconds");
  stage.busy = read.fraction(json, at, "busy");
  stage.items_of = read_waits(read, json, at, "from", stage.seconds);
  stage.room_in = read_waits(read, json, at, "into", stage.seconds);
  return stage;
}

TunnelReport read_tunnel(Reader const& read, Json const& json, std::string const& at) {
  TunnelReport tunnel;
  tunnel.name = read.text(json, at, "name");
  tunnel.direction = read.text(json, at, "direction");
  tunnel.movement = read.text(json, at, "movement");
  tunnel.why = read.text(json, at, "why");
  tunnel.item_bytes = read.count(json, at, "item_bytes");
  tunnel.capacity_items = read.count(json, at, "capacity_items");
  tunnel.items = read.count(json, at, "items");
  tunnel.finished = read.count(json, at, "finished");
  tunnel.batches = read.count(json, at, "batches");
  tunnel.spilled = read.count(json, at, "spilled");
  if (json.contains("dropped")) tunnel.dropped = read.count(json, at, "dropped");  // older traces lack it
  tunnel.put_groups = read.count(json, at, "put_groups");
  tunnel.get_groups = read.count(json, at, "get_groups");
  tunnel.throttled = read.count(json, at, "throttled");
  tunnel.most_items = read.number(json, at, "most_items");
  tunnel.mean_items = read.number(json, at, "mean_items");
  tunnel.full = read.fraction(json, at, "full");
  tunnel.empty = read.fraction(json, at, "empty");
  return tunnel;
}

ScopesReport read_scopes(Reader const& read, Json const& json, std::string const& at) {
  ScopesReport scopes;
  scopes.name = read.text(json, at, "name");
  scopes.most_open = read.count(json, at, "most_open");
  scopes.opened = read.count(json, at, "opened");
  scopes.ended = read.count(json, at, "ended");
  scopes.failed = read.count(json, at, "failed");
  scopes.cancelled = read.count(json, at, "cancelled");
  scopes.open = read.count(json, at, "open");
  scopes.median_us = read.number(json, at, "median_us");
  scopes.p99_us = read.number(json, at, "p99_us");
  scopes.slowest_us = read.number(json, at, "slowest_us");
  scopes.slowest_place = read.count<std::uint32_t>(json, at, "slowest_place");
  scopes.oldest_us = read.number(json, at, "oldest_us");
  scopes.oldest_place = read.count<std::uint32_t>(json, at, "oldest_place");
  scopes.waits = read.count(json, at, "waits");
  scopes.wait_seconds = read.number(json, at, "wait_seconds");
  return scopes;
}

template <class Things>
void refuse_twice(Reader const& read, Things const& things, std::string const& pointer) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i != things.size(); ++i) {
    if (!seen.emplace(things[i].name, i).second)
      read.fail_at(pointer + "/" + std::to_string(i) + "/name", "'" + things[i].name + "' is there twice");
  }
}

RunReport read_stats(Reader const& read, Json const& json, std::string const& pointer) {
  RunReport stats;
  stats.device = read.text(json, pointer, "device");
  stats.seconds = read.number(json, pointer, "seconds");
  if (stats.seconds < 0) read.fail_at(pointer + "/seconds", "is negative");
  stats.items = read.count(json, pointer, "items");
  stats.end_detection_us = read.number(json, pointer, "end_detection_us");
  for (Json const& tunnel : read.list(read.member(json, pointer, "tunnels"), pointer + "/tunnels"))
    stats.tunnels.push_back(read_tunnel(read, tunnel, pointer + "/tunnels/" + std::to_string(stats.tunnels.size())));
  refuse_twice(read, stats.tunnels, pointer + "/tunnels");
  for (Json const& stage : read.list(read.member(json, pointer, "stages"), pointer + "/stages"))
    stats.stages.push_back(read_stage(read, stage, pointer + "/stages/" + std::to_string(stats.stages.size())));
  refuse_twice(read, stats.stages, pointer + "/stages");
  if (json.contains("scopes")) {  // older traces lack it
    for (Json const& scopes : read.list(read.member(json, pointer, "scopes"), pointer + "/scopes"))
      stats.scopes.push_back(read_scopes(read, scopes, pointer + "/scopes/" + std::to_string(stats.scopes.size())));
  }
  for (std::size_t s = 0; s != stats.stages.size(); ++s) {
    auto const known = [&](std::vector<WaitReport> const& waits, char const* key) {
      for (std::size_t i = 0; i != waits.size(); ++i) {
        if (std::ranges::find(stats.tunnels, waits[i].tunnel, &TunnelReport::name) == stats.tunnels.end())
          read.fail_at(pointer + "/stages/" + std::to_string(s) + "/" + key + "/" + std::to_string(i) + "/tunnel",
                       "no tunnel '" + waits[i].tunnel + "' in the stats");
      }
    };
    known(stats.stages[s].items_of, "from");
    known(stats.stages[s].room_in, "into");
  }
  return stats;
}

/// Takes the events one by one, so that their JSON need not stay: a trace has hundreds of thousands.
class Events {
 public:
  explicit Events(Reader const& read) : read_{read} {}

  void take(Json const& event) {
    std::string const at = "/traceEvents/" + std::to_string(count_++);
    std::string const phase = read_.text(event, at, "ph");
    if (phase == "M") return take_name(event, at);
    if (phase != "X" && phase != "C" && phase != "i") return;
    std::uint64_t const process = read_.count(event, at, "pid");
    double const ts = read_.number(event, at, "ts");
    if (phase == "X") return take_slice(event, at, process, ts);
    if (phase == "C") return take_sample(event, at, process, ts);
    std::string const name = read_.text(event, at, "name");
    std::string const text = read_.text(read_.member(event, at, "args"), at + "/args", "text");
    moments_.push_back({ts, read_.text(event, at, "cat"), text.empty() ? name : name + ": " + text});
    last_ = std::max(last_, ts);
  }

  /// Into the file, whose stats are read.
  void put_into(TraceFile& file) {
    std::vector<int> tunnel_of(tunnels_.size());
    for (auto const& [name, seen] : tunnels_) {
      auto const found = std::ranges::find(file.stats.tunnels, name, &TunnelReport::name);
      if (found == file.stats.tunnels.end()) read_.fail_at(seen.place, "no tunnel '" + name + "' in the stats");
      tunnel_of[static_cast<std::size_t>(seen.number)] = static_cast<int>(found - file.stats.tunnels.begin());
    }
    file.samples.resize(file.stats.tunnels.size());
    for (auto& [number, samples] : samples_) {
      std::ranges::stable_sort(samples, {}, &Sample::at);
      file.samples[static_cast<std::size_t>(tunnel_of[static_cast<std::size_t>(number)])] = std::move(samples);
    }
    for (auto& [id, track] : tracks_) {
      for (Slice& slice : track.slices) {
        if (slice.tunnel >= 0) slice.tunnel = tunnel_of[static_cast<std::size_t>(slice.tunnel)];
      }
      std::ranges::stable_sort(track.slices, [](Slice const& a, Slice const& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end != b.end ? a.end > b.end : a.activity < b.activity;
      });
      file.tracks.push_back(std::move(track));
    }
    std::ranges::stable_sort(moments_, {}, &Moment::at);
    file.moments = std::move(moments_);
    file.run_end = std::max({last_, run_end_, file.stats.seconds * 1e6});
    file.end_search = end_search_;
  }

 private:
  enum Process : std::uint64_t { cpu_stages = 1, gpu_stages, tunnels, bus, whole_run };
  static constexpr std::uint64_t processes_of_node = 100;  // of a run over nodes, node 2 has 201 to 206

  Track* track(std::uint64_t process_of_node, std::uint64_t thread) {
    std::uint64_t const process = process_of_node % processes_of_node;
    if (process != cpu_stages && process != gpu_stages && process != bus) return nullptr;
    // Of each node the bus comes last, which is its number's order, too.
    Track& one = tracks_[{process_of_node, thread}];
    one.place = process == cpu_stages   ? Track::Place::cpu
                : process == gpu_stages ? Track::Place::gpu
                                        : Track::Place::bus;
    return &one;
  }

  int tunnel(std::string const& name, std::string const& place) {
    return tunnels_.try_emplace(name, Seen{static_cast<int>(tunnels_.size()), place}).first->second.number;
  }

  void take_name(Json const& event, std::string const& at) {
    if (read_.text(event, at, "name") != "thread_name") return;
    Track* const named = track(read_.count(event, at, "pid"), read_.count(event, at, "tid"));
    if (named != nullptr) named->name = read_.text(read_.member(event, at, "args"), at + "/args", "name");
  }

  void take_slice(Json const& event, std::string const& at, std::uint64_t process, double ts) {
    double const duration = read_.number(event, at, "dur");
    if (duration < 0) read_.fail_at(at + "/dur", "is negative");
    std::string const category = read_.text(event, at, "cat");
    Slice slice{.begin = ts, .end = ts + duration};
    last_ = std::max(last_, slice.end);
    if (process % processes_of_node == whole_run) {
      if (category == "run") run_end_ = std::max(run_end_, slice.end);
      if (category == "end") end_search_ = std::max(end_search_, slice.begin);
      return;
    }
    Track* const on = track(process, read_.count(event, at, "tid"));
    if (on == nullptr) return;
    auto const activity = std::ranges::find(activities, category, &std::pair<char const*, Activity>::first);
    if (activity == std::end(activities)) return;
    slice.activity = activity->second;
    switch (slice.activity) {
      case Activity::stage: on->stage = read_.text(event, at, "name"); break;
      case Activity::task:
      case Activity::get:
      case Activity::put:
        slice.tunnel = tunnel(read_.text(read_.member(event, at, "args"), at + "/args", "tunnel"), at + "/args/tunnel");
        break;
      case Activity::device:
        slice.amount = read_.number(read_.member(event, at, "args"), at + "/args", "blocks");
        break;
      case Activity::dma: slice.amount = read_.number(read_.member(event, at, "args"), at + "/args", "bytes"); break;
    }
    on->slices.push_back(slice);
  }

  /// A tunnel's items; other counters are not drawn.
  void take_sample(Json const& event, std::string const& at, std::uint64_t process, double ts) {
    if (process % processes_of_node != tunnels) return;
    Json const& args = read_.member(event, at, "args");
    if (!read_.object(args, at + "/args").contains("items")) return;
    samples_[tunnel(read_.text(event, at, "name"), at + "/name")].push_back(
        {ts, read_.number(args, at + "/args", "items"), read_.number(args, at + "/args", "spilled")});
    last_ = std::max(last_, ts);
  }

  static constexpr std::pair<char const*, Activity> activities[] = {
      {"stage", Activity::stage}, {"task", Activity::task},     {"get", Activity::get},
      {"put", Activity::put},     {"device", Activity::device}, {"dma", Activity::dma},
  };
  struct Seen {
    int number;
    std::string place;  ///< of the first event that names it
  };

  Reader const& read_;
  std::size_t count_ = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Track> tracks_;
  std::unordered_map<std::string, Seen> tunnels_;
  std::map<int, std::vector<Sample>> samples_;
  std::vector<Moment> moments_;
  double last_ = 0;
  double run_end_ = 0;
  double end_search_ = -1;
};

/// Without the library's number of the error.
std::string what_of(Json::exception const& error) {
  std::string_view what = error.what();
  if (std::size_t const end = what.find("] "); what.starts_with('[') && end != what.npos) what.remove_prefix(end + 2);
  return std::string{what};
}

}  // namespace

TraceFile parse_trace(std::string const& name, std::string_view text) {
  Reader const read{name};
  Events events{read};
  bool in_events = false;
  Json document;
  try {
    document = Json::parse(text, [&](int depth, Json::parse_event_t event, Json& value) {
      if (depth == 1 && event == Json::parse_event_t::key) in_events = value == "traceEvents";
      if (depth != 2 || !in_events || event != Json::parse_event_t::object_end) return true;
      events.take(value);
      return false;
    });
  } catch (Json::exception const& error) {
    read.fail("no JSON: " + what_of(error));
  }
  Json const& left = read.list(read.member(document, "", "traceEvents"), "/traceEvents");
  if (!left.empty())
    read.fail_at("/traceEvents", "each event is an object, not " + std::string{left.front().type_name()});
  Json const& hiway = read.member(document, "", "hiway");
  double const version = read.number(hiway, "/hiway", "trace_version");
  if (version != 1)
    read.fail_at("/hiway/trace_version", "version 1 is read here, not " + hiway["trace_version"].dump());
  TraceFile file;
  file.version = read.text(hiway, "/hiway", "version");
  if (hiway.contains("error")) file.error = read.text(hiway, "/hiway", "error");
  file.stats = read_stats(read, read.member(hiway, "/hiway", "stats"), "/hiway/stats");
  events.put_into(file);
  return file;
}

TraceFile read_trace(std::string const& path) {
  std::string const name = path == "-" ? "stdin" : path;
  return parse_trace(name, read_text(name, path == "-" ? "/dev/stdin" : path, most_bytes));
}

}  // namespace cli
