// The Pipeline facade, and what the user adds to a pipeline: tunnels with their memory, stages, buffers, open ends.
#include "hiway/pipeline.hpp"

#include <bit>
#include <numeric>

#include "hiway/log.hpp"
#include "hiway/report.hpp"
#include "pipeline_core.hpp"
#include "sizes.hpp"

namespace hiway {
namespace {

constexpr std::size_t max_capacity = std::size_t{1} << 30;
constexpr std::size_t max_tunnels = 65536;
constexpr std::uint64_t most_threads = 0xffffffff;  // threads of a launch: the most that thread_count() can return

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

std::chrono::milliseconds admit_duration(char const* what, std::chrono::milliseconds given) {
  if (given.count() < 0)
    throw ConfigError(std::string(what) + " is negative: " + std::to_string(given.count()) + " ms");
  return at_most_for_ever<std::chrono::milliseconds>(given);
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

Pipeline::Core::Core(PipelineConfig config) : config_(std::move(config)) {
  take_report_signal();  // not in start(): the signal may come while the pipeline is being made
  devices_.emplace_back().backend = make_backend(config_.device);
  config_.deadline = admit_duration("deadline", config_.deadline);
  config_.stall_after = admit_duration("stall_after", config_.stall_after);
  if (config_.stall_after.count() == 0) config_.stall_after = stall_after_of_environment();
  config_.grow_after = admit_duration("grow_after", config_.grow_after);
  config_.trace = chosen_trace(config_.trace);
  if (config_.end_detection == EndDetection::time_out) admit_time_out(config_.end_time_out);
  host_words_ = std::make_unique<Arena>(backend(), Memory::pinned, "tunnels' words");
  managed_items_ = std::make_unique<Arena>(backend(), Memory::managed, "Movement::managed");
  host_control_ = host_words_->place<Control>();
  host_control_->run = host_words_->image(host_control_).run = this;
  host_words_->image(host_control_).aborted.bits = 1;  // calls on open ends are refused until a run begins
  host_all_ended_ = host_words_->place<Word<std::uint32_t>>();
  devices_.front().number = backend().number();
  give_words(devices_.front());
}

Pipeline::Core::~Core() {
  if (running_) {
    set_error(aborted_by_destructor_);
    try {
      wait();
    } catch (...) {  // the destructor's own abort
    }
  }
  launched_.reset();
  for (BufferMemory const& b : buffers_) backend(b.home).release(b.memory, b.address);
}

void Pipeline::Core::give_words(Device& device) {
  device.words = std::make_unique<Arena>(*device.backend, Memory::device, "tunnels' words");
  device.control = device.words->place<Control>();
  device.words->image(device.control).run = this;
  device.notice = host_words_->place<DeviceNotice>();
  device.all_ended = device.words->place<Word<std::uint32_t>>();
}

/// The home of the device with this number (GpuStageOptions::device). The device becomes one of the pipeline's.
/// *Throws* NoDevice.
Home Pipeline::Core::home_of(int number) {
  if (number < 0) return own_device;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i].number == number) return own_device + i;
  }
  require_idle("a further device");
  Device made;
  made.number = number;
  made.backend = make_backend(backend().is_host() ? "simt" : "cuda:" + std::to_string(number));
  for (Device const& earlier : devices_) {
    made.backend->enable_peer_access(*earlier.backend);
    earlier.backend->enable_peer_access(*made.backend);
  }
  give_words(made);
  devices_.push_back(std::move(made));
  invalidate();
  return own_device + devices_.size() - 1;
}

std::string Pipeline::Core::device_name(Home home) const {
  Device const& d = device(home);
  return devices_.size() > 1 && d.backend->is_host() ? "simt:" + std::to_string(d.number) : d.backend->name();
}
std::string Pipeline::Core::device_names() const {
  std::string names;
  for (std::size_t i = 0; i < devices_.size(); ++i) names += (i == 0 ? "" : ", ") + device_name(own_device + i);
  return names;
}

void Pipeline::Core::require_idle(char const* what) const {
  require_own_process(what);
  if (running_ || waiting_) throw ConfigError(std::string(what) + " while the pipeline runs");
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
    return puts ? Relays{.tells = {half}, .hears = {half, {t.retired.word}}}
                : Relays{.tells = {half, {t.retired.word}}, .hears = {half}};
  return {.tells = {half, {(puts ? t.published : t.retired).word}},
          .hears = {half, {(puts ? t.retired : t.arrived).word}}};
}

