// How a stencil tunnel's consumers come to tasks: they take strips of tasks; if there are none, one takes a region's
// reference and puts the strips of each cell that now has all its regions. S3 and S4: scoreboard.hpp. `Strip`: what the
// tunnel of strips carries (scopes.hpp).
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/inlet/put.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/outlet/get.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/scope/alike.hpp"
#include "hiway/stencil/scopes.hpp"
#include "hiway/stencil/scoreboard.hpp"
#include "hiway/stencil/task.hpp"

namespace hiway::detail {

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
  if (rank == 0) m.fetch_add(*b.carried, std::uint64_t{1}, MemoryOrder::relaxed);
  m.sync_warp(group);  // S3
}

/// The word of each strip of a cell, of which there are `n`: of the task of the lowest lane of `group`.
HIWAY_NO_SPACE_CHECK template <class Machine>
HIWAY_DEVICE inline std::uint64_t share_with_strips(Machine m, std::uint32_t group, std::uint32_t n) {
  unsigned const leader = m.lowest(group);
  std::uint64_t word = 0;
  if (m.lane() == leader) word = share_scope_alike(m, n);
  word = m.shuffle(group, word, leader);
  m.sync_warp(group);  // scope/word.hpp S2: all lanes' puts come after it
  return word;
}

/// Turns a cell's places into tasks. All lanes of `group` share the work.
HIWAY_NO_SPACE_CHECK template <class Strip, class Machine>
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
  std::uint64_t word = 0;
  if constexpr (has_word<Strip>) word = share_with_strips(m, group, all);
  put_span(m, v.into_strips, left < each ? left : each, [&](Several const& some) {
    for (unsigned k = 0; k < some.count; ++k) {
      auto const number = first + static_cast<std::uint32_t>(some.item(k));
      if constexpr (has_word<Strip>) {
        item_in<ScopedStrip>(some.slot(k)) = {shape.strip(x, y, frame, number), word};
      } else {
        item_in<StencilStrip>(some.slot(k)) = shape.strip(x, y, frame, number);
      }
    }
  });
  m.sync_warp(group);
}

/// Counts an arrived region for every cell that needs it, and puts the tasks that result. Called by all lanes of
/// `group`.
HIWAY_NO_SPACE_CHECK template <class Strip, class Machine>
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
        put_cell<Strip>(m, v, group, ref.frame, which);
      }
    }
    if (all || !first) return;
  }
}

/// Tries once to take a region's reference and make tasks of it. Called by all lanes of `group` together.
HIWAY_NO_SPACE_CHECK template <class Strip, class Machine>
HIWAY_DEVICE inline bool take_region(Machine m, StencilViews const& v, std::uint32_t group) {
  unsigned const leader = m.lowest(group);
  using Reference = ReferenceFor<Strip>;
  Reference ref{};
  bool const got = get_once(m, v.regions, group, m.lane() == leader, Credit::early, ReadItem<Reference>{ref});
  if (m.ballot(group, got) == 0) return false;
  ref.frame = m.shuffle(group, ref.frame, leader);
  ref.region = m.shuffle(group, ref.region, leader);
  m.sync_warp(group);  // S3
  if (v.board().source != nullptr) carry_region(m, v.board(), group, ref);
  if constexpr (has_word<Strip>) {
    if (m.lane() == leader) begin_scope_task(m, v.regions, ref.scope);
  }
  open_cells<Strip>(m, v, group, ref);
  if constexpr (has_word<Strip>) {
    if (m.lane() == leader) end_scope_task(m, v.regions);
  }
  end_tasks(m, v.regions, group, m.lane() == leader);
  return true;
}

/// Tries once to take a strip for each lane of `group` that has `need`. A strip that is not ready is put back. Called
/// by all lanes of `group` together.
template <class Machine, class Strip>
HIWAY_DEVICE inline bool take_strip(Machine m, StencilViews const& v, std::uint32_t group, bool need, Credits credits,
                                    Strip& strip) {
  bool const got = get_once(m, v.strips, group, need, Credit::early, ReadItem<Strip>{strip}, credits);
  note_result(m, v.strips, got);
  GetBoard const& b = v.board();
  if (b.tasks == StencilTasks::when_ready) return got;
  bool ready = false;
  if (got) ready = is_cell_ready(m, b, strip.frame, b.y.of_place[strip.y] * b.x.count + b.x.of_place[strip.x]);
  bool const back = got && !ready;
  if (back) m.fetch_add(*b.rounds, std::uint64_t{1}, MemoryOrder::relaxed);
  put_together(m, v.into_strips, group, back, WriteItem<Strip>{strip});
  end_tasks(m, v.strips, group, back);
  return ready;
}

/// The same; of lanes that get none one takes a region's reference first.
template <class Machine, class Strip>
HIWAY_DEVICE inline bool take_strip_or_region(Machine m, StencilViews const& v, std::uint32_t group, Credits credits,
                                              Strip& strip) {
  bool const got = take_strip(m, v, group, true, credits, strip);
  if (m.ballot(group, got) != 0 || !take_region<Strip>(m, v, group)) return got;
  return take_strip(m, v, group, true, Credits::doubtful, strip);
}

/// Whether all values of the stencil centred there have arrived. *Errors*: outside_matrix, also at a place that never
/// is a task.
template <class Machine>
HIWAY_DEVICE inline bool is_stencil_ready(Machine m, StencilViews const& v, ValuePlace at) {
  GetBoard const& b = v.board();
  std::uint32_t column = no_band;
  std::uint32_t row = no_band;
  if (b.shape.has(at.x, at.y)) {
    column = b.x.of_place[at.x];
    row = b.y.of_place[at.y];
  }
  if (column == no_band || row == no_band) raise_at(m, v.strips, FaultKind::outside_matrix, at);
  return is_cell_ready(m, b, at.frame, row * b.x.count + column);
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

}  // namespace hiway::detail
