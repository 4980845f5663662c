// RingRuns: items that lie in a tunnel's half-ring at the host while the stream copies them, so that the thread does
// not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/batch_stream.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/outlet/pieces.hpp"
#include "hiway/ring.hpp"

namespace hiway {

/// Of one batch, at one end of a tunnel: what was claimed, and is not yet done. *Threads*: the stage's.
class RingRuns {
 public:
  /// Whether the stream may copy from or to the ring of this end.
  template <class View>
  [[nodiscard]] static bool may_lie_in(View const& v) {
    return v.ring.is_half() && !v.ring.tagged && v.further_branches == 0;
  }

  /// Gets up to `most` items, and gives the stream their copies to `to`. Returns how many.
  template <class Machine>
  std::size_t take(Machine m, OutletView const& v, BatchStream& stream, std::byte* to, std::size_t most) {
    Run const run = claim_get_run(m, v.ring, at_most(most, most_of_run), &detail::port_of(m, v).got, Credit::early);
    for_stretches(v.ring, run, [&](std::byte* slot, std::size_t at, std::size_t bytes) {
      stream.copy(BusDirection::to_device, to + at, slot, bytes);
    });
    return keep(run);
  }
  /// Claims room for up to `most` items, and gives the stream their copies from `from`. Returns how many.
  template <class Machine>
  std::size_t give(Machine m, InletView const& v, BatchStream& stream, std::byte const* from, std::size_t most) {
    Run const run = claim_put_run(m, v.ring, at_most(most, most_of_run));
    if (run.count != 0) detail::refuse_late_put(m, v, run.first);
    for_stretches(v.ring, run, [&](std::byte* slot, std::size_t at, std::size_t bytes) {
      stream.copy(BusDirection::from_device, slot, from + at, bytes);
    });
    return keep(run);
  }

  [[nodiscard]] std::size_t items() const { return items_; }
  /// The stream has made all copies: hands the slots over.
  template <class Machine>
  void end(Machine m, Ring const& ring, ClaimKind kind, Control& control) {
    for (Run const& run : runs_) detail::end_run(m, ring, run, kind, control);
    runs_.clear();
    items_ = 0;
  }

 private:
  static constexpr std::uint32_t most_of_run = std::uint32_t{1} << 20;

  std::size_t keep(Run run) {
    if (run.count != 0) runs_.push_back(run);
    items_ += run.count;
    return run.count;
  }
  /// `copy(slot, at, bytes)` for each piece of the run that lies in a row, `at` bytes after the first.
  template <class Copy>
  static void for_stretches(Ring const& ring, Run run, Copy&& copy) {
    for (std::size_t i = 0; i < run.count;) {
      std::size_t const left = std::size_t{ring.slots_mask} + 1 - ring.slot(run.first + i);
      std::size_t const n = run.count - i < left ? run.count - i : left;
      copy(ring.item(run.first + i), i * ring.item_bytes, n * ring.item_bytes);
      i += n;
    }
  }

  std::vector<Run> runs_;
  std::size_t items_ = 0;
};

}  // namespace hiway
