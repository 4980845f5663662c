// Pipeline::Core::prepare: checks the whole pipeline, decides which puts wait and which spill, and wires stages, end
// check and monitors.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>
#include <set>
#include <span>

#include "affinity.hpp"
#include "graph.hpp"
#include "hiway/log.hpp"
#include "pipeline_core.hpp"
#include "sizes.hpp"

namespace hiway {
namespace {

constexpr std::size_t spill_bytes = std::size_t{64} << 20;
constexpr std::size_t spill_items_least = 1024;
constexpr std::size_t spill_items_most = std::size_t{1} << 20;
constexpr std::size_t most_problems_told = 50;

}  // namespace

std::size_t spill_items(TunnelBase const& tunnel) {
  if (std::size_t const wanted = tunnel.config().spill_items; wanted != 0) return wanted;
  return std::bit_floor(std::clamp(spill_bytes / tunnel.item_bytes(), spill_items_least, spill_items_most));
}

std::vector<std::size_t> Pipeline::Core::writers(std::uint32_t tunnel) const {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (contains(stages_[s].description.into, tunnels_[tunnel].tunnel.get())) all.push_back(s);
  }
  return all;
}

std::vector<std::size_t> Pipeline::Core::readers(std::uint32_t tunnel) const {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (contains(stages_[s].description.from, tunnels_[tunnel].tunnel.get())) all.push_back(s);
  }
  return all;
}

std::vector<std::size_t> Pipeline::Core::stages_of(bool gpu, std::size_t owner) const {
  std::vector<std::size_t> all;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].gpu == gpu && stages_[s].owner == owner) all.push_back(s);
  }
  return all;
}

void Pipeline::Core::prepare() {
  require_idle("prepare");
  if (prepared_) return;
  synchronize();
  host_plan_ = std::make_unique<Arena>(backend(), Memory::pinned, "stages' words");
  for (Device& d : devices_) d.plan = std::make_unique<Arena>(*d.backend, Memory::device, "stages' words");
  number_stages();
  std::vector<std::string> found = problems();
  find_homes(found);
  flow_ = plan_flow(flow_graph());
  found.insert(found.end(), flow_.problems.begin(), flow_.problems.end());
  for (Device& d : devices_)
    d.backend->reserve_streams(2 * gpu_.size() + 2);  // kernels, their closing kernels, the monitor, a launch
  choose_grids(found);
  check_tagged(found);
  load_kernels(found);
  check_problems(found);
  warn_of_cycles();
  for (TunnelState& t : tunnels_) place(t);
  for (TunnelState& t : tunnels_) settle_movement(t);
  give_spill_memory();
  place_stage_words();
  for (std::size_t k = 0; k < gpu_.size(); ++k) {
    if (auto const& data = gpu_[k].kernel.data) {
      std::size_t const stage = stages_of(true, k).front();
      Home const home = stages_[stage].home;
      data->place(backend(home), grids_[k], control(home), static_cast<std::uint32_t>(stage));
    }
  }
  build_monitors();
  prepared_ = true;
}

void Pipeline::Core::number_stages() {
  stages_.clear();
  for (std::size_t c = 0; c < cpu_.size(); ++c) {
    StageState s;
    s.description = with_branches(cpu_[c].stage);
    s.owner = c;
    s.executors = cpu_[c].options.threads;
    s.failure = NamedFailure(NamedFailure::Part::stage, "stage '" + s.description.name + "'");
    stages_.push_back(std::move(s));
  }
  for (std::size_t k = 0; k < gpu_.size(); ++k) {
    for (StageDescription const& description : gpu_[k].stages) {
      StageState s;
      s.description = description;
      s.gpu = true;
      s.home = home_of(gpu_[k].options.device);
      s.owner = k;
      s.failure = NamedFailure(NamedFailure::Part::stage, "stage '" + s.description.name + "'");
      stages_.push_back(std::move(s));
    }
  }
}

