// StencilTunnel<T>: overlapping tasks share their values. Producers set the values of a matrix in any order. Each
// region crosses once, when it is complete. A task is a reference to a place; consumers fetch the values around it.
//
//   set(x, y, value) -> the producers' matrix -> the last value of a region puts its reference into a tunnel
//     -> (dma: monitors/transfer copies the region before its reference arrives)
//   get(task) at the consumers: takes a strip of tasks, or, if there is none, a region's reference
//     -> (direct, values set in host memory: copies the region) -> counts it for each cell that needs it
//     -> puts the strips of each cell that has all its regions into a second tunnel, at the consumers' home
//     -> fetch(x, y) -> end_task: the frame's last one frees its buffer
//
// Both are ordinary tunnels (ring.hpp, termination.hpp). One carries region references; a consumer ends a reference
// after it has put the strips that came of it. The other carries strips; its rings hold all strips that the buffers can
// produce, so no put into it ever waits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "hiway/stencil/scoreboard.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

/// A task: a place whose stencil's values have all arrived. (x, y) is the stencil's centre; its values start at
/// (x - stencil_width / 2, y - stencil_height / 2).
struct StencilTask {
  std::uint32_t x = 0, y = 0;
  std::uint32_t frame = 0;
};

namespace detail {

/// A value's place, packed as a fault's item: frame, y and x.
HIWAY_DEVICE inline std::uint64_t place_item(std::int64_t x, std::int64_t y, std::uint32_t frame) {
  constexpr std::int64_t most = (1 << 21) - 1;  // coordinates far outside are reported as just outside
  x = x < -most ? -most : x > most ? most : x;
  y = y < -most ? -most : y > most ? most : y;
  return std::uint64_t{frame} << 44 | (static_cast<std::uint64_t>(y) & 0x3fffff) << 22 |
         (static_cast<std::uint64_t>(x) & 0x3fffff);
}
template <class Machine, class View>
[[noreturn]] HIWAY_DEVICE inline void raise_at(Machine m, View const& v, FaultKind kind, std::int64_t x, std::int64_t y,
                                               std::uint32_t frame) {
  raise(m, *v.control, kind, v.stage, v.tunnel, place_item(x, y, frame));
}

/// `n` bits, from bit `first` upwards.
HIWAY_DEVICE constexpr std::uint32_t bits_from(std::uint32_t first, std::uint32_t n) {
  return (n == 32 ? ~0u : (1u << n) - 1u) << first;
}

/// The number of the lowest set bit; `bits` is not 0.
HIWAY_DEVICE constexpr std::uint32_t first_bit(std::uint32_t bits) {
  std::uint32_t at = 0;
  while ((bits >> at & 1u) == 0) ++at;
  return at;
}

// ---- producers --------------------------------------------------------------------------------------------------

/// Puts the reference of a complete region.
template <class Machine>
HIWAY_DEVICE inline void put_region(Machine m, InletView const& v, std::uint32_t region, std::uint32_t frame) {
  put(m, v, WriteItem<RegionReference>{{frame, region}});
  count_whole(m, *v.end->put_board);
}
/// Waits until the frame has a buffer. *Errors*: outside_matrix.
template <class Machine>
HIWAY_DEVICE inline void begin_set(Machine m, InletView const& v, std::int64_t x, std::int64_t y, std::uint32_t frame) {
  PutBoard const& b = *v.end->put_board;
  if (!b.shape.has(x, y) || frame >= b.shape.frames) raise_at(m, v, FaultKind::outside_matrix, x, y, frame);
  await_frame(m, b, frame, *v.control);
}
/// Marks and counts `n` adjacent values of a row; the first is that of the lowest lane of `group`. Called by all lanes
/// of `group`: in each, `write(std::byte*)` writes the lane's own value, or its part of a single one.
template <class Machine, class Write>
HIWAY_DEVICE inline void set_marked(Machine m, InletView const& v, std::uint32_t group, std::uint32_t n,
                                    MarkPlace const& place, std::size_t bytes, std::int64_t x, std::int64_t y,
                                    std::uint32_t frame, Write&& write) {
  PutBoard const& b = *v.end->put_board;
  unsigned const leader = m.lowest(group);
  std::uint32_t twice = 0;
  if (m.lane() == leader) twice = mark_values(m, b, place.word, bits_from(place.bit, n), frame);
  twice = m.shuffle(group, twice, leader);
  if (twice != 0) raise_at(m, v, FaultKind::set_twice, x - place.bit + first_bit(twice), y, frame);  // S2: all leave
  std::size_t const in_frame = b.shape.at(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y));
  write(b.values + (b.shape.buffer(frame) * b.shape.values() + in_frame) * bytes);
  m.sync_warp(group);  // S1
  if (m.lane() == leader && count_values(m, b, place.region, frame, n)) put_region(m, v, place.region, frame);
  m.sync_warp(group);  // the lanes go on together
}

