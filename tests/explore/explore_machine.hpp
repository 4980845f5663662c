// A fiber of the explorer as a machine: words of its weak memory, a schedule point before and after every access.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "hiway/machine/stage_thread.hpp"
#include "tests/explore/explorer.hpp"

namespace hiway::explore {

/// Whose read-modify-writes: a GPU's, which are C++'s; an x86 CPU's, each of which is a full fence; or another CPU's,
/// with a fence behind a ticket.
enum class Atomics : std::uint8_t { of_gpu, of_x86, of_cpu };

struct ExploreMachine {
  struct Tuning : EmulatedTuning {
    static constexpr unsigned looks_for_a_late_put = 0;  // a wait here is one for something that comes
  };
  struct Role : NoRole {
    static constexpr bool helps_monitors = true;
  };

  /// Where lanes may converge: those of one site only. A world gives each of its loops another.
  unsigned site = 0;
  Atomics atomics = Atomics::of_gpu;
  [[nodiscard]] ExploreMachine at(unsigned number) const { return {number, atomics}; }
  [[nodiscard]] ExploreMachine with(Atomics others) const { return {site, others}; }
  /// For a world: between two halves of a plain access.
  void point() const { Explorer::here().point(); }

  /// For a world: it reads, or writes, all of the item there. A race is a failure.
  void reads(void const* item) const { Explorer::here().read_item(item); }
  void writes(void const* item) const { Explorer::here().write_item(item); }

  template <class T>
  T load(Word<T>& word, MemoryOrder order) const {
    return access([&] { return Explorer::here().load(word, order); });
  }
  template <class T>
  void store(Word<T>& word, T value, MemoryOrder order) const {
    access([&] { Explorer::here().store(word, value, order); });
  }
  template <class T>
  T fetch_add(Word<T>& word, T value, MemoryOrder order) const {
    return access([&] { return exchange(word, static_cast<T>(word.bits + value), order); });
  }
  template <class T>
  T fetch_or(Word<T>& word, T value, MemoryOrder order) const {
    return access([&] { return exchange(word, static_cast<T>(word.bits | value), order); });
  }
  template <class T>
  T fetch_xor(Word<T>& word, T value, MemoryOrder order) const {
    return access([&] { return exchange(word, static_cast<T>(word.bits ^ value), order); });
  }
  template <class T>
  bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) const {
    return access([&] { return Explorer::here().compare_exchange(word, expected, desired, order); });
  }
  template <class T>
  T load_across(Word<T>& word, MemoryOrder order) const {
    return load(word, order);
  }
  template <class T>
  void store_across(Word<T>& word, T value, MemoryOrder order) const {
    store(word, value, order);
  }
  template <class T>
  T load_ahead(Word<T>& word) const {
    return load(word, MemoryOrder::relaxed);
  }
  void acquire_ahead() const { Explorer::here().acquire_fence(); }
  void release_ahead() const { Explorer::here().release_fence(); }
  template <class T>
  void store_ahead(Word<T>& word, T value) const {
    store(word, value, MemoryOrder::relaxed);
  }
  [[nodiscard]] std::uint32_t zero_of_lane() const { return 0; }
  static constexpr bool tags_bring_items = false;
  template <class Slot>
  Slot look_tagged(Slot& slot) const {
    Slot seen{};
    seen.tag.bits = load(slot.tag, MemoryOrder::acquire);
    return seen;
  }
  template <class Slot>
  void put_tagged(Slot& slot, Slot const& value) const {
    point();
    writes(slot.item);
    std::memcpy(slot.item, value.item, sizeof slot.item / 2);
    point();
    std::memcpy(slot.item + sizeof slot.item / 2, value.item + sizeof slot.item / 2, sizeof slot.item / 2);
    store(slot.tag, value.tag.bits, MemoryOrder::release);
  }
  template <class T>
  void store_fenced_across(Word<T>& word, T value) const {
    store(word, value, MemoryOrder::relaxed);
  }
  void fence_across() const {
    point();
    Explorer::here().fence();
    point();
  }
  void asymmetric_fence_light() const {}
  void asymmetric_fence_heavy() const {
    point();
    Explorer::here().fence_all();
    point();
  }
  void fence_behind_ticket() const {
    if (atomics == Atomics::of_cpu) fence_across();
  }

  [[nodiscard]] unsigned lane() const { return Explorer::here().lane(); }
  [[nodiscard]] std::uint32_t lanes() const { return Explorer::here().warp_lanes(); }
  [[nodiscard]] std::uint32_t converged() const { return Explorer::here().converged(site); }
  [[nodiscard]] std::uint32_t ballot(std::uint32_t mask, bool predicate) const {
    if (mask == (1u << lane())) return predicate ? mask : 0u;
    return static_cast<std::uint32_t>(Explorer::here().meet(WarpOperation::ballot, mask, predicate ? 1 : 0, 0));
  }
  template <class T>
  T shuffle(std::uint32_t mask, T value, unsigned source) const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
    if (mask == (1u << lane())) return value;
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    bits = Explorer::here().meet(WarpOperation::shuffle, mask, bits, source);
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  void sync_warp(std::uint32_t mask) const {
    if (mask != (1u << lane())) Explorer::here().meet(WarpOperation::sync, mask, 0, 0);
  }
  [[nodiscard]] unsigned count(std::uint32_t mask) const { return static_cast<unsigned>(std::popcount(mask)); }
  [[nodiscard]] unsigned lowest(std::uint32_t mask) const { return static_cast<unsigned>(std::countr_zero(mask)); }

  // A block is one warp; block_explore.cpp has larger ones.
  static constexpr bool shares_blocks = false;
  [[nodiscard]] unsigned thread_in_block() const { return lane(); }
  [[nodiscard]] unsigned block_threads() const { return count(lanes()); }
  [[nodiscard]] unsigned block_index() const { return 0; }
  void sync_block() const { sync_warp(lanes()); }
  [[nodiscard]] std::byte* shared_memory() const { return nullptr; }
  [[nodiscard]] std::uint64_t share_in_block(std::uint64_t value) const {
    value = shuffle(lanes(), value, 0);
    sync_block();
    return value;
  }
  [[nodiscard]] bool is_own(void const* address) const { return Explorer::here().is_own(address); }
  [[nodiscard]] unsigned thread_index() const { return lane(); }
  [[nodiscard]] unsigned thread_count() const { return block_threads(); }
  [[nodiscard]] unsigned block_count() const { return 1; }

  [[nodiscard]] LaneScope scope() const { return Explorer::here().scope(); }
  void set_scope(LaneScope scope) const { Explorer::here().scope() = scope; }
  unsigned& misses(unsigned&) const { return Explorer::here().misses(); }
  void relax(unsigned) const { Explorer::here().relax(); }
  [[nodiscard]] std::uint64_t now_ns() const { return 0; }  // a world reads no clock (explorer.hpp S1)
  [[noreturn]] void leave() const { throw_unwind(); }
  [[noreturn]] void leave_run(Control&, std::uint32_t) const { leave(); }

 private:
  template <class T>
  T exchange(Word<T>& word, T value, MemoryOrder order) const {
    if (atomics == Atomics::of_x86) Explorer::here().fence();
    T const before = Explorer::here().exchange(word, value, order);
    if (atomics == Atomics::of_x86) Explorer::here().fence();
    return before;
  }
  template <class Access>
  static auto access(Access&& once) {
    Explorer::here().point();
    if constexpr (std::is_void_v<decltype(once())>) {
      once();
      Explorer::here().point();
    } else {
      auto const result = once();
      Explorer::here().point();
      return result;
    }
  }
};

}  // namespace hiway::explore