std::vector<std::string> Pipeline::Core::problems() const {
  std::vector<std::string> found;
  if (stages_.empty() && tunnels_.empty()) found.emplace_back("the pipeline has no stage");
  std::set<std::string> names;
  for (StageState const& s : stages_) {
    std::string const who = "stage '" + s.description.name + "'";
    if (!names.insert(s.description.name).second) found.push_back(who + " is there already; names are unique");
    if (!s.gpu && s.executors == 0) found.push_back(who + ": threads must be at least 1");
    for (TunnelBase const* t : s.description.into) {
      if (t->from_gpu() != s.gpu) {
        found.push_back(who + " runs on the " + (s.gpu ? "GPU" : "CPU") + ", but tunnel '" + t->name() +
                        "' is put on the " + (s.gpu ? "CPU" : "GPU"));
      }
    }
    for (TunnelBase const* t : s.description.from) {
      if (t->to_gpu() != s.gpu) {
        found.push_back(who + " runs on the " + (s.gpu ? "GPU" : "CPU") + ", but tunnel '" + t->name() +
                        "' is got on the " + (s.gpu ? "CPU" : "GPU"));
      }
    }
  }
  for (CpuStageDescription const& c : cpu_) {
    for (int const cpu : c.options.pin) {
      if (std::string const why = cpu_problem(cpu); !why.empty())
        found.push_back("stage '" + c.stage.name + "': pin: " + why);
    }
  }
  for (TunnelState const& t : tunnels_) {
    std::uint32_t const id = t.tunnel->id();
    std::string const who = "tunnel '" + t.tunnel->name() + "'";
    if (!t.branches.empty()) {
      if (t.open_inlets != 0 || !t.open_outlets.empty())
        found.push_back(who + " has an open end, which leads to one device, and a stage on several");
      for (StageState const& s : stages_) {
        bool const names_it =
            contains(s.description.from, t.tunnel.get()) || contains(s.description.into, t.tunnel.get());
        if (names_it && s.gpu && gpu_[s.owner].options.devices.size() < 2)
          found.push_back(who + " has a stage on several devices, and stage '" + s.description.name + "' on one");
      }
    }
    if (writers(id).empty() && t.open_inlets == 0)
      found.push_back(who + " has no writer: name it in a stage's into(...) or ask for an open inlet");
    if (readers(id).empty() && t.open_outlets.empty())
      found.push_back(who + " has no reader: name it in a stage's from(...) or ask for an open outlet");
  }
  return found;
}

// A tunnel's end has the home of the stages that put into the tunnel, or get from it.
void Pipeline::Core::find_homes(std::vector<std::string>& found) {
  for (TunnelState& t : tunnels_) {
    std::string const who = "tunnel '" + t.tunnel->name() + "'";
    for (bool const puts : {true, false}) {
      Home const home = end_home(*t.tunnel, puts);
      Home& placed = puts ? t.put_home : t.get_home;
      std::vector<std::size_t> const stages = puts ? writers(t.tunnel->id()) : readers(t.tunnel->id());
      for (std::size_t const s : stages) {
        Home const other = stages_[s].home;
        if (home == at_host || other == at_host || other == home) continue;
        found.push_back(who + (puts ? " is put on " : " is got on ") + device_name(home) + " and on " +
                        device_name(other) + ": all its " + (puts ? "writers" : "readers") + " must be on one device");
        break;
      }
      if (t.placed && home != placed && !stages.empty()) {
        found.push_back(who + " lies on " + device_name(placed) +
                        " since an open end or a run needed it there, but stage '" +
                        stages_[stages.front()].description.name + "' is on " + device_name(home));
      }
      if (!t.placed) placed = home;
    }
    if (t.put_home == at_host || t.get_home == at_host || !t.crosses()) continue;
    if (t.tunnel->config().shards > 1)
      found.push_back(who + ": shards are for tunnels that do not lead from one device to another");
    if (t.tunnel->config().movement == Movement::managed)
      found.push_back(who + ": Movement::managed does not lead from one device to another; use dma or direct");
  }
}