void Pipeline::Core::add_tunnel(std::unique_ptr<TunnelBase> tunnel) {
  require_idle("create_tunnel");
  check_config(*tunnel);
  if (tunnels_.size() == max_tunnels)
    throw ConfigError("tunnel '" + tunnel->name() + "': a pipeline has at most " + std::to_string(max_tunnels) +
                      " tunnels");
  if (tunnel_names_.contains(tunnel->name()))
    throw ConfigError("tunnel '" + tunnel->name() + "' is there already; names are unique");
  TunnelState s;
  s.capacity = tunnel->config().capacity_items;
  tunnels_may_grow_ = tunnels_may_grow_ || tunnel->config().grow_to_items != 0;
  bool const asks_the_table =
      tunnel->crosses() && tunnel->config().movement == Movement::automatic && !tunnel->config().low_latency;
  if (asks_the_table && !movement_table_) movement_table_ = chosen_movement_table();  // an error now, not at prepare()
  s.tunnel = std::move(tunnel);
  tunnels_.push_back(std::move(s));
  tunnel_names_.insert(tunnels_.back().tunnel->name());
  invalidate();
}

/// The home where the tunnel is put, or got: that of the first stage that does it, else the pipeline's own device.
Home Pipeline::Core::end_home(TunnelBase const& tunnel, bool puts) {
  if (!(puts ? tunnel.from_gpu() : tunnel.to_gpu())) return at_host;
  for (GpuKernelDescription const& k : gpu_) {
    for (StageDescription const& stage : k.stages) {
      if (contains(puts ? stage.into : stage.from, &tunnel)) return home_of(k.options.device);
    }
  }
  return own_device;
}

/// Places the tunnel before all stages are known.
void Pipeline::Core::place_as_it_is(TunnelState& t) {
  if (t.placed) return;
  t.put_home = end_home(*t.tunnel, true);
  t.get_home = end_home(*t.tunnel, false);
  place(t);
}

/// True if kernels on device `from` can read and write memory at `home`, another device.
bool Pipeline::Core::is_reached(Home home, Home from) const {
  return home != at_host && from != at_host && backend(from).reaches(backend(home));
}

/// A word that `teller` writes and `hearer` polls. Placed in the poller's memory if the other side can reach it, else
/// in host memory.
ToldWord Pipeline::Core::place_told(Home teller, Home hearer, Word<std::uint64_t>& at_the_host) {
  if (!is_reached(hearer, teller)) return {&at_the_host};
  return {&words(hearer).place<DeviceWord>()->word, hearer};
}

/// Memory for the items of a crossing tunnel that both sides reach: at the consumers' device if the producers' device
/// reaches it, else at the host. A stencil tunnel's references are always at the host, because its transfer line reads
/// them.
std::byte* Pipeline::Core::place_direct(TunnelState& t, std::size_t slots) {
  std::string const who = "tunnel '" + t.tunnel->name() + "'";
  bool const managed = t.movement == Movement::managed;
  bool const with_the_reader = !t.stencil && is_reached(t.get_home, t.put_home);  // a line reads a stencil's references
  Arena& arena = managed ? *managed_items_ : with_the_reader ? words(t.get_home) : *host_words_;
  std::string const what = managed ? who + ": Movement::managed" : who;
  if (t.tunnel->config().low_latency) return reinterpret_cast<std::byte*>(arena.place_zeros<TaggedSlot>(slots, what));
  return arena.place_raw(bytes_of(what, {slots, t.tunnel->item_bytes()}), what);
}

