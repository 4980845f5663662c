#include "monitor_tables.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "end_check.hpp"
#include "lib/movement/carrier.hpp"
#include "views.hpp"

namespace hiway {
namespace {

/// A kernel in which nothing has moved for so long leaves the device: longer than most CPU stages work on an item,
/// since after a rest the way back takes some 100 us. In turns others wait for the place.
constexpr std::uint64_t idle_ns = 10'000'000;
constexpr std::uint64_t idle_ns_in_turns = 20'000;
/// The monitor follows when all kernels are away.
constexpr std::uint64_t monitor_idle_ns = 1'000'000;

std::uint32_t size_of(auto const& list) { return static_cast<std::uint32_t>(list.size()); }

class MonitorTables {
 public:
  explicit MonitorTables(Layout& layout)
      : layout_(layout), homes_(layout.homes), prepared_(layout.prepared), check_(layout.prepared.check) {}

  void build() {
    build_lines();
    place_host_drains();
    check_ = {};
    for (Device& d : homes_.devices()) d.monitor = nullptr;
    std::vector<Home> used;
    for (Home const home : homes_.device_homes()) {
      if (is_used(home)) used.push_back(home);
    }
    if (used.empty()) return build_at_host();
    check_.checker = used.front();
    build_on_devices(std::span(used).subspan(1));
    for (std::size_t k = 0; k < layout_.graph.kernels().size(); ++k) {
      DeclaredKernel const& kernel = layout_.graph.kernels()[k];
      if (!kernel.description.kernel.close_behind) continue;
      homes_.backend(kernel.home).prepare(kernel.title(), close_kernel(layout_, k), close_grid, Neighbours::own);
    }
  }

 private:
  using News = std::vector<std::vector<UnitNews>>;

  [[nodiscard]] bool is_used(Home home) const {
    return (home == own_device && layout_.device_asks) ||
           std::ranges::any_of(prepared_.stages, [&](Stage const& s) { return s.home == home; }) ||
           std::ranges::any_of(layout_.placement.tunnels(),
                               [&](PlacedTunnel const& t) { return t.put.home == home || t.get.home == home; });
  }

  void build_lines() {
    std::vector<std::vector<TransferLine::Route>> routes(2 * homes_.device_count());  // by device and BusDirection
    auto const line = [](Home home, BusDirection direction) {
      return 2 * (home - own_device) + static_cast<std::size_t>(direction);
    };
    for (PlacedTunnel& t : layout_.placement.tunnels()) {
      t.way.route = Way::no_route;
      if (t.way.carrier == nullptr || !t.way.carrier->copies()) continue;
      t.way.line_home = t.way.carrier->line_home(homes_, t);
      std::vector<TransferLine::Route>& list = routes[line(t.way.line_home, t.direction())];
      t.way.route = list.size();
      list.push_back(t.way.carrier->route(homes_, t));
    }
    for (Home const home : homes_.device_homes()) {
      for (BusDirection const direction : {BusDirection::to_device, BusDirection::from_device}) {
        std::vector<TransferLine::Route> const& list = routes[line(home, direction)];
        std::unique_ptr<TransferLine>& made = homes_.device(home).lines[static_cast<std::size_t>(direction)];
        made.reset();
        if (list.empty()) continue;
        made = std::make_unique<TransferLine>(direction, list, homes_.backend(home).open_stream());
      }
    }
  }

  [[nodiscard]] bool has_drain(PlacedTunnel const& t, Home home) const {
    return t.crosses() && prepared_.flow_of(t).spills && t.put.home == home;
  }
  [[nodiscard]] Ring& pool(PlacedTunnel const& t) { return homes_.words(t.put.home).image(t.pool.ring); }

  void place_host_drains() {
    prepared_.host_drains.clear();
    Arena& plan = homes_.plan(at_host);
    for (PlacedTunnel const& t : layout_.placement.tunnels()) {
      if (!has_drain(t, at_host)) continue;
      prepared_.host_drains.push_back(plan.place<Drain>());
      plan.image(prepared_.host_drains.back()) = {pool(t), t.put.ring, t.pool.drained};
    }
  }

  void build_at_host() {
    Arena& plan = homes_.plan(at_host);
    News news;
    check_.host_table = plan.place<TerminationTable>();
    plan.image(check_.host_table) = build_termination(at_host, news);
    check_.throttles = plan.place<ThrottleTable>();
    plan.image(check_.throttles) = build_throttles();
  }