/// Sets one value, by `write(std::byte*)`. Lanes that set adjacent values of one word of marks mark and count together.
template <class Machine, class Write>
HIWAY_DEVICE inline void set_value(Machine m, InletView const& v, std::size_t bytes, std::int64_t x, std::int64_t y,
                                   std::uint32_t frame, Write&& write) {
  begin_set(m, v, x, y, frame);
  PutBoard const& b = *v.end->put_board;
  MarkPlace const place = mark_place(b, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), frame);
  std::uint32_t group = converged_on(m, &b.marks[place.word]);
  std::uint32_t const rank = m.count(group & lanes_below(m.lane()));
  bool const in_line = place.bit == m.shuffle(group, place.bit, m.lowest(group)) + rank;
  if (m.ballot(group, in_line) != group) group = 1u << m.lane();  // rare: each lane by itself
  set_marked(m, v, group, m.count(group), place, bytes, x, y, frame, write);
}

/// Sets one value with all lanes of a warp; each writes its part.
template <class Machine, class Write>
HIWAY_DEVICE inline void set_together(Machine m, InletView const& v, std::size_t bytes, std::int64_t x, std::int64_t y,
                                      std::uint32_t frame, Write&& write) {
  begin_set(m, v, x, y, frame);
  MarkPlace const place =
      mark_place(*v.end->put_board, static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), frame);
  set_marked(m, v, m.lanes(), 1, place, bytes, x, y, frame, write);
}

/// Splits `n` values of row `y`, from column `x` on, by region. Calls `part(place, x, n)` for each piece: n values from
/// column x on.
template <class Part>
inline void for_each_region(PutBoard const& b, std::uint32_t x, std::uint32_t y, std::uint32_t frame, std::size_t n,
                            Part&& part) {
  while (n != 0) {
    std::uint32_t const most = b.shape.region_width - x % b.shape.region_width;
    std::uint32_t const some = n < most ? static_cast<std::uint32_t>(n) : most;
    part(mark_place(b, x, y, frame), x, some);
    x += some;
    n -= some;
  }
}

