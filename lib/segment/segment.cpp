// A segment's host side: it numbers the nodes, sizes and places the queues, and fills the kernel's tables.
#include "hiway/segment/segment.hpp"

#include <algorithm>
#include <cmath>

#include "hiway/error.hpp"
#include "lib/sizes.hpp"

namespace hiway::segment {
namespace {

/// Default for shared memory of queues. Small, because more blocks at once are worth more than queues in shared memory
/// (docs/segments.md).
constexpr std::uint64_t shared_bytes_a_thread = 128;
/// Default for slots of a queue. Large enough for a node to fire several times before its child must.
constexpr std::uint32_t slots_a_lane = 8;
constexpr std::uint64_t near_align = 128;
/// Default for the largest claim of a range's items.
constexpr unsigned ensembles_a_claim = 64;
/// Fills the far rooms if they are guarded.
constexpr std::byte guard{0xa5};

std::uint64_t align_up(std::uint64_t at, std::uint64_t to) { return (at + to - 1) / to * to; }

bool expands(NodeDescription const& n) { return n.kind == Kind::expander || n.kind == Kind::indexed; }
/// Whether a node's lanes may hold items of several regions, each with its tag.
bool may_be_dense(NodeDescription const& n) {
  return (n.kind == Kind::filter && n.items_per_lane == 1) || n.kind == Kind::aggregate || expands(n);
}
/// Whether each lane may find the region of its item by itself: if the node keeps the items' order.
bool may_be_lane(NodeDescription const& n) { return may_be_dense(n) && !expands(n); }
/// Whether an opener's parents are too large to copy: they are worked on where they lie.
bool opens_large(NodeDescription const& n) { return n.kind == Kind::enumerate && n.item_bytes > copied_bytes; }

}  // namespace

/// The device memory of one placement.
struct SegmentBase::Memory {
  Backend& backend;
  std::vector<void*> all{};

  explicit Memory(Backend& b) : backend(b) {}
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() {
    for (void* address : all) backend.release(hiway::Memory::device, address);
  }
  template <class T>
  T* take(std::size_t count, std::string const& what) {
    std::size_t const bytes = bytes_of(what, {std::max<std::size_t>(1, count), sizeof(T)});
    void* const address = backend.allocate(hiway::Memory::device, bytes, what);
    all.push_back(address);
    return static_cast<T*>(address);
  }

