// The Pipeline facade, and what the user adds to a pipeline: tunnels with their memory, stages, buffers, open ends.
#include "hiway/pipeline.hpp"

#include <bit>
#include "hiway/log.hpp"
#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr std::size_t max_capacity = std::size_t{1} << 30;

void check_config(TunnelBase const& tunnel) {
  TunnelConfig const& c = tunnel.config();
  std::string const who = "tunnel '" + tunnel.name() + "': ";
  if (c.capacity_items == 0 || c.capacity_items > max_capacity) {
    throw ConfigError(who + "capacity_items must be from 1 to 2^30: " + std::to_string(c.capacity_items));
  }
  if (c.batch_items > c.capacity_items) {
    throw ConfigError(who + "batch_items (" + std::to_string(c.batch_items) +
                      ") is larger than the ring, capacity_items (" + std::to_string(c.capacity_items) + ")");
  }
  if (!std::has_single_bit(c.shards) || c.shards > max_shards)
    throw ConfigError(who + "shards must be a power of two up to 64: " + std::to_string(c.shards));
  if (c.shards > c.capacity_items)
    throw ConfigError(who + std::to_string(c.shards) + " shards share a capacity_items of " +
                      std::to_string(c.capacity_items));
  if (c.shards > 1 && tunnel.crosses()) throw ConfigError(who + "shards are for tunnels that do not cross the bus");
  if (c.low_latency) {
    if (!tunnel.from_gpu() && !tunnel.to_gpu())
      throw ConfigError(who + "low_latency is for tunnels with an end on the device");
    if (tunnel.item_bytes() > TaggedSlot::most_bytes)
      throw ConfigError(who + "low_latency is for items of at most 12 bytes: " + std::to_string(tunnel.item_bytes()));
    if (c.movement != Movement::automatic && c.movement != Movement::direct)
      throw ConfigError(who + "low_latency needs Movement::direct");
    if (c.shards > 1) throw ConfigError(who + "low_latency is for tunnels of one shard: " + std::to_string(c.shards));
  }
  if (c.grow_to_items != 0) {
    if (tunnel.from_gpu() || tunnel.to_gpu()) throw ConfigError(who + "grow_to_items is for tunnels from CPU to CPU");
    if (c.shards > 1) throw ConfigError(who + "grow_to_items is for tunnels of one shard: " + std::to_string(c.shards));
    if (c.when_full == WhenFull::spill)
      throw ConfigError(who + "grow_to_items makes a put wait for room: it goes with WhenFull::wait or automatic");
    if (c.grow_to_items < c.capacity_items || c.grow_to_items > max_capacity)
      throw ConfigError(who + "grow_to_items must be from capacity_items (" + std::to_string(c.capacity_items) +
                        ") to 2^30: " + std::to_string(c.grow_to_items));
  }
  if (c.spill_items > max_capacity)
    throw ConfigError(who + "spill_items must be at most 2^30: " + std::to_string(c.spill_items));
  if (c.flush_after.count() < 0)
    throw ConfigError(who + "flush_after is negative: " + std::to_string(c.flush_after.count()) + " us");
}

void admit_time_out(std::chrono::microseconds end_time_out) {
  if (end_time_out.count() <= 0 || end_time_out > std::chrono::hours(1))
    throw ConfigError("end_time_out must be from 1 us to 1 h: " + std::to_string(end_time_out.count()) + " us");
  log(LogLevel::warning, "EndDetection::time_out is unsound and for comparison only: a task of more than " +
                             std::to_string(end_time_out.count()) + " us may end the run with an error");
}

}  // namespace

void check_extents(std::string_view stage, Extent grid, Extent block) {
  for (Extent const& e : {grid, block}) {
    if (e.x > 0 && e.y == 1 && e.z == 1) continue;
    throw ConfigError("stage '" + std::string(stage) + "': grid and block must have one dimension of at least 1: " +
                      std::to_string(e.x) + " x " + std::to_string(e.y) + " x " + std::to_string(e.z));
  }
}

