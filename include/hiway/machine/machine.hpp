// Machine: what an algorithm may ask of whoever runs it. Ring, grouping, termination and monitors are templates over it
// and contain no #if; CPU threads (thread_machine.hpp), emulated lanes (fiber_machine.hpp) and GPU lanes
// (cuda_machine.cuh) each supply one, side by side.
//
//   words    load, store                       of a Word at home
//            fetch_add, fetch_or, fetch_xor, fetch_min, compare_exchange   likewise
//            load_across, store_across, fence_across   of a Word whose home is the other side of the bus. No
//                                              read-modify-write exists across: CPU and GPU atomics on one word
//                                              lose updates (measured).
//            load_ahead ... acquire_ahead      loads of which several are under way at once; the second acquires what
//                                              they saw. counts_at_once: how many pay
//            put_tagged, look_tagged           writes a slot and its tag, looks at the tag (ring.hpp Tags), also across.
//                                              tags_bring_items: both are one access to item and tag, which orders nothing else
//            rounds_a_look_for_errors          in so many rounds, or misses of a wait, the end check looks once for readers
//                                              that have left items behind, or an abort: across a look takes its time,
//                                              and only ever finds an error
//            looks_for_a_late_put              so often the end check looks whether a put that it sees too late has failed by
//                                              itself: that fault names its stage
//            store_fenced_across               across, behind a fence_across, which releases for it
//            release_ahead ... store_ahead     stores of which several are under way at once; the first releases all that
//                                              came before it
//            fence_behind_ticket               between a fetch_add at home and a load at home that a checker on the other
//                                              side may have stored: on a CPU both are seen in that order by everyone
//   warp     warp_lanes: how many lanes a whole warp has; lane, lanes (the launched lanes' mask), converged, ballot, shuffle, sync_warp; count, lowest of a mask
//            zero_of_lane: 0, which the compiler takes for different in each lane (docs/adr/0024)
//   block    thread_in_block, block_threads, block_index, sync_block, shared_memory; share_in_block: the first
//            thread's value for all; is_own: an address that only the calling lane reaches (its stack)
//            shares_blocks: a block may have more than one warp. Then also in_block: the words' operations on words
//            that only the block uses, in the block's scope; block_room<T>: the block's one T, all bits 0 at the
//            start; cycles: a clock for short times, which wraps
//   stage    thread_index, thread_count, block_count: over all threads or blocks of the stage
//   time     relax(misses): lets others run, longer after more misses; 0: the first miss since something came
//            now_ns(): a clock that never goes back
//            misses(own): where a get counts its misses in a row. The thread or emulated lane keeps the count, or a
//            handle that is made anew for each get would never back off; a GPU lane uses the handle's own
//   helps_monitors   whether it does the monitors' steps by itself where they are in its way (relay.hpp M3)
//   has_branches     whether its ends may be of several branches (branches.hpp)
//   leaving  leave(): does not return; a thread or emulated lane unwinds, a GPU lane exits
//
// A CPU thread is a block of one lane. A type that a kernel sees never depends on the machine.
#pragma once
#include <cstdint>
#include <string>

#include "hiway/config.hpp"
#include "hiway/error.hpp"

namespace hiway {

/// Memory order of one access; the names and meanings of std::memory_order.
enum class Order : std::uint8_t { relaxed, acquire, release, acq_rel };

/// From this many misses on, a wait has been long (about a millisecond on a GPU): backing off costs little then.
inline constexpr unsigned long_wait_misses = 512;

/// A word shared by threads or lanes. Its home is the memory it lies in: the host's or the device's. At home it is
/// accessed in device scope (or by CPU atomics), from the other side in system scope and by loads and stores of its one
/// writer only; a word at the device's home is never accessed by a CPU thread while kernels run, only copied by
/// Backend::peek.
template <class T>
struct Word {
  T bits;
};

/// Bits of the lanes below `lane`.
HIWAY_DEVICE constexpr std::uint32_t lanes_below(unsigned lane) { return (1u << lane) - 1u; }

/// All lanes of the warp come; one runs `update`; all leave when it is done. What they read before and after is the
/// same for all of them.
template <class Machine, class Update>
HIWAY_DEVICE inline void by_one_lane(Machine m, Update&& update) {
  m.sync_warp(m.lanes());
  if (m.lane() == 0) update();
  m.sync_warp(m.lanes());
}

/// Thrown through stage code when a waiting call is left because the run is aborting. Stage code does not catch it.
struct Unwind : Aborted {
  explicit Unwind(std::string const& text, unsigned how_often = 0) : Aborted(text), times(how_often) {}
  /// How many Unwinds the stage's thread or lane has been thrown in this run, this one included. 0: of another run.
  unsigned times;
};

}  // namespace hiway
