#include "placement.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "hiway/inlet/keyed.hpp"
#include "lib/movement/carrier.hpp"
#include "lib/sizes.hpp"
#include "stencil_placement.hpp"

namespace hiway {
namespace {

constexpr std::size_t spill_bytes = std::size_t{64} << 20;
constexpr std::size_t spill_items_least = 1024;
constexpr std::size_t spill_items_most = std::size_t{1} << 20;

/// What a ring is to be.
struct RingPlan {
  RingPart part = RingPart::whole;
  std::byte* items = nullptr;
  std::size_t capacity = 0;  ///< of each shard
  unsigned shards = 1;
  bool tagged = false;
};

Ring make_ring(PlacedTunnel const& tunnel, RingPlan const& plan, Arena& arena) {
  std::size_t const slots = std::bit_ceil(plan.capacity);
  Ring ring;
  ring.items = plan.items;
  ring.words = arena.place<RingWords>(plan.shards);
  for (unsigned k = 0; k < plan.shards; ++k)
    arena.image(ring.words + k).free.bits = static_cast<std::int32_t>(plan.capacity);
  ring.shards = static_cast<std::uint8_t>(plan.shards);
  ring.slots_mask = static_cast<std::uint32_t>(slots - 1);
  ring.lap_shift = static_cast<std::uint32_t>(std::countr_zero(slots));
  ring.part = plan.part;
  ring.tagged = plan.tagged;
  ring.item_bytes = static_cast<std::uint32_t>(plan.tagged ? sizeof(TaggedSlot) : tunnel.base->item_bytes());
  // Gets take tickets in order, also here.
  ring.restored = tunnel.base->is_restored() && plan.part != RingPart::inbox;
  if (ring.is_half() || ring.restored) {
    ring.chunk_shift = ring.restored ? chunk_shift_of_marks(ring.lap_shift) : chunk_shift_of(ring.lap_shift);
    ring.done = arena.place_zeros<Word<std::uint32_t>>(2 * slots >> ring.chunk_shift, tunnel.title());
  }
  if (!ring.is_half() && !plan.tagged) {
    ring.turns = arena.place_zeros<Word<std::uint32_t>>(plan.shards * slots, tunnel.title());
  }
  return ring;
}

}  // namespace

std::size_t spill_items(TunnelBase const& tunnel) {
  if (std::size_t const wanted = tunnel.config().spill_items; wanted != 0) return wanted;
  return std::bit_floor(std::clamp(spill_bytes / tunnel.item_bytes(), spill_items_least, spill_items_most));
}

bool is_past_caches(PlacedTunnel const& tunnel) {
  bool const is_copied = tunnel.is_for_batches() || (tunnel.way.carrier != nullptr && tunnel.way.carrier->copies());
  if (!is_copied || tunnel.put.home != at_host || tunnel.slots_on != at_host) return false;
  if (tunnel.stencil_base != nullptr) {
    StencilShape const& shape = tunnel.stencil_base->plan().shape;
    return shape.values() * shape.buffers * tunnel.stencil_base->value_bytes() >= beyond_caches;
  }
  return tunnel.base->config().capacity_items * tunnel.base->item_bytes() >= beyond_caches;
}

char const* movement_name(PlacedTunnel const& tunnel) {
  if (tunnel.put.home == tunnel.get.home) return "memory";
  return tunnel.way.carrier == nullptr ? "automatic" : tunnel.way.carrier->name();
}

Relays make_relays(PlacedTunnel const& tunnel, Ring const& half) {
  Crossing const& bus = tunnel.bus;
  bool const puts = half.part == RingPart::outbox;
  if (half.tagged)
    return puts ? Relays{.tells = {half}, .hears = {half, {bus.retired.word}}}
                : Relays{.tells = {half, {bus.retired.word}}, .hears = {half}};
  return {.tells = {half, {(puts ? bus.published : bus.retired).word}},
          .hears = {half, {(puts ? bus.retired : bus.arrived).word}}};
}

void Placement::read_table_for(TunnelBase const& tunnel) {
  TunnelConfig const& c = tunnel.config();
  if (tunnel.crosses() && find_carrier(c.movement) == nullptr && !c.low_latency) static_cast<void>(table());
}

MovementTable const& Placement::table() {
  if (!table_) table_ = chosen_movement_table();
  return *table_;
}

void Placement::follow() {
  for (std::size_t id = tunnels_.size(); id < graph_.tunnels().size(); ++id) {
    DeclaredTunnel const& declared = graph_.tunnels()[id];
    PlacedTunnel t;
    t.base = declared.base.get();
    t.stencil_base = declared.stencil;
    t.capacity = t.base->config().capacity_items;
    tunnels_.push_back(std::move(t));
  }
}

void Placement::find_homes(std::vector<Stage> const& stages, FlowPlan const& flow, std::vector<std::string>& found) {
  for (PlacedTunnel& t : tunnels_) {
    for (EndOf const end : {EndOf::writers, EndOf::readers}) find_home(t, end, stages, found);
    find_slots(t, stages, flow, found);
    find_threads_of_keys(t, stages, flow, found);
    if (drops_oldest(t) && t.crosses() && !t.base->crosses()) {
      found.push_back(t.title() + ": WhenFull::drop_oldest is not for tunnels of a device's batch stages, or between " +
                      "devices; use drop_newest");
    }
    if (!t.is_between_devices()) continue;
    if (t.base->config().shards > 1)
      found.push_back(t.title() + ": shards are for tunnels that do not lead from one device to another");
    Carrier const* const asked = find_carrier(t.base->config().movement);
    if (asked == nullptr) continue;
    if (std::string const why = asked->problem_between_devices(); !why.empty()) found.push_back(t.title() + ": " + why);
  }
}

// A tunnel's end has the home of the stages that put into the tunnel, or get from it.
void Placement::find_home(PlacedTunnel& tunnel, EndOf end, std::vector<Stage> const& stages,
                          std::vector<std::string>& found) {
  bool const puts = end == EndOf::writers;
  Home const home = graph_.home_of_end(*tunnel.base, end);
  Home& placed = puts ? tunnel.put.home : tunnel.get.home;
  std::vector<std::size_t> const at = stages_at(stages, *tunnel.base, end);
  for (std::size_t const s : at) {
    Home const other = stages[s].home;
    if (home == at_host || other == at_host || other == home) continue;
    found.push_back(tunnel.title() + (puts ? " is put on " : " is got on ") + homes_.name(home) + " and on " +
                    homes_.name(other) + ": all its " + (puts ? "writers" : "readers") + " must be on one device");
    break;
  }
  if (tunnel.placed && home != placed && !at.empty()) {
    std::string const where =
        tunnel.title() + " lies on " + homes_.name(placed) + " since an open end or a run needed it there, ";
    std::string const who = stages[at.front()].title();
    found.push_back(home == at_host ? where + "before batch " + who + " was added: add it first"
                                    : where + "but " + who + " is on " + homes_.name(home));
  }
  if (!tunnel.placed) placed = home;
}

/// The slots lie on a device if nothing but kernels and batch stages of that device reach them. What spills, may be
/// dropped, or has scopes passes a CPU thread.
void Placement::find_slots(PlacedTunnel& tunnel, std::vector<Stage> const& stages, FlowPlan const& flow,
                           std::vector<std::string>& found) {
  bool const by_thread = flow.tunnels[tunnel.base->id()].spills || drops_or_fails(tunnel.base->config().when_full);
  Home const home = by_thread ? at_host : home_of_slots(tunnel, stages);
  if (!tunnel.placed) {
    tunnel.slots_on = home;
  } else if (tunnel.slots_on != at_host && tunnel.slots_on != home) {
    found.push_back(tunnel.title() + " lies on " + homes_.name(tunnel.slots_on) +
                    " since a run, for its batch stages and kernels alone: add all its stages before the first run");
  }
}

/// Also refuses what a tunnel with keys cannot have. One without a reader is refused already.
void Placement::find_threads_of_keys(PlacedTunnel& tunnel, std::vector<Stage> const& stages, FlowPlan const& flow,
                                     std::vector<std::string>& found) const {
  if (!tunnel.base->config().keyed) return;
  std::vector<std::size_t> const readers = stages_at(stages, *tunnel.base, EndOf::readers);
  bool const is_open = graph_.tunnels()[tunnel.base->id()].open_outlets != 0;
  if (is_open || readers.size() > 1)
    found.push_back(tunnel.title() + " has keys, which belong to the threads of one stage: it has no other reader, " +
                    "and no open outlet");
  if (flow.tunnels[tunnel.base->id()].spills)
    found.push_back(tunnel.title() + " has keys, and is inside a cycle: what spills there would lose its order");
  if (readers.size() == 1) tunnel.keys.threads = stages[readers.front()].executors;
}

Home Placement::home_of_slots(PlacedTunnel const& tunnel, std::vector<Stage> const& stages) const {
  DeclaredTunnel const& declared = graph_.tunnels()[tunnel.base->id()];
  TunnelConfig const& config = tunnel.base->config();
  bool const is_half_at_host = tunnel.put.home == at_host || tunnel.get.home == at_host;
  bool const is_plain = tunnel.stencil_base == nullptr && !config.low_latency && declared.branches.empty() &&
                        declared.open_inlets + declared.open_outlets == 0 && tunnel.base->scopes() == nullptr;
  bool const may_stay = find_carrier(config.movement) == nullptr && is_half_at_host && is_plain;
  if (tunnel.base->direction() != Direction::gpu_to_gpu || !may_stay) return at_host;
  std::optional<Home> found;
  for (EndOf const end : {EndOf::writers, EndOf::readers}) {
    for (std::size_t const s : stages_at(stages, *tunnel.base, end)) {
      Home const home = device_of(stages[s]);
      if (home != found.value_or(home)) return at_host;
      found = home;
    }
  }
  return found.value_or(at_host);
}

/// The device of a kernel, or of a batch stage that has one.
Home Placement::device_of(Stage const& stage) const {
  return stage.description.on_device ? homes_.of(graph_.cpu()[stage.owner].batch->options().device) : stage.home;
}

void Placement::place_all() {
  for (PlacedTunnel& t : tunnels_) place(t);
  for (PlacedTunnel& t : tunnels_) settle(t);
}

void Placement::place_as_it_is(PlacedTunnel& tunnel) {
  if (tunnel.placed) return;
  tunnel.put.home = graph_.home_of_end(*tunnel.base, EndOf::writers);
  tunnel.get.home = graph_.home_of_end(*tunnel.base, EndOf::readers);
  place(tunnel);
}

/// Gives the tunnel its memory, unless it has it already.
void Placement::place(PlacedTunnel& tunnel) {
  if (tunnel.placed) return;
  if (tunnel.crosses()) {
    place_crossing(tunnel);
  } else {
    place_whole(tunnel);
  }
  Arena& put_words = homes_.words(tunnel.put.home);
  tunnel.pool.ring = put_words.place<Ring>();
  tunnel.open.closed = put_words.place<Word<std::uint32_t>>();
  tunnel.put.words = put_words.place<EndWords>();
  tunnel.get.words =
      tunnel.put.home != tunnel.get.home ? homes_.words(tunnel.get.home).place<EndWords>() : tunnel.put.words;
  if (tunnel.stencil_base != nullptr) {
    place_stencil(homes_, tunnel);
  } else if (tunnel.way.carrier != nullptr) {
    tunnel.way.carrier->settle(homes_, tunnel);
  }
  tunnel.placed = true;
}

void Placement::place_crossing(PlacedTunnel& tunnel) {
  TunnelConfig const& config = tunnel.base->config();
  bool const tagged = config.low_latency;  // its pool is not: it may lie across the bus, or go on as an array
  Way& way = tunnel.way;
  bool const on_device = tunnel.slots_on != at_host;
  bool const stays = on_device || tunnel.is_for_batches();
  way.carrier = tagged || stays ? &direct_carrier() : find_carrier(config.movement);
  way.why = tagged                   ? "low_latency"
            : on_device              ? "batches are copied on the device"
            : stays                  ? "batches are copied from here"
            : way.carrier != nullptr ? "asked for"
                                     : "";
  if (tunnel.is_between_devices()) settle(tunnel);
  std::size_t const slots = std::bit_ceil(tunnel.capacity);
  Carrier const& placer = way.carrier != nullptr ? *way.carrier : direct_carrier();
  std::byte* const items = placer.place(homes_, tunnel, slots);
  RingPlan plan{.part = RingPart::outbox, .items = items, .capacity = tunnel.capacity, .tagged = tagged};
  Arena& put_words = homes_.words(tunnel.put.home);
  Arena& get_words = homes_.words(tunnel.get.home);
  tunnel.put.ring = make_ring(tunnel, plan, put_words);
  plan.part = RingPart::inbox;
  tunnel.get.ring = make_ring(tunnel, plan, get_words);
  put_words.image(tunnel.put.ring.words).given.bits = tunnel.capacity;  // ring/counts.hpp I4
  get_words.image(tunnel.get.ring.words).free.bits = 0;                 // an inbox's `free` is never used
  Crossing& bus = tunnel.bus;
  bus.words = homes_.host().words->place<BusWords>();
  bus.closing = &bus.words->closing;
  // If a transfer line reads `published`, the word is at the host, because the line is.
  bool const polled = way.carrier != nullptr && way.carrier->is_polled_by_reader() && tunnel.stencil_base == nullptr;
  bus.published = polled ? homes_.place_told(tunnel.put.home, tunnel.get.home, bus.words->published)
                         : ToldWord{&bus.words->published};
  bus.arrived = bus.published;
  bus.retired = homes_.place_told(tunnel.get.home, tunnel.put.home, bus.words->retired);
  Arena& host = *homes_.host().words;
  if (tunnel.put.home == at_host)
    host.image(bus.put_relays = host.place<Relays>()) = make_relays(tunnel, tunnel.put.ring);
  if (tunnel.get.home == at_host)
    host.image(bus.get_relays = host.place<Relays>()) = make_relays(tunnel, tunnel.get.ring);
}

void Placement::place_whole(PlacedTunnel& tunnel) {
  TunnelConfig const& config = tunnel.base->config();
  Arena& words = homes_.words(tunnel.put.home);
  // Inside a cycle, a put may go into the same ring whose slot its stage holds (ring/turns.hpp I5). This is decided
  // here because open ends copy the handle.
  std::size_t const grow_to = config.grow_to_items;
  if (tunnel.base->is_restored()) tunnel.capacity = std::bit_ceil(tunnel.capacity);  // a put looks at its slot alone
  bool const in_cycle = config.when_full != WhenFull::wait || config.planned || grow_to != 0;
  bool const may_hold = tunnel.base->item_bytes() > copied_bytes && in_cycle && !tunnel.base->is_restored();
  std::size_t const each = std::max(tunnel.capacity, grow_to) / config.shards;
  std::size_t const slots = config.shards * std::bit_ceil(each);
  RingPlan plan{.capacity = each, .shards = config.shards, .tagged = config.low_latency};
  plan.part = may_hold ? RingPart::in_order : RingPart::whole;
  plan.items = place_items(words, tunnel, slots, tunnel.title());
  tunnel.put.ring = make_ring(tunnel, plan, words);
  if (grow_to != 0) words.image(tunnel.put.ring.words).free.bits = static_cast<std::int32_t>(tunnel.capacity);
  tunnel.get.ring = tunnel.put.ring;
  tunnel.way.why = "does not cross the bus";
}

// Not called by create_tunnel: which ways the bus is used is known only when all tunnels are there. For a tunnel
// between two devices, the devices are known only when its stages are; it must be settled before its items have a
// place.
void Placement::settle(PlacedTunnel& tunnel) {
  if (!tunnel.crosses() || tunnel.way.carrier != nullptr) return;
  bool const between = tunnel.is_between_devices();
  bool const there = tunnel.direction() == BusDirection::to_device;
  Direction const way = between ? Direction::gpu_to_gpu : there ? Direction::cpu_to_gpu : Direction::gpu_to_cpu;
  MovementChoice const choice = table().choose(way, tunnel.base->item_bytes(), between ? BusUse::peer : bus_use());
  Carrier const* const chosen = find_carrier(choice.movement);
  if (!between) chosen->settle(homes_, tunnel);
  tunnel.way.carrier = chosen;
  tunnel.way.why = choice.why;
}

BusUse Placement::bus_use() const {
  auto const any = [&](Direction direction) {
    return std::ranges::any_of(tunnels_, [&](PlacedTunnel const& t) { return t.base->direction() == direction; });
  };
  return any(Direction::cpu_to_gpu) && any(Direction::gpu_to_cpu) ? BusUse::both_ways : BusUse::one_way;
}

/// Memory for the items of a spill pool. If the device has too little memory, the items lie in mapped host memory. The
/// pool's words stay at the device, so that no read-modify-write crosses the bus.
std::byte* Placement::place_spilled(PlacedTunnel& tunnel, std::size_t bytes) {
  std::string const what = tunnel.title() + ": what it spills";
  Arena& host = *homes_.host().words;
  if (tunnel.put.home == at_host) return host.place_raw(bytes, what);
  try {
    return homes_.words(tunnel.put.home).place_raw(bytes, what);
  } catch (CudaError const&) {
    std::byte* const memory = host.place_raw(bytes, what + ", in host memory");
    tunnel.pool.is_at_host = true;  // set only after success: otherwise a later prepare() tries the device again
    return memory;
  }
}

/// The rings of the threads of the stage that reads the tunnel.
void Placement::place_keys(PlacedTunnel& tunnel) {
  if (tunnel.keys.threads == 0 || !tunnel.keys.rings.empty()) return;
  Arena& words = *homes_.host().words;
  PlacedKeys keys{.threads = tunnel.keys.threads};
  keys.ring_items = (tunnel.capacity + keys.threads - 1) / keys.threads;
  for (unsigned k = 0; k < keys.threads; ++k) {
    RingPlan const plan{
        .part = tunnel.put.ring.part,
        .items = place_items(words, tunnel, std::bit_ceil(keys.ring_items), tunnel.title() + ": what has a key"),
        .capacity = keys.ring_items};
    keys.rings.push_back(make_ring(tunnel, plan, words));
  }
  KeyedRings* const keyed = words.place<KeyedRings>();
  words.image(keyed) = {.tunnel = tunnel.put.ring, .rings = words.place_list(keys.rings), .threads = keys.threads};
  words.image(tunnel.put.words).keyed = keys.placed = keyed;
  tunnel.keys = std::move(keys);
}

void Placement::give_spill_memory(FlowPlan const& flow) {
  for (PlacedTunnel& t : tunnels_) {
    place_keys(t);
    Arena& arena = homes_.words(t.put.home);
    if (!flow.tunnels[t.base->id()].spills || arena.image(t.pool.ring).items != nullptr) continue;
    std::size_t const items = spill_items(*t.base);
    std::size_t const bytes = bytes_of(t.title() + ": what it spills", {std::bit_ceil(items), t.base->item_bytes()});
    std::byte* const memory = place_spilled(t, bytes);
    Ring const pool = make_ring(
        t, {.part = t.crosses() ? RingPart::whole : t.put.ring.part, .items = memory, .capacity = items}, arena);
    if (t.crosses()) t.pool.drained = arena.place<Word<std::uint64_t>>();
    arena.image(t.pool.ring) = pool;  // last: tells the next prepare() that all of it is there
  }
}

}  // namespace hiway