Pipeline::Core::Core(PipelineConfig config) : config_(std::move(config)), backend_(make_backend(config_.device)) {
  config_.stall_after = chosen_stall_after(config_.stall_after);
  if (config_.grow_after.count() < 0)
    throw ConfigError("grow_after is negative: " + std::to_string(config_.grow_after.count()) + " ms");
  config_.trace = chosen_trace(config_.trace);
  if (config_.end_detection == EndDetection::time_out) admit_time_out(config_.end_time_out);
  host_words_ = std::make_unique<Arena>(*backend_, Memory::pinned, "tunnels' words");
  device_words_ = std::make_unique<Arena>(*backend_, Memory::device, "tunnels' words");
  managed_items_ = std::make_unique<Arena>(*backend_, Memory::managed, "Movement::managed");
  host_control_ = host_words_->place<Control>();
  notice_ = host_words_->place<DeviceNotice>();
  device_control_ = device_words_->place<Control>();
  host_all_ended_ = host_words_->place<Word<std::uint32_t>>();
  device_all_ended_ = device_words_->place<Word<std::uint32_t>>();
}

Pipeline::Core::~Core() {
  if (running_) {
    abort(std::make_exception_ptr(Aborted("the pipeline was destroyed while it ran")));
    try {
      wait();
    } catch (...) {  // the destructor's own abort
    }
  }
  launched_.reset();
  for (auto const& [memory, address] : buffers_) backend_->release(memory, address);
}

void Pipeline::Core::require_idle(char const* what) const {
  if (running_) throw ConfigError(std::string(what) + " while the pipeline runs");
}

void Pipeline::Core::invalidate() { prepared_ = false; }

Ring Pipeline::Core::make_ring(TunnelBase const& tunnel, RingPart part, std::byte* items, std::size_t capacity,
                               Arena& arena, unsigned shards, bool tagged) {
  std::size_t const slots = std::bit_ceil(capacity);
  std::string const who = "tunnel '" + tunnel.name() + "'";
  Ring ring;
  ring.items = items;
  ring.words = arena.place<RingWords>(shards);
  for (unsigned k = 0; k < shards; ++k) arena.image(ring.words + k).free.bits = static_cast<std::int32_t>(capacity);
  ring.shards = static_cast<std::uint8_t>(shards);
  ring.slots_mask = static_cast<std::uint32_t>(slots - 1);
  ring.lap_shift = static_cast<std::uint32_t>(std::countr_zero(slots));
  ring.part = part;
  ring.tagged = tagged;
  ring.item_bytes = static_cast<std::uint32_t>(tagged ? sizeof(TaggedSlot) : tunnel.item_bytes());
  if (ring.is_half()) {
    ring.chunk_shift = chunk_shift_of(ring.lap_shift);
    ring.done = arena.place_zeros<Word<std::uint32_t>>(2 * slots >> ring.chunk_shift, who);
  } else if (!tagged) {
    ring.turns = arena.place_zeros<Word<std::uint32_t>>(shards * slots, who);
  }
  return ring;
}

Relays Pipeline::Core::make_relays(TunnelState const& t, Ring const& half) {
  bool const puts = half.part == RingPart::outbox;
  if (half.tagged)
    return puts ? Relays{.tells = {half}, .hears = {half, t.retired}}
                : Relays{.tells = {half, t.retired}, .hears = {half}};
  return {.tells = {half, puts ? t.published : t.retired}, .hears = {half, puts ? t.retired : t.arrived}};
}

