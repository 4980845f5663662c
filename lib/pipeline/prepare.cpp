#include "prepare.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "check.hpp"
#include "hiway/cpus.hpp"
#include "hiway/log.hpp"
#include "lib/scope/places.hpp"
#include "monitor_tables.hpp"
#include "node_ends.hpp"
#include "order_check.hpp"
#include "residency.hpp"
#include "stagings.hpp"
#include "stencils_over_nodes.hpp"
#include "views.hpp"

namespace hiway {
namespace {

/// Of a kernel, unless the user chooses, where so many take turns that one block of each does not fit.
constexpr unsigned blocks_in_turns = 8;

/// How much longer a segment's slice is: leaving and coming back takes it some 80 us (H200), most of them to copy the
/// rooms of its replicas.
constexpr std::uint64_t longer_of_segments = 10;

/// What Residency::automatic means: itself, if nothing else is asked for. *Throws* ConfigError.
Residency residency_from_environment() {
  char const* const asked = std::getenv("HIWAY_RESIDENCY");
  std::string_view const text = asked == nullptr ? "automatic" : asked;
  if (text == "automatic") return Residency::automatic;
  if (text == "resident") return Residency::resident;
  if (text == "yielding") return Residency::yielding;
  throw ConfigError("HIWAY_RESIDENCY must be automatic, resident or yielding: '" + std::string(text) + "'");
}

class Preparer {
 public:
  explicit Preparer(Layout& layout)
      : layout_(layout), homes_(layout.homes), graph_(layout.graph), prepared_(layout.prepared) {}

  void prepare() {
    homes_.make_plans();
    if (layout_.over_nodes.count > 1) {
      carry_stencils_over_nodes(layout_);
      split_over_nodes(layout_);
      open_node_ends(layout_);
    }
    number_stages();
    check();
    warn_of_cycles();
    warn_of_threads();
    for (std::string const& warning : blocks_not_grouped(prepared_.stages)) log(LogLevel::warning, warning);
    layout_.placement.place_all();
    layout_.placement.give_spill_memory(prepared_.flow);
    for (auto const& scopes : layout_.scopes) ScopesAccess::place(*scopes, homes_);
    for (PlacedTunnel const& t : layout_.placement.tunnels()) ScopesAccess::name_at(t, homes_);
    shared_hands_.assign(layout_.placement.tunnels().size(), nullptr);
    homes_.place_failed_tasks(prepared_.stages.size());
    for (std::size_t s = 0; s < prepared_.stages.size(); ++s) place_stage(s);
    for (std::size_t s = 0; s < prepared_.stages.size(); ++s) hang_bell(s);
    for (std::size_t s = 0; s < prepared_.stages.size(); ++s) hang_monitors_bell(s);
    hang_bells_of_arrivals();
    place_stagings(layout_);
    for (std::size_t k = 0; k < graph_.kernels().size(); ++k) place_slice(k);
    for (std::size_t k = 0; k < graph_.kernels().size(); ++k) place_data(k);
    place_batches();
    build_monitors(layout_);
    prepared_.is_current = true;
  }

 private:
  void number_stages() {
    prepared_.stages = graph_.number_stages();
    prepared_.places.clear();
    for (Stage const& s : prepared_.stages)
      prepared_.places.push_back({.failure = NamedFailure(NamedFailure::Part::stage, s.title())});
  }

  void check() {
    found_ = find_problems(graph_, prepared_.stages);
    prepared_.flow = plan_flow(graph_.flow_graph(prepared_.stages));
    for (std::string& why : find_order_problems(graph_, prepared_.stages, prepared_.flow))
      found_.push_back(std::move(why));
    layout_.placement.find_homes(prepared_.stages, prepared_.flow, found_);
    found_.insert(found_.end(), prepared_.flow.problems.begin(), prepared_.flow.problems.end());
    // Kernels, their closing kernels, the monitor, a launch.
    for (Device& d : homes_.devices()) d.backend->reserve_streams(2 * graph_.kernels().size() + 2);
    choose_grids();
    check_tagged();
    check_slices();
    load_kernels();
    choose_who_yields();
    refuse_problems(found_);
  }