  NodeRow* rows = nullptr;
  std::vector<std::byte*> functions{};  ///< of each module
  std::size_t ask_words = 0;            ///< words of Lending::asks, with Lending::idle behind them
};

SegmentBase::SegmentBase(std::string name, SegmentConfig config, Shape shape, std::vector<NodeDescription> nodes,
                         std::vector<std::string> sinks, unsigned modules, bool is_range, bool root_is_queued)
    : name_(std::move(name)),
      config_(config),
      shape_(shape),
      nodes_(std::move(nodes)),
      sinks_(std::move(sinks)),
      modules_(modules),
      is_range_(is_range),
      root_is_queued_(root_is_queued),
      has_regions_(std::ranges::any_of(nodes_, [](NodeDescription const& d) { return d.kind == Kind::enumerate; })) {
  if (nodes_.size() > most_nodes)
    throw ConfigError("segment '" + name_ + "' has " + std::to_string(nodes_.size()) + " nodes, of " +
                      std::to_string(most_nodes) + " at most");
  for (NodeDescription const& n : nodes_) {
    if (expands(n) && !n.options.interruptible && n.max_gain == 0)
      throw ConfigError("segment '" + name_ + "': node '" + n.name +
                        "' may not be interrupted, so its function must say max_gain");
    if (n.options.gain <= 0) throw ConfigError("segment '" + name_ + "': node '" + n.name + "': gain must be above 0");
  }
  constexpr unsigned most_signals = 1u << 15;
  if (config_.signal_slots > most_signals)
    throw ConfigError("segment '" + name_ + "': signal_slots must be 0 to " + std::to_string(most_signals) + ": " +
                      std::to_string(config_.signal_slots));
  auto const require_region_slots = [](std::string const& who, unsigned slots) {
    if (slots >= Boundary::none)
      throw ConfigError(who + ": region_slots must be 0 to " + std::to_string(Boundary::none - 1) + ": " +
                        std::to_string(slots));
  };
  require_region_slots("segment '" + name_ + "'", config_.region_slots);
  for (NodeDescription const& n : nodes_)
    require_region_slots("segment '" + name_ + "': node '" + n.name + "'", n.options.region_slots);
  number_nodes();
}

SegmentBase::~SegmentBase() = default;

// A node's number is below its parent's. The numbers of a loop's nodes are above those of the nodes that items leave
// the loop to.
void SegmentBase::number_nodes() {
  std::vector<std::size_t> order;
  auto const visit = [&](auto const& self, std::size_t node) -> void {
    order.push_back(node);
    auto const& own = nodes_[node];
    auto const in_loop = [&](int child) {
      return own.loop != 0 && nodes_[static_cast<std::size_t>(child)].loop == own.loop;
    };
    std::vector<std::size_t> loop{node};  // if `node` is a loop's head: the loop's nodes
    if (own.loop != 0 && own.loop_head) {
      for (std::size_t at = node;;) {
        auto const next = std::ranges::find_if(
            nodes_[at].to, [&](int child) { return child >= 0 && in_loop(child) && child > static_cast<int>(at); });
        if (next == nodes_[at].to.end()) break;
        at = static_cast<std::size_t>(*next);
        loop.push_back(at);
        order.push_back(at);
      }
    }
    for (std::size_t const at : loop) {
      for (int const child : nodes_[at].to) {
        if (child < 0 || std::ranges::find(loop, static_cast<std::size_t>(child)) != loop.end()) continue;
        self(self, static_cast<std::size_t>(child));
      }
    }
  };
  visit(visit, 0);
  numbers_.resize(nodes_.size());
  for (std::size_t i = 0; i != order.size(); ++i) numbers_[order[i]] = static_cast<unsigned>(nodes_.size() - 1 - i);
}

/// Whether the node may be left between two pushes: then its children need room for one push of all lanes only.
bool SegmentBase::suspends(NodeDescription const& n) const {
  return n.kind == Kind::by_hand || n.kind == Kind::enumerate || (expands(n) && n.options.interruptible);
}

/// With fewer free slots than this in its queue the node is active: the most that its parent puts before it looks
/// again.
std::uint32_t SegmentBase::room_of(std::size_t node) const {
  NodeDescription const& n = nodes_[node];
  std::uint32_t room = n.parent < 0 && opens_large(n) ? 1 : lanes_;
  if (n.parent >= 0) {
    NodeDescription const& p = nodes_[static_cast<std::size_t>(n.parent)];
    if (!suspends(p)) room = std::max(1u, p.max_gain) * width_of(p);
    if (p.kind == Kind::enumerate) room = lanes_ * p.items_per_lane;
  }
  return n.loop_head ? room + lanes_ : room;  // scheduler.hpp S5
}

/// Items of a full ensemble. A loop's node fires with the items there are. An opener of large parents fires with each
/// parent: one has elements for all lanes.
std::uint32_t SegmentBase::width_of(NodeDescription const& n) const {
  if (opens_large(n)) return 1;
  return n.loop != 0 || n.kind == Kind::enumerate ? lanes_ : lanes_ * n.items_per_lane / n.lanes_per_item;
}

std::uint32_t SegmentBase::least_slots(std::size_t node) const {
  return std::max(room_of(node) + width_of(nodes_[node]) - 1, nodes_[node].loop != 0 ? 2 * lanes_ : 0);
}

/// Bytes of the marks in a node's queue. The root has none.
std::uint64_t SegmentBase::mark_bytes(std::size_t node) const {
  NodeDescription const& d = nodes_[node];
  return node == 0 || d.mark_bytes == 0 ? 0 : align_up(std::uint64_t{mark_slots()} * d.mark_bytes, 16);
}

// ---- regions

/// Items of one region that come to the node, on average.
double SegmentBase::items_of_a_region(std::size_t node) const {
  if (!region_items_.empty() && region_items_[node] >= 0) return region_items_[node];
  auto const opener = static_cast<std::size_t>(nodes_[node].opened.front());
  double items = 1;
  for (std::size_t at = node; at != opener;) {
    at = static_cast<std::size_t>(nodes_[at].parent);
    items *= nodes_[at].options.gain;
    if (nodes_[at].kind != Kind::aggregate) continue;
    // Of an inner region: each of its parents gives one item, so go on from its opener.
    at = static_cast<std::size_t>(nodes_[at].opened.front());
  }
  return items;
}
/// The node's context: how its lanes know their parents.
Context SegmentBase::context_of(std::size_t node, Lengths lengths) const {
  NodeDescription const& d = nodes_[node];
  if (d.opened.empty()) return Context::sparse;
  // Behind a node that mixes regions, only dense is possible.
  if (gets_mixed(node, lengths)) return Context::dense;
  Context wanted = d.options.context != Context::automatic ? d.options.context : config_.context;
  if (wanted == Context::automatic && expands(d)) {
    // Dense costs tags of two bytes an item. Sparse costs idle lanes, because an ensemble ends with each region.
    bool const are_short = lengths == Lengths::shortest || items_of_a_region(node) < static_cast<double>(lanes_);
    wanted = are_short ? Context::dense : Context::sparse;
  } else if (wanted == Context::automatic) {
    wanted = Context::lane;
  }
  if (wanted == Context::lane) return may_be_lane(d) ? Context::lane : Context::sparse;
  if (wanted == Context::sparse || !may_be_dense(d)) return Context::sparse;
  if (!expands(d)) return Context::dense;
  for (std::size_t other = node + 1; other != nodes_.size(); ++other) {  // the nodes behind it in the same region
    for (int at = static_cast<int>(other); at > static_cast<int>(node);) {
      NodeDescription const& o = nodes_[static_cast<std::size_t>(at)];
      at = o.parent;
      if (at != static_cast<int>(node) && nodes_[static_cast<std::size_t>(at)].kind == Kind::aggregate) break;
      if (at == static_cast<int>(node) && !may_be_dense(nodes_[other])) return Context::sparse;
    }
  }
  return Context::dense;
}
/// Whether the node's outputs mix regions: it is an expander that works on items of several regions, or its input is
/// mixed.
bool SegmentBase::is_mixed(std::size_t node, Lengths lengths) const {
  NodeDescription const& d = nodes_[node];
  if (d.opened.empty() || d.kind == Kind::enumerate) return false;
  return (expands(d) && context_of(node, lengths) == Context::dense) || gets_mixed(node, lengths);
}
/// Whether the node's input mixes regions. An aggregate does not: it gives the outer regions' items in order.
bool SegmentBase::gets_mixed(std::size_t node, Lengths lengths) const {
  int const parent = nodes_[node].parent;
  return parent >= 0 && nodes_[static_cast<std::size_t>(parent)].kind != Kind::aggregate &&
         is_mixed(static_cast<std::size_t>(parent), lengths);
}
/// Bytes of a queue's tags. There is room for tags if a later run may need them.
std::uint64_t SegmentBase::tag_bytes(std::size_t node, std::uint32_t slots) const {
  return has_regions_ && context_of(node, Lengths::shortest) == Context::dense ? slots * sizeof(std::uint16_t) : 0;
}
void SegmentBase::choose_contexts() {
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeRow& row = rows_[number_of(i)];
    Context const context = context_of(i);
    row.stops_at_marks = context == Context::sparse;
    row.is_dense = context == Context::dense;
    row.is_mixed = gets_mixed(i);
    row.keeps_lanes = nodes_[i].kind == Kind::expander && shape_.refill == Refill::lanes && context != Context::dense;
    queues_[i].context = context;
  }
}
/// Parents that an arena holds: by default as many as an ensemble has, and as the queues inside have slots for marks.
std::uint32_t SegmentBase::arena_slots(std::size_t opener) const {
  if (unsigned const own = nodes_[opener].options.region_slots; own != 0) return own;
  if (config_.region_slots != 0) return config_.region_slots;
  auto const inside = std::ranges::count_if(nodes_, [&](NodeDescription const& d) {
    return std::ranges::find(d.opened, static_cast<int>(opener)) != d.opened.end();
  });
  return std::min<std::uint32_t>(Boundary::none - 1u, lanes_ + mark_slots() * static_cast<std::uint32_t>(inside));
}
/// Number of channels at whose ends an opener's regions are closed.
std::uint16_t SegmentBase::ends_of(std::size_t opener) const {
  auto const own = static_cast<int>(opener);
  unsigned ends = 0;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeDescription const& d = nodes_[i];
    bool const is_in = std::ranges::find(d.opened, own) != d.opened.end();
    bool const closes = d.kind == Kind::aggregate && is_in && d.opened.front() == own;
    if (closes) ++ends;
    if (closes || (!is_in && i != opener)) continue;
    ends += static_cast<unsigned>(std::ranges::count_if(d.to, [](int to) { return to < 0; }));
  }
  return static_cast<std::uint16_t>(ends);
}
void SegmentBase::place_regions(std::uint64_t& near, std::uint64_t& far, std::size_t near_limit) {
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeDescription const& d = nodes_[i];
    NodeRow& row = rows_[number_of(i)];
    if (!d.opened.empty())
      row.opener = static_cast<std::uint8_t>(number_of(static_cast<std::size_t>(d.opened.front())));
    row.poisons = config_.guard_bytes != 0;
    if (d.kind != Kind::enumerate && d.kind != Kind::aggregate) continue;
    std::size_t const opener = d.kind == Kind::enumerate ? i : static_cast<std::size_t>(d.opened.front());
    std::uint64_t const slots = arena_slots(opener);
    std::uint64_t const align = std::max<std::uint64_t>(16, d.item_align);
    std::uint64_t const heads = d.kind == Kind::enumerate ? align_up(slots * sizeof(RegionHead), align) : 0;
    std::uint64_t const bytes = heads + slots * (d.kind == Kind::enumerate ? d.item_bytes : d.value_bytes);
    row.arena_is_far = config_.guard_bytes != 0 || align_up(near, align) + bytes > near_limit;
    std::uint64_t& room = row.arena_is_far ? far : near;
    room = align_up(room, align);
    auto const at = static_cast<std::uint32_t>(room);
    room += bytes;
    if (d.kind == Kind::aggregate) {
      row.values_at = at;
      continue;
    }
    row.arena_at = at;
    row.parents_at = static_cast<std::uint32_t>(at + heads);
    row.arena_slots = static_cast<std::uint16_t>(slots);
    row.leaves = ends_of(i);
    placed_.openers |= 1u << number_of(i);
    for (std::size_t other = 0; other != nodes_.size(); ++other) {
      auto const& opened = nodes_[other].opened;
      if (std::ranges::find(opened, static_cast<int>(i)) != opened.end()) row.inside |= 1u << number_of(other);
    }
  }
}