void Pipeline::Core::add_tunnel(std::unique_ptr<TunnelBase> tunnel) {
  require_idle("create_tunnel");
  check_config(*tunnel);
  for (TunnelState const& other : tunnels_) {
    if (other.tunnel->name() == tunnel->name())
      throw ConfigError("tunnel '" + tunnel->name() + "' is there already; names are unique");
  }
  TunnelBase const& t = *tunnel;
  bool const from = t.from_gpu();
  bool const to = t.to_gpu();
  std::size_t const capacity = t.config().capacity_items;
  std::size_t const slots = std::bit_ceil(capacity);
  std::string const who = "tunnel '" + t.name() + "'";
  bool const tagged = t.config().low_latency;  // its pool is not: that may lie across the bus, or go on as an array
  auto const place_items = [&](Arena& arena, std::size_t count, std::string const& what) {
    if (tagged) return reinterpret_cast<std::byte*>(arena.place_zeros<TaggedSlot>(count, what));
    return arena.place_raw(count * t.item_bytes(), what);
  };
  TunnelState s;
  s.capacity = capacity;
  if (t.crosses()) {
    s.movement = tagged ? Movement::direct : t.config().movement;
    if (tagged) {
      s.why = "low_latency";
    } else if (s.movement != Movement::automatic) {
      s.why = "asked for";
    } else if (!movement_table_) {
      movement_table_ = chosen_movement_table();
    }
    std::byte* const items = s.movement == Movement::managed
                                 ? place_items(*managed_items_, slots, who + ": Movement::managed")
                                 : place_items(*host_words_, slots, who);
    s.put_ring = make_ring(t, RingPart::outbox, items, capacity, tunnel_words(from), 1, tagged);
    s.get_ring = make_ring(t, RingPart::inbox, items, capacity, tunnel_words(to), 1, tagged);
    tunnel_words(from).image(s.put_ring.words).given.bits = capacity;  // ring.hpp I4
    tunnel_words(to).image(s.get_ring.words).free.bits = 0;            // an inbox's `free` is never used
    s.bus = host_words_->place<BusWords>();
    s.closing = &s.bus->closing;
    s.published = s.arrived = &s.bus->published;
    s.retired = &s.bus->retired;
    s.host_relays = host_words_->place<Relays>();
    host_words_->image(s.host_relays) = make_relays(s, from ? s.get_ring : s.put_ring);
  } else {
    // Inside a cycle a put may be into the ring whose slot its stage holds (ring.hpp I5). Decided here: open ends copy the
    // handle.
    std::size_t const grow_to = t.config().grow_to_items;
    bool const in_cycle = t.config().when_full != WhenFull::wait || t.config().planned || grow_to != 0;
    bool const may_hold = t.item_bytes() > copied_bytes && in_cycle;
    unsigned const shards = t.config().shards;
    std::size_t const each = std::max(capacity, grow_to) / shards;
    std::byte* const items = place_items(tunnel_words(from), shards * std::bit_ceil(each), who);
    s.put_ring =
        make_ring(t, may_hold ? RingPart::in_order : RingPart::whole, items, each, tunnel_words(from), shards, tagged);
    if (grow_to != 0) tunnel_words(from).image(s.put_ring.words).free.bits = static_cast<std::int32_t>(capacity);
    tunnels_may_grow_ = tunnels_may_grow_ || grow_to != 0;
    s.get_ring = s.put_ring;
    s.why = "does not cross the bus";
  }
  s.spill = tunnel_words(from).place<Ring>();
  s.open_closed = tunnel_words(from).place<Word<std::uint32_t>>();
  if (!from || !to) s.host_end = host_words_->place<EndWords>();
  if (from || to) s.device_end = device_words_->place<EndWords>();
  device_tunnels_ = device_tunnels_ || from || to;
  s.tunnel = std::move(tunnel);
  if (s.movement == Movement::dma) place_for_dma(s);
  tunnels_.push_back(std::move(s));
  invalidate();
}

/// Memory of its own for the device's side; the host's side, and what it has handed out, stays as it is.
void Pipeline::Core::place_for_dma(TunnelState& t) {
  bool const to = t.tunnel->to_gpu();
  std::size_t const bytes = std::bit_ceil(t.tunnel->config().capacity_items) * t.tunnel->item_bytes();
  (to ? t.get_ring : t.put_ring).items = device_words_->place_raw(bytes, "tunnel '" + t.tunnel->name() + "'");
  tell_arrivals(t);
}

/// dma: what has arrived is not what is published. The word lies at the consumers' home.
void Pipeline::Core::tell_arrivals(TunnelState& t) {
  bool const to = t.tunnel->to_gpu();
  t.arrived = to ? device_words_->place<Word<std::uint64_t>>() : &t.bus->arrived;
  if (!to) host_words_->image(t.host_relays).hears.word = t.arrived;
}