  // Nobody knows what a cycle without a plan may spill.
  void warn_of_cycles() const {
    if (!layout_.config.warn_of_cycles) return;
    for (std::string const& names : prepared_.flow.unplanned_cycles) {
      log(LogLevel::warning, "tunnels " + names +
                                 " are in a cycle, and no plan says what they need: items may spill, and lose their "
                                 "order (docs/planner.md; PipelineConfig::warn_of_cycles)");
    }
  }

  // Once in a process, which may run many pipelines.
  void warn_of_threads() const {
    static std::atomic<bool> told{false};
    std::string const warning = too_many_threads(prepared_.stages, available_cpus());
    if (!warning.empty() && !told.exchange(true)) log(LogLevel::warning, warning);
  }

  void choose_grids() {
    prepared_.grids.clear();
    for (std::size_t k = 0; k < graph_.kernels().size(); ++k) {
      DeclaredKernel const& kernel = graph_.kernels()[k];
      GpuStageOptions const& o = kernel.description.options;
      auto sharers = static_cast<unsigned>(std::ranges::count_if(graph_.kernels(), [&](DeclaredKernel const& other) {
        return other.description.options.blocks == 0 && other.home == kernel.home;
      }));
      Backend& backend = homes_.backend(kernel.home);
      if (sharers >= backend.processors()) sharers = std::max(1U, backend.processors() / blocks_in_turns);
      prepared_.grids.push_back(backend.default_grid({o.blocks, o.threads_per_block, o.shared_bytes}, sharers));
      if (auto const& data = kernel.description.kernel.data) {
        try {
          prepared_.grids[k] = data->choose_grid(backend, kernel.description.kernel.unbound, o, sharers);
        } catch (ConfigError const& e) {
          found_.emplace_back(e.what());
        }
      }
      for (std::size_t const s : stages_of_kernel(prepared_.stages, k))
        prepared_.stages[s].executors = prepared_.grids[k].blocks;
    }
  }

  // If items lie across the bus from the device that reads them, each look at a tag crosses the bus. Only one warp may
  // look, or looks fill the bus.
  void check_tagged() {
    for (PlacedTunnel const& t : layout_.placement.tunnels()) {
      if (!t.base->config().low_latency || !t.crosses() || t.get.home == at_host) continue;
      if (homes_.is_reached(t.get.home, t.put.home)) continue;
      if (is_read_alone(graph_, prepared_.stages, prepared_.grids, graph_.tunnels()[t.base->id()])) continue;
      found_.push_back(t.title() +
                       ": low_latency to the GPU is for one stage of one warp (blocks = 1, threads_per_block = 32), "
                       "which looks across the bus by itself");
    }
  }

  void load_kernels() {
    std::vector<ResidentKernel> resident;
    for (std::size_t k = 0; k < graph_.kernels().size(); ++k) {
      DeclaredKernel const& kernel = graph_.kernels()[k];
      simt::Grid const& grid = prepared_.grids[k];
      Backend& backend = homes_.backend(kernel.home);
      try {
        backend.prepare(kernel.title(), kernel.description.kernel.unbound, grid,
                        has_batches(kernel.home) ? Neighbours::others : Neighbours::own);
      } catch (ConfigError const& e) {
        found_.emplace_back(e.what());
        continue;
      }
      unsigned const at_once = backend.resident_blocks(kernel.description.kernel.unbound, grid);
      if (at_once == 0) {
        found_.push_back("stage '" + kernel.description.name + "': a block of " +
                         std::to_string(grid.threads_per_block) + " threads and " + std::to_string(grid.shared_bytes) +
                         " shared bytes does not fit the device");
        continue;
      }
      resident.push_back({k, kernel.description.name, kernel.home, grid.blocks, at_once});
    }
    prepared_.start_order = start_order(resident);
    std::vector<unsigned> processors;
    for (Device const& d : homes_.devices()) processors.push_back(d.backend->processors());
    std::vector<std::string> const too_many = find_too_many(resident, processors);
    // Nothing but the device's own limit keeps kernels that wait for their turn off it.
    bool const may_take_turns = layout_.config.multiprocessors == 0;
    prepared_.in_turns = !too_many.empty() && may_take_turns && fit_in_turns(resident, processors);
    if (!prepared_.in_turns) found_.insert(found_.end(), too_many.begin(), too_many.end());
  }

