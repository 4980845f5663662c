#include "counters.hpp"

#include <algorithm>

#include "stencil_placement.hpp"

namespace hiway {
namespace {

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

class CounterReader {
 public:
  explicit CounterReader(CounterSources const& from)
      : from_(from), layout_(from.layout), prepared_(from.layout.prepared) {}

  [[nodiscard]] PipelineSnapshot read() const {
    PipelineSnapshot all;
    all.aborting = is_aborted(ThreadMachine{}, *layout_.homes.host().control);
    for (std::size_t i = 0; i < prepared_.stages.size(); ++i) all.stages.push_back(stage(i));
    for (PlacedTunnel const& t : layout_.placement.tunnels()) all.tunnels.push_back(tunnel(t));
    all.device_seen = from_.copies.devices_seen();
    return all;
  }

 private:
  template <class T>
  [[nodiscard]] T word(Word<T>* word, Home home) const {
    return from_.copies.read(word, home);
  }
  /// One for each port.
  [[nodiscard]] std::vector<TaskCounts> tasks(OutletPort* ports, unsigned count, Home home) const {
    std::vector<TaskCounts> all;
    for (unsigned i = 0; i < count; ++i) all.push_back({word(&ports[i].got, home), word(&ports[i].finished, home)});
    return all;
  }

  [[nodiscard]] StageSnapshot stage(std::size_t number) const {
    Stage const& s = prepared_.stages[number];
    StagePlace const& place = prepared_.places[number];
    StageSnapshot stage;
    stage.name = s.description.name;
    stage.gpu = s.gpu;
    if (s.gpu && layout_.homes.device_count() > 1) stage.device = layout_.homes.name(s.home);
    stage.executors = s.executors;
    stage.started = s.description.own_kernel ? s.executors : word(&place.words->started, s.home);
    stage.returned = word(&place.words->returned, s.home);
    stage.ended = word(&place.words->ended, s.home) != 0;
    stage.inside = from_.state.inside[number].load(std::memory_order_relaxed);
    ask_kernel(stage, s);
    read_failures(stage, number);
    stage.got.assign(s.executors, 0);
    for (std::size_t f = 0; f < s.description.from.size(); ++f) {
      std::vector<TaskCounts> const each = tasks(place.outlet_ports[f], s.executors, s.home);
      for (unsigned e = 0; e < s.executors; ++e) stage.got[e] += each[e].got;
      stage.from.push_back({s.description.from[f]->id(), sum(each)});
    }
    for (std::size_t o = 0; o < s.description.into.size(); ++o)
      stage.into.push_back({s.description.into[o]->id(), word(place.closed_executors[o], s.home),
                            prepared_.flow.stages[number].spills[o]});
    return stage;
  }
  void read_failures(StageSnapshot& stage, std::size_t number) const {
    Home const home = prepared_.stages[number].home;
    FailedTasksPlace const& failed = layout_.homes.failed_tasks(home);
    stage.failed_tasks = word(&failed.tasks[number].count, home);
    stage.first_failure = from_.copies.read_when(&failed.tasks[number].ready, failed.firsts + number, home);
  }
  void ask_kernel(StageSnapshot& stage, Stage const& declared) const {
    if (!declared.gpu || from_.kernels == nullptr) return;
    if (!from_.state.kernels_started.load(std::memory_order_acquire)) return;
    std::optional<KernelNow> const now = from_.kernels->of(declared);
    if (!now) return;
    stage.inside = declared.executors;
    stage.in_sync_block = now->in_sync_block;
  }