/// Sets `n` values of a row. For CPU threads.
template <class T, class Machine>
inline void set_row(Machine m, InletView const& v, std::int64_t x, std::int64_t y, T const* values, std::size_t n,
                    std::uint32_t frame) {
  if (n == 0) return;
  PutBoard const& b = *v.end->put_board;
  std::int64_t const last = x + static_cast<std::int64_t>(n) - 1;
  if (!b.shape.has(x, y) || frame >= b.shape.frames) raise_at(m, v, FaultKind::outside_matrix, x, y, frame);
  if (!b.shape.has(last, y)) raise_at(m, v, FaultKind::outside_matrix, last, y, frame);
  await_frame(m, b, frame, *v.control);
  auto const at_x = static_cast<std::uint32_t>(x);
  auto const at_y = static_cast<std::uint32_t>(y);
  for_each_region(b, at_x, at_y, frame, n, [&](MarkPlace const& place, std::uint32_t from, std::uint32_t some) {
    std::uint32_t bit = place.bit;
    std::size_t word = place.word;
    for (std::uint32_t marked = 0; marked < some; ++word, bit = 0) {
      std::uint32_t const in_word = some - marked < 32 - bit ? some - marked : 32 - bit;
      std::uint32_t const twice = mark_values(m, b, word, bits_from(bit, in_word), frame);
      if (twice != 0) raise_at(m, v, FaultKind::set_twice, from + marked + first_bit(twice) - bit, y, frame);  // S2
      marked += in_word;
    }
  });
  std::size_t const slot = b.shape.buffer(frame) * b.shape.values() + b.shape.at(at_x, at_y);
  if (v.past_caches) {
    copy_past_caches(b.values + slot * sizeof(T), values, n * sizeof(T));
  } else {
    std::memcpy(b.values + slot * sizeof(T), values, n * sizeof(T));
  }
  for_each_region(b, at_x, at_y, frame, n, [&](MarkPlace const& place, std::uint32_t, std::uint32_t some) {
    if (count_values(m, b, place.region, frame, some)) put_region(m, v, place.region, frame);
  });
}

// ---- consumers --------------------------------------------------------------------------------------------------

/// A consumer's ends of one stencil tunnel.
struct StencilViews {
  OutletView regions;
  OutletView strips;
  InletView into_strips;
  HIWAY_DEVICE GetBoard const& board() const { return *regions.end->get_board; }
};

/// Copies a region from the producers' memory, with all lanes of `group`.
template <class Machine>
HIWAY_DEVICE inline void carry_region(Machine m, GetBoard const& b, std::uint32_t group, RegionReference const& ref) {
  StencilRegion const place = region_place(b.shape, ref.region);
  std::size_t const pitch = std::size_t{b.shape.width} * b.value_bytes;
  std::size_t const first =
      (b.shape.buffer(ref.frame) * b.shape.values() + b.shape.at(place.x, place.y)) * b.value_bytes;
  std::size_t const row = std::size_t{place.width} * b.value_bytes;
  unsigned const rank = m.count(group & lanes_below(m.lane()));
  unsigned const size = m.count(group);
  for (std::uint32_t y = 0; y != place.height; ++y)
    copy_bytes(b.values + first + y * pitch, b.source + first + y * pitch, row, rank, size);
  if (rank == 0) m.fetch_add(*b.carried, std::uint64_t{1}, Order::relaxed);
  m.sync_warp(group);  // S3
}

/// Turns a cell's places into tasks. All lanes of `group` share the work.
template <class Machine>
HIWAY_DEVICE inline void put_cell(Machine m, StencilViews const& v, std::uint32_t group, std::uint32_t frame,
                                  std::uint32_t cell) {
  GetBoard const& b = v.board();
  StencilBand const x = b.band_x(cell);
  StencilBand const y = b.band_y(cell);
  StripShape const shape = b.strips;
  std::uint32_t const all = shape.strips(x, y);
  std::uint32_t const each = (all + m.count(group) - 1) / m.count(group);
  std::uint32_t const first = each * m.count(group & lanes_below(m.lane()));
  std::uint32_t const left = first < all ? all - first : 0;
  put_span(m, v.into_strips, left < each ? left : each, [&](Several const& some) {
    for (unsigned k = 0; k < some.count; ++k) {
      auto const number = first + static_cast<std::uint32_t>(some.item(k));
      item_in<StencilStrip>(some.slot(k)) = shape.strip(x, y, frame, number);
    }
  });
  m.sync_warp(group);
}

