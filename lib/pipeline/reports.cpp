#include "reports.hpp"

#include <algorithm>

#include "hiway/output_file.hpp"
#include "lib/scope/places.hpp"

namespace hiway {
namespace {

double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

}  // namespace

void Reports::begin() {
  for (StagePlace& s : layout_.prepared.places) {
    for (auto& thread : s.threads) {
      thread->trace = {};
      thread->waits = std::vector<WaitWords>(layout_.graph.tunnels().size());
    }
  }
  trace_.reset();
  std::string const& path = layout_.config.trace;
  bool const is_node_0s = layout_.over_nodes.asked.trace && layout_.over_nodes.node != 0;
  if (!path.empty() && !is_node_0s) {
    if (std::string const why = why_not_writable(path); !why.empty())
      throw ConfigError("trace: '" + path + "' cannot be written: " + why);
  }
  if (!path.empty() || is_node_0s) trace_.emplace();
  for (Latency& latency : latencies_) latency.reset();
  for (Device& d : layout_.homes.devices()) {
    for (auto const& line : d.lines) {
      if (line) line->keep_records(trace_.has_value());
    }
  }
}

TunnelReport Reports::tunnel_report(PipelineSnapshot const& seen, std::size_t tunnel) const {
  PlacedTunnel const& t = layout_.placement.tunnels()[tunnel];
  TunnelSnapshot const& s = seen.tunnels[tunnel];
  TunnelReport r;
  r.name = t.base->name();
  r.movement = movement_name(t);
  r.why = t.way.why;
  r.capacity_items = s.capacity;
  r.direction = direction_name(t.base->direction());
  r.item_bytes = t.base->item_bytes();
  r.spills_to_host = t.pool.is_at_host;
  r.items = put(s);
  r.finished = tasks(seen, tunnel).finished + (drops_oldest(t) ? s.dropped : 0);
  r.spilled = s.spill_claimed;
  r.dropped = s.dropped;
  r.holds = in_ring(s) + in_pool(s);
  r.put_groups = s.put_groups;
  r.get_groups = s.get_groups;
  if (!trace_ || state_.running || tunnel >= trace_->tunnels().size()) return r;
  TunnelLevels const& levels = trace_->tunnels()[tunnel];
  auto const part = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(levels.samples); };
  r.most_items = static_cast<double>(levels.most);
  r.mean_items = part(levels.sum);
  r.full = part(levels.full);
  r.empty = part(levels.empty);
  return r;
}

StageReport Reports::stage_report(std::size_t stage, StageSnapshot const& seen, double run_seconds) const {
  Stage const& s = layout_.prepared.stages[stage];
  StageReport r;
  r.name = s.description.name;
  r.gpu = s.gpu;
  r.executors = s.executors;
  for (StageSnapshot::From const& from : seen.from) r.items += from.tasks.finished;
  r.failed_tasks = seen.failed_tasks;
  r.first_failure = seen.first_failure.message;
  for (TunnelBase const* tunnel : s.description.from) r.items_of.push_back({tunnel->name()});
  for (TunnelBase const* tunnel : s.description.into) r.room_in.push_back({tunnel->name()});
  if (s.gpu) {
    add_kernel_time(r, stage, run_seconds);
  } else {
    add_thread_time(r, stage);
  }
  return r;
}

void Reports::add_kernel_time(StageReport& report, std::size_t stage, double run_seconds) const {
  Stage const& s = layout_.prepared.stages[stage];
  SliceNews* const news = layout_.prepared.slices[s.owner].news;
  report.launches = news == nullptr ? 1 : ThreadMachine{}.load(news->launched, MemoryOrder::relaxed);
  report.seconds = run_seconds * s.executors;
  if (!trace_ || state_.running || stage >= trace_->stages().size()) return;
  StageLevels const& levels = trace_->stages()[stage];
  if (levels.left_ns != 0)
    report.seconds = std::min(report.seconds, seconds(levels.left_ns - ns_of(state_.started)) * s.executors);
  if (levels.samples != 0 && !s.description.from.empty())
    report.busy = static_cast<double>(levels.active) / static_cast<double>(levels.samples * s.executors);
}

void Reports::add_thread_time(StageReport& report, std::size_t stage) const {
  StageDescription const& d = layout_.prepared.stages[stage].description;
  double const waited = add_waits(stage, d.from, report.items_of, &WaitWords::items_ns) +
                        add_waits(stage, d.into, report.room_in, &WaitWords::room_ns);
  for (auto const& thread : layout_.prepared.places[stage].threads) report.seconds += seconds(thread->trace.lived_ns());
  if (report.seconds > 0) report.busy = std::max(0.0, 1 - waited / report.seconds);
}

double Reports::add_waits(std::size_t stage, std::vector<TunnelBase*> const& tunnels, std::vector<WaitReport>& waits,
                          Word<std::uint64_t> WaitWords::*word) const {
  double waited = 0;
  for (std::size_t i = 0; i < tunnels.size(); ++i) {
    waits[i].seconds = 0;
    for (auto const& thread : layout_.prepared.places[stage].threads) {
      Word<std::uint64_t>& ns = thread->waits[tunnels[i]->id()].*word;
      waits[i].seconds += seconds(static_cast<std::int64_t>(ThreadMachine{}.load(ns, MemoryOrder::relaxed)));
    }
    waited += waits[i].seconds;
  }
  return waited;
}