SizedNodes SegmentBase::sized_nodes() const {
  SizedNodes all;
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeDescription const& d = nodes_[i];
    SizedNode s;
    s.name = d.name;
    s.parent = d.parent;
    s.item_bytes = d.item_bytes;
    if (d.parent >= 0) {
      NodeDescription const& parent = nodes_[static_cast<std::size_t>(d.parent)];
      s.gain = parent.options.gain;
      s.max_gain = parent.max_gain != 0 ? parent.max_gain : std::max<std::int64_t>(1, std::llround(std::ceil(s.gain)));
    }
    s.width = width_of(d);
    s.interruptible = suspends(d);
    s.may_suspend = expands(d) || d.kind == Kind::by_hand;
    s.cursor_bytes = d.cursor_bytes;
    s.loop = d.loop_head ? LoopPlace::head : d.loop != 0 ? LoopPlace::body : LoopPlace::outside;
    s.has_queue = has_queue(i);
    all.push_back(std::move(s));
  }
  return all;
}

/// The slots of each queue, by the user's settings.
std::vector<std::uint32_t> SegmentBase::slots_for_all() {
  std::string const who = "segment '" + name_ + "': ";
  std::vector<std::uint32_t> slots(nodes_.size());
  auto const too_few = [&](std::uint64_t least, std::uint64_t given, std::string const& why) {
    return ConfigError(who + std::to_string(replicas_) + " replicas need " + std::to_string(least * replicas_) +
                       " bytes for queues, " + std::to_string(given) + " are given, enough for " +
                       std::to_string(given / least) + " replicas" + why);
  };
  bloat_bytes_ = 0;
  bool const hard = config_.queue_target_bytes == 0;
  if (std::size_t const given = hard ? config_.queue_bytes : config_.queue_target_bytes; given != 0) {
    SizedNodes const nodes = sized_nodes();
    // Cursors of nodes that do not suspend, whose lanes are kept: distribute() counts only those of nodes that suspend.
    std::uint64_t kept = 0;
    for (NodeDescription const& d : nodes_) kept += suspends(d) ? 0 : std::uint64_t{lanes_} * d.cursor_bytes;
    for (std::size_t i = 0; i != nodes_.size(); ++i) kept += mark_bytes(i);
    std::uint64_t const each = given / replicas_;
    std::uint64_t const least = static_cast<std::uint64_t>(minimum_bytes(nodes, lanes_)) + kept;
    if (hard && each < kept) throw too_few(least, given, "");
    Sizes sizes;
    try {
      sizes = distribute(nodes, lanes_, static_cast<std::int64_t>(each > kept ? each - kept : 0),
                         hard ? Budget::hard : Budget::target);
    } catch (ConfigError const& e) {
      throw too_few(least, given, std::string("; of each: ") + e.what());
    }
    for (std::size_t i = 0; i != slots.size(); ++i) {
      slots[i] = static_cast<std::uint32_t>(std::min<std::int64_t>(sizes.queue_slots[i], 1 << 30));
      // The law does not know that a lane may open several elements at once.
      if (has_regions_ && has_queue(i)) slots[i] = std::max(slots[i], least_slots(i));
    }
    bloat_bytes_ = static_cast<std::uint64_t>(sizes.all_bloat_bytes()) * replicas_;
  } else {
    for (std::size_t i = 0; i != slots.size(); ++i)
      slots[i] = has_queue(i) ? std::max(least_slots(i), slots_a_lane * lanes_) : 0;
  }
  for (std::size_t i = 0; i != slots.size(); ++i) {
    std::uint32_t const wanted = nodes_[i].options.queue_slots;
    if (wanted == 0 || !has_queue(i)) continue;
    if (wanted < least_slots(i))
      throw ConfigError(who + "the queue of node '" + nodes_[i].name + "' needs at least " +
                        std::to_string(least_slots(i)) + " slots, " + std::to_string(wanted) + " are given");
    slots[i] = wanted;
  }
  return slots;
}