  /// Whether batch stages give the device kernels of their own.
  [[nodiscard]] bool has_batches(Home device) const {
    return std::ranges::any_of(graph_.cpu(), [&](CpuStageDescription const& c) {
      return c.stage.on_device && homes_.of(c.batch->options().device) == device;
    });
  }

  /// Whether the resident kernels leave room for a block of each that yields.
  [[nodiscard]] bool fit_in_turns(std::vector<ResidentKernel> kernels, std::vector<unsigned> const& processors) const {
    bool any = false;
    std::erase_if(kernels, [&](ResidentKernel& k) {
      DeclaredKernel const& kernel = graph_.kernels()[k.kernel];
      // One that waits for room within a task would wait for one that waits for its place.
      if (!may_yield(kernel) || kernel.description.kernel.leaves != Leaves::any_time) return false;
      k.blocks = 1;
      return std::exchange(any, true);  // the processor of one is enough: they take it in turns
    });
    return any && find_too_many(kernels, processors).empty();
  }

  void place_stage(std::size_t number) {
    Stage const& stage = prepared_.stages[number];
    StagePlace& place = prepared_.places[number];
    Arena& arena = homes_.plan(stage.home);
    place.words = arena.place<StageWords>();
    for (unsigned e = 0; !stage.gpu && e < stage.executors; ++e) place.threads.push_back(std::make_unique<ThreadLog>());
    auto const place_ports = [&]<class Port>(std::vector<Port*>& ports) {
      ports.push_back(arena.place<Port>(stage.executors));
      for (std::size_t e = 0; e < place.threads.size(); ++e)
        arena.image(ports.back() + e).trace = &place.threads[e]->trace;
    };
    for (auto const& thread : place.threads) thread->staged.resize(stage.description.from.size());
    for (std::size_t i = 0; i < stage.description.from.size(); ++i) {
      place_ports(place.outlet_ports);
      if (stage.gpu) continue;
      give_hands(stage, place, i);
      for (std::size_t e = 0; e < place.threads.size(); ++e)
        arena.image(place.outlet_ports.back() + e).staged = &place.threads[e]->staged[i];
    }
    for (std::size_t i = 0; i < stage.description.into.size(); ++i) {
      place_ports(place.inlet_ports);
      for (std::size_t e = 0; e < place.threads.size(); ++e) give_stripes(arena, place.inlet_ports.back() + e, 1);
      place.closed_executors.push_back(arena.place<Word<std::uint32_t>>());
    }
  }

