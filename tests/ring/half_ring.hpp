// A half-ring by itself, for tests that set its words.
#pragma once
#include <bit>
#include <cstdint>
#include <vector>

#include "hiway/ring.hpp"

namespace hiway_tests {

/// Of items of 4 bytes, in memory of its own.
struct HalfRing {
  HalfRing(hiway::RingPart part, std::uint32_t capacity) : items(capacity), done(2 * std::size_t{capacity}) {
    words.free.bits = part == hiway::RingPart::outbox ? static_cast<std::int32_t>(capacity) : 0;
    words.given.bits = part == hiway::RingPart::outbox ? capacity : 0;
    ring.items = reinterpret_cast<std::byte*>(items.data());
    ring.done = done.data();
    ring.words = &words;
    ring.slots_mask = capacity - 1;
    ring.lap_shift = static_cast<std::uint32_t>(std::countr_zero(capacity));
    ring.item_bytes = sizeof(std::uint32_t);
    ring.part = part;
  }

  std::vector<std::uint32_t> items;
  std::vector<hiway::Word<std::uint32_t>> done;
  hiway::RingWords words;
  hiway::Ring ring;
};

}  // namespace hiway_tests