simt::Grid SegmentBase::choose_grid(Backend& backend, DeviceKernel const& kernel, GpuStageOptions options,
                                    unsigned sharers) {
  simt::Grid grid{options.blocks, options.threads_per_block == 0 ? 128 : options.threads_per_block, 0};
  std::string const who = "segment '" + name_ + "'";
  if (grid.threads_per_block % 32 != 0)
    throw ConfigError(who + ": threads_per_block must be whole warps of 32: " + std::to_string(grid.threads_per_block));
  lanes_ = shape_.replica == ReplicaOf::warp ? 32 : grid.threads_per_block;
  unsigned const per_block = grid.threads_per_block / lanes_;
  std::vector<std::uint32_t> slots(nodes_.size());
  layout(0, slots);  // what a replica needs in the near room in any case
  std::uint64_t const fixed = placed_.block_bytes + std::uint64_t{per_block} * placed_.near_bytes;
  std::uint64_t tables = 0;
  for (NodeDescription const& d : nodes_) tables += d.in_block_bytes;
  std::uint64_t const limit = std::max<std::uint64_t>(
      fixed,
      config_.shared_bytes != 0 ? config_.shared_bytes : shared_bytes_a_thread * grid.threads_per_block + tables);
  std::uint64_t const near_limit = (limit - placed_.block_bytes) / per_block / near_align * near_align;
  grid.shared_bytes = limit;
  backend.prepare(who, kernel, {1, grid.threads_per_block, grid.shared_bytes});
  if (grid.blocks == 0) grid.blocks = backend.full_grid(kernel, grid, sharers);
  if (std::uint64_t{grid.blocks} * per_block > UINT32_MAX)
    throw ConfigError(who + ": " + std::to_string(grid.blocks) + " blocks are too many");
  replicas_ = grid.blocks * per_block;
  slots = slots_for_all();
  layout(near_limit, slots);
  queue_bytes_ = 0;
  for (QueueSize const& q : queues_) queue_bytes_ += q.bytes * replicas_;
  if (config_.queue_bytes != 0 && queue_bytes_ > config_.queue_bytes)
    throw ConfigError(who + ": its queues take " + std::to_string(queue_bytes_) + " bytes, " +
                      std::to_string(config_.queue_bytes) + " are given");
  grid.shared_bytes = placed_.block_bytes + std::size_t{per_block} * placed_.near_bytes;
  return grid;
}