  /// The bell of a CPU stage: its threads nap by it, and those that put for this stage alone ring it.
  void hang_bell(std::size_t number) {
    Stage const& stage = prepared_.stages[number];
    if (stage.gpu) return;
    StagePlace& place = prepared_.places[number];
    place.bell = std::make_unique<Bell>();
    for (OutletPort* const ports : place.outlet_ports) hang_at(ports, number, *place.bell);
    for (TunnelBase const* const base : stage.description.from) {
      if (stages_at(prepared_.stages, *base, EndOf::readers).size() != 1) continue;
      if (graph_.tunnels()[base->id()].open_outlets != 0) continue;
      for (std::size_t const writer : stages_at(prepared_.stages, *base, EndOf::writers)) {
        if (prepared_.stages[writer].gpu) continue;
        std::vector<TunnelBase*> const& into = prepared_.stages[writer].description.into;
        for (std::size_t i = 0; i < into.size(); ++i) {
          if (into[i] == base) hang_at(prepared_.places[writer].inlet_ports[i], writer, *place.bell);
        }
      }
    }
  }
  /// At what a CPU stage puts across the bus, or for other nodes.
  void hang_monitors_bell(std::size_t number) {
    Stage const& stage = prepared_.stages[number];
    if (stage.gpu) return;
    for (std::size_t i = 0; i < stage.description.into.size(); ++i) {
      std::uint32_t const id = stage.description.into[i]->id();
      InletPort* const ports = prepared_.places[number].inlet_ports[i];
      if (graph_.tunnels()[id].departs()) hang_at(ports, number, layout_.line_bell);
      if (layout_.placement.tunnels()[id].bus.put_relays != nullptr) hang_at(ports, number, layout_.monitors_bell);
    }
  }
  /// At where the line puts what comes from other nodes: the bell of the one CPU stage that gets it, or the monitors'.
  void hang_bells_of_arrivals() {
    for (detail::nodes::Arrival const& arrival : layout_.over_nodes.arrivals) {
      TunnelBase const& base = *graph_.tunnels()[arrival.inlet.tunnel].base;
      std::vector<std::size_t> const readers = stages_at(prepared_.stages, base, EndOf::readers);
      InletPort& port = homes_.words(at_host).image(arrival.inlet.ports);
      if (arrival.inlet.relays != nullptr) {
        port.bell = &layout_.monitors_bell;
      } else if (readers.size() == 1) {
        port.bell = prepared_.places[readers.front()].bell.get();
      }
    }
  }
  /// At the ports of each of the stage's threads.
  template <class Port>
  void hang_at(Port* ports, std::size_t stage, Bell& bell) {
    Arena& arena = homes_.plan(prepared_.stages[stage].home);
    for (unsigned e = 0; e < prepared_.stages[stage].executors; ++e) arena.image(ports + e).bell = &bell;
  }

  /// To each CPU thread of a stage, for its tunnel `from` (outlet/hand.hpp).
  void give_hands(Stage const& stage, StagePlace& place, std::size_t from) {
    TunnelBase const& base = *stage.description.from[from];
    DeclaredTunnel const& tunnel = graph_.tunnels()[base.id()];
    bool const branches = from >= graph_.cpu()[stage.owner].stage.from.size() || !tunnel.branches.empty();
    bool const copied = tunnel.stencil == nullptr && base.item_bytes() <= copied_bytes;
    if (branches || !copied || tunnel.open_outlets != 0 || is_outranked(prepared_.stages, base)) return;
    std::uint32_t const most = Hand::longest_run(base.item_bytes(), base.config().capacity_items);
    if (most < 2) return;
    bool const alone = is_read_alone(graph_, prepared_.stages, prepared_.grids, tunnel);
    for (std::size_t e = 0; e < place.threads.size(); ++e) {
      auto& hand = place.threads[e]->hands.emplace_back(std::make_unique<Hand>(base.item_bytes(), most));
      OutletPort* const port = place.outlet_ports.back() + e;
      if (!alone) hand->share(std::exchange(shared_hands_[base.id()], hand.get()), port->got);
      homes_.plan(stage.home).image(port).hand = hand.get();
    }
  }

  /// After place_slice(k), which tells where its slice's words are.
  void place_data(std::size_t k) {
    DeclaredKernel const& kernel = graph_.kernels()[k];
    auto const& data = kernel.description.kernel.data;
    if (!data) return;
    std::size_t const stage = stages_of_kernel(prepared_.stages, k).front();
    data->place(homes_.backend(kernel.home), prepared_.grids[k], homes_.control(kernel.home),
                static_cast<std::uint32_t>(stage), prepared_.slices[k]);
  }

  void place_batches() {
    auto const are_on_device = [&](std::vector<TunnelBase*> const& ends) {
      std::vector<bool> on_device;
      for (TunnelBase const* const t : ends)
        on_device.push_back(layout_.placement.tunnels()[t->id()].slots_on != at_host);
      return on_device;
    };
    for (CpuStageDescription const& stage : graph_.cpu()) {
      if (!stage.batch) continue;
      int const number = stage.batch->options().device;
      Home const home = homes_.of(number);
      Backend& device = homes_.backend(home);
      stage.batch->take_slots(are_on_device(stage.stage.from), are_on_device(stage.stage.into));
      stage.batch->place(homes_.plan(at_host), number >= 0 ? &homes_.plan(home) : nullptr);
      stage.batch->open_stream(number >= 0 || device.is_host() ? &device : nullptr);
    }
  }

