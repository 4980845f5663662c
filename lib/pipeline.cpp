// The Pipeline facade, and what the user adds to a pipeline: tunnels, stages, buffers, open ends.
#include "hiway/pipeline.hpp"

#include <algorithm>
#include <numeric>

#include "hiway/log.hpp"
#include "lib/report_signal.hpp"
#include "pipeline/check.hpp"
#include "pipeline/copies.hpp"
#include "pipeline/launches.hpp"
#include "pipeline/node_ends.hpp"
#include "pipeline/open_inlets.hpp"
#include "pipeline/run_config.hpp"
#include "pipeline/views.hpp"
#include "pipeline_access.hpp"
#include "pipeline_core.hpp"
#include "sizes.hpp"

namespace hiway {

void check_shape(std::string_view stage, KernelShape const& shape) {
  auto const text = [](Extent const& e) {
    return std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z);
  };
  for (Extent const& e : {shape.grid, shape.block}) {
    if (e.x == 0 || e.y == 0 || e.z == 0)
      throw ConfigError("stage '" + std::string(stage) + "': extents of grid and block must be at least 1: " + text(e));
  }
  std::uint64_t const blocks = shape.grid.count();
  if (blocks > most_threads || shape.block.count() > most_threads / blocks) {
    throw ConfigError("stage '" + std::string(stage) + "': " + text(shape.grid) + " blocks of " + text(shape.block) +
                      " threads are more than thread_count() can say, 2^32 - 1");
  }
}

// ---- buffers

BufferMemories::~BufferMemories() {
  for (Block const& b : blocks_)
    if (b.is_own) homes_.backend(b.home).release(b.memory, b.address);
}

void* BufferMemories::allocate(Memory memory, std::size_t bytes, Home home) {
  blocks_.push_back({home, memory, nullptr, bytes, true});
  try {
    void* const address = homes_.backend(home).allocate(memory, bytes, "buffer");
    blocks_.back().address = static_cast<std::byte*>(address);
    return address;
  } catch (...) {
    blocks_.pop_back();
    throw;
  }
}

Backend& BufferMemories::backend_of(void const* buffer) const {
  auto const* const at = static_cast<std::byte const*>(buffer);
  auto const found =
      std::ranges::find_if(blocks_, [&](Block const& b) { return at >= b.address && at < b.address + b.bytes; });
  return found == blocks_.end() ? homes_.backend() : homes_.backend(found->home);
}

// ---- what the user adds

namespace {

void warn_of_grouping(TunnelBase const& tunnel, std::string const& end) {
  if (std::string const warning = blocks_not_grouped(tunnel, end); !warning.empty()) log(LogLevel::warning, warning);
}

/// What a pipeline over several nodes does not have yet.
void check_over_nodes(TunnelBase const& tunnel) {
  std::string const title = "tunnel '" + tunnel.name() + "': a pipeline over several nodes has no tunnels with ";
  if (tunnel.config().keyed) throw ConfigError(title + "keys yet");
  if (tunnel.config().readers == Readers::each) throw ConfigError(title + "Readers::each yet");
}

/// To a stage that is to get every item of a tunnel.
void give_copies(Layout& layout, StageDescription& stage, bool on_gpu) {
  struct Follow {  // also if one of several is refused
    Placement& placement;
    ~Follow() { placement.follow(); }
  } const follow{layout.placement};
  Copies(layout.graph).give(stage, on_gpu);
}

PipelineConfig after_signal_is_taken(PipelineConfig config) {
  take_report_signal();  // not in start(): the signal may come while the pipeline is being made
  return config;
}

}  // namespace

Pipeline::Core::Core(PipelineConfig config)
    : layout_(after_signal_is_taken(std::move(config)), this),
      buffers_(layout_.homes),
      launches_(layout_.homes),
      run_(layout_, launches_) {
  admit(layout_.config);
}

Home Pipeline::Core::home_of(int number) {
  if (std::optional<Home> const there = layout_.homes.find(number)) return *there;
  run_.require_idle("a further device");
  Home const made = layout_.homes.add(number);
  invalidate();
  return made;
}

void Pipeline::Core::add_tunnel(std::unique_ptr<TunnelBase> tunnel, StencilTunnelBase* stencil) {
  run_.require_idle("create_tunnel");
  layout_.graph.check_new(*tunnel);
  check_scopes(*tunnel);
  if (layout_.over_nodes.count > 1) check_over_nodes(*tunnel);
  layout_.placement.read_table_for(*tunnel);
  layout_.graph.add_tunnel(std::move(tunnel), stencil);
  layout_.placement.follow();
  invalidate();
}

