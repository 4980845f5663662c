// The memory of one row of a ring's bench: the slots, used by its variants in turn, and what the check needs.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <hiway/ring.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/checked_items.hpp"
#include "bench/device_run.hpp"
#include "bench/queues.hpp"
#include "cli/bad_input.hpp"

namespace bench {

/// The library's ways to share a claim among warps of a block.
struct NamedGrouping {
  char const* name;
  hiway::Grouping grouping;
};
inline constexpr NamedGrouping block_groupings[] = {{"block", hiway::Grouping::block},
                                                    {"block_scan", hiway::Grouping::block_scan},
                                                    {"automatic", hiway::Grouping::automatic}};

/// How a variant is laid out on the device.
struct Layout {
  unsigned blocks = 1;
  unsigned threads_per_block = 32;
  std::uint32_t producers = 1;
  std::uint32_t rounds = 1;  ///< items of a producer
  [[nodiscard]] unsigned threads() const { return blocks * threads_per_block; }
  [[nodiscard]] std::uint32_t total() const { return rounds * producers; }
};

/// `threads` in blocks of `threads_per_block`, 0: as many as the device holds; never more than that, or a put could wait
/// for a block that has not started.
[[nodiscard]] inline unsigned blocks_for(unsigned threads, unsigned threads_per_block, unsigned resident) {
  return threads == 0 ? resident : std::max(1u, std::min(threads / threads_per_block, resident));
}

/// *Throws* cli::BadInput when a number that was given, not 0, is out of range.
inline void require_range(std::int64_t value, std::int64_t least, std::int64_t most, std::string const& option) {
  if (value == 0 || (value >= least && value <= most)) return;
  throw cli::BadInput{option + " must be " + std::to_string(least) + " to " + std::to_string(most) + ": " +
                      std::to_string(value)};
}
/// The same for threads, which come in blocks of 256.
inline void require_threads(std::int64_t threads, std::int64_t most) {
  require_range(threads, 256, most, "--threads");
  if (threads % 256 != 0) throw cli::BadInput{"--threads must be a multiple of 256: " + std::to_string(threads)};
}

/// The rows' threads, 0 for a full grid; `given` alone if it is not 0.
[[nodiscard]] inline std::vector<unsigned> thread_counts(std::int64_t given, bool small) {
  if (given != 0) return {static_cast<unsigned>(given)};
  if (small) return {256, 128, 64};
  return {0, 32768, 4096, 256};
}
/// The items of a turn: `given`, if not 0; else `small`, if not 0; else so many that a turn takes some milliseconds, of which
/// the launch is below a hundredth.
[[nodiscard]] inline std::uint32_t items_for(std::int64_t given, unsigned threads, std::uint32_t small) {
  if (given != 0) return static_cast<std::uint32_t>(given);
  if (small != 0) return small;
  return threads == 0 || threads > 8192 ? 1U << 26 : threads > 1024 ? 1U << 24 : 1U << 20;
}
[[nodiscard]] inline Json words_for(unsigned threads) { return threads == 0 ? Json("full grid") : Json(threads); }

/// Slots for items of one size, as the library and as the baselines see them.
template <unsigned Bytes>
class RingRooms {
 public:
  /// *Lifetime*: `run` holds the memory until its release_all.
  RingRooms(DeviceRun& run, std::uint32_t capacity) : run_(run), capacity_(std::bit_ceil(capacity)) {
    items_ = run.room<Item<Bytes>>(capacity_);
    turns_ = run.room<Word<std::uint32_t>>(capacity_);
    if constexpr (tagged) tagged_slots_ = run.room<hiway::TaggedSlot>(capacity_);
    ring_words_ = run.room<hiway::RingWords>(most_shards);
    slot_words_ = run.room<SlotWords>(1);
  }

  /// Empties the ring, for a variant that has it in so many shards.
  void reset(unsigned shards) {
    std::vector<hiway::RingWords> words(shards);
    for (hiway::RingWords& w : words) w.free.bits = static_cast<std::int32_t>(capacity_ / shards);
    SlotWords const none;
    run_.backend().clear(turns_, capacity_ * sizeof *turns_);
    if constexpr (tagged) run_.backend().clear(tagged_slots_, capacity_ * sizeof *tagged_slots_);
    run_.backend().upload(ring_words_, words.data(), words.size() * sizeof words[0]);
    run_.backend().upload(slot_words_, &none, sizeof none);
  }

  static constexpr unsigned most_shards = 16;
  /// Items of this size may lie beside their turns.
  static constexpr bool tagged = Bytes <= hiway::TaggedSlot::most_bytes;