void Pipeline::Core::check_problems(std::vector<std::string> const& found) const {
  if (found.empty()) return;
  std::size_t const told = std::min(found.size(), most_problems_told);
  std::string all = found.size() == 1 ? "" : std::to_string(found.size()) + " problems: ";
  for (std::size_t i = 0; i < told; ++i) all += (i == 0 ? "" : "; ") + found[i];
  if (told != found.size()) all += "; and so on";
  throw ConfigError(all);
}

FlowGraph Pipeline::Core::flow_graph() const {
  FlowGraph graph;
  auto const ids = [](std::vector<TunnelBase*> const& tunnels) {
    std::vector<std::uint32_t> all;
    for (TunnelBase const* t : tunnels) all.push_back(t->id());
    return all;
  };
  for (StageState const& s : stages_) {
    auto const node = static_cast<std::uint32_t>(s.gpu ? cpu_.size() + s.owner : s.owner);
    graph.stages.push_back({s.description.name, node, ids(s.description.from), ids(s.description.into)});
  }
  for (TunnelState const& t : tunnels_) {
    TunnelConfig const& c = t.tunnel->config();
    graph.tunnels.push_back({.name = t.tunnel->name(),
                             .when_full = c.when_full,
                             .planned = c.planned,
                             .may_grow = c.grow_to_items != 0,
                             .holds_all = t.tunnel->holds_all(),
                             .open_inlets = t.open_inlets});
  }
  return graph;
}

// Nobody knows what a cycle without a plan may spill.
void Pipeline::Core::warn_of_cycles() const {
  if (!config_.warn_of_cycles) return;
  for (std::string const& names : flow_.unplanned_cycles) {
    log(LogLevel::warning, "tunnels " + names +
                               " are in a cycle, and no plan says what they need: items may spill, and lose their "
                               "order (docs/planner.md; PipelineConfig::warn_of_cycles)");
  }
}

void Pipeline::Core::choose_grids(std::vector<std::string>& found) {
  grids_.clear();
  for (std::size_t k = 0; k < gpu_.size(); ++k) {
    GpuStageOptions const& o = gpu_[k].options;
    Home const home = home_of(o.device);
    auto const sharers = static_cast<unsigned>(std::ranges::count_if(gpu_, [&](GpuKernelDescription const& other) {
      return other.options.blocks == 0 && home_of(other.options.device) == home;
    }));
    grids_.push_back(backend(home).default_grid({o.blocks, o.threads_per_block, o.shared_bytes}, sharers));
    if (auto const& data = gpu_[k].kernel.data) {
      try {
        grids_[k] = data->choose_grid(backend(home), gpu_[k].kernel.unbound, o, sharers);
      } catch (ConfigError const& e) {
        found.emplace_back(e.what());
      }
    }
    for (std::size_t s : stages_of(true, k)) stages_[s].executors = grids_[k].blocks;
  }
}

/// True if one warp or one CPU thread is the only reader of the tunnel.
bool Pipeline::Core::is_read_alone(TunnelState const& t) const {
  std::vector<std::size_t> const all = readers(t.tunnel->id());
  if (!t.open_outlets.empty() || all.size() != 1) return false;
  StageState const& stage = stages_[all.front()];
  if (!stage.gpu) return stage.executors == 1;
  simt::Grid const& grid = grids_[stage.owner];
  return gpu_[stage.owner].stages.size() == 1 && grid.blocks == 1 && grid.threads_per_block <= 32;
}

// If items lie across the bus from the device that reads them, each look at a tag crosses the bus. Only one warp may
// look, or looks fill the bus.
void Pipeline::Core::check_tagged(std::vector<std::string>& found) const {
  for (TunnelState const& t : tunnels_) {
    if (!t.tunnel->config().low_latency || !t.crosses() || t.get_home == at_host) continue;
    if (is_reached(t.get_home, t.put_home) || is_read_alone(t)) continue;
    found.push_back(
        "tunnel '" + t.tunnel->name() +
        "': low_latency to the GPU is for one stage of one warp (blocks = 1, threads_per_block = 32), which "
        "looks across the bus by itself");
  }
}

