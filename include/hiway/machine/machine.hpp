// Machine: what an algorithm may ask of the thread or lane that runs it. Ring, grouping, termination and monitors are
// templates over the machine and contain no #if. CPU threads (thread_machine.hpp), emulated lanes (fiber_machine.hpp)
// and GPU lanes (cuda_machine.cuh) each supply one, side by side.
//
//   words    load, store, fetch_add, fetch_or, fetch_xor, fetch_min, compare_exchange: of a Word at home
//            load_across, store_across, fence_across: of a Word whose home is the other side of the bus. There is no
//            read-modify-write across: CPU and GPU atomics on one word lose updates (measured)
//            load_ahead ... acquire_ahead: loads of which several are under way at once; acquire_ahead acquires what
//            they saw. counts_at_once: how many loads at once pay
//            put_tagged, look_tagged: writes a slot and its tag; looks at the tag (ring.hpp Tags). Also across.
//            tags_bring_items: either is one access to item and tag together, which orders nothing else
//            rounds_a_look_for_errors: only once in this many rounds (or misses of a wait) the end check looks for
//            readers that have left items behind, or for an abort. Across, such a look takes time, and it only ever
//            finds an error
//            looks_for_a_late_put: how often the end check, when it finds a put that came too late, looks whether that
//            put has failed by itself: the put's own fault names its stage
//            store_fenced_across: a store across that follows a fence_across, which releases for it
//            release_ahead ... store_ahead: stores of which several are under way at once; release_ahead releases for
//            all of them what came before it
//            fence_behind_ticket: between a fetch_add at home and a load at home of a word that a checker on the other
//            side may have stored: on a CPU everyone sees the two in that order
//   warp     warp_lanes: how many lanes a whole warp has; lanes: the mask of the launched lanes
//            lane, converged, ballot, shuffle, sync_warp; count, lowest: of a mask
//            zero_of_lane: a 0 that the compiler takes for a different value in each lane (docs/adr/0024)
//   block    thread_in_block, block_threads, block_index, sync_block, shared_memory; share_in_block: the first thread's
//            value for all; is_own: whether only the calling lane reaches the address (its stack)
//            shares_blocks: whether a block may have more than one warp. If so there are also in_block: the words'
//            operations in the block's scope, on words that only the block uses; block_room<T>: the block's one T, all
//            bits 0 at the start; cycles: a clock for short times, which wraps
//   stage    thread_index, thread_count, block_count: over all threads or blocks of the stage
//   time     relax(misses): lets others run, longer after more misses; 0: the first miss since something came
//            now_ns(): a clock that never goes back
//            misses(own): where a get counts its misses in a row. A thread or emulated lane keeps the count itself: a
//            handle that is made anew for each get would never back off. A GPU lane uses the handle's own count
//   helps_monitors   whether it does the monitors' steps itself where they would hold it up (relay.hpp M3)
//   has_branches     whether its ends may have several branches (branches.hpp)
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

/// From this many misses on, a wait is long (about a millisecond on a GPU), so backing off costs little.
inline constexpr unsigned long_wait_misses = 512;

/// A word shared by threads or lanes. Its home is the memory it lies in: the host's or the device's. At home it is
/// accessed in device scope (or by CPU atomics). From the other side it is accessed in system scope, by loads and by
/// stores of its one writer only. A CPU thread never accesses a word at the device's home while kernels run;
/// only Backend::peek copies it.
template <class T>
struct Word {
  T bits;
};

/// Bits of the lanes below `lane`.
HIWAY_DEVICE constexpr std::uint32_t lanes_below(unsigned lane) { return (1u << lane) - 1u; }

/// All lanes of the warp call it together; one of them runs `update`, and all leave when that is done. So all lanes
/// read the same values before the update, and the same after it.
template <class Machine, class Update>
HIWAY_DEVICE inline void by_one_lane(Machine m, Update&& update) {
  m.sync_warp(m.lanes());
  if (m.lane() == 0) update();
  m.sync_warp(m.lanes());
}

/// Thrown out of a waiting call, through stage code, when the run aborts. Stage code must not catch it.
struct Unwind : Aborted {
  explicit Unwind(std::string const& text, unsigned how_often = 0) : Aborted(text), times(how_often) {}
  /// How many Unwinds have been thrown in this stage's thread or lane in this run, including this one. 0: of another
  /// run.
  unsigned times;
};

}  // namespace hiway