/// Gives the tunnel its memory, unless it has it already.
void Pipeline::Core::place(TunnelState& s) {
  if (s.placed) return;
  TunnelBase const& t = *s.tunnel;
  TunnelConfig const& config = t.config();
  Arena& put_words = words(s.put_home);
  Arena& get_words = words(s.get_home);
  bool const tagged = config.low_latency;  // its pool is not: it may lie across the bus, or go on as an array
  if (s.crosses()) {
    bool const peers = s.put_home != at_host && s.get_home != at_host;
    s.movement = tagged ? Movement::direct : config.movement;
    s.why = tagged ? "low_latency" : config.movement != Movement::automatic ? "asked for" : "";
    if (peers) settle_movement(s);
    bool const each_its_own = peers && s.movement == Movement::dma;
    std::byte* const items = each_its_own ? nullptr : place_direct(s, std::bit_ceil(s.capacity));
    s.put_ring = make_ring(t, RingPart::outbox, items, s.capacity, put_words, 1, tagged);
    s.get_ring = make_ring(t, RingPart::inbox, items, s.capacity, get_words, 1, tagged);
    put_words.image(s.put_ring.words).given.bits = s.capacity;  // ring.hpp I4
    get_words.image(s.get_ring.words).free.bits = 0;            // an inbox's `free` is never used
    s.bus = host_words_->place<BusWords>();
    s.closing = &s.bus->closing;
    // If a transfer line reads `published`, the word is at the host, because the line is.
    bool const direct = s.movement == Movement::direct && !s.stencil;
    s.published = direct ? place_told(s.put_home, s.get_home, s.bus->published) : ToldWord{&s.bus->published};
    s.arrived = s.published;
    s.retired = place_told(s.get_home, s.put_home, s.bus->retired);
    if (!peers) {
      s.host_relays = host_words_->place<Relays>();
      host_words_->image(s.host_relays) = make_relays(s, s.put_home == at_host ? s.put_ring : s.get_ring);
    }
  } else {
    // Inside a cycle, a put may go into the same ring whose slot its stage holds (ring.hpp I5). This is decided here
    // because open ends copy the handle.
    std::size_t const grow_to = config.grow_to_items;
    bool const in_cycle = config.when_full != WhenFull::wait || config.planned || grow_to != 0;
    bool const may_hold = t.item_bytes() > copied_bytes && in_cycle;
    std::size_t const each = std::max(s.capacity, grow_to) / config.shards;
    std::size_t const slots = config.shards * std::bit_ceil(each);
    std::string const who = "tunnel '" + t.name() + "'";
    std::byte* const items = tagged ? reinterpret_cast<std::byte*>(put_words.place_zeros<TaggedSlot>(slots, who))
                                    : put_words.place_raw(bytes_of(who, {slots, t.item_bytes()}), who);
    s.put_ring =
        make_ring(t, may_hold ? RingPart::in_order : RingPart::whole, items, each, put_words, config.shards, tagged);
    if (grow_to != 0) put_words.image(s.put_ring.words).free.bits = static_cast<std::int32_t>(s.capacity);
    s.get_ring = s.put_ring;
    s.why = "does not cross the bus";
  }
  s.spill = put_words.place<Ring>();
  s.open_closed = put_words.place<Word<std::uint32_t>>();
  s.put_end = put_words.place<EndWords>();
  s.get_end = s.crosses() ? get_words.place<EndWords>() : s.put_end;
  if (s.stencil) {
    place_stencil(s);
  } else if (s.movement == Movement::dma) {
    place_for_dma(s);
  }
  s.placed = true;
}

/// Gives each device's side memory of its own. The host's side stays as it is, because it may have handed out its
/// memory.
void Pipeline::Core::place_for_dma(TunnelState& t) {
  std::string const who = "tunnel '" + t.tunnel->name() + "'";
  std::size_t const bytes = bytes_of(who, {std::bit_ceil(t.tunnel->config().capacity_items), t.tunnel->item_bytes()});
  if (t.put_home != at_host) t.put_ring.items = words(t.put_home).place_raw(bytes, who);
  if (t.get_home != at_host) t.get_ring.items = words(t.get_home).place_raw(bytes, who);
  tell_arrivals(t);
}

/// dma: `arrived` becomes a word of its own, since items arrive later than they are published. It lies at the
/// consumers' home.
void Pipeline::Core::tell_arrivals(TunnelState& t) {
  bool const to_host = t.get_home == at_host;
  t.arrived =
      to_host ? ToldWord{&t.bus->arrived} : ToldWord{words(t.get_home).place<Word<std::uint64_t>>(), t.get_home};
  if (to_host) host_words_->image(t.host_relays).hears.link = {t.arrived.word};
}

