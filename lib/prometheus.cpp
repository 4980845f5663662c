#include "prometheus.hpp"

#include <initializer_list>
#include <utility>

#include "text.hpp"

namespace hiway {
namespace {

/// One metric: a header that describes it, then its lines.
class Metric {
 public:
  Metric(char const* name, char const* kind, char const* help) {
    name_.append("hiway_").append(name);
    text_.append("# HELP ").append(name_).append(" ").append(help);
    text_.append("\n# TYPE ").append(name_).append(" ").append(kind).append("\n");
  }
  void add(std::string const& labels, std::string const& value) {
    text_.append(name_);
    if (!labels.empty()) text_.append("{").append(labels).append("}");
    text_.append(" ").append(value).append("\n");
    any_ = true;
  }
  [[nodiscard]] std::string text() const { return any_ ? text_ : std::string(); }

 private:
  std::string name_;
  std::string text_;
  bool any_ = false;
};

std::string text_of(std::initializer_list<Metric const*> metrics) {
  std::string all;
  for (Metric const* m : metrics) all += m->text();
  return all;
}

class StageMetrics {
 public:
  void add(std::string const& stage, StageReport const& s) {
    tasks_.add(stage, std::to_string(s.items));
    failed_tasks_.add(stage, std::to_string(s.failed_tasks));
    if (s.busy >= 0) busy_.add(stage, prometheus_number(s.busy));
    for (auto const& [list, what] : {std::pair{&s.items_of, "items"}, std::pair{&s.room_in, "room"}}) {
      for (WaitReport const& w : *list) {
        if (w.seconds >= 0)
          waits_.add(stage + ",tunnel=" + quoted_text(w.tunnel) + ",for=\"" + what + "\"",
                     prometheus_number(w.seconds));
      }
    }
  }
  [[nodiscard]] std::string text() const { return text_of({&tasks_, &failed_tasks_, &busy_, &waits_}); }

 private:
  Metric tasks_{"stage_tasks_total", "counter", "Tasks that the stage ended."};
  Metric failed_tasks_{"stage_failed_tasks_total", "counter", "Tasks that have failed alone, by fail_task."};
  Metric busy_{"stage_busy_ratio", "gauge", "Fraction of its time in which the stage waited for nothing."};
  Metric waits_{"stage_wait_seconds_total", "counter", "Time that the stage's CPU threads waited for a tunnel."};
};

class TunnelMetrics {
 public:
  void add(std::string const& tunnel, TunnelReport const& t) {
    items_.add(tunnel, std::to_string(t.items));
    bytes_.add(tunnel, std::to_string(t.items * t.item_bytes));
    if (t.movement == "dma") batches_.add(tunnel, std::to_string(t.batches));
    holds_.add(tunnel, std::to_string(t.holds));
    spilled_.add(tunnel, std::to_string(t.spilled));
    dropped_.add(tunnel, std::to_string(t.dropped));
    groups_.add(tunnel + ",of=\"puts\"", std::to_string(t.put_groups));
    groups_.add(tunnel + ",of=\"gets\"", std::to_string(t.get_groups));
    capacity_.add(tunnel, std::to_string(t.capacity_items));
    if (t.most_items >= 0) most_.add(tunnel, prometheus_number(t.most_items));
  }
  [[nodiscard]] std::string text() const {
    return text_of({&items_, &bytes_, &batches_, &holds_, &spilled_, &dropped_, &groups_, &capacity_, &most_});
  }