  void build_on_devices(std::span<Home const> others) {
    News news;
    std::vector<DelegateWords> delegates;
    std::vector<std::uint8_t> asks;
    for (Home const home : others) {
      TerminationTable table = build_termination(home, news);
      table.own.question = {&homes_.told_plan(check_.checker, home).place<DeviceWord>()->word};
      table.own.answer = {&homes_.told_plan(home, check_.checker).place<DeviceWord>()->word};
      delegates.push_back(table.own);
      for (std::uint32_t u = 0; u < prepared_.flow.units; ++u)
        asks.push_back(asked_of(homes_.plan(home).image(table.units + u)));
      build_monitor(home, table);
    }
    TerminationTable table = build_termination(check_.checker, news);
    Arena& plan = homes_.plan(check_.checker);
    table.delegates = plan.place_list(delegates);
    table.asks = plan.place_list(asks);
    table.delegate_count = size_of(delegates);
    build_monitor(check_.checker, table);
  }

  /// What the end check needs of the tunnels and stages.
  [[nodiscard]] CountedGraph counted_graph() {
    CountedGraph graph;
    graph.units = prepared_.flow.units;
    graph.checker = check_.checker;
    graph.host_all_ended = homes_.host().all_ended;
    if (check_.checker != at_host) graph.checker_all_ended = homes_.device(check_.checker).all_ended;
    for (PlacedTunnel const& t : layout_.placement.tunnels()) graph.tunnels.push_back(counted(t));
    for (std::size_t s = 0; s < prepared_.stages.size(); ++s) {
      Stage const& stage = prepared_.stages[s];
      StagePlace const& place = prepared_.places[s];
      graph.stages.push_back({stage.home, stage.executors, stage.description.item_form, place.words,
                              ids_of(stage.description.from), ids_of(stage.description.into), place.outlet_ports,
                              place.closed_executors});
    }
    for (StageDescription const& worker : layout_.graph.workers())
      graph.workers.push_back({ids_of(worker.from), ids_of(worker.into)});
    return graph;
  }
  [[nodiscard]] CountedTunnel counted(PlacedTunnel const& t) {
    bool const spills = prepared_.flow_of(t).spills;
    StagedPuts const& staged = prepared_.staged_of(t);
    std::vector<SumTerm> of_keys;
    for (Ring const& ring : t.keys.rings) of_keys.push_back({&ring.words->claimed, 1, sizeof(RingWords)});
    return {.unit = prepared_.flow_of(t).unit,
            .put_home = t.put.home,
            .get_home = t.get.home,
            .claimed = {&t.put.ring.words->claimed, t.put.ring.shards, sizeof(RingWords)},
            .claimed_by_key = std::move(of_keys),
            .taken_staged = t.crosses() || staged.threads == 0
                                ? SumTerm{}
                                : SumTerm{&staged.taken->items, staged.threads, sizeof(TakenCount)},
            .spilled = spills ? &pool(t).words->claimed : nullptr,
            .drained = spills ? t.pool.drained : nullptr,
            .dropped = drops_oldest(t) ? &t.put.ring.words->dropped : nullptr,
            .open_closed = t.open.closed,
            .open_inlets = inlets_to_close(layout_.graph, t.base->id()),
            .open_outlets = t.open.outlets,
            .put_end = t.put.words,
            .get_end = t.get.words,
            .closing = t.bus.closing};
  }

  /// The part of the end check that is done at `home`. A delegate adds its news.
  [[nodiscard]] TerminationTable build_termination(Home home, News& news) {
    CountedGraph const graph = counted_graph();
    auto const place_flag = [&] { return homes_.told_plan(home, check_.checker).place<Word<std::uint32_t>>(); };
    EndCheckLists lists = EndCheckBuilder(graph, home, place_flag, news).build();
    TerminationTable table = place_lists(homes_.plan(home), lists);
    table.host_across = home != at_host;
    PipelineConfig const& config = layout_.config;
    if (config.end_detection == EndDetection::time_out)
      table.time_out_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(config.end_time_out).count());
    table.host_aborted = &homes_.host().control->aborted;
    if (lists.delegates) news.push_back(std::move(lists.news));
    return table;
  }

  /// True if the checker can load and store words at this home.
  [[nodiscard]] bool is_reached(Home home) const {
    return home == check_.checker || home == at_host || homes_.is_reached(home, check_.checker);
  }