/// Places all data of one replica. Queues lie in the near room while they fit into `near_limit` bytes.
void SegmentBase::layout(std::size_t near_limit, std::vector<std::uint32_t> const& slots) {
  std::size_t const n = nodes_.size();
  bool const indexed = std::ranges::any_of(nodes_, [](NodeDescription const& d) { return d.kind == Kind::indexed; });
  std::uint64_t near = 0;
  std::uint64_t far = 0;
  auto const place = [](std::uint64_t& room, std::uint64_t bytes, std::uint64_t align) {
    room = align_up(room, align);
    std::uint64_t const at = room;
    room += bytes;
    return static_cast<std::uint32_t>(at);
  };
  std::uint64_t block = n * sizeof(NodeRow);
  std::vector<std::uint32_t> in_block_at(n);
  for (std::size_t i = 0; i != n; ++i)
    in_block_at[i] = place(block, nodes_[i].in_block_bytes, nodes_[i].in_block_align);
  placed_.block_bytes = static_cast<std::uint32_t>(align_up(block, near_align));
  placed_.states_at = place(near, n * sizeof(QueueState), 16);
  placed_.sinks_at = place(near, sinks_.size() * sizeof(std::uint64_t), 8);
  bool const marked = nodes_[0].mark_bytes != 0;
  placed_.marks_at = place(near, marked ? n * sizeof(MarkState) : 0, 16);
  placed_.sums_at = place(near, indexed ? lanes_ * sizeof(std::uint32_t) : 0, 4);
  std::vector<std::uint32_t> sums_at(n);
  for (std::size_t i = 0; i != n; ++i)
    sums_at[i] = place(near, nodes_[i].kind == Kind::enumerate ? lanes_ * sizeof(std::uint32_t) : 0, 4);
  std::vector<std::uint32_t> states_at(n);
  for (std::size_t i = 0; i != n; ++i)
    states_at[i] = place(near, nodes_[i].state_bytes, std::max(1u, nodes_[i].state_align));
  placed_.scratch_at = place(
      near, shape_.replica == ReplicaOf::block ? BlockLanes<ThreadMachine>::scratch_words * sizeof(std::uint32_t) : 0,
      4);

  rows_.assign(n, NodeRow{});
  queues_.assign(n, QueueSize{});
  std::vector<std::vector<unsigned>> of_module(modules_);
  for (std::size_t i = 0; i != n; ++i) {
    NodeDescription const& d = nodes_[i];
    NodeRow& row = rows_[number_of(i)];
    row.queue_slots = slots[i];
    row.width = width_of(d);
    row.room = room_of(i);
    row.mark_slots = static_cast<std::uint16_t>(mark_slots());
    row.mark_room =
        static_cast<std::uint16_t>(has_regions_ || (d.parent >= 0 && nodes_[static_cast<std::size_t>(d.parent)].raises)
                                       ? std::min(lanes_, mark_slots())
                                       : 1);
    row.item_bytes = d.item_bytes;
    row.state_at = states_at[i];
    row.sums_at = sums_at[i];
    row.in_block_at = in_block_at[i];
    row.module = static_cast<std::uint8_t>(d.module);
    row.index = static_cast<std::uint8_t>(of_module[d.module].size());
    of_module[d.module].push_back(static_cast<unsigned>(i));
    row.suspends = suspends(d);
    row.spreads = d.kind != Kind::filter;
    for (std::size_t other = 0; other != n; ++other) {
      if (d.loop != 0 && nodes_[other].loop == d.loop) row.loop |= 1u << number_of(other);
    }
    for (std::size_t c = 0; c != d.to.size(); ++c) {
      int const to = d.to[c];
      row.to[c] = static_cast<std::uint8_t>(to < 0 ? first_sink + (-1 - to) : number_of(static_cast<std::size_t>(to)));
      if (to >= 0 && (row.loop >> row.to[c] & 1u) == 0) row.children |= 1u << row.to[c];
    }
    queues_[i] = {d.name,
                  slots[i],
                  has_queue(i) ? least_slots(i) : 0,
                  d.item_bytes,
                  std::uint64_t{slots[i]} * d.item_bytes + std::uint64_t{lanes_} * d.cursor_bytes + mark_bytes(i) +
                      tag_bytes(i, slots[i]),
                  true,
                  Context::sparse};
  }
  choose_contexts();
  guards_.clear();
  auto const place_guard = [&](std::size_t node, std::uint64_t align) {  // its end is aligned for what follows
    if (config_.guard_bytes == 0) return;
    far = align_up(far + config_.guard_bytes, align);
    guards_.emplace_back(node, far - config_.guard_bytes);
  };
  // The leaves' queues come first: if a segment expands, most items go through them.
  for (std::size_t i = n; i-- != 0;) {
    NodeDescription const& d = nodes_[i];
    NodeRow& row = rows_[number_of(i)];
    for (bool const cursors : {true, false}) {
      std::uint64_t const items = align_up(std::uint64_t{slots[i]} * d.item_bytes, mark_bytes(i) != 0 ? 16 : 1);
      std::uint64_t const bytes =
          cursors ? std::uint64_t{lanes_} * d.cursor_bytes : items + mark_bytes(i) + tag_bytes(i, slots[i]);
      if (bytes == 0) continue;
      std::uint64_t const align = cursors ? 16 : std::max<std::uint64_t>(16, d.item_align);
      bool const is_far = config_.guard_bytes != 0 || align_up(near, align) + bytes > near_limit;
      place_guard(i, align);
      std::uint32_t const at = place(is_far ? far : near, bytes, align);
      place_guard(i, 1);
      if (cursors) {
        row.cursors_at = at;
        row.cursors_are_far = is_far;
      } else {
        row.queue_at = at;
        row.marks_at = static_cast<std::uint32_t>(at + items);
        row.tags_at = static_cast<std::uint32_t>(row.marks_at + mark_bytes(i));
        row.queue_is_far = is_far;
        queues_[i].in_shared_memory = !is_far;
      }
    }
  }
  placed_.openers = 0;
  if (has_regions_) place_regions(near, far, near_limit);
  if (std::uint64_t const most = std::max(near, far); most > UINT32_MAX - near_align)
    throw ConfigError("segment '" + name_ + "': the queues of one replica take " + std::to_string(most) +
                      " bytes, 4 GiB are the most");
  placed_.near_bytes = static_cast<std::uint32_t>(align_up(near, near_align));
  placed_.far_bytes = align_up(far, 256);
}