// Loads the kernels. All persistent kernels of a device must run at once, or the pipeline hangs. They start in the
// order of their blocks' footprint, the largest first, and each is counted with whole processors, so that a placement
// exists.
void Pipeline::Core::load_kernels(std::vector<std::string>& found) {
  start_order_.clear();
  std::vector<unsigned> per_processor(gpu_.size(), 0);
  struct Needs {
    std::uint64_t processors = 1;  // one for the device monitor
    std::string parts{};
  };
  std::vector<Needs> needs(devices_.size());
  for (std::size_t k = 0; k < gpu_.size(); ++k) {
    Home const home = home_of(gpu_[k].options.device);
    try {
      backend(home).prepare(kernel_title(gpu_[k]), gpu_[k].kernel.unbound, grids_[k]);
    } catch (ConfigError const& e) {
      found.emplace_back(e.what());
      continue;
    }
    per_processor[k] = backend(home).resident_blocks(gpu_[k].kernel.unbound, grids_[k]);
    if (per_processor[k] == 0) {
      found.push_back("stage '" + gpu_[k].name + "': a block of " + std::to_string(grids_[k].threads_per_block) +
                      " threads and " + std::to_string(grids_[k].shared_bytes) +
                      " shared bytes does not fit the device");
      continue;
    }
    std::uint64_t const processors = (std::uint64_t{grids_[k].blocks} + per_processor[k] - 1) / per_processor[k];
    Needs& sum = needs[home - own_device];
    sum.processors += processors;
    sum.parts += (sum.parts.empty() ? "" : ", ") + ("'" + gpu_[k].name + "' " + std::to_string(grids_[k].blocks) +
                                                    " blocks on " + std::to_string(processors));
    start_order_.push_back(k);
  }
  std::sort(start_order_.begin(), start_order_.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(per_processor[a], a) < std::pair(per_processor[b], b);
  });
  for (std::size_t i = 0; i < needs.size(); ++i) {
    unsigned const there = devices_[i].backend->processors();
    if (needs[i].parts.empty() || needs[i].processors <= there) continue;
    found.push_back("the persistent stages do not fit the device at once: they need " +
                    std::to_string(needs[i].processors) + " processors of " + std::to_string(there) + " (" +
                    needs[i].parts + ", monitor on 1); use fewer or smaller blocks");
  }
}

/// Memory for the items of a spill pool. If the device has too little memory, the items lie in mapped host memory. The
/// pool's words stay at the device, so that no read-modify-write crosses the bus.
std::byte* Pipeline::Core::place_spilled(TunnelState& t, std::size_t bytes) {
  std::string const what = "tunnel '" + t.tunnel->name() + "': what it spills";
  if (t.put_home == at_host) return host_words_->place_raw(bytes, what);
  try {
    return words(t.put_home).place_raw(bytes, what);
  } catch (CudaError const&) {
    std::byte* const memory = host_words_->place_raw(bytes, what + ", in host memory");
    t.spills_to_host = true;  // set only after success: otherwise a later prepare() tries the device again
    return memory;
  }
}

void Pipeline::Core::give_spill_memory() {
  for (TunnelState& t : tunnels_) {
    TunnelBase const& tunnel = *t.tunnel;
    Arena& arena = words(t.put_home);
    if (!flow(t).spills || arena.image(t.spill).items != nullptr) continue;
    std::size_t const items = spill_items(tunnel);
    std::size_t const bytes =
        bytes_of("tunnel '" + tunnel.name() + "': what it spills", {std::bit_ceil(items), tunnel.item_bytes()});
    std::byte* const memory = place_spilled(t, bytes);
    Ring const pool = make_ring(tunnel, t.crosses() ? RingPart::whole : t.put_ring.part, memory, items, arena);
    if (t.crosses()) t.drained = arena.place<Word<std::uint64_t>>();
    arena.image(t.spill) = pool;  // last: tells the next prepare() that all of it is there
  }
}