void Pipeline::Core::check_scopes(TunnelBase const& tunnel) const {
  if (tunnel.scopes() == nullptr) return;
  std::string const title = "tunnel '" + tunnel.name() + "': ";
  bool const own = std::ranges::any_of(layout_.scopes, [&](auto const& s) { return s.get() == tunnel.scopes(); });
  if (!own) throw ConfigError(title + "its scopes are not this pipeline's");
  if (layout_.over_nodes.count > 1) throw ConfigError(title + "a pipeline over several nodes has no scopes yet");
}

void Pipeline::Core::add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) {
  StencilTunnelBase* const stencil = tunnel.get();
  add_tunnel(stencil->release_strips());
  add_tunnel(std::move(tunnel), stencil);
}

void Pipeline::Core::add_cpu(CpuStageDescription description) {
  run_.require_idle("add_cpu_stage");
  CpuStageOptions const& o = description.options;
  if (description.batch && description.batch->options().device >= 0) {
    static_cast<void>(home_of(description.batch->options().device));
    description.stage.on_device = true;
  }
  description.stage.nodes =
      nodes_of("stage '" + description.stage.name + "'", o.node, o.nodes, layout_.over_nodes.count);
  give_copies(layout_, description.stage, description.stage.on_device);
  if (is_here(description.stage)) layout_.graph.add_cpu(std::move(description));
  invalidate();
}

/// Whether a stage runs on this node. All nodes' stages are declared on each.
bool Pipeline::Core::is_here(StageDescription const& stage) {
  OverNodes const& here = layout_.over_nodes;
  if (here.count == 1) return true;
  layout_.graph.declare(stage);
  return std::ranges::binary_search(stage.nodes, here.node);
}

void Pipeline::Core::add_gpu(GpuKernelDescription description) {
  run_.require_idle("add_gpu_stage");
  GpuStageOptions const& o = description.options;
  std::vector<int> const nodes =
      nodes_of("stage '" + description.name + "'", o.node, o.nodes, layout_.over_nodes.count);
  bool all_here = true;
  for (StageDescription& stage : description.stages) {
    stage.nodes = nodes;
    give_copies(layout_, stage, true);
    all_here = is_here(stage);  // all of them or none
  }
  invalidate();
  if (!all_here) {
    if (description.kernel.data) elsewhere_.push_back(std::move(description.kernel.data));
    return;
  }
  std::vector<int> const devices = devices_of(description.options);
  if (devices.size() > 1) {
    std::vector<BranchDevice> const branches = branch_devices(description.name, devices);
    try {
      layout_.graph.add_on_each(description, branches);
    } catch (...) {
      layout_.placement.follow();  // it may have added some branches
      throw;
    }
    layout_.placement.follow();
  } else {
    if (!devices.empty()) description.options.device = devices.front();
    Home const home = home_of(description.options.device);
    layout_.graph.add_gpu(std::move(description), home);
  }
  invalidate();
}

