// Parking: a segment's kernel that yields leaves the device between two firings. What its replicas have in shared
// memory and in their lanes waits in device memory until the next launch; the rest lies there anyway.
//
//   P1  Between two firings a replica knows nothing but what is in its rooms, in Activity and in its intake, and how
//       often it has called the scheduler: a suspended ensemble is in queues and cursors (scheduler.hpp S2).
//   P2  A replica that has items tells in each launch that another one is to come (slice.hpp L4). One that has none
//       waits for those of a tunnel, at which the monitor looks. A replica of a range tells so until it is done: the
//       monitor, for which a stage that reads no tunnel has ended from the start, would call it, too, but later.
//   P3  Each launch fires once at least, or looks once for items or a letter, however short its slice is.
//   P4  Within a firing it waits for room in a tunnel. Its slice then ends later.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/item.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/segment/placement.hpp"
#include "hiway/segment/replica_state.hpp"

namespace hiway::segment {

/// Bytes in device memory before a parked near room.
inline constexpr std::size_t parked_bytes = 128;

/// What waits in device memory besides the near room; zero at the start of a run. Only the replica's first lane writes
/// it.
struct ParkedHead {
  bool has_begun;
  bool is_done;    ///< read by the block's first thread, too, when the block has met, and in later launches by all
  bool has_told;   ///< that another launch is to come
  bool has_asked;  ///< its request for a letter stands
  std::uint32_t launch;
  std::uint64_t until_ns;  ///< when the slice is over
  std::uint64_t calls;
};
template <class State>
struct alignas(parked_bytes) Parked : ParkedHead {
  decltype(State::activity) activity;
  typename State::Intake intake;
};

/// Where the parked data of a replica begins.
HIWAY_DEVICE inline std::byte* parked_at(Placement const& p, unsigned replica) {
  return p.parked + replica * (parked_bytes + std::size_t{p.near_bytes});
}

template <class State>
class Parking {
  using Program = typename State::Program;

 public:
  HIWAY_DEVICE explicit Parking(State& replica) : r_(replica) {}

  [[nodiscard]] HIWAY_DEVICE bool yields() const { return r_.program.parked != nullptr; }
  [[nodiscard]] HIWAY_DEVICE bool has_begun() const { return yields() && parked().has_begun; }
  [[nodiscard]] HIWAY_DEVICE bool is_done() const { return yields() && parked().is_done; }

  // All lanes of the replica call these together.

  /// The first launch, or a later one, which goes on after `calls` of the scheduler.
  HIWAY_DEVICE void begin() {
    if (!yields()) return;
    if (r_.lanes.rank() == 0) {
      parked().has_begun = true;
      note_launch();
    }
    r_.lanes.sync();
  }
  HIWAY_DEVICE void come_back(std::uint64_t& calls) {
    calls = parked().calls;
    r_.activity.set_to(parked().activity);
    r_.intake.set_to(parked().intake);
    copy_room(near_room(), room());
    r_.lanes.sync();
    if (r_.lanes.rank() == 0) note_launch();
    r_.lanes.sync();
  }
  HIWAY_DEVICE void leave(std::uint64_t calls) {
    r_.lanes.sync();
    copy_room(room(), near_room());
    if (r_.lanes.rank() != 0) return;
    parked().calls = calls;
    parked().activity.set_to(r_.activity);
    parked().intake.set_to(r_.intake);
  }
  HIWAY_DEVICE void end() {
    if (yields() && r_.lanes.rank() == 0) parked().is_done = true;
  }

  /// Whether the replica leaves: if it yields and `must` holds in the first lane.
  template <class Must>
  [[nodiscard]] HIWAY_DEVICE bool leaves_if(Must const& must) {
    if (!yields()) return false;
    bool const first = r_.lanes.rank() == 0 && must();
    bool const all = r_.lanes.share(first ? 1 : 0) != 0;
    leave_if_aborted(r_.lanes.machine(), *r_.program.control);  // as in Letters::look_around
    return all;
  }

  // The first lane calls these.

  [[nodiscard]] HIWAY_DEVICE bool is_over() const {
    return yields() && r_.lanes.machine().now_ns() >= parked().until_ns;
  }
  /// The same after so many misses, or the launch has been sent away since nothing moves at its tunnels.
  [[nodiscard]] HIWAY_DEVICE bool is_over_idle(unsigned misses) const {
    constexpr unsigned between_looks = 16;
    if (is_over()) return true;
    return misses % between_looks == between_looks - 1 && is_sent_away();
  }
  /// Whether the replica's request for a letter stands from an earlier launch.
  [[nodiscard]] HIWAY_DEVICE bool has_asked() const { return yields() && parked().has_asked; }
  HIWAY_DEVICE void note_asked(bool stands) {
    if (yields()) parked().has_asked = stands;
  }
  /// It has got items, after this many misses: another launch is to come (P2), and soon if others have left meanwhile
  /// (launch/slice.hpp L5).
  HIWAY_DEVICE void note_items(unsigned misses) {
    if (!yields()) return;
    if (misses != 0 && is_sent_away()) parked().until_ns = 0;
    tell_of_work();
  }

 private:
  HIWAY_DEVICE void tell_of_work() {
    if (parked().has_told) return;
    parked().has_told = true;
    hiway::tell_of_work(r_.lanes.machine(), r_.program.slice, parked().launch);
  }
  [[nodiscard]] HIWAY_DEVICE bool is_sent_away() const {
    return r_.lanes.machine().load(r_.program.slice.words->sent_away, MemoryOrder::relaxed) >= parked().launch;
  }
  [[nodiscard]] HIWAY_DEVICE Parked<State>& parked() const {
    static_assert(sizeof(Parked<State>) == parked_bytes);
    return *reinterpret_cast<Parked<State>*>(parked_at(r_.program, r_.replica));
  }
  /// Computed anew: kept for the end of a slice, its address would take registers all the time.
  [[nodiscard]] HIWAY_DEVICE std::byte* near_room() const {
    auto const m = r_.lanes.machine();
    unsigned const in_block = State::Lanes::is_warp ? m.thread_in_block() / decltype(m)::warp_lanes : 0;
    return m.shared_memory() + r_.program.block_bytes + std::size_t{in_block} * r_.program.near_bytes;
  }
  [[nodiscard]] HIWAY_DEVICE std::byte* room() const { return parked_at(r_.program, r_.replica) + parked_bytes; }
  HIWAY_DEVICE void note_launch() {
    auto const m = r_.lanes.machine();
    parked().launch = m.load(r_.program.slice.words->launch, MemoryOrder::relaxed);
    parked().until_ns = m.now_ns() + r_.program.slice.ns;
    parked().has_told = false;
    if (has_work()) tell_of_work();
  }
  [[nodiscard]] HIWAY_DEVICE bool has_work() const {
    if constexpr (Program::Source::is_range) {
      return true;
    } else {
      return r_.intake.tasks != 0;
    }
  }
  HIWAY_DEVICE void copy_room(std::byte* to, std::byte const* from) const {
    hiway::detail::copy_words<16>(to, from, r_.program.near_bytes, r_.lanes.rank(), r_.lanes.size());
  }

  State& r_;
};

}  // namespace hiway::segment