  [[nodiscard]] ThrottleTable build_throttles() {
    std::vector<CycleRecord> records;
    std::vector<PoolWords> pools;
    std::vector<ThrottledEntry> entries;
    for (FlowPlan::Cycle const& cycle : prepared_.flow.cycles) {
      CycleRecord record;
      record.pools.begin = size_of(pools);
      for (std::uint32_t const id : cycle.pools) {
        PlacedTunnel const& t = layout_.placement.tunnels()[id];
        if (is_reached(t.put.home))
          pools.push_back({pool(t).words, spill_items(*t.base), t.put.home != check_.checker});
      }
      record.pools.end = size_of(pools);
      record.entries.begin = size_of(entries);
      for (std::uint32_t const id : cycle.entries) {
        PlacedTunnel const& t = layout_.placement.tunnels()[id];
        if (is_reached(t.put.home)) entries.push_back({&t.put.words->throttled, t.put.home != check_.checker});
      }
      record.entries.end = size_of(entries);
      records.push_back(record);
    }
    Arena& arena = homes_.plan(check_.checker);
    ThrottleTable table;
    table.cycles = check_.cycles = arena.place_list(records);
    table.cycle_count = size_of(records);
    table.pools = arena.place_list(pools);
    table.entries = arena.place_list(entries);
    return table;
  }

  void build_monitor(Home home, TerminationTable const& termination) {
    Arena& arena = homes_.plan(home);
    MonitorTable table;
    table.control = homes_.control(home);
    table.host_control = homes_.host().control;
    table.notice = homes_.device(home).notice;
    list_tunnels(home, table);
    list_stages(home, table);
    table.termination = termination;
    if (home == check_.checker) table.throttles = build_throttles();
    list_yielding(home, table);
    homes_.device(home).monitor_news = nullptr;
    if (all_yield(home)) {
      table.slices.ns = static_cast<std::uint64_t>(layout_.config.slice.count());
      bool const stays = is_asked_by_kernels(home) || layout_.config.end_detection == EndDetection::time_out;
      table.slices.idle_ns = stays ? ~std::uint64_t{0} : monitor_idle_ns;
      table.slices.news = homes_.device(home).monitor_news = homes_.plan(at_host).place<SliceNews>();
      watch_host(home, table);
    }
    homes_.device(home).monitor = arena.place<MonitorTable>();
    arena.image(homes_.device(home).monitor) = table;
    homes_.backend(home).prepare("device monitor", monitor_kernel(layout_, home), monitor_grid(layout_, home),
                                 Neighbours::own);
  }

  /// Whether kernels are there, all of which yield.
  [[nodiscard]] bool all_yield(Home home) const {
    bool any = false;
    for (std::size_t k = 0; k < layout_.graph.kernels().size(); ++k) {
      DeclaredKernel const& kernel = layout_.graph.kernels()[k];
      if (kernel.home != home) continue;
      if (!prepared_.yields(k)) return false;
      any = true;
    }
    return any;
  }
  /// Whether kernels that are not the run's may put there, or get: of these nobody hears while the monitor is away.
  [[nodiscard]] bool is_asked_by_kernels(Home home) const {
    return std::ranges::any_of(layout_.placement.tunnels(), [&](PlacedTunnel const& t) {
      DeclaredTunnel const& declared = layout_.graph.tunnels()[t.base->id()];
      return (declared.open_inlets != 0 && t.put.home == home) || (declared.open_outlets != 0 && t.get.home == home);
    });
  }

  /// What the monitor reads at the host, so that the host knows when to have it come back.
  void watch_host(Home home, MonitorTable const& table) {
    HostCounts& counts = homes_.device(home).counts = {};
    Arena& arena = homes_.plan(home);
    for (std::uint32_t i = 0; i < table.termination.term_count; ++i) {
      SumTerm const& term = arena.image(table.termination.terms + i);
      for (std::uint32_t k = 0; term.across && k < term.count; ++k)
        counts.words.push_back(reinterpret_cast<Word<std::uint64_t>*>(reinterpret_cast<std::byte*>(term.first) +
                                                                      std::size_t{k} * term.stride));
    }
    for (std::uint32_t i = 0; i < table.termination.gate_count; ++i) {
      CountGate const& gate = arena.image(table.termination.gates + i);
      if (gate.across) counts.gates.push_back(gate.word);
    }
    for (PlacedTunnel const& t : layout_.placement.tunnels()) {
      if (!t.crosses()) continue;
      ToldWord const& heard = t.put.home == home ? t.bus.retired : t.bus.arrived;
      if (heard.home == at_host) counts.words.push_back(heard.word);
      bool const is_told = t.bus.put_relays != nullptr && !t.base->config().low_latency;
      if (is_told) counts.outboxes.push_back(t.bus.put_relays);
      for (HeardWord const& word : t.stencil.heard) counts.words.push_back(word.across.word);
    }
  }