std::vector<int> Pipeline::Core::devices_of(GpuStageOptions const& options) const {
  if (options.devices != all_devices) return options.devices;
  if (layout_.homes.backend().is_host()) return {0, 1};
  auto const gpus = std::ranges::count_if(hiway::devices(),
                                          [](DeviceInfo const& d) { return d.usable && d.name.starts_with("cuda:"); });
  std::vector<int> all(static_cast<std::size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<BranchDevice> Pipeline::Core::branch_devices(std::string const& stage, std::vector<int> const& numbers) {
  for (int const number : numbers) {
    if (number < 0 || std::ranges::count(numbers, number) != 1)
      throw ConfigError("stage '" + stage + "': devices: each number once, none below 0");
    static_cast<void>(home_of(number));
  }
  std::vector<BranchDevice> all;  // a device's name may depend on whether there are others
  for (int const number : numbers) all.push_back({number, home_of(number), layout_.homes.name(home_of(number))});
  return all;
}

void* Pipeline::Core::allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device) {
  run_.require_idle(memory == Memory::device ? "create_buffer" : "create_host_buffer");
  Home const home = home_of(device);
  return buffers_.allocate(memory, bytes_of("buffer", {count, item_bytes}), home);
}

void Pipeline::Core::note_buffer(void* memory, std::size_t bytes, int device) {
  run_.require_idle("create_buffer");
  buffers_.note(static_cast<std::byte*>(memory), bytes, home_of(device));
}

// ---- open ends

/// The words of a new open end have no value until the next start, so calls are refused until then.
OpenEndPlace Pipeline::Core::note_open(TunnelBase& tunnel, EndOf end, OpenEndOptions const& options) {
  std::string const title = "tunnel '" + tunnel.name() + "': an open " + (end == EndOf::writers ? "inlet" : "outlet");
  std::vector<int> const nodes = nodes_of(title, options.node, options.nodes, layout_.over_nodes.count);
  OpenEndPlace place = place_open_end(layout_, tunnel, end, nodes);
  ThreadMachine{}.store(layout_.homes.host().control->aborted, 1u, MemoryOrder::release);
  open_names_.note(place.tunnel, tunnel.name());
  invalidate();
  return place;
}

void Pipeline::Core::add_worker(StageDescription worker) {
  run_.require_idle("connect");
  layout_.graph.add_worker(std::move(worker));
  invalidate();
}

InletView Pipeline::Core::open_inlet(TunnelBase& tunnel, OpenEndOptions const& options) {
  run_.require_idle("open_inlet");
  OpenEndPlace const place = note_open(tunnel, EndOf::writers, options);
  PlacedTunnel& placed = layout_.placement.tunnels().at(place.tunnel);
  InletView view = open_inlet_view(layout_, placed, layout_.graph.tunnels()[place.tunnel].open_inlets);
  if (place.elsewhere.empty()) {
    layout_.graph.add_open_inlet(place.tunnel);
    if (placed.put.home == at_host) placed.open.inlets.push_back(view);
  } else {
    view.control = ends_elsewhere_.note(place.tunnel, place.elsewhere);
  }
  return view;
}

OutletView Pipeline::Core::open_outlet(TunnelBase& all, OpenEndOptions const& options) {
  run_.require_idle("open_outlet");
  TunnelBase& tunnel = Copies(layout_.graph).of_open_outlet(all);
  layout_.placement.follow();
  OpenEndPlace const place = note_open(tunnel, EndOf::readers, options);
  PlacedTunnel& placed = layout_.placement.tunnels().at(place.tunnel);
  OutletView view = open_outlet_view(layout_, placed, layout_.graph.tunnels()[place.tunnel].open_outlets);
  if (place.elsewhere.empty()) {
    layout_.graph.add_open_outlet(place.tunnel);
  } else {
    view.control = ends_elsewhere_.note(place.tunnel, place.elsewhere);
  }
  return view;
}

void Pipeline::Core::drain() {
  run_.while_live("drain", [this] { drain_open_inlets(layout_); });
}
void Pipeline::Core::pause() {
  run_.while_live("pause", [this] { pause_open_inlets(layout_); });
}
void Pipeline::Core::resume() {
  run_.while_live("resume", [this] { resume_open_inlets(layout_); });
}

OutletView Pipeline::Core::whole_run_at(Home home) {
  if (home == own_device && !layout_.device_asks) {
    run_.require_idle("whole_run_d");
    layout_.device_asks = true;
    invalidate();
  }
  OutletView v;
  v.control = layout_.homes.control(home);
  v.stage_ended = home == at_host ? layout_.homes.host().all_ended : layout_.homes.device(home).all_ended;
  v.open = true;
  return v;
}

void Pipeline::Core::launch(std::string_view name, DeviceKernel const& kernel, GpuStageOptions const& options) {
  simt::Grid const grid = launch_grid(name, options);
  launches_.start(name, kernel, grid, home_of(options.device), run_.is_running());
}

Scopes& Pipeline::Core::create_scopes(std::string name, ScopesConfig config) {
  run_.require_idle("create_scopes");
  for (auto const& other : layout_.scopes)
    if (other->name() == name) throw ConfigError("scopes '" + name + "' are there already; names are unique");
  layout_.scopes.push_back(std::make_unique<Scopes>(std::move(name), config));
  invalidate();
  return *layout_.scopes.back();
}

Latency& Pipeline::Core::create_latency(std::string path, unsigned every) {
  run_.require_idle("create_latency");
  return run_.add_latency(std::move(path), every);
}

// ---- the facade ------------------------------------------------------------------------------

Pipeline::Pipeline(PipelineConfig config) : core_(std::make_unique<Core>(std::move(config))) {}
// A pipeline that cannot be destroyed here keeps its memory until the process ends.
Pipeline::~Pipeline() {
  if (core_->run().must_be_left()) static_cast<void>(core_.release());
}

std::uint32_t Pipeline::tunnel_count() const {
  return static_cast<std::uint32_t>(core_->layout().graph.tunnels().size());
}
bool PipelineAccess::has_writer(Pipeline const& pipe, TunnelBase const& tunnel) {
  return pipe.core_->layout().graph.has_writer(tunnel);
}
bool PipelineAccess::has_reader(Pipeline const& pipe, TunnelBase const& tunnel) {
  return pipe.core_->layout().graph.has_reader(tunnel);
}
void PipelineAccess::connect(Pipeline& pipe, std::string name, std::vector<TunnelBase*> from,
                             std::vector<TunnelBase*> into) {
  pipe.core_->add_worker({.name = std::move(name), .from = std::move(from), .into = std::move(into)});
}
InletView PipelineAccess::open_inlet(Pipeline& pipe, TunnelBase& tunnel) { return pipe.core_->open_inlet(tunnel, {}); }
OutletView PipelineAccess::open_outlet(Pipeline& pipe, TunnelBase& tunnel) {
  return pipe.core_->open_outlet(tunnel, {});
}
void PipelineAccess::add_stencil(Pipeline& pipe, std::unique_ptr<StencilTunnelBase> tunnel) {
  pipe.add_stencil(std::move(tunnel));
}
OutletView PipelineAccess::whole_run_h(Pipeline const& pipe) { return pipe.core_->whole_run_at(at_host); }
void PipelineAccess::set_device_table(Pipeline& pipe, void const* table) {
  pipe.core_->layout().homes.backend().set_device_table(table);
}
OutletView PipelineAccess::whole_run_d(Pipeline& pipe) { return pipe.core_->whole_run_at(own_device); }
TunnelBase& Pipeline::add_tunnel(std::unique_ptr<TunnelBase> tunnel) {
  TunnelBase& made = *tunnel;
  core_->add_tunnel(std::move(tunnel));
  return made;
}
void Pipeline::add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) { core_->add_stencil(std::move(tunnel)); }
void Pipeline::add_cpu(CpuStageDescription description) { core_->add_cpu(std::move(description)); }
void Pipeline::add_gpu(GpuKernelDescription description) { core_->add_gpu(std::move(description)); }
void Pipeline::note_buffer(void* memory, std::size_t bytes, int device) { core_->note_buffer(memory, bytes, device); }
void* Pipeline::allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device) {
  return core_->allocate_buffer(memory, count, item_bytes, device);
}
void Pipeline::launch_kernel(std::string_view name, DeviceKernel kernel, GpuStageOptions options) {
  core_->launch(name, kernel, options);
}
void Pipeline::synchronize() { core_->launches().synchronize(); }
InletView Pipeline::open_inlet(TunnelBase& tunnel, OpenEndOptions const& options) {
  if (tunnel.from_gpu()) warn_of_grouping(tunnel, "its open inlet");
  return core_->open_inlet(tunnel, options);
}
OutletView Pipeline::open_outlet(TunnelBase& tunnel, OpenEndOptions const& options) {
  if (tunnel.to_gpu()) warn_of_grouping(tunnel, "its open outlet");
  return core_->open_outlet(tunnel, options);
}
void Pipeline::copy_in(void* device, void const* host, std::size_t bytes) {
  core_->buffers().backend_of(device).upload(device, host, bytes);
}
void Pipeline::copy_out(void* host, void const* device, std::size_t bytes) {
  core_->buffers().backend_of(device).download(host, device, bytes);
}
void Pipeline::prepare() { core_->run().prepare(); }
void Pipeline::start() { core_->run().start(); }
void Pipeline::start(CUstream_st* after) { core_->run().start(after); }
void Pipeline::finished_on(CUstream_st* stream) { core_->run().finished_on(stream); }
RunReport Pipeline::wait() { return core_->run().wait(); }
bool Pipeline::wait_at_most(std::chrono::nanoseconds duration) { return core_->run().wait_for(duration); }
RunReport Pipeline::run() {
  start();
  return wait();
}
void Pipeline::on_end(std::function<void(std::exception_ptr)> f) {
  core_->run().require_idle("on_end");
  core_->run().end_news().set(std::move(f));
}
std::stop_token Pipeline::stop_token() const { return core_->run().end_news().stop_token(); }
void Pipeline::drain() { core_->drain(); }
void Pipeline::pause() { core_->pause(); }
void Pipeline::resume() { core_->resume(); }
void Pipeline::abort() { core_->run().abort(); }
RunReport Pipeline::stats() const { return core_->run().stats(); }
std::string Pipeline::graph() const { return core_->run().graph(); }
Scopes& Pipeline::create_scopes(std::string_view name, ScopesConfig config) {
  return core_->create_scopes(std::string(name), config);
}
Latency& Pipeline::create_latency(std::string path, unsigned every) {
  return core_->create_latency(std::move(path), every);
}
std::string Pipeline::device() const { return core_->layout().homes.names(); }

}  // namespace hiway
