#include "hiway/report.hpp"

#include <algorithm>
#include <iomanip>
#include <locale>
#include <sstream>

#include "text.hpp"

namespace hiway {
namespace {

std::string json_list(auto const& list, auto&& one) {
  std::string all(1, '[');
  for (auto const& element : list) all.append(all.size() == 1 ? "" : ",").append(one(element));
  return all.append("]");
}

std::string percent(double fraction) {
  if (fraction < 0) return "-";
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(1) << 100 * fraction << " %";
  return text.str();
}

std::uint64_t bytes(TunnelReport const& t) { return t.items * t.item_bytes; }

/// A line for each stage with tasks that have failed.
std::string failures_text(RunReport const& r) {
  std::string all;
  for (StageReport const& s : r.stages) {
    if (s.failed_tasks == 0) continue;
    all += s.name + ": failed tasks " + std::to_string(s.failed_tasks);
    if (!s.first_failure.empty()) all += ", the first: " + s.first_failure;
    all += "\n";
  }
  return all;
}

/// Prints columns as wide as their longest text, the first aligned left, the others right.
class Table {
 public:
  explicit Table(std::vector<std::string> head) { rows_.push_back(std::move(head)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (auto const& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
    }
    std::ostringstream all;
    for (auto const& row : rows_) {
      for (std::size_t c = 0; c < row.size(); ++c)
        all << (c == 0 ? std::left : std::right) << std::setw(static_cast<int>(widths[c])) << row[c]
            << (c + 1 == row.size() ? "\n" : "  ");
    }
    return all.str();
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string json_of_scopes(ScopesReport const& s) {
  return "{\"name\":" + json_text(s.name) + ",\"most_open\":" + std::to_string(s.most_open) +
         ",\"opened\":" + std::to_string(s.opened) + ",\"ended\":" + std::to_string(s.ended) +
         ",\"failed\":" + std::to_string(s.failed) + ",\"cancelled\":" + std::to_string(s.cancelled) +
         ",\"open\":" + std::to_string(s.open) + ",\"median_us\":" + json_number(s.median_us) +
         ",\"p99_us\":" + json_number(s.p99_us) + ",\"slowest_us\":" + json_number(s.slowest_us) +
         ",\"slowest_place\":" + std::to_string(s.slowest_place) + ",\"oldest_us\":" + json_number(s.oldest_us) +
         ",\"oldest_place\":" + std::to_string(s.oldest_place) + ",\"waits\":" + std::to_string(s.waits) +
         ",\"wait_seconds\":" + json_number(s.wait_seconds) + "}";
}

std::string scopes_text(RunReport const& r) {
  Table scopes({"scopes", "most open", "opened", "ended", "failed", "cancelled", "open", "oldest us", "median us",
                "p99 us", "slowest us", "its place", "waits for a place"});
  for (ScopesReport const& s : r.scopes) {
    std::string const waits = s.waits == 0 ? "-" : std::to_string(s.waits) + ", " + json_number(s.wait_seconds) + " s";
    scopes.add({s.name, std::to_string(s.most_open), std::to_string(s.opened), std::to_string(s.ended),
                std::to_string(s.failed), std::to_string(s.cancelled), std::to_string(s.open),
                s.open == 0 ? "-" : json_number(s.oldest_us), json_number(s.median_us), json_number(s.p99_us),
                json_number(s.slowest_us), s.ended == 0 ? "-" : std::to_string(s.slowest_place), waits});
  }
  return scopes.text();
}

}  // namespace

double wait_share(StageReport const& stage, WaitReport const& wait) {
  return wait.seconds < 0 || stage.seconds <= 0 ? -1 : std::min(1.0, wait.seconds / stage.seconds);
}

std::string to_json(RunReport const& r) {
  auto const waits = [](StageReport const& stage, std::vector<WaitReport> const& list) {
    return json_list(list, [&](WaitReport const& w) {
      return "{\"tunnel\":" + json_text(w.tunnel) + ",\"waits\":" + json_number(wait_share(stage, w)) + "}";
    });
  };
  auto const stage = [&](StageReport const& s) {
    return "{\"name\":" + json_text(s.name) + ",\"gpu\":" + (s.gpu ? "true" : "false") +
           ",\"executors\":" + std::to_string(s.executors) + ",\"launches\":" + std::to_string(s.launches) +
           ",\"items\":" + std::to_string(s.items) + ",\"failed_tasks\":" + std::to_string(s.failed_tasks) +
           ",\"first_failure\":" + json_text(s.first_failure) + ",\"seconds\":" + json_number(s.seconds) +
           ",\"busy\":" + json_number(s.busy) + ",\"from\":" + waits(s, s.items_of) +
           ",\"into\":" + waits(s, s.room_in) + "}";
  };
  auto const tunnel = [](TunnelReport const& t) {
    return "{\"name\":" + json_text(t.name) + ",\"direction\":" + json_text(t.direction) +
           ",\"movement\":" + json_text(t.movement) + ",\"why\":" + json_text(t.why) +
           ",\"item_bytes\":" + std::to_string(t.item_bytes) +
           ",\"capacity_items\":" + std::to_string(t.capacity_items) + ",\"items\":" + std::to_string(t.items) +
           ",\"finished\":" + std::to_string(t.finished) + ",\"holds\":" + std::to_string(t.holds) +
           ",\"bytes\":" + std::to_string(bytes(t)) + ",\"batches\":" + std::to_string(t.batches) +
           ",\"spilled\":" + std::to_string(t.spilled) + ",\"dropped\":" + std::to_string(t.dropped) +
           ",\"throttled\":" + std::to_string(t.throttled) + ",\"put_groups\":" + std::to_string(t.put_groups) +
           ",\"get_groups\":" + std::to_string(t.get_groups) + ",\"most_items\":" + json_number(t.most_items) +
           ",\"mean_items\":" + json_number(t.mean_items) + ",\"full\":" + json_number(t.full) +
           ",\"empty\":" + json_number(t.empty) + "}";
  };
  auto const latency = [](LatencyReport const& l) {
    return "{\"path\":" + json_text(l.path) + ",\"samples\":" + std::to_string(l.samples) +
           ",\"least_us\":" + json_number(l.least_us) + ",\"median_us\":" + json_number(l.median_us) +
           ",\"p99_us\":" + json_number(l.p99_us) + ",\"most_us\":" + json_number(l.most_us) + "}";
  };
  return "{\"device\":" + json_text(r.device) + ",\"seconds\":" + json_number(r.seconds) +
         ",\"items\":" + std::to_string(r.items) + ",\"end_detection_us\":" + json_number(r.end_detection_us) +
         ",\"stages\":" + json_list(r.stages, stage) + ",\"tunnels\":" + json_list(r.tunnels, tunnel) +
         ",\"latencies\":" + json_list(r.latencies, latency) + ",\"scopes\":" + json_list(r.scopes, json_of_scopes) +
         "}";
}

std::string to_text(RunReport const& r) {
  std::ostringstream head;
  head.imbue(std::locale::classic());
  head << "device " << r.device << ", " << std::fixed << std::setprecision(3) << 1000 * r.seconds << " ms, " << r.items
       << " items";
  if (r.end_detection_us >= 0) head << ", end found after " << std::setprecision(1) << r.end_detection_us << " us";
  Table stages({"stage", "on", "executors", "launches", "items", "busy", "waits for items", "waits for room"});
  for (StageReport const& s : r.stages) {
    auto const waits = [&](std::vector<WaitReport> const& list) {
      std::string all;
      for (WaitReport const& w : list) {
        if (wait_share(s, w) >= 0) all += (all.empty() ? "" : ", ") + w.tunnel + " " + percent(wait_share(s, w));
      }
      return all.empty() ? std::string("-") : all;
    };
    stages.add({s.name, s.gpu ? "GPU" : "CPU", std::to_string(s.executors), s.gpu ? std::to_string(s.launches) : "-",
                std::to_string(s.items), percent(s.busy), waits(s.items_of), waits(s.room_in)});
  }
  Table tunnels({"tunnel", "by", "items", "bytes", "batches", "capacity", "most", "mean", "full", "empty", "spilled",
                 "dropped", "put groups", "get groups"});
  for (TunnelReport const& t : r.tunnels) {
    auto const sampled = [](double value) { return value < 0 ? std::string("-") : json_number(value); };
    tunnels.add({t.name, t.movement, std::to_string(t.items), std::to_string(bytes(t)),
                 t.movement == "dma" ? std::to_string(t.batches) : "-", std::to_string(t.capacity_items),
                 sampled(t.most_items), sampled(t.mean_items), percent(t.full), percent(t.empty),
                 std::to_string(t.spilled), std::to_string(t.dropped), std::to_string(t.put_groups),
                 std::to_string(t.get_groups)});
  }
  Table latencies({"path", "samples", "least us", "median us", "p99 us", "most us"});
  for (LatencyReport const& l : r.latencies)
    latencies.add({l.path, std::to_string(l.samples), json_number(l.least_us), json_number(l.median_us),
                   json_number(l.p99_us), json_number(l.most_us)});
  return head.str() + "\n" + stages.text() + failures_text(r) + tunnels.text() +
         (r.latencies.empty() ? "" : latencies.text()) + (r.scopes.empty() ? "" : scopes_text(r));
}

}  // namespace hiway