void SegmentBase::place(Backend& backend, simt::Grid grid, Control* control, std::uint32_t stage) {
  memory_ = std::make_unique<Memory>(backend);
  std::string const who = "segment '" + name_ + "'";
  Memory& m = *memory_;
  replicas_ = grid.blocks * (grid.threads_per_block / lanes_);
  placed_.nodes = static_cast<std::uint32_t>(nodes_.size());
  placed_.replicas = replicas_;
  placed_.control = control;
  placed_.stage = stage;
  placed_.far_rooms = m.take<std::byte>(bytes_of(who + ": queues", {replicas_, placed_.far_bytes}), who + ": queues");
  placed_.rows = m.rows = m.take<NodeRow>(rows_.size(), who);
  placed_.words = m.take<SharedWords>(1, who);
  placed_.sink_words = m.take<SinkWords>(sinks_.size(), who);
  placed_.region_words = m.take<RegionWords>(has_regions_ ? nodes_.size() : 0, who);
  placed_.times = m.take<ReplicaTimes>(replicas_, who);
  placed_.made = m.take<std::uint32_t>(shape_.counters ? nodes_.size() * replicas_ * lanes_ : 0, who);
  placed_.counters = m.take<NodeCounters>(shape_.counters ? nodes_.size() * replicas_ : 0, who);
  placed_.least_claim = config_.least_claim != 0 ? config_.least_claim : width_of(nodes_[0]);
  placed_.most_claim = std::max<std::uint64_t>(
      placed_.least_claim,
      config_.most_claim != 0 ? config_.most_claim : std::uint64_t{ensembles_a_claim} * width_of(nodes_[0]));
  placed_.lending = {};
  placed_.lend_after_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, config_.lend_after.count()));
  bool const in_order = nodes_[0].mark_bytes != 0;  // lent items would leave their signals behind
  if (is_range_ && config_.lend_after != never && replicas_ > 1 && !in_order) {
    std::uint32_t item_bytes = 0;
    for (NodeDescription const& d : nodes_) item_bytes = std::max(item_bytes, d.item_bytes);
    Lending& l = placed_.lending;
    l.replicas = replicas_;
    l.letter_bytes = static_cast<std::uint32_t>(align_up(std::uint64_t{lanes_} * item_bytes, 16));
    l.letters = m.take<std::byte>(std::size_t{l.letter_bytes} * replicas_, who + ": letters");
    l.boxes = m.take<LetterBox>(replicas_, who);
    m.ask_words = align_up((replicas_ + 31) / 32, 32) + 32;
    l.asks = m.take<Word<std::uint32_t>>(m.ask_words, who);
    l.idle = l.asks + m.ask_words - 1;
  }
  placed_.functions.assign(modules_, nullptr);
  placed_.modules.assign(modules_, 0);
  m.functions.assign(modules_, nullptr);
  for (unsigned module = 0; module != modules_; ++module) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i != nodes_.size(); ++i) {
      if (nodes_[i].module != module) continue;
      bytes += nodes_[i].function.size();
      placed_.modules[module] |= 1u << number_of(i);
    }
    m.functions[module] = m.take<std::byte>(bytes, who);
    placed_.functions[module] = m.functions[module];
  }
}