  void list_yielding(Home home, MonitorTable& table) {
    std::vector<YieldingKernel> kernels;
    std::vector<StageWords*> all_stages;
    std::vector<WatchedEnd> ends;
    for (std::size_t k = 0; k < layout_.graph.kernels().size(); ++k) {
      if (layout_.graph.kernels()[k].home != home || !prepared_.yields(k)) continue;
      std::vector<std::size_t> const stages = stages_of_kernel(prepared_.stages, k);
      StageEnds const all = stage_ends(layout_, stages, 0);
      YieldingKernel kernel{.news = all.slice.news, .words = all.slice.words, .blocks = prepared_.grids[k].blocks};
      kernel.stages.begin = size_of(all_stages);
      all_stages.insert(all_stages.end(), all.stages.begin(), all.stages.end());
      kernel.stages.end = size_of(all_stages);
      kernel.outlets.begin = size_of(ends);
      for (OutletView const& outlet : all.outlets) ends.push_back({outlet.ring, outlet.spill});
      kernel.outlets.end = kernel.inlets.begin = size_of(ends);
      for (InletView const& inlet : all.inlets) ends.push_back({inlet.ring, inlet.spill});
      kernel.inlets.end = size_of(ends);
      kernels.push_back(kernel);
    }
    table.slices.recall = {.kernels = homes_.plan(home).place_list(kernels),
                           .stages = homes_.plan(home).place_list(all_stages),
                           .ends = homes_.plan(home).place_list(ends),
                           .kernel_count = size_of(kernels),
                           .idle_ns = prepared_.in_turns ? idle_ns_in_turns : idle_ns};
  }

  void list_tunnels(Home home, MonitorTable& table) {
    std::vector<Relays> relays;
    std::vector<HeardWord> heard_words;
    std::vector<Drain> drains;
    for (PlacedTunnel const& t : layout_.placement.tunnels()) {
      if (!t.crosses() || (t.put.home != home && t.get.home != home)) continue;
      bool const puts = t.put.home == home;
      relays.push_back(make_relays(t, puts ? t.put.ring : t.get.ring));
      if (puts) heard_words.insert(heard_words.end(), t.stencil.heard.begin(), t.stencil.heard.end());
      if (has_drain(t, home)) drains.push_back({pool(t), t.put.ring, t.pool.drained});
    }
    Arena& arena = homes_.plan(home);
    table.relays = arena.place_list(relays);
    table.heard_words = arena.place_list(heard_words);
    table.drains = arena.place_list(drains);
    table.relay_count = size_of(relays);
    table.heard_count = size_of(heard_words);
    table.drain_count = size_of(drains);
  }

  void list_stages(Home home, MonitorTable& table) {
    std::vector<CountGate> started;
    std::vector<CountGate> returned;
    for (std::size_t s = 0; s < prepared_.stages.size(); ++s) {
      Stage const& stage = prepared_.stages[s];
      StageWords* const words = prepared_.places[s].words;
      if (stage.home != home) continue;
      started.push_back({&words->started, stage.description.own_kernel ? 0 : stage.executors, false});
      returned.push_back({&words->returned, stage.executors, false});
    }
    Arena& arena = homes_.plan(home);
    table.stages.started = arena.place_list(started);
    table.stages.returned = arena.place_list(returned);
    table.stages.count = size_of(returned);
  }

  Layout& layout_;
  Homes& homes_;
  Prepared& prepared_;
  EndCheckPlace& check_;
};

}  // namespace

void build_monitors(Layout& layout) { MonitorTables(layout).build(); }

DeviceKernel close_kernel(Layout const& layout, std::size_t kernel) {
  StageKernel const& own = layout.graph.kernels()[kernel].description.kernel;
  StageEnds const ends = stage_ends(layout, stages_of_kernel(layout.prepared.stages, kernel), 0);
  return own.close_behind(ends, layout.prepared.grids[kernel]);
}

DeviceKernel monitor_kernel(Layout const& layout, Home home) {
  MonitorTable* const table = layout.homes.device(home).monitor;
  DeviceKernel kernel;
  kernel.lane_body = [table] { run_device_monitor(FiberMachine{}, *table); };
  kernel.cuda = layout.homes.backend(home).monitor(table).cuda;
  kernel.goes_first = true;
  return kernel;
}

}  // namespace hiway