/// Counts an arrived region for every cell that needs it, and puts the tasks that result. Called by all lanes of
/// `group`.
template <class Machine>
HIWAY_DEVICE inline void open_cells(Machine m, StencilViews const& v, std::uint32_t group, RegionReference const& ref) {
  GetBoard const& b = v.board();
  BandRange const across = b.x.of_region[ref.region % b.shape.regions_x];
  BandRange const along = b.y.of_region[ref.region / b.shape.regions_x];
  std::uint32_t n = across.count() * along.count();
  unsigned const rank = m.count(group & lanes_below(m.lane()));
  unsigned const leader = m.lowest(group);
  bool first = false;  // the frame's first region
  if (b.tasks == StencilTasks::put_back) {
    if (m.lane() == leader) first = is_first_region(m, b, ref.frame);
    first = m.ballot(group, first) != 0;
  }
  // The first round is over the cells that need the region. After the frame's first region a second round puts all
  // cells.
  for (bool all = false;; all = true, n = b.cells()) {
    for (std::uint32_t base = 0; base < n; base += m.count(group)) {
      std::uint32_t const i = base + rank;
      std::uint32_t cell = i;
      bool put = all && i < n;
      if (!all && i < n) {
        cell = (along.first + i / across.count()) * b.x.count + across.first + i % across.count();
        put = count_arrival(m, b, ref.frame, cell) && b.tasks == StencilTasks::when_ready;
      }
      for (std::uint32_t left = m.ballot(group, put); left != 0; left &= left - 1) {
        std::uint32_t const which = m.shuffle(group, cell, m.lowest(left));
        m.sync_warp(group);  // S3: all lanes' puts release what that lane acquired
        put_cell(m, v, group, ref.frame, which);
      }
    }
    if (all || !first) return;
  }
}

/// Tries once to take a region's reference and make tasks of it. Called by all lanes of `group` together.
template <class Machine>
HIWAY_DEVICE inline bool take_region(Machine m, StencilViews const& v, std::uint32_t group) {
  unsigned const leader = m.lowest(group);
  RegionReference ref{};
  bool const got = get_once(m, v.regions, group, m.lane() == leader, Credit::early, ReadItem<RegionReference>{ref});
  if (m.ballot(group, got) == 0) return false;
  ref.frame = m.shuffle(group, ref.frame, leader);
  ref.region = m.shuffle(group, ref.region, leader);
  m.sync_warp(group);  // S3
  if (v.board().source != nullptr) carry_region(m, v.board(), group, ref);
  open_cells(m, v, group, ref);
  end_tasks(m, v.regions, group, m.lane() == leader);
  return true;
}

/// Tries once to take a strip for each lane of `group` that has `need`. A strip that is not ready is put back. Called
/// by all lanes of `group` together.
template <class Machine>
HIWAY_DEVICE inline bool take_strip(Machine m, StencilViews const& v, std::uint32_t group, bool need, Credits credits,
                                    StencilStrip& strip) {
  bool const got = get_once(m, v.strips, group, need, Credit::early, ReadItem<StencilStrip>{strip}, credits);
  note_result(m, v.strips, got);
  GetBoard const& b = v.board();
  if (b.tasks == StencilTasks::when_ready) return got;
  bool ready = false;
  if (got) ready = is_cell_ready(m, b, strip.frame, b.y.of_place[strip.y] * b.x.count + b.x.of_place[strip.x]);
  bool const back = got && !ready;
  if (back) m.fetch_add(*b.rounds, std::uint64_t{1}, Order::relaxed);
  put_together(m, v.into_strips, group, back, WriteItem<StencilStrip>{strip});
  end_tasks(m, v.strips, group, back);
  return ready;
}