// Not at create_tunnel: which ways the bus is used is known when all tunnels are there.
void Pipeline::Core::settle_movement(TunnelState& t) {
  if (!t.tunnel->crosses() || t.movement != Movement::automatic) return;
  auto const any = [&](Direction direction) {
    return std::ranges::any_of(tunnels_, [&](TunnelState const& s) { return s.tunnel->direction() == direction; });
  };
  BusUse const bus = any(Direction::cpu_to_gpu) && any(Direction::gpu_to_cpu) ? BusUse::both_ways : BusUse::one_way;
  MovementChoice const choice = movement_table_->choose(t.tunnel->direction(), t.tunnel->item_bytes(), bus);
  if (choice.movement == Movement::dma) place_for_dma(t);
  t.movement = choice.movement;
  t.why = choice.why;
}

void Pipeline::Core::add_cpu(CpuStageDescription description) {
  require_idle("add_cpu_stage");
  cpu_.push_back(std::move(description));
  invalidate();
}

void Pipeline::Core::add_gpu(GpuKernelDescription description) {
  require_idle("add_gpu_stage");
  gpu_.push_back(std::move(description));
  invalidate();
}

void* Pipeline::Core::allocate_buffer(Memory memory, std::size_t bytes) {
  require_idle(memory == Memory::device ? "create_buffer" : "create_host_buffer");
  void* const address = backend_->allocate(memory, bytes, "buffer");
  buffers_.emplace_back(memory, address);
  return address;
}

InletView Pipeline::Core::open_inlet(TunnelBase const& tunnel) {
  require_idle("open_inlet");
  TunnelState& s = tunnels_.at(tunnel.id());
  bool const device = tunnel.from_gpu();
  if (device) settle_movement(s);  // the view keeps the place of the items
  InletView v;
  v.ring = s.put_ring;
  v.relays = device ? nullptr : s.host_relays;
  v.control = control(device);
  v.end = device ? s.device_end : s.host_end;
  v.past_caches = !device && past_caches(s);
  v.throttled = &v.end->throttled;  // asked for before the graph is known: stays 0 where no cycle is behind it
  v.ports = tunnel_words(device).place<InletPort>();
  v.closed_executors = s.open_closed;
  v.tunnel = tunnel.id();
  v.home = s.open_inlets;
  v.open = true;
  ++s.open_inlets;
  invalidate();
  return v;
}

OutletView Pipeline::Core::open_outlet(TunnelBase const& tunnel) {
  require_idle("open_outlet");
  TunnelState& s = tunnels_.at(tunnel.id());
  bool const device = tunnel.to_gpu();
  if (device) settle_movement(s);
  OutletView v;
  v.ring = s.get_ring;
  v.spill = tunnel.crosses() ? nullptr : s.spill;
  v.relays = device ? nullptr : s.host_relays;
  v.control = control(device);
  v.end = device ? s.device_end : s.host_end;
  v.ports = tunnel_words(device).place<OutletPort>();
  v.stage_ended = &v.end->ended;
  v.tunnel = tunnel.id();
  v.home = static_cast<std::uint32_t>(s.open_outlets.size());
  v.open = true;
  s.open_outlets.push_back(v.ports);
  invalidate();
  return v;
}

bool Pipeline::Core::has_writer(TunnelBase const& tunnel) const {
  auto const writes = [&](StageDescription const& s) { return contains(s.into, &tunnel); };
  return tunnels_.at(tunnel.id()).open_inlets > 0 || any_stage(writes);
}
bool Pipeline::Core::has_reader(TunnelBase const& tunnel) const {
  auto const reads = [&](StageDescription const& s) { return contains(s.from, &tunnel); };
  return !tunnels_.at(tunnel.id()).open_outlets.empty() || any_stage(reads);
}

OutletView Pipeline::Core::whole_run(bool device) const {
  OutletView v;
  v.control = control(device);
  v.stage_ended = device ? device_all_ended_ : host_all_ended_;
  v.open = true;
  return v;
}