void Pipeline::Core::place_stage_words() {
  for (StageState& s : stages_) {
    Arena& arena = plan(s.home);
    s.words = arena.place<StageWords>();
    s.outlet_ports.clear();
    s.inlet_ports.clear();
    s.closed_executors.clear();
    s.threads.clear();
    for (unsigned e = 0; !s.gpu && e < s.executors; ++e) s.threads.push_back(std::make_unique<ThreadLog>());
    for (std::size_t i = 0; i < s.description.from.size(); ++i) {
      s.outlet_ports.push_back(arena.place<OutletPort>(s.executors));
      for (std::size_t e = 0; e < s.threads.size(); ++e)
        arena.image(s.outlet_ports[i] + e).trace = &s.threads[e]->trace;
    }
    for (std::size_t i = 0; i < s.description.into.size(); ++i) {
      s.inlet_ports.push_back(arena.place<InletPort>(s.executors));
      for (std::size_t e = 0; e < s.threads.size(); ++e) arena.image(s.inlet_ports[i] + e).trace = &s.threads[e]->trace;
      s.closed_executors.push_back(arena.place<Word<std::uint32_t>>());
    }
  }
}

// Warps share claims only in the library's kernels: only these clear the block's meeting places (enter_block). With
// automatic and few threads, sharing a claim saves nothing, and asking whether it would costs up to 5 %
// (docs/adr/0019).
Grouping Pipeline::Core::chosen_grouping(StageState const& stage, TunnelBase const& tunnel) const {
  Grouping const asked = tunnel.config().grouping;
  if (asked == Grouping::none) return asked;
  if (!stage.gpu || stage.description.own_kernel) return Grouping::warp;
  constexpr unsigned many_threads = 65536;
  simt::Grid const& grid = grids_[stage.owner];
  if (asked == Grouping::automatic && grid.blocks * grid.threads_per_block < many_threads) return Grouping::warp;
  return asked;
}

// A copy engine reads what CPU threads write. If that is more than their caches hold, the writes need not go through
// the caches.
bool Pipeline::Core::past_caches(TunnelState const& t) {
  if (t.movement != Movement::dma || t.put_home != at_host) return false;
  if (t.stencil) {
    StencilShape const& shape = t.stencil->tunnel->plan().shape;
    return shape.values() * shape.buffers * t.stencil->tunnel->value_bytes() >= beyond_caches;
  }
  return t.tunnel->config().capacity_items * t.tunnel->item_bytes() >= beyond_caches;
}

InletView Pipeline::Core::inlet_view(StageState const& stage, std::size_t index, unsigned executor) const {
  TunnelState const& t = tunnels_[stage.description.into[index]->id()];
  InletView v;
  v.stage = static_cast<std::uint32_t>(&stage - stages_.data());
  v.ring = t.put_ring;
  v.ring.grouping = chosen_grouping(stage, *t.tunnel);
  v.spill = flow_.stages[v.stage].spills[index] ? t.spill : nullptr;
  v.relays = stage.gpu ? nullptr : t.host_relays;
  v.control = control(stage.home);
  v.end = t.put_end;
  v.throttled = flow(t).throttled_by != FlowPlan::none && v.spill == nullptr ? &v.end->throttled : nullptr;
  v.past_caches = !stage.gpu && past_caches(t);
  v.ports = stage.inlet_ports[index] + executor;
  v.closed_executors = stage.closed_executors[index];
  v.home = executor;
  v.tunnel = t.tunnel->id();
  return v;
}

OutletView Pipeline::Core::outlet_view(StageState const& stage, std::size_t index, unsigned executor) const {
  TunnelState const& t = tunnels_[stage.description.from[index]->id()];
  OutletView v;
  v.ring = t.get_ring;
  v.ring.grouping = chosen_grouping(stage, *t.tunnel);
  v.spill = flow(t).spills && !t.crosses() ? t.spill : nullptr;
  v.relays = stage.gpu ? nullptr : t.host_relays;
  v.control = control(stage.home);
  v.end = t.get_end;
  v.ports = stage.outlet_ports[index] + executor;
  v.stage_ended = &stage.words->ended;
  v.alone = is_read_alone(t);
  v.home = executor;
  v.stage = static_cast<std::uint32_t>(&stage - stages_.data());
  v.tunnel = t.tunnel->id();
  return v;
}