// Not called by create_tunnel: which ways the bus is used is known only when all tunnels are there. For a tunnel
// between two devices, the devices are known only when its stages are; it must be settled before its items have a
// place.
void Pipeline::Core::settle_movement(TunnelState& t) {
  if (!t.crosses() || t.movement != Movement::automatic) return;
  std::size_t const bytes = t.tunnel->item_bytes();
  if (t.tunnel->direction() == Direction::gpu_to_gpu) {
    if (!movement_table_) movement_table_ = chosen_movement_table();
    MovementChoice const choice = movement_table_->choose(Direction::gpu_to_gpu, bytes, BusUse::peer);
    t.movement = choice.movement;
    t.why = choice.why;
    return;
  }
  auto const any = [&](Direction direction) {
    return std::ranges::any_of(tunnels_, [&](TunnelState const& s) { return s.tunnel->direction() == direction; });
  };
  BusUse const bus = any(Direction::cpu_to_gpu) && any(Direction::gpu_to_cpu) ? BusUse::both_ways : BusUse::one_way;
  MovementChoice const choice = movement_table_->choose(t.tunnel->direction(), bytes, bus);
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
  std::vector<int> const devices = devices_of(description.options);
  if (devices.size() > 1) return add_on_each(description, devices);
  if (!devices.empty()) description.options.device = devices.front();
  static_cast<void>(home_of(description.options.device));  // this makes the device one of the pipeline's
  gpu_.push_back(std::move(description));
  invalidate();
}

/// The devices on which the stage is to run alike. *Throws* ConfigError.
std::vector<int> Pipeline::Core::devices_of(GpuStageOptions const& options) const {
  if (options.devices != all_devices) return options.devices;
  if (backend().is_host()) return {0, 1};
  auto const gpus = std::ranges::count_if(hiway::devices(),
                                          [](DeviceInfo const& d) { return d.usable && d.name.starts_with("cuda:"); });
  std::vector<int> all(static_cast<std::size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

/// Adds a stage for each device, with branches of its tunnels.
void Pipeline::Core::add_on_each(GpuKernelDescription const& description, std::vector<int> const& devices) {
  for (int const number : devices) {
    if (number < 0 || std::ranges::count(devices, number) != 1)
      throw ConfigError("stage '" + description.name + "': devices: each number once, none below 0");
    static_cast<void>(home_of(number));
  }
  for (StageDescription const& stage : description.stages) {
    for (TunnelBase const* t : stage.from) branch_out(*t, devices);
    for (TunnelBase const* t : stage.into) branch_out(*t, devices);
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    GpuKernelDescription one = description;
    one.options.devices = devices;
    one.options.device = devices[i];
    std::string const where = " on " + device_name(home_of(devices[i]));
    one.name += where;
    for (StageDescription& stage : one.stages) {
      stage.name += where;
      for (std::vector<TunnelBase*>* const ends : {&stage.from, &stage.into}) {
        for (TunnelBase*& t : *ends) {
          if (i != 0) t = tunnels_[tunnels_[t->id()].branches[i - 1]].tunnel.get();
        }
      }
    }
    gpu_.push_back(std::move(one));
  }
  invalidate();
}

/// Gives the tunnel a branch for each of `devices`; the tunnel itself is the first device's branch.
void Pipeline::Core::branch_out(TunnelBase const& tunnel, std::vector<int> const& devices) {
  std::string const who = "tunnel '" + tunnel.name() + "'";
  std::uint32_t const id = tunnel.id();
  if (tunnels_[id].branch_devices == devices) return;
  if (!tunnels_[id].branch_devices.empty()) throw ConfigError(who + ": its stages are on different devices");
  if (tunnel.tasks() != nullptr || tunnel.holds_all())
    throw ConfigError(who + ": a stencil tunnel has its stage on one device");
  if (tunnel.config().shards > 1) throw ConfigError(who + ": shards are for tunnels whose stages are on one device");
  for (std::size_t i = 1; i < devices.size(); ++i) {
    tunnels_[id].branches.push_back(tunnel_count());
    add_tunnel(std::make_unique<TunnelBase>(tunnel.name() + " of " + device_name(home_of(devices[i])),
                                            tunnel.direction(), tunnel.config(), tunnel.item_bytes(), tunnel_count()));
  }
  tunnels_[id].branch_devices = devices;
}

/// A CPU stage has the ends of all branches: its own tunnels first, then the further branches of each.
StageDescription Pipeline::Core::with_branches(StageDescription stage) const {
  for (std::vector<TunnelBase*>* const ends : {&stage.from, &stage.into}) {
    for (std::size_t i = 0, own = ends->size(); i < own; ++i) {
      for (std::uint32_t const b : tunnels_[(*ends)[i]->id()].branches) ends->push_back(tunnels_[b].tunnel.get());
    }
  }
  return stage;
}

void* Pipeline::Core::allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device) {
  require_idle(memory == Memory::device ? "create_buffer" : "create_host_buffer");
  Home const home = home_of(device);
  std::size_t const bytes = bytes_of("buffer", {count, item_bytes});
  buffers_.push_back({home, memory, nullptr, bytes});
  try {
    void* const address = backend(home).allocate(memory, bytes, "buffer");
    buffers_.back().address = static_cast<std::byte*>(address);
    return address;
  } catch (...) {
    buffers_.pop_back();
    throw;
  }
}

Backend& Pipeline::Core::backend_of(void const* buffer) const {
  auto const* const at = static_cast<std::byte const*>(buffer);
  auto const found = std::ranges::find_if(
      buffers_, [&](BufferMemory const& b) { return at >= b.address && at < b.address + b.bytes; });
  return found == buffers_.end() ? backend() : backend(found->home);
}

/// May be called between two runs, so it reads only words and the error of the last run.
void Pipeline::Core::refuse(std::uint32_t tunnel) {
  std::string who;
  {
    std::scoped_lock const lock(open_names_lock_);
    if (auto const name = open_names_.find(tunnel); name != open_names_.end()) who = "tunnel '" + name->second + "': ";
  }
  for (unsigned looks = 0; looks < 100 && running_ && !error_.get(); ++looks) {
    import_faults();  // the thread at fault may still be writing its record
    if (!error_.get()) std::this_thread::yield();
  }
  if (std::exception_ptr const error = error_.get()) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      std::throw_with_nested(Unwind(who + "the run has failed: " + e.what()));
    }
  }
  throw Unwind(who + (running_ ? "the run has failed" : "no run is under way: start the pipeline first"));
}