void SegmentBase::start(Backend& backend) {
  sink_items_.clear();  // a failed run has no results
  times_.clear();
  counters_.clear();
  Memory const& m = *memory_;
  if (has_regions_) {
    choose_contexts();
    backend.clear(placed_.region_words, nodes_.size() * sizeof(RegionWords));
  }
  backend.upload(m.rows, rows_.data(), rows_.size() * sizeof(NodeRow));
  for (unsigned module = 0; module != modules_; ++module) {
    std::vector<std::byte> image;
    for (NodeDescription const& d : nodes_) {
      if (d.module == module) image.insert(image.end(), d.function.begin(), d.function.end());
    }
    backend.upload(m.functions[module], image.data(), image.size());
  }
  backend.clear(placed_.words, sizeof(SharedWords));
  backend.clear(placed_.sink_words, std::max<std::size_t>(1, sinks_.size()) * sizeof(SinkWords));
  if (Lending const& l = placed_.lending; l.idle != nullptr) {
    backend.clear(l.asks, m.ask_words * sizeof(Word<std::uint32_t>));
    backend.clear(l.boxes, replicas_ * sizeof(LetterBox));
  }
  if (shape_.counters) backend.clear(placed_.counters, nodes_.size() * replicas_ * sizeof(NodeCounters));
  if (!guards_.empty()) {
    std::vector<std::byte> const filled(placed_.far_bytes * replicas_, guard);
    backend.upload(placed_.far_rooms, filled.data(), filled.size());
  }
  upload_program(backend, placed_);
}

void SegmentBase::check_guards(Backend& backend) const {
  std::vector<std::byte> room(guards_.empty() ? 0 : placed_.far_bytes);
  for (unsigned r = 0; r != replicas_ && !guards_.empty(); ++r) {
    backend.download(room.data(), placed_.far_rooms + r * placed_.far_bytes, room.size());
    for (auto const& [node, at] : guards_) {
      auto const begin = room.begin() + static_cast<std::ptrdiff_t>(at);
      if (std::count(begin, begin + config_.guard_bytes, guard) == config_.guard_bytes) continue;
      throw Error("segment '" + name_ + "': node '" + nodes_[node].name + "': replica " + std::to_string(r) +
                  " has written beyond a queue or beyond cursors");
    }
  }
}

void SegmentBase::finish(Backend& backend) {
  check_guards(backend);
  std::vector<SinkWords> sinks(sinks_.size());
  if (!sinks.empty()) backend.download(sinks.data(), placed_.sink_words, sinks.size() * sizeof(SinkWords));
  for (SinkWords const& s : sinks) sink_items_.push_back(s.items.bits);
  if (has_regions_) measure_regions(backend);
  times_.resize(replicas_);
  backend.download(times_.data(), placed_.times, times_.size() * sizeof(ReplicaTimes));
  if (!shape_.counters) return;
  counters_.resize(nodes_.size() * replicas_);
  backend.download(counters_.data(), placed_.counters, counters_.size() * sizeof(NodeCounters));
}

