#include "snapshot.hpp"

#include <algorithm>

namespace hiway {
namespace {

/// Of two words that are not of one moment.
std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

}  // namespace

/// Waiting puts may have their tickets already if items carry tags, so the count is limited to the capacity.
std::uint64_t in_ring(TunnelSnapshot const& t) { return std::min(minus(t.claimed, t.retired), t.capacity); }
std::uint64_t in_pool(TunnelSnapshot const& t) { return minus(t.spill_claimed, t.spill_taken); }
std::uint64_t put(TunnelSnapshot const& t) {
  return t.crosses ? minus(t.claimed, t.spill_taken) + t.spill_claimed : t.claimed + t.spill_claimed;
}
TaskCounts tasks(PipelineSnapshot const& snapshot, std::size_t tunnel) {
  TaskCounts all;
  auto const add = [&](TaskCounts const& c) {
    all.got += c.got;
    all.finished += c.finished;
  };
  for (StageSnapshot const& s : snapshot.stages) {
    for (auto const& from : s.from) {
      if (from.tunnel == tunnel) add(from.tasks);
    }
  }
  for (TaskCounts const& c : snapshot.tunnels[tunnel].open_outlets) add(c);
  return all;
}

std::uint64_t got(TunnelSnapshot const& t) { return t.crosses ? t.taken : t.taken + t.spill_taken; }
bool full(TunnelSnapshot const& t) { return in_ring(t) >= t.capacity; }
bool empty(TunnelSnapshot const& t) { return put(t) <= got(t); }
std::uint64_t ready(TunnelSnapshot const& t) { return t.crosses ? minus(t.arrived, t.taken) : minus(put(t), got(t)); }
UnderWay under_way(TunnelSnapshot const& t) {
  if (!t.crosses) return {};
  return {minus(t.claimed, t.arrived), minus(t.claimed, t.published), minus(t.published, t.arrived)};
}

std::uint64_t held(TaskCounts const& c) { return minus(c.got, c.finished); }
std::uint64_t held(StageSnapshot const& s) {
  std::uint64_t all = 0;
  for (auto const& f : s.from) all += held(f.tasks);
  return all;
}
bool has_returned(StageSnapshot const& s) { return s.returned >= s.executors; }

Progress progress(PipelineSnapshot const& snapshot) {
  Progress all{snapshot.device_seen, snapshot.aborting};
  for (StageSnapshot const& s : snapshot.stages) {
    all.insert(all.end(), {s.started, s.returned, s.inside, s.ended});
    for (auto const& from : s.from) all.insert(all.end(), {from.tasks.got, from.tasks.finished});
    for (auto const& into : s.into) all.push_back(into.closed);
  }
  for (TunnelSnapshot const& t : snapshot.tunnels) {
    all.insert(all.end(), {t.claimed, t.taken, t.published, t.arrived, t.retired, t.spill_claimed, t.spill_taken,
                           t.dropped, t.capacity, t.throttled, t.closed, t.ended, t.open_inlets_closed});
    for (TaskCounts const& outlet : t.open_outlets) all.insert(all.end(), {outlet.got, outlet.finished});
  }
  return all;
}

}  // namespace hiway