/// The words of a new open end have no value until the next start, so calls are refused until then.
void Pipeline::Core::note_open(TunnelBase const& tunnel) {
  ThreadMachine{}.store(host_control_->aborted, 1u, Order::release);
  std::scoped_lock const lock(open_names_lock_);
  open_names_[tunnel.id()] = tunnel.name();
}

InletView Pipeline::Core::open_inlet(TunnelBase const& tunnel) {
  require_idle("open_inlet");
  note_open(tunnel);
  TunnelState& s = tunnels_.at(tunnel.id());
  place_as_it_is(s);
  if (s.put_home != at_host) settle_movement(s);  // the view keeps the address of the items
  InletView v;
  v.ring = s.put_ring;
  v.relays = s.put_home == at_host ? s.host_relays : nullptr;
  v.control = control(s.put_home);
  v.end = s.put_end;
  v.past_caches = s.put_home == at_host && past_caches(s);
  v.throttled = &v.end->throttled;  // taken before the graph is known; stays 0 if no cycle throttles it
  v.ports = words(s.put_home).place<InletPort>();
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
  note_open(tunnel);
  TunnelState& s = tunnels_.at(tunnel.id());
  place_as_it_is(s);
  if (s.get_home != at_host) settle_movement(s);
  OutletView v;
  v.ring = s.get_ring;
  v.spill = s.crosses() ? nullptr : s.spill;
  v.relays = s.get_home == at_host ? s.host_relays : nullptr;
  v.control = control(s.get_home);
  v.end = s.get_end;
  v.ports = words(s.get_home).place<OutletPort>();
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

OutletView Pipeline::Core::whole_run_at(Home home) {
  if (home == own_device && !device_asks_) {
    require_idle("whole_run_d");
    device_asks_ = true;
    invalidate();
  }
  OutletView v;
  v.control = control(home);
  v.stage_ended = home == at_host ? host_all_ended_ : device(home).all_ended;
  v.open = true;
  return v;
}

void Pipeline::Core::launch(std::string_view name, DeviceKernel kernel, GpuStageOptions options) {
  if (options.blocks == 0 || options.threads_per_block == 0) {
    throw ConfigError("launch '" + std::string(name) + "': blocks and threads_per_block must be at least 1");
  }
  if (std::uint64_t{options.blocks} * options.threads_per_block > most_threads) {
    throw ConfigError("launch '" + std::string(name) + "': " + std::to_string(options.blocks) + " x " +
                      std::to_string(options.threads_per_block) +
                      " threads are more than thread_count() can say, 2^32 - 1");
  }
  simt::Grid const grid{options.blocks, options.threads_per_block, options.shared_bytes};
  std::string const title = "launch '" + std::string(name) + "'";
  Home const home = home_of(options.device);
  std::tuple const key(home, kernel.cuda.symbol, grid.threads_per_block, grid.shared_bytes);
  if (!prepared_launches_.contains(key)) {
    if (running_ && !backend(home).loads_beside_kernels()) {
      throw ConfigError(title +
                        ": its kernel is loaded while the pipeline runs, and would wait for its end: set "
                        "CUDA_MODULE_LOADING=EAGER, or launch it once before the start");
    }
    synchronize();
    prepared_launches_.insert(key);
    backend(home).prepare(title, kernel, grid);
  }
  if (launched_ && launched_on_ == home && launched_->then(title, kernel, grid)) return;
  synchronize();
  launched_ = backend(home).start(title, kernel, grid);
  launched_on_ = home;
}

void Pipeline::Core::synchronize() {
  auto const launched = std::move(launched_);
  if (!launched) return;
  try {
    for (unsigned misses = 0; !launched->done(); ++misses) relax_thread(misses);
  } catch (Unwind const&) {  // the launch uses open ends of a run that aborts; that run reports why
  }
}

Latency& Pipeline::Core::create_latency(std::string path, unsigned every) {
  require_idle("create_latency");
  return latencies_.emplace_back(std::move(path), every);
}

// ---- the facade ------------------------------------------------------------------------------

Pipeline::Pipeline(PipelineConfig config) : core_(std::make_unique<Core>(std::move(config))) {}
// A pipeline that cannot be destroyed here keeps its memory until the process ends.
Pipeline::~Pipeline() {
  if (core_->must_be_left()) static_cast<void>(core_.release());
}

std::uint32_t Pipeline::tunnel_count() const { return core_->tunnel_count(); }
bool Pipeline::has_writer(TunnelBase const& tunnel) const { return core_->has_writer(tunnel); }
bool Pipeline::has_reader(TunnelBase const& tunnel) const { return core_->has_reader(tunnel); }
OutletView Pipeline::whole_run_h() const { return core_->whole_run_at(at_host); }
void Pipeline::set_device_table(void const* table) { core_->backend().set_device_table(table); }
OutletView Pipeline::whole_run_d() { return core_->whole_run_at(own_device); }
void Pipeline::add_tunnel(std::unique_ptr<TunnelBase> tunnel) { core_->add_tunnel(std::move(tunnel)); }
void Pipeline::add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) { core_->add_stencil(std::move(tunnel)); }
void Pipeline::add_cpu(CpuStageDescription description) { core_->add_cpu(std::move(description)); }
void Pipeline::add_gpu(GpuKernelDescription description) { core_->add_gpu(std::move(description)); }
void* Pipeline::allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device) {
  return core_->allocate_buffer(memory, count, item_bytes, device);
}
void Pipeline::launch_kernel(std::string_view name, DeviceKernel kernel, GpuStageOptions options) {
  core_->launch(name, std::move(kernel), options);
}
void Pipeline::synchronize() { core_->synchronize(); }
InletView Pipeline::open_inlet(TunnelBase& tunnel) { return core_->open_inlet(tunnel); }
OutletView Pipeline::open_outlet(TunnelBase& tunnel) { return core_->open_outlet(tunnel); }
void Pipeline::copy_in(void* device, void const* host, std::size_t bytes) {
  core_->backend_of(device).upload(device, host, bytes);
}
void Pipeline::copy_out(void* host, void const* device, std::size_t bytes) {
  core_->backend_of(device).download(host, device, bytes);
}
void Pipeline::prepare() { core_->prepare(); }
void Pipeline::start() { core_->start(); }
RunReport Pipeline::wait() { return core_->wait(); }
bool Pipeline::wait_at_most(std::chrono::nanoseconds duration) { return core_->wait_for(duration); }
RunReport Pipeline::run() {
  start();
  return wait();
}
void Pipeline::abort() { core_->abort(); }
RunReport Pipeline::stats() const { return core_->stats(); }
std::string Pipeline::graph() const { return core_->graph(); }
Latency& Pipeline::create_latency(std::string path, unsigned every) {
  return core_->create_latency(std::move(path), every);
}
std::string Pipeline::device() const { return core_->device_names(); }

}  // namespace hiway