/// Counts a lane's `tasks` and `strips`, all of one frame, as ended, for each lane of `group` that has `need`. Called
/// by all lanes of `group` together.
template <class Machine>
HIWAY_DEVICE inline void end_strips(Machine m, StencilViews const& v, std::uint32_t group, bool need,
                                    std::uint32_t frame, std::uint32_t tasks, std::uint32_t strips) {
  bool pending = need;
  for (std::uint32_t left = m.ballot(group, pending); left != 0; left = m.ballot(group, pending)) {
    unsigned const first = m.lowest(left);
    std::uint32_t const of_first = m.shuffle(group, frame, first);
    bool const mine = pending && frame == of_first;
    std::uint32_t const n = sum_lanes(m, group, mine ? tasks : 0u).all;
    m.sync_warp(group);  // S4
    if (m.lane() == first) count_ended(m, v.board(), frame, n);
    if (mine) pending = false;
  }
  end_several_tasks(m, v.strips, group, need ? strips : 0);
}

}  // namespace detail

template <class T>
struct StencilOf {};

/// A stencil tunnel without its type.
class StencilTunnelBase : public TunnelBase {
 public:
  /// *Throws* ConfigError.
  StencilTunnelBase(std::string name, Direction direction, StencilConfig const& config, std::size_t value_bytes,
                    std::uint32_t first_id);
  ~StencilTunnelBase() override;

  [[nodiscard]] StencilConfig const& stencil() const { return stencil_; }
  [[nodiscard]] std::size_t value_bytes() const { return value_bytes_; }
  [[nodiscard]] TunnelBase* tasks() const override { return strips_; }
  /// Gives the tunnel of strips away; the caller keeps it.
  [[nodiscard]] std::unique_ptr<TunnelBase> release_strips() { return std::move(owned_); }
  /// All that is computed before memory is allocated.
  struct Plan;
  [[nodiscard]] Plan const& plan() const { return *plan_; }

 private:
  StencilTunnelBase(std::string const& name, Direction direction, StencilConfig const& config, std::size_t value_bytes,
                    std::uint32_t first_id, std::unique_ptr<Plan> plan);

  StencilConfig stencil_;
  std::size_t value_bytes_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<TunnelBase> owned_;
  TunnelBase* strips_;
};

/// Made by Pipeline::create_stencil_tunnel<T>; the pipeline keeps it.
template <class T>
class Tunnel<StencilOf<T>> final : public StencilTunnelBase {
 public:
  using value_type = T;
  Tunnel(std::string name, Direction direction, StencilConfig const& config, std::uint32_t first_id)
      : StencilTunnelBase(std::move(name), direction, config, sizeof(T), first_id) {}
};
template <class T>
using StencilTunnel = Tunnel<StencilOf<T>>;

/// A producer's end of a stencil tunnel: sets values.
template <class T>
class Inlet<StencilOf<T>> {
 public:
  using value_type = T;

  Inlet() = default;
  HIWAY_DEVICE explicit Inlet(InletView const& view) : view_(view) {}

  /// Sets the value at column `x`, row `y` of a frame, once. *Waits* until the frame has a buffer, that is, until all
  /// tasks of the frame `buffers` earlier have ended. Does not return when the run aborts. *Threads*: any number at
  /// once, in any order. *Errors*: set_twice, outside_matrix end the run with an error that names stage, tunnel and
  /// value.
  void set_h(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) { set_with(m, x, y, value, frame); });
  }
  HIWAY_DEVICE void set_d(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    on_this_device([&](auto m) { set_with(m, x, y, value, frame); });
  }
  HIWAY_DEVICE void set(std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame = 0) const {
    anywhere([&](auto m) { set_with(m, x, y, value, frame); });
  }

  /// Sets one value with a whole warp; all its lanes make the call. `fill(T& value)` runs in each lane and writes that
  /// lane's part in place. A part that no lane writes keeps what an earlier frame left there. For large values. A CPU
  /// thread counts as a warp.
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void set_in_place_warp_d(std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame = 0) const {
    on_this_device([&](auto m) { fill_with(m, x, y, fill, frame); });
  }
  HIWAY_NO_SPACE_CHECK template <class Fill>
  HIWAY_DEVICE void set_in_place_warp(std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame = 0) const {
    anywhere([&](auto m) { fill_with(m, x, y, fill, frame); });
  }

  /// Sets values.size() values of row `y` from column `x` on.
  void set_h(std::int64_t x, std::int64_t y, std::span<T const> values, std::uint32_t frame = 0) const {
    on_this_thread([&](auto m) { detail::set_row(m, view_, x, y, values.data(), values.size(), frame); });
  }

  /// Ends the run with an error that says `message` and names the stage. Does not return.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { detail::fail_at(m, view_, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { detail::fail_at(m, view_, message); });
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void set_with(Machine m, std::int64_t x, std::int64_t y, T const& value, std::uint32_t frame) const {
    detail::set_value(m, view_, sizeof(T), x, y, frame, WriteItem<T>{value});
  }
  HIWAY_NO_SPACE_CHECK template <class Machine, class Fill>
  HIWAY_DEVICE void fill_with(Machine m, std::int64_t x, std::int64_t y, Fill&& fill, std::uint32_t frame) const {
    detail::set_together(m, view_, sizeof(T), x, y, frame, [&](std::byte* slot) { fill(item_in<T>(slot)); });
  }

  InletView view_{};
};
template <class T>
using StencilInlet = Inlet<StencilOf<T>>;