/// Links each end of a CPU stage to its further branches (with_branches).
template <class View>
void Pipeline::Core::add_branches(std::vector<View>& views, std::vector<TunnelBase*> const& own) const {
  std::size_t at = own.size();
  for (std::size_t i = 0; i < own.size(); ++i) {
    views[i].branches = views.data() + at;
    views[i].further_branches = static_cast<std::uint32_t>(tunnels_[own[i]->id()].branches.size());
    at += views[i].further_branches;
  }
}

StageEnds Pipeline::Core::stage_ends(std::vector<std::size_t> const& stages, unsigned executor) const {
  StageEnds ends;
  ends.first_stage = static_cast<std::uint32_t>(stages.front());
  for (std::size_t s : stages) {
    StageState const& stage = stages_[s];
    for (std::size_t i = 0; i < stage.description.from.size(); ++i)
      ends.outlets.push_back(outlet_view(stage, i, executor));
    for (std::size_t i = 0; i < stage.description.into.size(); ++i)
      ends.inlets.push_back(inlet_view(stage, i, executor));
    ends.stages.push_back(stage.words);
    ends.control = control(stage.home);
    if (stage.gpu) continue;
    add_branches(ends.outlets, cpu_[stage.owner].stage.from);
    add_branches(ends.inlets, cpu_[stage.owner].stage.into);
  }
  return ends;
}

bool Pipeline::Core::is_used(Home home) const {
  return (home == own_device && device_asks_) ||
         std::ranges::any_of(stages_, [&](StageState const& s) { return s.home == home; }) ||
         std::ranges::any_of(tunnels_, [&](TunnelState const& t) { return t.put_home == home || t.get_home == home; });
}

/// What the end check needs of the tunnels and stages.
CountedGraph Pipeline::Core::counted_graph() {
  CountedGraph graph;
  graph.units = flow_.units;
  graph.checker = checker_;
  graph.host_all_ended = host_all_ended_;
  if (checker_ != at_host) graph.checker_all_ended = device(checker_).all_ended;
  for (TunnelState const& t : tunnels_) {
    CountedTunnel c;
    c.unit = flow(t).unit;
    c.put_home = t.put_home;
    c.get_home = t.get_home;
    c.claimed = {&t.put_ring.words->claimed, t.put_ring.shards, sizeof(RingWords)};
    if (flow(t).spills) {
      c.spilled = &words(t.put_home).image(t.spill).words->claimed;
      c.drained = t.drained;
    }
    c.open_closed = t.open_closed;
    c.open_inlets = t.open_inlets;
    c.open_outlets = t.open_outlets;
    c.put_end = t.put_end;
    c.get_end = t.get_end;
    c.closing = t.closing;
    graph.tunnels.push_back(std::move(c));
  }
  auto const ids = [](std::vector<TunnelBase*> const& tunnels) {
    std::vector<std::uint32_t> all;
    for (TunnelBase const* t : tunnels) all.push_back(t->id());
    return all;
  };
  for (StageState const& s : stages_)
    graph.stages.push_back({s.home, s.executors, s.description.item_form, s.words, ids(s.description.from),
                            ids(s.description.into), s.outlet_ports, s.closed_executors});
  return graph;
}

/// The part of the end check that is done at `home`. A delegate adds its news.
TerminationTable Pipeline::Core::build_termination(Home home, std::vector<std::vector<UnitNews>>& news) {
  CountedGraph const graph = counted_graph();
  auto const place_flag = [&] { return told_plan(home, checker_).place<Word<std::uint32_t>>(); };
  EndCheckLists lists = EndCheckBuilder(graph, home, place_flag, news).build();
  TerminationTable table = place_lists(plan(home), lists);
  table.host_across = home != at_host;
  if (config_.end_detection == EndDetection::time_out)
    table.time_out_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(config_.end_time_out).count());
  table.host_aborted = &host_control_->aborted;
  if (lists.delegates) news.push_back(std::move(lists.news));
  return table;
}

