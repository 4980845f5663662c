// The state of a stencil tunnel's frames: which values are set, which regions are complete, which places have become
// tasks, which tasks have ended. The values themselves are written and read elsewhere; this protocol makes that safe.
//
//   producers' home                                       consumers' home
//     marks[..]    one bit per value: set in this lap?      arrivals[..]  arrived regions, of those that a cell needs
//     set[..]      values of a region that are set          arrived[..]   arrived regions of a frame
//     whole        complete regions in the run              ended[..]     ended tasks of a frame
//     freed[..]    finished laps of a buffer, written by consumers. If producers on a GPU would have to read it across,
//                  the device monitor reads it for all of them (relay.hpp HeardWord)
//
//   S1  values are written before they are counted (release). Whoever counts a region's last value (acquire) has all of
//       them, and puts the region's reference. Counts go on from lap to lap: lap k of n values ends at (k + 1) n
//   S2  a value is marked before it is written, so that a value that is set is never written over. Laps set the marks
//       and clear them in turn; a mark that already is as this lap leaves it means that the value was set twice
//   S3  a region's reference is taken before the region is counted for its cells (release). Whoever counts the last
//       region that a cell needs (acquire) has the values of all of them, and puts the cell's tasks
//   S4  a task's values are read before the task is counted as ended (release). Whoever counts the last task of a frame
//       (acquire) says that the buffer is free (release). A producer acquires that before it sets a value of the next
//       lap
//   Words that go on from lap to lap are 32 bits wide and compared for equality; `ended` and `freed` are 64 bits wide
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/grouping/warp_group.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/stencil/region.hpp"

namespace hiway {

/// The producers' side.
struct PutBoard {
  StencilShape shape;
  std::byte* values = nullptr;    ///< `buffers` matrices
  std::uint32_t marks_a_row = 1;  ///< words of marks for one row of a region
  Word<std::uint32_t>* marks = nullptr;
  Word<std::uint32_t>* set = nullptr;
  Word<std::uint64_t>* whole = nullptr;
  Word<std::uint64_t>* freed = nullptr;       ///< to read: the consumers' own words, or what was heard of them
  Word<std::uint64_t>* begun = nullptr;       ///< 1: a task has ended; where consumers write freed
  Word<std::uint32_t>* overlapped = nullptr;  ///< 1: `begun` was 1 when the run's last region was complete
  bool across = false;                        ///< `begun` lies across
};

/// The consumers' side.
struct GetBoard {
  StencilShape shape;
  StencilAxis x, y;
  StripShape strips;
  std::byte* values = nullptr;        ///< `buffers` matrices
  std::byte const* source = nullptr;  ///< the producers' values, if consumers copy regions themselves; else null
  std::uint32_t value_bytes = 1;
  StencilTasks tasks = StencilTasks::when_ready;
  std::uint64_t frame_tasks = 1;
  Word<std::uint32_t>* arrivals = nullptr;
  Word<std::uint32_t>* arrived = nullptr;
  Word<std::uint64_t>* ended = nullptr;
  Word<std::uint64_t>* freed = nullptr;
  Word<std::uint64_t>* begun = nullptr;
  Word<std::uint64_t>* rounds = nullptr;   ///< strips that were put back
  Word<std::uint64_t>* carried = nullptr;  ///< regions that consumers copied themselves
  bool across = false;                     ///< `freed` and `begun` lie across