void SegmentBase::measure_regions(Backend& backend) {
  std::vector<RegionWords> words(nodes_.size());
  backend.download(words.data(), placed_.region_words, words.size() * sizeof(RegionWords));
  region_items_.assign(nodes_.size(), -1);
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    if (nodes_[i].opened.empty()) continue;
    auto const opener = static_cast<std::size_t>(nodes_[i].opened.front());
    std::uint64_t const regions = words[number_of(opener)].items.bits;
    if (regions != 0)
      region_items_[i] = static_cast<double>(words[number_of(i)].items.bits) / static_cast<double>(regions);
  }
}

std::uint64_t SegmentBase::items(std::string_view sink) const {
  for (std::size_t i = 0; i != sinks_.size(); ++i) {
    if (sinks_[i] == sink) return i < sink_items_.size() ? sink_items_[i] : 0;
  }
  throw ConfigError("segment '" + name_ + "' has no sink '" + std::string(sink) + "'");
}

std::vector<CountersOf> SegmentBase::counters() const {
  std::vector<CountersOf> all;
  for (std::size_t i = 0; i != nodes_.size() && !counters_.empty(); ++i) {
    for (unsigned r = 0; r != replicas_; ++r)
      all.push_back({nodes_[i].name, r, counters_[r * nodes_.size() + number_of(i)]});
  }
  return all;
}

std::vector<CountersOfNode> SegmentBase::node_counters() const {
  std::vector<CountersOfNode> sums;
  for (std::size_t i = 0; i != nodes_.size() && !counters_.empty(); ++i) {
    sums.push_back({nodes_[i].name, {}});
    for (unsigned r = 0; r != replicas_; ++r) sums[i].counters.add(counters_[r * nodes_.size() + number_of(i)]);
  }
  return sums;
}

SizedNodes SegmentBase::measured_nodes() const {
  SizedNodes nodes = sized_nodes();
  std::vector<CountersOfNode> const counted = node_counters();
  if (counted.empty()) return nodes;
  double cycles = 0;
  for (CountersOfNode const& of : counted) cycles += static_cast<double>(of.counters.cycles);
  double busy_ns = 0;
  for (ReplicaTimes const& t : times_) busy_ns += static_cast<double>(t.ended_ns - t.began_ns - t.waited_ns);
  for (std::size_t i = 0; i != nodes_.size(); ++i) {
    NodeCounters const& sum = counted[i].counters;
    if (sum.items == 0) continue;
    auto const items = static_cast<double>(sum.items);
    nodes[i].service_ns = cycles > 0 ? static_cast<double>(sum.cycles) / cycles * busy_ns / items : 0;
    // With several channels, a child's gain is what it has taken. A loop's head also takes what comes back, so its gain
    // stays as declared. So does max_gain, because the most outputs are counted over all channels.
    bool const one_channel = nodes_[i].to.size() == 1;
    for (std::size_t child = 0; child != nodes_.size(); ++child) {
      if (nodes_[child].parent != static_cast<int>(i) || (!one_channel && nodes_[child].loop_head)) continue;
      std::uint64_t const came = one_channel ? sum.outputs : counted[child].counters.items;
      nodes[child].gain = std::max(static_cast<double>(came) / items, 1e-9);
      if (one_channel) nodes[child].max_gain = std::max<std::int64_t>(nodes[child].max_gain, sum.most_outputs.bits);
    }
  }
  return nodes;
}

std::uint64_t SegmentBase::asked_bytes() const {
  return config_.queue_target_bytes != 0 ? config_.queue_target_bytes
         : config_.queue_bytes != 0      ? config_.queue_bytes
                                         : queue_bytes_;
}

Advice SegmentBase::advice(std::uint64_t budget_bytes, double queue_ns) const {
  return advise(measured_nodes(), lanes_, static_cast<std::int64_t>(budget_bytes / std::max(1u, replicas_)), queue_ns);
}

double SegmentBase::kernel_seconds() const {
  if (times_.empty()) return 0;
  std::uint64_t begin = ~std::uint64_t{0};
  std::uint64_t end = 0;
  for (ReplicaTimes const& t : times_) {
    begin = std::min(begin, t.began_ns);
    end = std::max(end, t.ended_ns);
  }
  return static_cast<double>(end - begin) * 1e-9;
}

double SegmentBase::imbalance() const {
  double const all = kernel_seconds() * static_cast<double>(times_.size());
  if (all <= 0) return 0;
  std::uint64_t busy = 0;
  for (ReplicaTimes const& t : times_) busy += t.ended_ns - t.began_ns - t.waited_ns;
  return 1 - static_cast<double>(busy) * 1e-9 / all;
}

void SegmentBase::set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes) {
  for (NodeDescription& d : nodes_) {
    if (d.name != node) continue;
    if (d.module != module) throw ConfigError("segment '" + name_ + "': node '" + d.name + "' has another function");
    std::memcpy(d.function.data(), function, bytes);
    return;
  }
  throw ConfigError("segment '" + name_ + "' has no node '" + std::string(node) + "'");
}

}  // namespace hiway::segment