ThrottleTable Pipeline::Core::build_throttles() {
  std::vector<CycleRecord> records;
  std::vector<PoolWords> pools;
  std::vector<ThrottledEntry> entries;
  auto const at = [](auto const& list) { return static_cast<std::uint32_t>(list.size()); };
  auto const reached = [&](std::uint32_t id) {
    Home const home = tunnels_[id].put_home;
    return home == checker_ || home == at_host || is_reached(home, checker_);
  };
  for (FlowPlan::Cycle const& cycle : flow_.cycles) {
    CycleRecord record;
    record.pools.begin = at(pools);
    for (std::uint32_t const id : cycle.pools) {
      TunnelState const& t = tunnels_[id];
      if (reached(id))
        pools.push_back({words(t.put_home).image(t.spill).words, spill_items(*t.tunnel), t.put_home != checker_});
    }
    record.pools.end = at(pools);
    record.entries.begin = at(entries);
    for (std::uint32_t const id : cycle.entries) {
      TunnelState const& t = tunnels_[id];
      if (reached(id)) entries.push_back({&t.put_end->throttled, t.put_home != checker_});
    }
    record.entries.end = at(entries);
    records.push_back(record);
  }
  Arena& arena = plan(checker_);
  ThrottleTable table;
  table.cycles = cycle_records_ = arena.place_list(records);
  table.cycle_count = at(records);
  table.pools = arena.place_list(pools);
  table.entries = arena.place_list(entries);
  return table;
}

void Pipeline::Core::build_lines() {
  std::vector<std::vector<TransferLine::Route>> routes(2 * devices_.size());  // by device and BusDirection
  auto const line = [](Home home, BusDirection direction) {
    return 2 * (home - own_device) + static_cast<std::size_t>(direction);
  };
  for (TunnelState& t : tunnels_) {
    t.route = npos;
    if (!t.crosses() || t.movement != Movement::dma) continue;
    TunnelConfig const& c = t.tunnel->config();
    // Between devices that reach each other, the device that has the items sends them: that is faster than fetching
    // them.
    bool const peers = is_reached(t.get_home, t.put_home);
    t.line_home = peers || t.get_home == at_host ? t.put_home : t.get_home;
    std::vector<TransferLine::Route>& list = routes[line(t.line_home, t.direction())];
    t.route = list.size();
    list.push_back({.from_items = t.put_ring.items,
                    .to_items = t.get_ring.items,
                    .outbox = t.put_ring,
                    .published = t.published.word,
                    .arrived = t.arrived.word,
                    .closing = t.closing,
                    .capacity_items = c.capacity_items,
                    .batch_items = c.batch_items,
                    .flush_after = at_most_for_ever(c.flush_after),
                    .bounds = peers ? TransferLine::between_devices : TransferLine::over_the_bus,
                    .regions = t.stencil ? t.stencil->copies : std::nullopt});
  }
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    for (BusDirection direction : {BusDirection::to_device, BusDirection::from_device}) {
      std::vector<TransferLine::Route> const& list = routes[line(home, direction)];
      std::unique_ptr<TransferLine>& made = device(home).lines[static_cast<std::size_t>(direction)];
      made.reset();
      if (list.empty()) continue;
      made = std::make_unique<TransferLine>(direction, list, backend(home).open_stream());
    }
  }
}

/// The plan arena for a word of prepare() that `teller` writes and `hearer` polls; same choice as place_told().
Arena& Pipeline::Core::told_plan(Home teller, Home hearer) {
  return is_reached(hearer, teller) ? plan(hearer) : *host_plan_;
}

