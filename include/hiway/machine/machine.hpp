// Machine: what an algorithm may ask of the thread or lane that runs it. Ring, grouping, termination and monitors are
// templates over the machine and contain no #if. CPU threads (thread_machine.hpp), emulated lanes (fiber_machine.hpp)
// and GPU lanes (cuda_machine.cuh) each supply one, side by side.
//
// The concept Machine, at the end of this file, says what each must supply. Numbers that make it quick stand apart
// (tuning.hpp), and so does what a CPU thread does at the ends of tunnels besides (stage_thread.hpp).
//
// A CPU thread is a block of one lane. A type that a kernel sees never depends on the machine.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "hiway/config.hpp"
#include "hiway/error.hpp"

namespace hiway {

/// Memory order of one access; the names and meanings of std::memory_order.
enum class MemoryOrder : std::uint8_t { relaxed, acquire, release, acq_rel };

/// From this many misses on, a wait is long (about a millisecond on a GPU), so backing off costs little.
inline constexpr unsigned long_wait_misses = 512;

/// Where a machine keeps a lane's scope in the block's shared memory, it takes so many bytes.
inline constexpr std::size_t scope_bytes_of_lane = 16;

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

struct Control;
struct ScopeTable;

/// What a lane or thread has of the task that it works on (scope/word.hpp). A task of no scope has word 0.
struct LaneScope {
  std::uint64_t word;
  ScopeTable* table;
  std::uint32_t run;  ///< of a CPU thread, which may keep it beyond the run
};

/// Thrown out of a waiting call, through stage code, when the run aborts. Stage code must not catch it.
struct Unwind : Aborted {
  explicit Unwind(std::string const& text, unsigned how_often = 0) : Aborted(text), times(how_often) {}
  /// How many Unwinds have been thrown in this stage's thread or lane in this run, including this one. 0: of another
  /// run.
  unsigned times;
};

namespace detail {

/// Stands for a slot of a tagged ring (ring/tagged_slot.hpp).
struct alignas(16) AnySlot {
  std::byte item[12];
  Word<std::uint32_t> tag;
};

/// Words of one type, at home and across.
template <class M, class T>
concept AccessesWords = requires(M const m, Word<T>& word, T value, T& expected, MemoryOrder order) {
  // Of a word at home.
  { m.load(word, order) } -> std::same_as<T>;
  m.store(word, value, order);
  { m.fetch_add(word, value, order) } -> std::same_as<T>;
  { m.compare_exchange(word, expected, value, order) } -> std::same_as<bool>;
  // Of a word whose home is the other side of the bus. There is no read-modify-write across: CPU and GPU atomics on one
  // word lose updates (measured).
  { m.load_across(word, order) } -> std::same_as<T>;
  m.store_across(word, value, order);
  // A store across that follows a fence_across, which releases for it.
  m.store_fenced_across(word, value);
  // Loads of which several are under way at once. acquire_ahead acquires what they saw.
  { m.load_ahead(word) } -> std::same_as<T>;
  m.acquire_ahead();
  // Stores of which several are under way at once. release_ahead releases for all of them what came before it.
  m.release_ahead();
  m.store_ahead(word, value);
};
template <class M>
concept AccessesBits = requires(M const m, Word<std::uint32_t>& word, std::uint32_t value, MemoryOrder order) {
  { m.fetch_or(word, value, order) } -> std::same_as<std::uint32_t>;
  { m.fetch_xor(word, value, order) } -> std::same_as<std::uint32_t>;
  { m.fetch_min(word, value, order) } -> std::same_as<std::uint32_t>;
};
template <class M>
concept Fences = requires(M const m) {
  m.fence_across();
  // Between a fetch_add at home and a load at home of a word that a checker on the other side may have stored: on a CPU
  // everyone sees the two in that order.
  m.fence_behind_ticket();
};
/// Slots whose items carry tags, also across (ring/tags.hpp).
template <class M>
concept AccessesTaggedSlots = requires(M const m, AnySlot& slot, AnySlot const& value) {
  // Whether writing or looking is one access to item and tag together, which orders nothing else.
  { M::tags_bring_items } -> std::convertible_to<bool>;
  // Writes a slot and its tag.
  m.put_tagged(slot, value);
  // Looks at the tag.
  { m.look_tagged(slot) } -> std::same_as<AnySlot>;
};

template <class M>
concept IsLaneOfWarp = requires(M const m, std::uint32_t mask, bool predicate, unsigned source) {
  // How many lanes a whole warp has.
  { M::warp_lanes } -> std::convertible_to<unsigned>;
  // The mask of the launched lanes; the lane's number; a part of the warp that is at this place of the code.
  { m.lanes() } -> std::same_as<std::uint32_t>;
  { m.lane() } -> std::same_as<unsigned>;
  { m.converged() } -> std::same_as<std::uint32_t>;
  // The lanes of `mask` meet.
  { m.ballot(mask, predicate) } -> std::same_as<std::uint32_t>;
  { m.shuffle(mask, std::uint32_t{}, source) } -> std::same_as<std::uint32_t>;
  { m.shuffle(mask, std::uint64_t{}, source) } -> std::same_as<std::uint64_t>;
  m.sync_warp(mask);
  // Of a mask: how many lanes, and the lowest.
  { m.count(mask) } -> std::same_as<unsigned>;
  { m.lowest(mask) } -> std::same_as<unsigned>;
  // A 0 that the compiler takes for a different value in each lane (docs/adr/0024).
  { m.zero_of_lane() } -> std::same_as<std::uint32_t>;
};

template <class M>
concept IsThreadOfBlock = requires(M const m, std::uint64_t value, void const* address) {
  { m.thread_in_block() } -> std::same_as<unsigned>;
  { m.block_threads() } -> std::same_as<unsigned>;
  { m.block_index() } -> std::same_as<unsigned>;
  m.sync_block();
  { m.shared_memory() } -> std::same_as<std::byte*>;
  // The first thread's value, for all.
  { m.share_in_block(value) } -> std::same_as<std::uint64_t>;
  // Whether only the calling lane reaches the address (its stack).
  { m.is_own(address) } -> std::same_as<bool>;
  // Whether a block may have more than one warp.
  { M::shares_blocks } -> std::convertible_to<bool>;
  // Over all threads or blocks of the stage.
  { m.thread_index() } -> std::same_as<unsigned>;
  { m.thread_count() } -> std::same_as<unsigned>;
  { m.block_count() } -> std::same_as<unsigned>;
};
/// What a machine whose blocks may have more than one warp has besides.
template <class M>
concept SharesBlocks = requires(M const m, Word<std::uint32_t>& word, MemoryOrder order) {
  // The words' operations in the block's scope, on words that only the block uses.
  { m.in_block().load(word, order) } -> std::same_as<std::uint32_t>;
  { m.in_block().fetch_or(word, 1u, order) } -> std::same_as<std::uint32_t>;
  // The block's one T, all bits 0 at the start.
  { m.template block_room<AnySlot>() } -> std::same_as<AnySlot&>;
  // A clock for short times, which wraps.
  { m.cycles() } -> std::same_as<std::uint32_t>;
};

template <class M>
concept Waits = requires(M const m, unsigned misses, unsigned& own) {
  // Lets others run, longer after more misses; 0: the first miss since something came.
  m.relax(misses);
  // Of the lane's or thread's own task.
  { m.scope() } -> std::same_as<LaneScope>;
  m.set_scope(LaneScope{});
  // A clock that never goes back.
  { m.now_ns() } -> std::same_as<std::uint64_t>;
  // Where a get counts its misses in a row. A thread or emulated lane keeps the count itself: a handle that is made
  // anew for each get would never back off. A GPU lane uses the handle's own count.
  { m.misses(own) } -> std::same_as<unsigned&>;
};
template <class M>
concept Leaves = requires(M const m, Control& control, std::uint32_t tunnel) {
  // Neither returns: a thread or emulated lane unwinds, a GPU lane exits. leave_run: because the run ends or aborts;
  // `tunnel` is the number of the tunnel whose end was called, or no_id.
  m.leave();
  m.leave_run(control, tunnel);
};

}  // namespace detail

template <class M>
concept Machine = std::is_trivially_copyable_v<M> && detail::AccessesWords<M, std::int32_t> &&
    detail::AccessesWords<M, std::uint32_t> && detail::AccessesWords<M, std::uint64_t> && detail::AccessesBits<M> &&
    detail::Fences<M> && detail::AccessesTaggedSlots<M> && detail::IsLaneOfWarp<M> && detail::IsThreadOfBlock<M> &&
    (!M::shares_blocks || detail::SharesBlocks<M>)&&detail::Waits<M>&& detail::Leaves<M>;

}  // namespace hiway
