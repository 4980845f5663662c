// What a segment tells of its last run, and what sizing.hpp makes of it.
#include <algorithm>
#include <string>

#include "hiway/error.hpp"
#include "hiway/segment/segment_base.hpp"
#include "hiway/segment/sizing.hpp"
#include "lib/segment/node_plan.hpp"

namespace hiway::segment {

std::vector<NodeDescription> const& SegmentBase::nodes() const { return plan_->nodes(); }
unsigned SegmentBase::lanes() const { return plan_->lanes(); }

std::uint64_t SegmentBase::items(std::string_view sink) const {
  for (std::size_t i = 0; i != sinks_.size(); ++i) {
    if (sinks_[i] == sink) return i < sink_items_.size() ? sink_items_[i] : 0;
  }
  throw ConfigError(plan_->who() + " has no sink '" + std::string(sink) + "'");
}

std::vector<CountersOf> SegmentBase::counters() const {
  std::vector<CountersOf> all;
  for (std::size_t i = 0; i != nodes().size() && !counters_.empty(); ++i) {
    for (unsigned r = 0; r != replicas_; ++r)
      all.push_back({nodes()[i].name, r, counters_[r * nodes().size() + plan_->number_of(i)]});
  }
  return all;
}

std::vector<CountersOfNode> SegmentBase::node_counters() const {
  std::vector<CountersOfNode> sums;
  for (std::size_t i = 0; i != nodes().size() && !counters_.empty(); ++i) {
    sums.push_back({nodes()[i].name, {}});
    for (unsigned r = 0; r != replicas_; ++r) sums[i].counters.add(counters_[r * nodes().size() + plan_->number_of(i)]);
  }
  return sums;
}

SizedNodes SegmentBase::measured_nodes() const {
  std::vector<NodeDescription> const& described = plan_->nodes();
  SizedNodes nodes = plan_->sized();
  std::vector<CountersOfNode> const counted = node_counters();
  if (counted.empty()) return nodes;
  double cycles = 0;
  for (CountersOfNode const& of : counted) cycles += static_cast<double>(of.counters.cycles);
  double busy_ns = 0;
  for (ReplicaTimes const& t : times_) busy_ns += static_cast<double>(t.ended_ns - t.began_ns - t.waited_ns);
  for (std::size_t i = 0; i != nodes.size(); ++i) {
    NodeCounters const& sum = counted[i].counters;
    if (sum.items == 0) continue;
    auto const items = static_cast<double>(sum.items);
    nodes[i].service_ns = cycles > 0 ? static_cast<double>(sum.cycles) / cycles * busy_ns / items : 0;
    // With several channels, a child's gain is what it has taken. A loop's head also takes what comes back, so its gain
    // stays as declared. So does max_gain, because the most outputs are counted over all channels.
    bool const one_channel = described[i].to.size() == 1;
    for (std::size_t child = 0; child != nodes.size(); ++child) {
      if (described[child].parent != static_cast<int>(i) || (!one_channel && described[child].loop_head)) continue;
      std::uint64_t const came = one_channel ? sum.outputs : counted[child].counters.items;
      nodes[child].gain = std::max(static_cast<double>(came) / items, 1e-9);
      if (one_channel) nodes[child].max_gain = std::max<std::int64_t>(nodes[child].max_gain, sum.most_outputs.bits);
    }
  }
  return nodes;
}

std::uint64_t SegmentBase::asked_bytes() const {
  SegmentConfig const& config = plan_->config();
  return config.queue_target_bytes != 0 ? config.queue_target_bytes
         : config.queue_bytes != 0      ? config.queue_bytes
                                        : queue_bytes_;
}

Advice SegmentBase::advice(std::uint64_t budget_bytes, double queue_ns) const {
  return advise(measured_nodes(), lanes(), static_cast<std::int64_t>(budget_bytes / std::max(1u, replicas_)), queue_ns);
}

double SegmentBase::kernel_seconds() const {
  if (times_.empty()) return 0;
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (ReplicaTimes const& t : times_) {
    begin = std::min(begin, t.began_ns);
    end = std::max(end, t.ended_ns);
  }
  return static_cast<double>(end - begin) * 1e-9;
}

double SegmentBase::imbalance() const {
  double const all = kernel_seconds() * static_cast<double>(times_.size());
  if (all <= 0) return 0;
  std::uint64_t busy = 0;
  for (ReplicaTimes const& t : times_) busy += t.ended_ns - t.began_ns - t.waited_ns;
  return 1 - static_cast<double>(busy) * 1e-9 / all;
}

}  // namespace hiway::segment
