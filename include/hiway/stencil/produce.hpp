// How a stencil tunnel's producers set values: each is marked, written, then counted for its region, and whoever counts
// a region's last value puts the region's reference into the tunnel. S1 and S2: scoreboard.hpp. `Reference`: what
// the tunnel carries, RegionReference or ScopedReference (scopes.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "hiway/grouping/warp_group.hpp"
#include "hiway/inlet/put.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/item.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "hiway/stencil/scopes.hpp"
#include "hiway/stencil/scoreboard.hpp"
#include "hiway/stencil/task.hpp"

namespace hiway::detail {

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

/// Puts the reference of a complete region.
HIWAY_NO_SPACE_CHECK template <class Reference = RegionReference, class Machine>
HIWAY_DEVICE inline void put_region(Machine m, InletView const& v, std::uint32_t region, std::uint32_t frame) {
  if constexpr (has_word<Reference>) {
    ScopedReference const reference{{frame, region}, share_scope(m, v)};
    put(m, v, WriteItem<ScopedReference>{reference});
  } else {
    put(m, v, WriteItem<RegionReference>{{frame, region}});
  }
  count_whole(m, *v.end->put_board);
}
/// Of a tunnel with scopes: any value may be its region's last. *Errors*: put_without_scope.
HIWAY_NO_SPACE_CHECK template <class Reference, class Machine>
HIWAY_DEVICE inline void refuse_without_scope([[maybe_unused]] Machine m, [[maybe_unused]] InletView const& v) {
  if constexpr (has_word<Reference>) {
    if (!has_scope(m, v)) raise(m, *v.control, FaultKind::put_without_scope, v.stage, v.tunnel, 0);
  }
}
/// Waits until the frame has a buffer. *Errors*: outside_matrix.
template <class Machine>
HIWAY_DEVICE inline void begin_set(Machine m, InletView const& v, ValuePlace at) {
  PutBoard const& b = *v.end->put_board;
  if (!b.shape.has(at.x, at.y) || at.frame >= b.shape.frames) raise_at(m, v, FaultKind::outside_matrix, at);
  await_frame(m, b, at.frame, *v.control);
}
/// Where the value's mark is; the value lies in the matrix.
HIWAY_DEVICE inline MarkPlace mark_of(PutBoard const& b, ValuePlace at) {
  return mark_place(b, static_cast<std::uint32_t>(at.x), static_cast<std::uint32_t>(at.y), at.frame);
}
/// Marks and counts `n` adjacent values of a row; the first is that of the lowest lane of `group`. Called by all lanes
/// of `group`: in each, `write(std::byte*)` writes the lane's own value, or its part of a single one.
HIWAY_NO_SPACE_CHECK template <class Reference, class Machine, class Write>
HIWAY_DEVICE inline void set_marked(Machine m, InletView const& v, std::uint32_t group, std::uint32_t n,
                                    MarkPlace const& place, std::size_t bytes, ValuePlace at, Write&& write) {
  PutBoard const& b = *v.end->put_board;
  unsigned const leader = m.lowest(group);
  std::uint32_t twice = 0;
  if (m.lane() == leader) twice = mark_values(m, b, place.word, bits_from(place.bit, n), at.frame);
  twice = m.shuffle(group, twice, leader);
  if (twice != 0)  // S2: all leave
    raise_at(m, v, FaultKind::set_twice, {at.x - place.bit + first_bit(twice), at.y, at.frame});
  std::size_t const in_frame = b.shape.at(static_cast<std::uint32_t>(at.x), static_cast<std::uint32_t>(at.y));
  write(b.values + (b.shape.buffer(at.frame) * b.shape.values() + in_frame) * bytes);
  m.sync_warp(group);  // S1
  if (m.lane() == leader && count_values(m, b, place.region, at.frame, n))
    put_region<Reference>(m, v, place.region, at.frame);
  m.sync_warp(group);  // the lanes go on together
}

/// Sets one value, by `write(std::byte*)`. Lanes that set adjacent values of one word of marks mark and count together.
HIWAY_NO_SPACE_CHECK template <class Reference = RegionReference, class Machine, class Write>
HIWAY_DEVICE inline void set_value(Machine m, InletView const& v, std::size_t bytes, ValuePlace at, Write&& write) {
  refuse_without_scope<Reference>(m, v);
  begin_set(m, v, at);
  PutBoard const& b = *v.end->put_board;
  MarkPlace const place = mark_of(b, at);
  std::uint32_t group = converged_on(m, &b.marks[place.word]);
  std::uint32_t const rank = m.count(group & lanes_below(m.lane()));
  bool const in_line = place.bit == m.shuffle(group, place.bit, m.lowest(group)) + rank;
  if (m.ballot(group, in_line) != group) group = 1u << m.lane();  // rare: each lane by itself
  set_marked<Reference>(m, v, group, m.count(group), place, bytes, at, write);
}

/// Sets one value with all lanes of a warp; each writes its part.
HIWAY_NO_SPACE_CHECK template <class Reference = RegionReference, class Machine, class Write>
HIWAY_DEVICE inline void set_together(Machine m, InletView const& v, std::size_t bytes, ValuePlace at, Write&& write) {
  if (m.lane() == m.lowest(m.lanes())) refuse_without_scope<Reference>(m, v);
  begin_set(m, v, at);
  set_marked<Reference>(m, v, m.lanes(), 1, mark_of(*v.end->put_board, at), bytes, at, write);
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

/// Marks `n` values of a row, a word of marks at a time.
template <class Machine>
inline void mark_row(Machine m, InletView const& v, ValuePlace at, std::size_t n) {
  PutBoard const& b = *v.end->put_board;
  auto const mark = [&](MarkPlace const& place, std::uint32_t from, std::uint32_t some) {
    std::uint32_t bit = place.bit;
    std::size_t word = place.word;
    for (std::uint32_t marked = 0; marked < some; ++word, bit = 0) {
      std::uint32_t const in_word = some - marked < 32 - bit ? some - marked : 32 - bit;
      std::uint32_t const twice = mark_values(m, b, word, bits_from(bit, in_word), at.frame);
      if (twice != 0)
        raise_at(m, v, FaultKind::set_twice, {from + marked + first_bit(twice) - bit, at.y, at.frame});  // S2
      marked += in_word;
    }
  };
  for_each_region(b, static_cast<std::uint32_t>(at.x), static_cast<std::uint32_t>(at.y), at.frame, n, mark);
}

/// Sets values of a row, from the place on. For CPU threads.
template <class Reference, class T, class Machine>
inline void set_row(Machine m, InletView const& v, ValuePlace at, std::span<T const> values) {
  if (values.empty()) return;
  refuse_without_scope<Reference>(m, v);
  PutBoard const& b = *v.end->put_board;
  ValuePlace const last{at.x + static_cast<std::int64_t>(values.size()) - 1, at.y, at.frame};
  if (!b.shape.has(at.x, at.y) || at.frame >= b.shape.frames) raise_at(m, v, FaultKind::outside_matrix, at);
  if (!b.shape.has(last.x, last.y)) raise_at(m, v, FaultKind::outside_matrix, last);
  await_frame(m, b, at.frame, *v.control);
  mark_row(m, v, at, values.size());
  auto const x = static_cast<std::uint32_t>(at.x);
  auto const y = static_cast<std::uint32_t>(at.y);
  std::size_t const slot = b.shape.buffer(at.frame) * b.shape.values() + b.shape.at(x, y);
  if (v.past_caches) {
    copy_past_caches(b.values + slot * sizeof(T), values.data(), values.size_bytes());
  } else {
    std::memcpy(b.values + slot * sizeof(T), values.data(), values.size_bytes());
  }
  for_each_region(b, x, y, at.frame, values.size(), [&](MarkPlace const& place, std::uint32_t, std::uint32_t some) {
    if (count_values(m, b, place.region, at.frame, some)) put_region<Reference>(m, v, place.region, at.frame);
  });
}

}  // namespace hiway::detail