 private:
  Metric items_{"tunnel_items_total", "counter", "Items put into the tunnel."};
  Metric bytes_{"tunnel_bytes_total", "counter", "Their bytes."};
  Metric batches_{"tunnel_batches_total", "counter", "Batches that were copied across the bus."};
  Metric holds_{"tunnel_items", "gauge", "Items in the tunnel now."};
  Metric spilled_{"tunnel_spilled_total", "counter", "Items that went to the spill pool."};
  Metric dropped_{"tunnel_dropped_total", "counter", "Items that were dropped because the tunnel was full."};
  Metric groups_{"tunnel_contention_groups_total", "counter",
                 "Claims that several warps of a GPU block made together."};
  Metric capacity_{"tunnel_capacity_items", "gauge", "Items that fit."};
  Metric most_{"tunnel_most_items", "gauge", "Largest occupancy that was sampled."};
};

class ScopesMetrics {
 public:
  void add(std::string const& scopes, ScopesReport const& s) {
    opened_.add(scopes, std::to_string(s.opened));
    for (auto const& [outcome, count] : {std::pair{"well", s.ended - s.failed - s.cancelled},
                                         std::pair{"failed", s.failed}, std::pair{"cancelled", s.cancelled}})
      ended_.add(scopes + ",outcome=\"" + outcome + "\"", std::to_string(count));
    open_.add(scopes, std::to_string(s.open));
    oldest_.add(scopes, prometheus_number(s.oldest_us / 1e6));
    waits_.add(scopes, std::to_string(s.waits));
    wait_seconds_.add(scopes, prometheus_number(s.wait_seconds));
    if (s.ended == 0) return;
    for (auto const& [quantile, us] :
         {std::pair{"0.5", s.median_us}, std::pair{"0.99", s.p99_us}, std::pair{"1", s.slowest_us}})
      seconds_.add(scopes + ",quantile=\"" + quantile + "\"", prometheus_number(us / 1e6));
  }
  [[nodiscard]] std::string text() const {
    return text_of({&opened_, &ended_, &open_, &oldest_, &waits_, &wait_seconds_, &seconds_});
  }

 private:
  Metric opened_{"scopes_opened_total", "counter", "Scopes that were opened."};
  Metric ended_{"scopes_ended_total", "counter", "Scopes that have ended."};
  Metric open_{"scopes_open", "gauge", "Scopes that are open."};
  Metric oldest_{"scopes_oldest_seconds", "gauge", "How long the oldest open scope has been open."};
  Metric waits_{"scopes_waits_total", "counter", "Openers that waited for a place."};
  Metric wait_seconds_{"scopes_wait_seconds_total", "counter", "How long they waited, all together."};
  Metric seconds_{"scopes_seconds", "summary", "How long scopes that have ended were open."};
};

/// All lines of a metric stand together, whichever report they are of.
class PrometheusFile {
 public:
  void add(std::string const& label, RunReport const& r) {
    seconds_.add(label + "device=" + quoted_text(r.device), prometheus_number(r.seconds));
    if (r.end_detection_us >= 0)
      end_.add(label.substr(0, label.find(',')), prometheus_number(r.end_detection_us / 1e6));
    for (StageReport const& s : r.stages) stages_.add(label + "stage=" + quoted_text(s.name), s);
    for (TunnelReport const& t : r.tunnels) tunnels_.add(label + "tunnel=" + quoted_text(t.name), t);
    for (ScopesReport const& s : r.scopes) scopes_.add(label + "scopes=" + quoted_text(s.name), s);
    for (LatencyReport const& l : r.latencies) add(label + "path=" + quoted_text(l.path), l);
  }
  [[nodiscard]] std::string text() const {
    return text_of({&seconds_, &end_}) + stages_.text() + tunnels_.text() + scopes_.text() + latency_.text();
  }

 private:
  void add(std::string const& path, LatencyReport const& l) {
    if (l.samples == 0) return;
    for (auto const& [quantile, us] : {std::pair{"0", l.least_us}, std::pair{"0.5", l.median_us},
                                       std::pair{"0.99", l.p99_us}, std::pair{"1", l.most_us}})
      latency_.add(path + ",quantile=\"" + quantile + "\"", prometheus_number(us / 1e6));
  }

  Metric seconds_{"run_seconds", "gauge", "Time of the run."};
  Metric end_{"end_detection_seconds", "gauge", "From the last task of the last CPU stage to the announced end."};
  StageMetrics stages_;
  TunnelMetrics tunnels_;
  ScopesMetrics scopes_;
  Metric latency_{"latency_seconds", "summary", "Of sampled items, from begin to end of the path."};
};

}  // namespace

std::string prometheus_text(std::vector<LabelledReport> const& reports) {
  PrometheusFile file;
  for (LabelledReport const& one : reports) file.add(one.label, *one.report);
  return file.text();
}

std::string to_prometheus(RunReport const& report) { return prometheus_text({{"", &report}}); }

}  // namespace hiway