// The first device that is used is the checker for all homes. It asks the monitors of the other devices about what is
// there.
void Pipeline::Core::build_monitors() {
  build_lines();
  host_drains_.clear();
  for (TunnelState const& t : tunnels_) {
    if (!t.crosses() || !flow(t).spills || t.put_home != at_host) continue;
    host_drains_.push_back(host_plan_->place<Drain>());
    host_plan_->image(host_drains_.back()) = {host_words_->image(t.spill), t.put_ring, t.drained};
  }
  host_check_ = nullptr;
  host_throttles_ = nullptr;
  for (Device& d : devices_) d.monitor = nullptr;
  std::vector<Home> used;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (is_used(home)) used.push_back(home);
  }
  std::vector<std::vector<UnitNews>> news;
  if (used.empty()) {
    checker_ = at_host;
    host_check_ = host_plan_->place<TerminationTable>();
    host_plan_->image(host_check_) = build_termination(at_host, news);
    host_throttles_ = host_plan_->place<ThrottleTable>();
    host_plan_->image(host_throttles_) = build_throttles();
    return;
  }
  checker_ = used.front();
  std::vector<DelegateWords> delegates;
  std::vector<std::uint8_t> asks;
  for (Home const home : std::span(used).subspan(1)) {
    TerminationTable table = build_termination(home, news);
    table.own.question = &told_plan(checker_, home).place<DeviceWord>()->word;
    table.own.answer = &told_plan(home, checker_).place<DeviceWord>()->word;
    delegates.push_back(table.own);
    for (std::uint32_t u = 0; u < flow_.units; ++u) asks.push_back(asked_of(plan(home).image(table.units + u)));
    build_monitor(home, table);
  }
  TerminationTable table = build_termination(checker_, news);
  table.delegates = plan(checker_).place_list(delegates);
  table.asks = plan(checker_).place_list(asks);
  table.delegate_count = static_cast<std::uint32_t>(delegates.size());
  build_monitor(checker_, table);
  for (std::size_t k = 0; k < gpu_.size(); ++k) {
    if (!gpu_[k].kernel.close_behind) continue;
    backend(home_of(gpu_[k].options.device)).prepare(kernel_title(gpu_[k]), close_kernel(k), one_warp);
  }
}

/// Builds the device monitor at `home`.
void Pipeline::Core::build_monitor(Home home, TerminationTable const& termination) {
  Arena& arena = plan(home);
  std::vector<Relays> relays;
  std::vector<HeardWord> heard_words;
  std::vector<Drain> drains;
  for (TunnelState const& t : tunnels_) {
    if (!t.crosses() || (t.put_home != home && t.get_home != home)) continue;
    bool const puts = t.put_home == home;
    relays.push_back(make_relays(t, puts ? t.put_ring : t.get_ring));
    if (t.stencil && puts) heard_words.insert(heard_words.end(), t.stencil->heard.begin(), t.stencil->heard.end());
    if (flow(t).spills && puts) drains.push_back({words(home).image(t.spill), t.put_ring, t.drained});
  }
  std::vector<CountGate> started;
  std::vector<CountGate> returned;
  for (StageState const& s : stages_) {
    if (s.home != home) continue;
    started.push_back({&s.words->started, s.description.own_kernel ? 0 : s.executors, false});
    returned.push_back({&s.words->returned, s.executors, false});
  }
  MonitorTable table;
  table.control = control(home);
  table.host_control = host_control_;
  table.notice = device(home).notice;
  table.relays = arena.place_list(relays);
  table.heard_words = arena.place_list(heard_words);
  table.drains = arena.place_list(drains);
  table.started = arena.place_list(started);
  table.returned = arena.place_list(returned);
  table.relay_count = static_cast<std::uint32_t>(relays.size());
  table.heard_count = static_cast<std::uint32_t>(heard_words.size());
  table.drain_count = static_cast<std::uint32_t>(drains.size());
  table.stage_count = static_cast<std::uint32_t>(returned.size());
  table.termination = termination;
  if (home == checker_) table.throttles = build_throttles();
  device(home).monitor = arena.place<MonitorTable>();
  arena.image(device(home).monitor) = table;
  backend(home).prepare("device monitor", monitor_kernel(home), monitor_grid(home));
}

DeviceKernel Pipeline::Core::close_kernel(std::size_t k) const {
  return gpu_[k].kernel.close_behind(stage_ends(stages_of(true, k), 0), grids_[k]);
}

DeviceKernel Pipeline::Core::monitor_kernel(Home home) const {
  MonitorTable* const table = device(home).monitor;
  DeviceKernel kernel;
  kernel.lane_body = [table] { run_device_monitor(FiberMachine{}, *table); };
  kernel.cuda = backend(home).monitor_kernel(table);
  return kernel;
}

}  // namespace hiway