  /// In so many shards, which share the slots.
  [[nodiscard]] LibraryRing<Item<Bytes>> library(unsigned shards = 1) const {
    hiway::Ring ring;
    ring.items = reinterpret_cast<std::byte*>(items_);
    ring.turns = turns_;
    ring.words = ring_words_;
    ring.slots_mask = capacity_ / shards - 1;
    ring.lap_shift = static_cast<std::uint32_t>(std::countr_zero(capacity_ / shards));
    ring.shards = static_cast<std::uint8_t>(shards);
    ring.item_bytes = Bytes;
    return {ring, run_.control()};
  }
  /// As a tunnel of the device with low_latency lays it.
  [[nodiscard]] LibraryRing<Item<Bytes>> low_latency() const {
    LibraryRing<Item<Bytes>> library = this->library();
    library.ring.items = reinterpret_cast<std::byte*>(tagged_slots_);
    library.ring.turns = nullptr;
    library.ring.tagged = true;
    library.ring.item_bytes = sizeof *tagged_slots_;
    return library;
  }
  [[nodiscard]] Slots<Item<Bytes>> slots() const {
    return {items_, turns_, slot_words_, capacity_, lap_shift(), run_.control()};
  }
  [[nodiscard]] std::uint32_t capacity() const { return capacity_; }
  /// What a reader needs beside a rate.
  [[nodiscard]] Json facts(Layout const& layout, bool in_tagged_slots = false) const {
    return {{"bytes_a_slot", in_tagged_slots ? sizeof(hiway::TaggedSlot) : Bytes + sizeof *turns_},
            {"capacity_items", capacity_},
            {"blocks", layout.blocks},
            {"threads", layout.threads()},
            {"items", layout.total()}};
  }

 private:
  [[nodiscard]] std::uint32_t lap_shift() const { return static_cast<std::uint32_t>(std::countr_zero(capacity_)); }

  DeviceRun& run_;
  std::uint32_t capacity_;
  Item<Bytes>* items_;
  Word<std::uint32_t>* turns_;
  hiway::TaggedSlot* tagged_slots_ = nullptr;
  hiway::RingWords* ring_words_;
  SlotWords* slot_words_;
};

/// The check of one variant's turns, with its memory (checked_items.hpp).
class CheckRooms {
 public:
  CheckRooms(DeviceRun& run, Layout const& layout, RingPlant const& plant) : run_(run), layout_(layout), plant_(plant) {
    tallies_ = run.room<LaneTally>(warps());
    marked_ = run.room<Word<std::uint32_t>>(words());
  }

  /// One turn: `seconds_of(Check)` runs it and says how long it took. After one that stood still there is none: each would
  /// take the device's patience.
  template <class SecondsOf>
  [[nodiscard]] Turn turn(SecondsOf&& seconds_of) {
    if (!stood_still_.empty()) return {0, false, stood_still_};
    try {
      double const seconds = seconds_of(next_check());
      std::string wrong = wrong_in_turn();
      bool const right = wrong.empty();
      return {layout_.total() / seconds, right, std::move(wrong)};
    } catch (StandsStill const& error) {
      stood_still_ = error.what();
      return {0, false, stood_still_};
    }
  }

 private:
  /// Only the first turn is marked: on a GPU it is not timed.
  [[nodiscard]] Check next_check() {
    marks_ = turns_++ == 0;
    run_.backend().clear(tallies_, warps() * sizeof *tallies_);
    if (marks_) run_.backend().clear(marked_, words() * sizeof *marked_);
    return {tallies_, marks_ ? marked_ : nullptr, layout_.total(), plant_};
  }
  [[nodiscard]] std::string wrong_in_turn() const {
    std::vector<LaneTally> tallies(warps());
    std::vector<std::uint32_t> marked(marks_ ? words() : 0);
    run_.backend().download(tallies.data(), tallies_, tallies.size() * sizeof tallies[0]);
    if (marks_) run_.backend().download(marked.data(), marked_, marked.size() * sizeof marked[0]);
    return wrong_in(tallies, marked, layout_.total(), layout_.producers);
  }

  [[nodiscard]] std::size_t warps() const { return layout_.threads() / 32; }
  [[nodiscard]] std::size_t words() const { return (std::size_t{layout_.total()} + 31) / 32; }

  DeviceRun& run_;
  Layout layout_;
  RingPlant plant_;
  LaneTally* tallies_;
  Word<std::uint32_t>* marked_;
  unsigned turns_ = 0;
  bool marks_ = false;
  std::string stood_still_;
};

}  // namespace bench
