// What the explored worlds are made of: rings with memory of their own, and items that show a race.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>

#include "hiway/relay.hpp"
#include "hiway/ring.hpp"
#include "tests/explore/explore_machine.hpp"

namespace hiway::explore {

inline void require(bool holds, char const* what) {
  if (!holds) throw Failure{what};
}

/// `World`, where the memory has a fault: what the world's code needs of it must be missed.
template <class World, Weaken What>
struct Weakened : World {
  static constexpr Weaken weaken = What;
};

/// An item of two halves. They are written and read with a schedule point between them: an item that is read while it
/// is written, or written over while it is read, has halves that differ.
struct Torn {
  std::uint32_t value;
  std::uint32_t complement;
};

struct WriteTorn {
  static constexpr std::size_t bytes = sizeof(Torn);
  ExploreMachine m;
  std::uint32_t value;
  void operator()(std::byte* slot) const {
    m.point();
    m.writes(slot);
    std::memcpy(slot, &value, sizeof value);
    m.point();
    std::uint32_t const complement = ~value;
    std::memcpy(slot + sizeof value, &complement, sizeof complement);
    m.point();
  }
};
struct ReadTorn {
  static constexpr std::size_t bytes = sizeof(Torn);
  ExploreMachine m;
  std::uint32_t& value;
  void operator()(std::byte const* slot) const {
    std::uint32_t complement = 0;
    m.point();
    m.reads(slot);
    std::memcpy(&value, slot, sizeof value);
    m.point();
    std::memcpy(&complement, slot + sizeof value, sizeof complement);
    require(complement == ~value, "an item is torn");
    m.point();
  }
};

/// A ring of at most 4 Torn.
struct SmallRing {
  explicit SmallRing(std::uint32_t capacity, RingPart part = RingPart::whole, Torn* shared_items = nullptr,
                     std::uint32_t chunk_shift = 0) {
    auto const slots = std::bit_ceil(capacity);
    words.free.bits = part == RingPart::inbox ? 0 : static_cast<std::int32_t>(capacity);
    words.given.bits = part == RingPart::outbox ? capacity : 0;
    ring = {.items = reinterpret_cast<std::byte*>(shared_items != nullptr ? shared_items : items.data()),
            .turns = turns.data(),
            .done = done.data(),
            .words = &words,
            .slots_mask = slots - 1,
            .lap_shift = static_cast<std::uint32_t>(std::countr_zero(slots)),
            .chunk_shift = chunk_shift,
            .item_bytes = sizeof(Torn),
            .part = part};
  }
  SmallRing(SmallRing const&) = delete;
  SmallRing& operator=(SmallRing const&) = delete;

  [[nodiscard]] bool try_put(ExploreMachine m, std::uint32_t value, Control& control) {
    Grant const grant = claim_put(m, ring, m.converged(), true);
    if (!grant.granted) return false;
    WriteTorn{m, value}(begin_put(m, ring, grant.ticket, control));
    end_put(m, ring, grant);
    return true;
  }
  void put(ExploreMachine m, std::uint32_t value, Control& control) {
    for (unsigned misses = 0; !try_put(m, value, control); ++misses) m.relax(misses);
  }
  [[nodiscard]] bool try_get(ExploreMachine m, std::uint32_t& value, Credit credit, Control& control) {
    Grant const grant = claim_get(m, ring, m.converged(), true, nullptr, credit);
    if (!grant.granted) return false;
    ReadTorn{m, value}(begin_get(m, ring, grant.ticket, control));
    end_get(m, ring, grant, credit);
    return true;
  }
  /// Everything that was put was got, and all credit has come home.
  void check_rest(std::uint32_t capacity, std::uint64_t items_put) const {
    require(words.claimed.bits == items_put, "tickets of puts went astray");
    require(words.taken.bits == items_put, "tickets of gets went astray");
    require(words.free.bits == static_cast<std::int32_t>(capacity), "credit of puts went astray");
    require(words.avail.bits == 0, "credit of gets went astray");
  }

  std::array<Torn, 4> items{};
  std::array<Word<std::uint32_t>, 4> turns{};
  std::array<Word<std::uint32_t>, 8> done{};
  RingWords words;
  Ring ring;
};

/// Lays a whole ring as low_latency does within the device: turns beside items.
inline void lay_tagged(Ring& ring, std::array<TaggedSlot, 4>& slots) {
  ring.tagged = true;
  ring.items = reinterpret_cast<std::byte*>(slots.data());
  ring.item_bytes = sizeof(TaggedSlot);
  ring.turns = nullptr;
}

/// Plain memory that lanes write while they work: whoever sees the end sees all of it (T7).
template <unsigned Lanes>
struct Traces {
  void leave(ExploreMachine m, unsigned lane) { m.writes(&left[lane]); }
  void see_all(ExploreMachine m) const {
    for (char const& trace : left) m.reads(&trace);
  }
  std::array<char, Lanes> left{};
};

/// Calls `step` until `done`, as a monitor does; waits where it says that it did nothing.
template <class Step, class Done>
void step_until(ExploreMachine m, Step&& step, Done&& done) {
  for (unsigned misses = 0; !done();) {
    if (step()) {
      misses = 0;
    } else {
      m.relax(misses++);
    }
  }
}
/// Gets until all getters together have got `all` items: `get()` says how many came, `help()`, behind a miss, whether
/// there is reason to try again at once.
template <class Get, class Help>
void get_until(ExploreMachine m, Word<std::uint32_t>& got, unsigned all, Get&& get, Help&& help) {
  auto const step = [&] {
    std::uint32_t const came = get();
    if (came != 0) m.fetch_add(got, came, MemoryOrder::relaxed);
    return came != 0 || help();
  };
  step_until(m, step, [&] { return m.load(got, MemoryOrder::relaxed) == all; });
}
template <class Get>
void get_until(ExploreMachine m, Word<std::uint32_t>& got, unsigned all, Get&& get) {
  get_until(m, got, all, get, [] { return false; });
}

/// Puts of `Producers` times `Each` items and what became of them.
template <unsigned Producers, unsigned Each>
struct Ledger {
  static constexpr unsigned total = Producers * Each;
  using Last = std::array<std::uint32_t, Producers>;
  static std::uint32_t item(unsigned producer, unsigned i) { return producer * Each + i; }

  /// `last` is the getter's own: its last item of each producer, plus one.
  void got(std::uint32_t item, Last& last) {
    require(item < total, "an item that nobody put");
    require(!seen[item], "an item came twice");
    seen[item] = true;
    std::uint32_t const i = item % Each;
    require(last[item / Each] <= i, "items of one producer changed their order");
    last[item / Each] = i + 1;
  }
  void check() const {
    for (bool const s : seen) require(s, "an item was lost");
  }
  std::array<bool, total> seen{};
};

/// One step of both relays of a half-ring, as the device monitor makes it, and as the host's.
inline bool step(ExploreMachine m, Relays& r) {
  bool const told = tell(m, r.tells);
  return hear(m, r.hears) || told;
}
inline bool step_if_free(ExploreMachine m, Relays& r) {
  bool const told = tell_if_free(m, r.tells);
  return hear_if_free(m, r.hears) || told;
}

}  // namespace hiway::explore