RunReport Reports::of(PipelineSnapshot const& seen, Time now) const {
  RunReport report;
  report.device = layout_.homes.names();
  report.seconds = std::chrono::duration<double>(now - state_.started).count();
  for (std::size_t t = 0; t < layout_.placement.tunnels().size(); ++t) {
    report.tunnels.push_back(tunnel_report(seen, t));
    report.items += report.tunnels.back().items;
  }
  for (std::size_t s = 0; s < layout_.prepared.stages.size(); ++s)
    report.stages.push_back(stage_report(s, seen.stages[s], report.seconds));
  for (Latency const& latency : latencies_) report.latencies.push_back(latency.report());
  for (auto const& scopes : layout_.scopes) report.scopes.push_back(ScopesAccess::places(*scopes).report());
  return report;
}

RunReport Reports::at_end(PipelineSnapshot const& seen, Time end) {
  if (!seen.device_seen) throw Error("report: the device's counters could not be read");
  RunReport report = of(seen, end);
  EndCheckPlace const& check = layout_.prepared.check;
  for (std::size_t i = 0; i < layout_.placement.tunnels().size(); ++i) {
    PlacedTunnel const& t = layout_.placement.tunnels()[i];
    TunnelReport& r = report.tunnels[i];
    r.holds = 0;  // the credit for the last items may not have been reported
    if (std::size_t const cycle = layout_.prepared.flow_of(t).throttled_by; cycle != FlowPlan::none)
      r.throttled = layout_.homes.plan(check.checker).fetch(check.cycles + cycle).state.times;
    if (t.way.route != Way::no_route) r.batches = line_of(t).batches(t.way.route);
    if (t.stencil_base != nullptr) report.stencils.push_back(stencil_report(t));
  }
  report.end_detection_us = end_detection_us();
  return report;
}

TransferLine const& Reports::line_of(PlacedTunnel const& tunnel) const {
  return *layout_.homes.device(tunnel.way.line_home).lines[static_cast<std::size_t>(tunnel.direction())];
}

/// From the last item of any CPU thread to the end of the last thread; -1: not known.
double Reports::end_detection_us() const {
  std::int64_t last_item = 0;
  for (std::size_t s = 0; s < layout_.prepared.stages.size(); ++s) {
    Stage const& stage = layout_.prepared.stages[s];
    if (stage.gpu) continue;
    for (OutletPort const* ports : layout_.prepared.places[s].outlet_ports) {
      for (unsigned i = 0; i < stage.executors; ++i) last_item = std::max(last_item, ports[i].idle_since_ns);
    }
  }
  std::int64_t const last_end = state_.last_thread_end_ns.load(std::memory_order_relaxed);
  if (last_item == 0 || last_end <= last_item) return -1;
  return static_cast<double>(last_end - last_item) / 1000.0;
}

StencilReport Reports::stencil_report(PlacedTunnel const& tunnel) {
  StencilTunnelBase::Plan const& plan = tunnel.stencil_base->plan();
  Arena& put = layout_.homes.words(tunnel.put.home);
  Arena& get = layout_.homes.words(tunnel.get.home);
  PutBoard const& put_board = put.image(tunnel.stencil.put_board);
  GetBoard const& get_board = get.image(tunnel.stencil.get_board);
  StencilReport r;
  r.name = tunnel.base->name();
  r.regions = put.fetch(put_board.whole).bits;
  std::uint64_t const frames = r.regions / plan.shape.regions();  // complete frames: others are an error
  r.values = frames * plan.shape.values();
  if (tunnel.way.route != Way::no_route) {
    r.region_copies = line_of(tunnel).items(tunnel.way.route);
    r.bytes_moved = line_of(tunnel).copied_bytes(tunnel.way.route);
  } else if (tunnel.crosses()) {
    r.region_copies = get.fetch(get_board.carried).bits;
    r.bytes_moved = r.values * tunnel.stencil_base->value_bytes();
  }
  r.tasks = frames * plan.frame_tasks;
  r.put_back = get.fetch(get_board.rounds).bits;
  r.first_task_before_last_set = put.fetch(put_board.overlapped).bits != 0;
  return r;
}

TraceParts Reports::trace_parts(Time end, RunReport const& report, std::exception_ptr const& error) const {
  TraceParts parts;
  parts.origin_ns = parts.began_ns = ns_of(state_.started);
  parts.ended_ns = ns_of(end);
  parts.end_detection_ns = static_cast<std::int64_t>(report.end_detection_us * 1000);
  parts.report = report;
  parts.error = what_of(error);
  parts.run = &*trace_;
  for (std::size_t s = 0; s < layout_.prepared.places.size(); ++s) {
    auto const& threads = layout_.prepared.places[s].threads;
    for (unsigned t = 0; t < threads.size(); ++t) parts.threads.push_back({s, t, &threads[t]->trace});
  }
  for (auto const& scopes : layout_.scopes)
    parts.scopes.push_back({scopes->name(), ScopesAccess::places(*scopes).times.records()});
  for (Home const home : layout_.homes.device_homes()) {
    for (std::size_t i = 0; i < 2; ++i) {
      auto const& line = layout_.homes.device(home).lines[i];
      if (!line) continue;
      std::string const way = i == 0 ? "to " : "from ";
      std::string const where = layout_.homes.device_count() == 1 ? "the device" : layout_.homes.name(home);
      parts.copies.push_back({way + where, &line->records()});
    }
  }
  return parts;
}

}  // namespace hiway