HIWAY_ITEMS_MAY_LOOK_UNSET
/// A consumer's end of a stencil tunnel: gets tasks and fetches values. Each lane has its own, which keeps the tasks
/// that were taken and not given out yet.
template <class T>
class Outlet<StencilOf<T>> {
 public:
  using value_type = T;

  Outlet() = default;
  HIWAY_DEVICE Outlet(OutletView const& regions, OutletView const& strips, InletView const& into_strips)
      : views_{regions, strips, into_strips} {}

  /// Gets a task if there is one; never waits for one. The task is open until end_task. A lane with open tasks of one
  /// frame gets none of another.
  [[nodiscard]] bool get_h(StencilTask& task) const {
    return on_this_thread([&](auto m) { return get_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get_d(StencilTask& task) const {
    return on_this_device([&](auto m) { return get_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool get(StencilTask& task) const {
    return anywhere([&](auto m) { return get_with(m, task); });
  }
  /// Gets a task. *Waits* until there is one; false when the tunnel has ended.
  [[nodiscard]] bool next_h(StencilTask& task) const {
    return on_this_thread([&](auto m) { return next_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next_d(StencilTask& task) const {
    return on_this_device([&](auto m) { return next_with(m, task); });
  }
  [[nodiscard]] HIWAY_DEVICE bool next(StencilTask& task) const {
    return anywhere([&](auto m) { return next_with(m, task); });
  }

  /// The value at column `x`, row `y`, in the frame of the task that the lane got last. It stays there until that task
  /// is ended. The values of the task's stencil have arrived; others may have. *Errors*: outside_matrix.
  [[nodiscard]] T const& fetch_h(std::int64_t x, std::int64_t y) const {
    return on_this_thread([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE T const& fetch_d(std::int64_t x, std::int64_t y) const {
    return on_this_device([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE T const& fetch(std::int64_t x, std::int64_t y) const {
    return anywhere([&](auto m) -> T const& { return fetch_with(m, x, y); });
  }
  /// Whether all values of the stencil centred at (x, y) have arrived, in the same frame. *Errors*: outside_matrix,
  /// also at a place that never is a task.
  [[nodiscard]] bool is_stencil_ready_h(std::int64_t x, std::int64_t y) const {
    return on_this_thread([&](auto m) { return ready_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_stencil_ready_d(std::int64_t x, std::int64_t y) const {
    return on_this_device([&](auto m) { return ready_with(m, x, y); });
  }
  [[nodiscard]] HIWAY_DEVICE bool is_stencil_ready(std::int64_t x, std::int64_t y) const {
    return anywhere([&](auto m) { return ready_with(m, x, y); });
  }

  /// Ends one task that the lane got. The task's puts come before this call. *Errors*: end_task_too_many.
  void end_task_h() const {
    on_this_thread([&](auto m) { end_with(m); });
  }
  HIWAY_DEVICE void end_task_d() const {
    on_this_device([&](auto m) { end_with(m); });
  }
  HIWAY_DEVICE void end_task() const {
    anywhere([&](auto m) { end_with(m); });
  }

  /// Calls `body(task)` for every task and ends it, until the tunnel has ended: the whole persistent loop.
  template <class Body>
  void for_each_h(Body&& body) const {
    on_this_thread([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each_d(Body&& body) const {
    on_this_device([&](auto m) { each_with(m, body); });
  }
  HIWAY_NO_SPACE_CHECK template <class Body>
  HIWAY_DEVICE void for_each(Body&& body) const {
    anywhere([&](auto m) { each_with(m, body); });
  }

  /// This tunnel will bring no more tasks.
  [[nodiscard]] bool has_ended_h() const {
    return on_this_thread([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended_d() const {
    return on_this_device([&](auto m) { return ended_with(m); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool has_ended() const {
    return anywhere([&](auto m) { return ended_with(m); }, true);
  }
  /// No outlet of this stage will bring more.
  [[nodiscard]] bool is_terminate_h() const {
    return on_this_thread([&](auto m) { return detail::stage_ended(m, views_.strips); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate_d() const {
    return on_this_device([&](auto m) { return detail::stage_ended(m, views_.strips); }, true);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_terminate() const {
    return anywhere([&](auto m) { return detail::stage_ended(m, views_.strips); }, true);
  }

  /// Ends the run with an error that says `message` and names the stage. Does not return.
  void fail_h(char const* message) const {
    on_this_thread([&](auto m) { detail::fail_at(m, views_.strips, message); });
  }
  HIWAY_DEVICE void fail_d(char const* message) const {
    on_this_device([&](auto m) { detail::fail_at(m, views_.strips, message); });
  }
  HIWAY_DEVICE void fail(char const* message) const {
    anywhere([&](auto m) { detail::fail_at(m, views_.strips, message); });
  }

 private:
  HIWAY_DEVICE GetBoard const& board() const { return views_.board(); }
  HIWAY_DEVICE void enter_frame(std::uint32_t frame) const {
    StencilShape const& s = board().shape;
    frame_ = frame;
    values_ = reinterpret_cast<T const*>(board().values) + s.buffer(frame) * s.values();
    width_ = s.width;
    height_ = s.height;
  }
  HIWAY_DEVICE static StencilTask task_of(StencilStrip const& strip, std::uint32_t i, bool goes_down) {
    return {strip.x + (goes_down ? 0 : i), strip.y + (goes_down ? i : 0), strip.frame};
  }

  template <class Machine>
  HIWAY_DEVICE T const& fetch_with(Machine m, std::int64_t x, std::int64_t y) const {
    if (x < 0 || x >= width_ || y < 0 || y >= height_)
      detail::raise_at(m, views_.strips, FaultKind::outside_matrix, x, y, frame_);
    return values_[static_cast<std::size_t>(y) * width_ + static_cast<std::size_t>(x)];
  }
  template <class Machine>
  HIWAY_DEVICE bool ready_with(Machine m, std::int64_t x, std::int64_t y) const {
    GetBoard const& b = board();
    std::uint32_t column = no_band;
    std::uint32_t row = no_band;
    if (b.shape.has(x, y)) {
      column = b.x.of_place[x];
      row = b.y.of_place[y];
    }
    if (column == no_band || row == no_band)
      detail::raise_at(m, views_.strips, FaultKind::outside_matrix, x, y, frame_);
    return is_cell_ready(m, b, frame_, row * b.x.count + column);
  }
  template <class Machine>
  HIWAY_DEVICE bool ended_with(Machine m) const {
    return left_.count == 0 && detail::tunnel_ended(m, views_.strips);
  }

  template <class Machine>
  HIWAY_DEVICE bool get_with(Machine m, StencilTask& task) const {
    if (left_.count == 0 && !take_with(m)) {
      unsigned& misses = m.misses(misses_);
      leave_if_aborted(m, *views_.strips.control);
      m.relax(misses++);
      return false;
    }
    m.misses(misses_) = 0;
    task = {left_.x, left_.y, left_.frame};
    (board().strips.goes_down ? left_.y : left_.x) += 1;
    --left_.count;
    ++unended_;
    return true;
  }
  /// Takes a strip for the lane, together with the lanes that are converged with it.
  template <class Machine>
  HIWAY_DEVICE bool take_with(Machine m) const {
    std::uint32_t const group = detail::together(m, views_.strips);
    StencilStrip strip{};
    bool got = detail::take_strip(m, views_, group, true, after_misses(m.misses(misses_)), strip);
    if (m.ballot(group, got) == 0 && detail::take_region(m, views_, group))
      got = detail::take_strip(m, views_, group, true, Credits::doubtful, strip);
    bool const other = got && unended_ != 0 && strip.frame != frame_;
    detail::put_together(m, views_.into_strips, group, other, WriteItem<StencilStrip>{strip});
    detail::end_tasks(m, views_.strips, group, other);
    if (!got || other) return false;
    left_ = strip;
    tasks_ += strip.count;
    ++strips_;
    enter_frame(strip.frame);
    return true;
  }
  template <class Machine>
  HIWAY_DEVICE bool next_with(Machine m, StencilTask& task) const {
    while (!get_with(m, task)) {
      if (ended_with(m)) return false;
    }
    return true;
  }
  template <class Machine>
  HIWAY_DEVICE void end_with(Machine m) const {
    if (unended_ == 0)
      raise(m, *views_.strips.control, FaultKind::end_task_too_many, views_.strips.stage, views_.strips.tunnel, 0);
    if (--unended_ != 0 || left_.count != 0) return;
    detail::end_strips(m, views_, detail::together(m, views_.strips), true, frame_, tasks_, strips_);
    tasks_ = strips_ = 0;
  }

  template <class Machine, class Body>
  HIWAY_DEVICE void each_with(Machine m, Body&& body) const {
    std::uint32_t const group = detail::together(m, views_.strips);
    bool const goes_down = board().strips.goes_down;
    for (unsigned misses = 0;;) {
      StencilStrip strip{};
      bool const got = detail::take_strip(m, views_, group, true, after_misses(misses), strip);
      if (got) {
        enter_frame(strip.frame);
        for (std::uint32_t i = 0; i < strip.count; ++i) body(task_of(strip, i, goes_down));
      }
      detail::end_strips(m, views_, group, got, strip.frame, strip.count, 1);
      if (m.ballot(group, got) != 0 || detail::take_region(m, views_, group)) {
        misses = 0;
        continue;
      }
      if (m.ballot(group, detail::tunnel_ended(m, views_.strips)) != 0) {
        m.sync_warp(group);
        return;
      }
      m.relax(misses++);
    }
  }

  detail::StencilViews views_{};
  // The frame of the last task.
  mutable T const* values_ = nullptr;
  mutable std::uint32_t width_ = 0;
  mutable std::uint32_t height_ = 0;
  mutable std::uint32_t frame_ = 0;
  // State of get: the rest of the strip; the tasks given out and not ended; the strips taken and their tasks, until all
  // are ended.
  mutable StencilStrip left_{};
  mutable std::uint32_t unended_ = 0;
  mutable std::uint32_t strips_ = 0;
  mutable std::uint32_t tasks_ = 0;
  mutable unsigned misses_ = 0;
};
HIWAY_ITEMS_END
template <class T>
using StencilOutlet = Outlet<StencilOf<T>>;

}  // namespace hiway