  /// What a yielding kernel keeps from launch to launch.
  void place_slice(std::size_t k) {
    DeclaredKernel const& kernel = graph_.kernels()[k];
    if (!prepared_.yields(k)) return;
    simt::Grid const& grid = prepared_.grids[k];
    Arena& arena = homes_.plan(kernel.home);
    std::size_t const held = std::size_t{grid.blocks} * grid.threads_per_block * kernel.description.kernel.held_bytes;
    Slice& slice = prepared_.slices[k];
    slice.news = homes_.plan(at_host).place<SliceNews>();
    slice.words = arena.place<SliceWords>();
    slice.returned = arena.place<Word<std::uint32_t>>(grid.blocks);
    if (held != 0) slice.held = arena.place_zeros<std::byte>(held, kernel.title() + ": what it holds between slices");
  }
  /// Whether the user asks for it, or does not and could not tell.
  [[nodiscard]] bool may_yield(DeclaredKernel const& kernel) const {
    GpuStageOptions const& options = kernel.description.options;
    if (options.residency != Residency::automatic) return options.residency == Residency::yielding;
    StageKernel const& own = kernel.description.kernel;
    if (own.leaves == Leaves::never || !own.keeps_nothing || options.shared_bytes != 0) return false;
    if (homes_.device_count() > 1 || layout_.config.end_detection != EndDetection::tracked) return false;
    if (automatic_ == Residency::resident) return false;
    // A segment that yields takes up to 5 % longer (docs/guest.md).
    if (own.data != nullptr && automatic_ != Residency::yielding) return false;
    return std::ranges::none_of(prepared_.stages, [&](Stage const& s) {
      auto const is_quick = [](TunnelBase const* t) { return t->config().low_latency; };
      return s.gpu && &graph_.kernels()[s.owner] == &kernel &&
             (std::ranges::any_of(s.description.from, is_quick) || std::ranges::any_of(s.description.into, is_quick));
    });
  }
  /// Where one kernel is resident, nobody gets the device while others are away; so by themselves these yield only to
  /// each other.
  void choose_who_yields() {
    bool const all = prepared_.in_turns ||
                     std::ranges::all_of(graph_.kernels(), [&](DeclaredKernel const& k) { return may_yield(k); });
    prepared_.slices.assign(graph_.kernels().size(), {});
    for (std::size_t k = 0; k < graph_.kernels().size(); ++k) {
      DeclaredKernel const& kernel = graph_.kernels()[k];
      if (!may_yield(kernel) || (!all && kernel.description.options.residency != Residency::yielding)) continue;
      prepared_.slices[k].ns = slice_of(kernel);
    }
  }
  [[nodiscard]] std::uint64_t slice_of(DeclaredKernel const& kernel) const {
    auto const ns = static_cast<std::uint64_t>(layout_.config.slice.count());
    bool const is_segment = kernel.description.kernel.data != nullptr;
    return is_segment && ns < INT64_MAX / longer_of_segments ? ns * longer_of_segments : ns;
  }
  void check_slices() {
    if (layout_.config.slice.count() <= 0) found_.emplace_back("PipelineConfig::slice must be more than 0");
    for (DeclaredKernel const& kernel : graph_.kernels()) {
      if (kernel.description.options.residency != Residency::yielding) continue;
      if (kernel.description.kernel.leaves == Leaves::never)
        found_.push_back(kernel.title() +
                         ": only stages in item or value form, groups of them, and segments may yield");
      if (homes_.device_count() > 1)
        found_.push_back(kernel.title() + ": stages of a pipeline on several devices cannot yield yet");
    }
  }

  Layout& layout_;
  Homes& homes_;
  Graph const& graph_;
  Prepared& prepared_;
  Residency automatic_ = residency_from_environment();
  std::vector<std::string> found_;   ///< problems
  std::vector<Hand*> shared_hands_;  ///< for each tunnel one of those that its several readers have, or null
};

}  // namespace

void prepare(Layout& layout) { Preparer(layout).prepare(); }

}  // namespace hiway