void Pipeline::Core::launch(std::string_view name, DeviceKernel kernel, GpuStageOptions options) {
  if (options.blocks == 0 || options.threads_per_block == 0) {
    throw ConfigError("launch '" + std::string(name) + "': blocks and threads_per_block must be at least 1");
  }
  simt::Grid const grid{options.blocks, options.threads_per_block, options.shared_bytes};
  std::string const title = "launch '" + std::string(name) + "'";
  std::tuple const key(kernel.cuda.symbol, grid.threads_per_block, grid.shared_bytes);
  if (!prepared_launches_.contains(key)) {
    if (running_ && !backend_->loads_beside_kernels()) {
      throw ConfigError(title +
                        ": its kernel is loaded while the pipeline runs, and would wait for its end: set "
                        "CUDA_MODULE_LOADING=EAGER, or launch it once before the start");
    }
    synchronize();
    prepared_launches_.insert(key);
    backend_->prepare(title, kernel, grid);
  }
  if (launched_ && launched_->then(title, kernel, grid)) return;
  synchronize();
  launched_ = backend_->start(title, kernel, grid);
}

void Pipeline::Core::synchronize() {
  auto const launched = std::move(launched_);
  if (!launched) return;
  try {
    for (unsigned misses = 0; !launched->done(); ++misses) relax_thread(misses);
  } catch (Unwind const&) {  // left because the run whose open ends it uses aborts, which says why itself
  }
}

Latency& Pipeline::Core::create_latency(std::string path, unsigned every) {
  require_idle("create_latency");
  return latencies_.emplace_back(std::move(path), every);
}

// ---- the facade ------------------------------------------------------------------------------

Pipeline::Pipeline(PipelineConfig config) : core_(std::make_unique<Core>(std::move(config))) {}
Pipeline::~Pipeline() = default;

std::uint32_t Pipeline::tunnel_count() const { return core_->tunnel_count(); }
bool Pipeline::has_writer(TunnelBase const& tunnel) const { return core_->has_writer(tunnel); }
bool Pipeline::has_reader(TunnelBase const& tunnel) const { return core_->has_reader(tunnel); }
OutletView Pipeline::whole_run_h() const { return core_->whole_run(false); }
OutletView Pipeline::whole_run_d() const { return core_->whole_run(true); }
void Pipeline::add_tunnel(std::unique_ptr<TunnelBase> tunnel) { core_->add_tunnel(std::move(tunnel)); }
void Pipeline::add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) { core_->add_stencil(std::move(tunnel)); }
void Pipeline::add_cpu(CpuStageDescription description) { core_->add_cpu(std::move(description)); }
void Pipeline::add_gpu(GpuKernelDescription description) { core_->add_gpu(std::move(description)); }
void* Pipeline::allocate_buffer(Memory memory, std::size_t bytes) { return core_->allocate_buffer(memory, bytes); }
void Pipeline::launch_kernel(std::string_view name, DeviceKernel kernel, GpuStageOptions options) {
  core_->launch(name, std::move(kernel), options);
}
void Pipeline::synchronize() { core_->synchronize(); }
InletView Pipeline::open_inlet(TunnelBase& tunnel) { return core_->open_inlet(tunnel); }
OutletView Pipeline::open_outlet(TunnelBase& tunnel) { return core_->open_outlet(tunnel); }
void Pipeline::copy_in(void* device, void const* host, std::size_t bytes) {
  core_->backend().upload(device, host, bytes);
}
void Pipeline::copy_out(void* host, void const* device, std::size_t bytes) {
  core_->backend().download(host, device, bytes);
}
void Pipeline::prepare() { core_->prepare(); }
void Pipeline::start() { core_->start(); }
RunReport Pipeline::wait() { return core_->wait(); }
bool Pipeline::wait_for(std::chrono::nanoseconds duration) { return core_->wait_for(duration); }
RunReport Pipeline::run() {
  start();
  return wait();
}
void Pipeline::abort() { core_->abort(std::make_exception_ptr(Aborted("the pipeline was aborted"))); }
RunReport Pipeline::stats() const { return core_->stats(); }
std::string Pipeline::graph() const { return core_->graph(); }
Latency& Pipeline::create_latency(std::string path, unsigned every) {
  return core_->create_latency(std::move(path), every);
}
std::string Pipeline::device() const { return core_->backend().name(); }

}  // namespace hiway