  [[nodiscard]] TunnelSnapshot tunnel(PlacedTunnel const& t) const {
    TunnelSnapshot s;
    s.name = t.base->name();
    s.kind = std::string(direction_name(t.base->direction())) + " " + movement_name(t);
    s.crosses = t.crosses();
    s.on_device = t.put.home != at_host || t.get.home != at_host;
    s.capacity = t.capacity + t.keys.rings.size() * t.keys.ring_items;
    s.may_grow_to = t.base->config().grow_to_items;
    s.when_full = t.base->config().when_full;
    read_rings(s, t);
    read_pool(s, t);
    read_throttle(s, t);
    read_end(s, t);
    if (t.stencil_base != nullptr) s.frames = frames(t);
    return s;
  }
  void read_rings(TunnelSnapshot& s, PlacedTunnel const& t) const {
    Home const from = t.put.home;
    Home const to = t.get.home;
    std::uint64_t room = 0;
    for (unsigned k = 0; k < t.put.ring.shards; ++k) {
      RingWords& puts = t.put.ring.words[k];
      RingWords& gets = t.get.ring.words[k];
      s.taken += word(&gets.taken, to);
      s.claimed += word(&puts.claimed, from);
      s.put_groups += word(&puts.put_groups, from);
      s.dropped += word(&puts.dropped, from);
      s.get_groups += word(&gets.get_groups, to);
      if (!s.crosses) room += static_cast<std::uint64_t>(std::max(0, word(&puts.free, from)));
    }
    for (Ring const& ring : t.keys.rings) {
      s.taken += word(&ring.words->taken, to);
      s.claimed += word(&ring.words->claimed, from);
      s.dropped += word(&ring.words->dropped, from);
      room += static_cast<std::uint64_t>(std::max(0, word(&ring.words->free, from)));
    }
    StagedPuts const& staged = prepared_.staged_of(t);
    for (std::uint32_t i = 0; i < staged.threads; ++i) {
      std::uint64_t const items = word(&staged.taken[i].items, at_host);
      s.claimed += items;
      s.taken += items;
    }
    s.retired = s.crosses ? word(t.bus.retired.word, t.bus.retired.home) : left(s, room);
    if (t.base->config().low_latency) {
      s.published = s.arrived = s.claimed;  // items with tags are not published by a relay
    } else {
      s.arrived = word(t.bus.arrived.word, t.bus.arrived.home);
      s.published = word(t.bus.published.word, t.bus.published.home);
    }
  }
  void read_pool(TunnelSnapshot& s, PlacedTunnel const& t) const {
    s.spills = prepared_.flow_of(t).spills;
    if (!s.spills) return;
    RingWords* const pool = layout_.homes.words(t.put.home).image(t.pool.ring).words;
    s.spill_taken = s.crosses ? word(t.pool.drained, t.put.home) : word(&pool->taken, t.put.home);
    s.spill_claimed = word(&pool->claimed, t.put.home);
    s.spill_capacity = spill_items(*t.base);
  }
  void read_throttle(TunnelSnapshot& s, PlacedTunnel const& t) const {
    std::size_t const by = prepared_.flow_of(t).throttled_by;
    if (by == FlowPlan::none) return;
    s.throttled = word(&t.put.words->throttled, t.put.home) != 0;
    s.throttled_by.assign(prepared_.flow.cycles[by].pools.begin(), prepared_.flow.cycles[by].pools.end());
  }
  void read_end(TunnelSnapshot& s, PlacedTunnel const& t) const {
    PlacedEnd const& end = t.get.home == at_host ? t.get : t.put;
    s.closed = word(&end.words->closed, end.home) != 0;
    s.ended = word(&end.words->ended, end.home) != 0;
    s.open_inlets = inlets_to_close(layout_.graph, t.base->id());
    s.open_inlets_closed = word(t.open.closed, t.put.home);
    for (OutletPort* const port : t.open.outlets) s.open_outlets.push_back(tasks(port, 1, t.get.home).front());
  }
  [[nodiscard]] std::string frames(PlacedTunnel const& t) const {
    std::vector<std::uint32_t> set;
    for (Word<std::uint32_t>& one : set_words(t)) set.push_back(word(&one, t.put.home));
    return from_.copies.devices_seen() ? incomplete_frame(t.stencil_base->plan().shape, set) : std::string();
  }

  CounterSources const& from_;
  Layout& layout_;
  Prepared const& prepared_;
};

}  // namespace

PipelineSnapshot read_counters(CounterSources const& from) { return CounterReader(from).read(); }

}  // namespace hiway