  HIWAY_DEVICE std::uint32_t cells() const { return x.count * y.count; }
  HIWAY_DEVICE StencilBand const& band_x(std::uint32_t cell) const { return x.bands[cell % x.count]; }
  HIWAY_DEVICE StencilBand const& band_y(std::uint32_t cell) const { return y.bands[cell / x.count]; }
  HIWAY_DEVICE Word<std::uint32_t>& arrivals_of(std::uint32_t frame, std::uint32_t cell) const {
    return arrivals[std::size_t{shape.buffer(frame)} * cells() + cell];
  }
  /// The value of `arrivals` once the frame has all regions that the cell needs.
  HIWAY_DEVICE std::uint32_t all_arrivals(std::uint32_t frame, std::uint32_t cell) const {
    return band_x(cell).regions() * band_y(cell).regions() * (shape.lap(frame) + 1);
  }
};

/// Waits until values of `frame` may be set (S4). Lanes that wait for the same frame stay together; otherwise each
/// would go on by itself.
template <class Machine>
HIWAY_PART_OF_CALLER HIWAY_DEVICE inline void await_frame(Machine m, PutBoard const& b, std::uint32_t frame,
                                                          Control& control) {
  std::uint32_t const buffer = b.shape.buffer(frame);
  std::uint64_t const lap = b.shape.lap(frame);
  if (lap == 0) return;
  std::uint32_t const group = converged_on(m, reinterpret_cast<void const*>(std::uintptr_t{frame}));
  for (unsigned misses = 0; m.ballot(group, m.load(b.freed[buffer], MemoryOrder::acquire) < lap) != 0; ++misses) {
    leave_if_aborted(m, control);
    m.relax(misses);
  }
}

/// Where a value's mark is: a bit of a word that has the marks of up to 32 values of its row and region.
struct MarkPlace {
  std::uint32_t region;
  std::uint32_t bit;
  std::size_t word;
};
HIWAY_DEVICE inline MarkPlace mark_place(PutBoard const& b, std::uint32_t x, std::uint32_t y, std::uint32_t frame) {
  StencilShape const& s = b.shape;
  std::uint32_t const rx = x / s.region_width;
  std::uint32_t const ry = y / s.region_height;
  std::uint32_t const column = x - rx * s.region_width;
  std::uint32_t const row = y - ry * s.region_height;
  std::uint32_t const region = ry * s.regions_x + rx;
  std::size_t const rows = (std::size_t{s.buffer(frame)} * s.regions() + region) * s.region_height + row;
  return {region, column % 32, rows * b.marks_a_row + column / 32};
}

/// Marks the values of `bits` as set; returns those that were set before (S2).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline std::uint32_t mark_values(Machine m, PutBoard const& b, std::size_t word,
                                                            std::uint32_t bits, std::uint32_t frame) {
  std::uint32_t const before = m.fetch_xor(b.marks[word], bits, MemoryOrder::relaxed);
  return (b.shape.lap(frame) % 2 == 0 ? before : ~before) & bits;  // S2
}
/// Counts `n` values of a region as written; true for the call that completes the region (S1).
template <class Machine>
[[nodiscard]] HIWAY_DEVICE inline bool count_values(Machine m, PutBoard const& b, std::uint32_t region,
                                                    std::uint32_t frame, std::uint32_t n) {
  Word<std::uint32_t>& set = b.set[std::size_t{b.shape.buffer(frame)} * b.shape.regions() + region];
  std::uint32_t const count = m.fetch_add(set, n, MemoryOrder::acq_rel) + n;  // S1
  return count == region_place(b.shape, region).values() * (b.shape.lap(frame) + 1);
}

/// Counts a complete region. After the run's last one, notes whether a task has ended already.
template <class Machine>
HIWAY_DEVICE inline void count_whole(Machine m, PutBoard const& b) {
  std::uint64_t const all = std::uint64_t{b.shape.regions()} * b.shape.frames;
  if (m.fetch_add(*b.whole, std::uint64_t{1}, MemoryOrder::relaxed) + 1 != all) return;
  std::uint64_t const begun =
      b.across ? m.load_across(*b.begun, MemoryOrder::relaxed) : m.load(*b.begun, MemoryOrder::relaxed);
  if (begun != 0) m.store(*b.overlapped, 1u, MemoryOrder::relaxed);
}

/// Counts an arrived region for one cell that needs it; true for the last one: the cell's places are tasks now.
template <class Machine>
HIWAY_DEVICE inline bool count_arrival(Machine m, GetBoard const& b, std::uint32_t frame, std::uint32_t cell) {
  return m.fetch_add(b.arrivals_of(frame, cell), 1u, MemoryOrder::acq_rel) + 1 == b.all_arrivals(frame, cell);  // S3
}
template <class Machine>
HIWAY_DEVICE inline bool is_cell_ready(Machine m, GetBoard const& b, std::uint32_t frame, std::uint32_t cell) {
  return m.load(b.arrivals_of(frame, cell), MemoryOrder::acquire) == b.all_arrivals(frame, cell);  // S3
}
/// Counts an arrived region of the frame; true for the first.
template <class Machine>
HIWAY_DEVICE inline bool is_first_region(Machine m, GetBoard const& b, std::uint32_t frame) {
  std::uint32_t const before = m.fetch_add(b.arrived[b.shape.buffer(frame)], 1u, MemoryOrder::relaxed);
  return before == b.shape.regions() * b.shape.lap(frame);
}

/// Counts `n` tasks of the frame as ended.
template <class Machine>
HIWAY_DEVICE inline void count_ended(Machine m, GetBoard const& b, std::uint32_t frame, std::uint64_t n) {
  std::uint32_t const buffer = b.shape.buffer(frame);
  std::uint64_t const lap = b.shape.lap(frame);
  std::uint64_t const before = m.fetch_add(b.ended[buffer], n, MemoryOrder::acq_rel);  // S4
  auto const tell = [&](Word<std::uint64_t>& word, std::uint64_t value) {
    if (b.across) {
      m.store_across(word, value, MemoryOrder::release);
    } else {
      m.store(word, value, MemoryOrder::release);
    }
  };
  bool const last = before + n == b.frame_tasks * (lap + 1);
  if (frame == 0 && (before == 0 || last)) tell(*b.begun, 1);  // first: whoever sees the buffer free sees this
  if (last) tell(b.freed[buffer], lap + 1);                    // S4
}

}  // namespace hiway
