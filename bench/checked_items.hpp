// Items that say which they are, and the check that each came once and whole.
//
//   id       number * producers + producer; every id below `total` is put once
//   words    word 0 is the id, every other a function of it: an item of two halves is found
//   counted  in registers in every turn: how many, the sum of ids, the sum of their hashes. A multiset of ids that agrees in
//            all three by accident has a chance of 2^-64
//   marked   where there is a bitmap: each id sets its bit. It tells which is lost, and costs an atomic an item, so it is
//            for turns that are not timed
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/machine/machine.hpp>
#include <string>
#include <vector>

#include "cli/hash.hpp"

namespace bench {

/// One item of 4, 12, 16 or 64 bytes.
template <unsigned Bytes>
struct alignas(Bytes % 16 == 0 ? 16 : 4) Item {
  static constexpr unsigned count = Bytes / 4;
  std::uint32_t words[count];
};

template <unsigned Bytes>
HIWAY_DEVICE inline Item<Bytes> make_item(std::uint32_t id) {
  Item<Bytes> item;
  for (unsigned i = 0; i < Item<Bytes>::count; ++i) item.words[i] = id * (0x9e3779b0u * i + 1u) + i;
  return item;
}

HIWAY_ITEMS_MAY_LOOK_UNSET
template <unsigned Bytes>
HIWAY_DEVICE inline bool is_whole(Item<Bytes> const& item) {
  Item<Bytes> const right = make_item<Bytes>(item.words[0]);
  std::uint32_t differs = 0;
  for (unsigned i = 1; i < Item<Bytes>::count; ++i) differs |= item.words[i] ^ right.words[i];
  return differs == 0;
}
HIWAY_ITEMS_END

HIWAY_DEVICE inline std::uint64_t hash_of(std::uint32_t id) { return cli::mixed(id + cli::mixed_step); }

/// What a plant breaks: one item, or two that are swapped in part.
enum class PlantKind : std::uint32_t { none, lose, duplicate, swap };
struct RingPlant {
  static constexpr std::uint32_t no_id = 0xffffffffu;
  PlantKind kind = PlantKind::none;
  std::uint32_t first = no_id;
  std::uint32_t second = no_id;
};
/// The plant of a name; *throws* cli::BadInput for one that nobody knows. Empty: none.
[[nodiscard]] RingPlant plant_of(std::string const& name);

/// The two planted items change halves: items of one word the low four bits of their ids.
template <unsigned Bytes>
HIWAY_DEVICE inline void swap_in_part(Item<Bytes>& item, std::uint32_t id, RingPlant const& plant) {
  std::uint32_t const other = id == plant.first ? plant.second : plant.first;
  if constexpr (Bytes == 4) {
    item.words[0] = (id & ~15u) | (other & 15u);
  } else {
    Item<Bytes> const from = make_item<Bytes>(other);
    for (unsigned i = Item<Bytes>::count / 2; i < Item<Bytes>::count; ++i) item.words[i] = from.words[i];
  }
}

/// What one warp counted.
struct LaneTally {
  std::uint64_t items = 0;
  std::uint64_t ids = 0;
  std::uint64_t hashes = 0;
  std::uint64_t torn = 0;
  std::uint64_t twice = 0;    ///< found marked already
  std::uint64_t unknown = 0;  ///< an id that was not put; only where marked
};

HIWAY_ITEMS_MAY_LOOK_UNSET
/// A turn's check as a kernel sees it.
struct Check {
  LaneTally* tallies = nullptr;                  ///< one a warp
  hiway::Word<std::uint32_t>* marked = nullptr;  ///< a bit an id; or null
  std::uint32_t total = 0;
  RingPlant plant;

  template <unsigned Bytes>
  HIWAY_DEVICE Item<Bytes> make(std::uint32_t id) const {
    Item<Bytes> item = make_item<Bytes>(id);
    if (plant.kind == PlantKind::swap && (id == plant.first || id == plant.second)) swap_in_part(item, id, plant);
    return item;
  }

  template <class Machine, unsigned Bytes>
  HIWAY_DEVICE void account(Machine m, LaneTally& mine, Item<Bytes> const& item) const {
    std::uint32_t const id = item.words[0];
    unsigned times = 1;
    if (id == plant.first && plant.kind == PlantKind::lose) times = 0;
    if (id == plant.first && plant.kind == PlantKind::duplicate) times = 2;
    for (; times != 0; --times) {
      mine.items += 1;
      mine.ids += id;
      mine.hashes += hash_of(id);
      if (!is_whole(item)) mine.torn += 1;
      if (marked != nullptr) mark(m, mine, id);
    }
  }

  /// Adds up the warp's lanes and stores them; all lanes of the warp together, once.
  template <class Machine>
  HIWAY_DEVICE void store(Machine m, LaneTally mine) const {
    std::uint32_t const all = m.lanes();
    auto const sum = [&](std::uint64_t value) {
      for (unsigned step = 16; step != 0; step /= 2) value += m.shuffle(all, value, m.lane() ^ step);
      return value;
    };
    mine = {sum(mine.items), sum(mine.ids), sum(mine.hashes), sum(mine.torn), sum(mine.twice), sum(mine.unknown)};
    if (m.lane() == 0) tallies[m.thread_index() / 32] = mine;
  }

 private:
  template <class Machine>
  HIWAY_DEVICE void mark(Machine m, LaneTally& mine, std::uint32_t id) const {
    if (id >= total) {
      mine.unknown += 1;
      return;
    }
    std::uint32_t const bit = 1u << (id % 32);
    if ((m.fetch_or(marked[id / 32], bit, hiway::MemoryOrder::relaxed) & bit) != 0) mine.twice += 1;
  }
};
HIWAY_ITEMS_END

/// Empty when every id below `total` was counted once and whole; else what is wrong, in one line. `marked` is empty where
/// there was no bitmap.
[[nodiscard]] std::string wrong_in(std::vector<LaneTally> const& tallies, std::vector<std::uint32_t> const& marked,
                                   std::uint32_t total, std::uint32_t producers);

}  // namespace bench
