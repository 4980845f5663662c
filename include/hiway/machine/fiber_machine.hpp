// A lane of the emulated device as a machine. Words are accessed by std::atomic_ref, with a schedule point before and
// after every access: with points only before accesses, a planted free-before-read bug was missed. Warps and blocks are
// those of lib/simt.
#pragma once
#include <bit>
#include <cstring>
#include <type_traits>

#include "hiway/machine/lane.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

struct FiberMachine : AllAtHome<FiberMachine> {
  using Tuning = EmulatedTuning;

  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T load(Word<T>& word, MemoryOrder order) const {
    simt::schedule_point();
    T const value = ThreadMachine{}.load(word, order);
    simt::schedule_point();
    return value;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE void store(Word<T>& word, T value, MemoryOrder order) const {
    simt::schedule_point();
    ThreadMachine{}.store(word, value, order);
    simt::schedule_point();
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_add(Word<T>& word, T value, MemoryOrder order) const {
    simt::schedule_point();
    T const before = ThreadMachine{}.fetch_add(word, value, order);
    simt::schedule_point();
    return before;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_or(Word<T>& word, T value, MemoryOrder order) const {
    simt::schedule_point();
    T const before = ThreadMachine{}.fetch_or(word, value, order);
    simt::schedule_point();
    return before;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_xor(Word<T>& word, T value, MemoryOrder order) const {
    simt::schedule_point();
    T const before = ThreadMachine{}.fetch_xor(word, value, order);
    simt::schedule_point();
    return before;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T fetch_min(Word<T>& word, T value, MemoryOrder order) const {
    simt::schedule_point();
    T const before = ThreadMachine{}.fetch_min(word, value, order);
    simt::schedule_point();
    return before;
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) const {
    simt::schedule_point();
    bool const won = ThreadMachine{}.compare_exchange(word, expected, desired, order);
    simt::schedule_point();
    return won;
  }
  HIWAY_DEVICE void fence_across() const { ThreadMachine{}.fence_across(); }
  HIWAY_DEVICE void fence_behind_ticket() const { ThreadMachine{}.fence_behind_ticket(); }

  static constexpr unsigned warp_lanes = 32;
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned lane() const { return simt::lane_id().thread % 32; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::uint32_t lanes() const {
    simt::LaneId const id = simt::lane_id();
    unsigned const rest = id.threads - (id.thread & ~31u);
    return rest >= 32u ? ~0u : lanes_below(rest);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_PART_OF_CALLER HIWAY_DEVICE std::uint32_t converged() const { return simt::converge(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::uint32_t ballot(std::uint32_t mask, bool predicate) const {
    if (mask == (1u << lane())) return predicate ? mask : 0u;
    return static_cast<std::uint32_t>(simt::meet(simt::WarpOperation::ballot, mask, predicate ? 1 : 0, 0));
  }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T shuffle(std::uint32_t mask, T value, unsigned source) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    if (mask == (1u << lane())) return value;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = simt::meet(simt::WarpOperation::shuffle, mask, bits, source);
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void sync_warp(std::uint32_t mask) const {
    if (mask != (1u << lane())) simt::meet(simt::WarpOperation::sync, mask, 0, 0);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned count(std::uint32_t mask) const {
    return static_cast<unsigned>(std::popcount(mask));
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned lowest(std::uint32_t mask) const {
    return static_cast<unsigned>(std::countr_zero(mask));
  }

  static constexpr bool shares_blocks = true;
  HIWAY_DEVICE FiberMachine in_block() const { return *this; }
  HIWAY_NO_SPACE_CHECK template <class T>
  HIWAY_DEVICE T& block_room() const {
    static_assert(sizeof(T) <= simt::block_room_bytes);
    return *static_cast<T*>(simt::block_room());
  }
  HIWAY_DEVICE std::uint32_t cycles() const { return static_cast<std::uint32_t>(2 * now_ns()); }  // about a GPU's clock
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned thread_in_block() const { return simt::lane_id().thread; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned block_threads() const { return simt::lane_id().threads; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned block_index() const { return simt::lane_id().block; }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void sync_block() const { simt::sync_block(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::byte* shared_memory() const { return simt::shared_memory(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE std::uint64_t share_in_block(std::uint64_t value) const {
    return simt::share_in_block(value);
  }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE bool is_own(void const* address) const { return simt::on_own_stack(address); }

  HIWAY_DEVICE unsigned thread_index() const { return thread_in_block() + block_index() * block_threads(); }
  HIWAY_DEVICE unsigned thread_count() const { return block_count() * block_threads(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned block_count() const { return simt::lane_id().blocks; }

  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE LaneScope scope() const { return simt::lane_scope(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void set_scope(LaneScope scope) const { simt::set_lane_scope(scope); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE unsigned& misses(unsigned&) const { return simt::lane_misses(); }
  HIWAY_NO_SPACE_CHECK HIWAY_DEVICE void relax(unsigned misses) const { simt::wait(misses); }
  HIWAY_DEVICE std::uint64_t now_ns() const { return ThreadMachine{}.now_ns(); }
  HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE void leave() const { throw_unwind(); }
  HIWAY_NO_SPACE_CHECK [[noreturn]] HIWAY_DEVICE void leave_run(Control& control, std::uint32_t) const {
    leave_lane(control);
  }
};
static_assert(Machine<FiberMachine>);

}  // namespace hiway
