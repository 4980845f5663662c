#include "node_reports.hpp"

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "prometheus.hpp"
#include "text.hpp"

namespace hiway {
namespace {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The members of what is packed, once for both directions: `pass` writes or reads each.

void members(auto& pass, Is<WaitReport> auto& r) { pass(r.tunnel, r.seconds); }

void members(auto& pass, Is<TunnelReport> auto& r) {
  pass(r.name, r.movement, r.why, r.items, r.finished, r.spilled, r.dropped, r.spills_to_host, r.throttled, r.batches,
       r.capacity_items, r.direction, r.item_bytes, r.holds, r.put_groups, r.get_groups, r.most_items, r.mean_items,
       r.full, r.empty);
}

void members(auto& pass, Is<StageReport> auto& r) {
  pass(r.name, r.gpu, r.executors, r.launches, r.items, r.failed_tasks, r.first_failure, r.seconds, r.busy, r.items_of,
       r.room_in);
}

void members(auto& pass, Is<LatencyReport> auto& r) {
  pass(r.path, r.samples, r.least_us, r.median_us, r.p99_us, r.most_us);
}

void members(auto& pass, Is<ScopesReport> auto& r) {
  pass(r.name, r.most_open, r.opened, r.ended, r.failed, r.cancelled, r.open, r.median_us, r.p99_us, r.slowest_us,
       r.slowest_place, r.oldest_us, r.oldest_place, r.waits, r.wait_seconds);
}

void members(auto& pass, Is<RunReport> auto& r) {
  pass(r.device, r.seconds, r.items, r.end_detection_us, r.tunnels, r.stages, r.latencies, r.scopes);
}

void members(auto& pass, Is<DotPart> auto& r) { pass(r.stages, r.edges); }

void members(auto& pass, Is<NodePart> auto& r) { pass(r.report, r.events, r.graph, r.clock_error_ns); }

class Packer {
 public:
  template <class... Values>
  void operator()(Values const&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  template <class T>
  requires std::is_arithmetic_v<T>
  void put(T value) { bytes_.append(reinterpret_cast<char const*>(&value), sizeof value); }
  void put(std::string const& text) {
    put(text.size());
    bytes_.append(text);
  }
  template <class T>
  void put(std::vector<T> const& list) {
    put(list.size());
    for (T const& one : list) put(one);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(T const& value) { members(*this, value); }

  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : left_(bytes) {}
  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool is_whole() const { return !failed_ && left_.empty(); }

 private:
  [[nodiscard]] std::string_view next(std::size_t size) {
    failed_ = failed_ || size > left_.size();
    std::string_view const found = failed_ ? std::string_view() : left_.substr(0, size);
    left_.remove_prefix(found.size());
    return found;
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  void get(T& value) {
    if (std::string_view const bytes = next(sizeof value); !failed_) std::memcpy(&value, bytes.data(), sizeof value);
  }
  void get(std::string& text) {
    std::size_t size = 0;
    get(size);
    text = next(size);
  }
  template <class T>
  void get(std::vector<T>& list) {
    std::size_t size = 0;
    get(size);
    for (; size > 0 && !failed_; --size) get(list.emplace_back());
  }
  template <class T>
  requires std::is_class_v<T>
  void get(T& value) { members(*this, value); }

  std::string_view left_;
  bool failed_ = false;
};

}  // namespace

std::string prefix_of_node(int node) { return numbered("node ", node) + ": "; }

RunReport of_node(RunReport report, int node) {
  std::string const prefix = prefix_of_node(node);
  auto const name = [&](std::string& text) { text.insert(0, prefix); };
  for (StageReport& stage : report.stages) {
    name(stage.name);
    for (std::vector<WaitReport>* const waits : {&stage.items_of, &stage.room_in}) {
      for (WaitReport& wait : *waits) name(wait.tunnel);
    }
  }
  for (TunnelReport& tunnel : report.tunnels) name(tunnel.name);
  for (LatencyReport& latency : report.latencies) name(latency.path);
  for (ScopesReport& scopes : report.scopes) name(scopes.name);
  name(report.device);
  return report;
}

RunReport merged(std::vector<RunReport const*> const& nodes) {
  RunReport all;
  auto const append = [](auto& list, auto const& more) { list.insert(list.end(), more.begin(), more.end()); };
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node] == nullptr) continue;
    RunReport const one = of_node(*nodes[node], static_cast<int>(node));
    all.device.append(all.device.empty() ? "" : ", ").append(one.device);
    all.seconds = std::max(all.seconds, one.seconds);
    all.items += one.items;
    all.end_detection_us = std::max(all.end_detection_us, one.end_detection_us);
    append(all.tunnels, one.tunnels);
    append(all.stages, one.stages);
    append(all.latencies, one.latencies);
    append(all.scopes, one.scopes);
  }
  return all;
}

std::string prometheus_of_nodes(std::vector<RunReport const*> const& nodes) {
  std::vector<LabelledReport> reports;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    if (nodes[node] != nullptr) reports.push_back({"node=\"" + std::to_string(node) + "\",", nodes[node]});
  }
  return prometheus_text(reports);
}

std::string packed(NodePart const& part) {
  Packer packer;
  packer(part);
  return std::move(packer).take();
}

std::optional<NodePart> unpacked(std::string_view bytes) {
  NodePart part;
  Unpacker unpacker(bytes);
  unpacker(part);
  if (!unpacker.is_whole()) return std::nullopt;
  return part;
}

}  // namespace hiway
