// What the benches of tunnels move, and how every item of it is known again.
//
// Item number n has n in every word; one of more than 64 bytes only in the first word of every 64 bytes, and i in its
// other words i. A receiver checks every word, and adds up how many, the numbers and their squares: together they tell a
// lost, a doubled and an altered item.
#pragma once
#include <cstddef>
#include <cstdint>
#include <hiway/config.hpp>
#include <string>
#include <type_traits>

namespace bench {

/// Word `i` of item `number` of `words` words.
HIWAY_DEVICE constexpr std::uint32_t word_of(std::uint32_t number, std::uint32_t i, std::uint32_t words) {
  return words <= 16 || i % 16 == 0 ? number : i;
}

/// The sizes of items that benches move.
inline constexpr std::size_t item_sizes[] = {4, 12, 16, 64, 4096};
/// The largest that a tunnel takes: what copies like best.
inline constexpr std::size_t largest_item_bytes = 65536;

/// An item of `Bytes` bytes.
template <std::size_t Bytes>
struct alignas(Bytes % 16 == 0 ? 16 : 4) Numbered {
  static constexpr std::uint32_t count = Bytes / 4;
  std::uint32_t words[count];

  /// Every word.
  HIWAY_DEVICE void write(std::uint32_t number) {
    for (std::uint32_t i = 0; i != count; ++i) words[i] = word_of(number, i, count);
  }
  /// Of an item that has been written the words that tell its number.
  HIWAY_DEVICE void number(std::uint32_t number) {
    for (std::uint32_t i = 0; i < count; i += count <= 16 ? 1 : 16) words[i] = number;
  }
  /// Words that are not as they should be: not 0 when one is not.
  [[nodiscard]] HIWAY_DEVICE std::uint32_t differences() const {
    std::uint32_t differ = 0;
    for (std::uint32_t i = 1; i < count; ++i) differ |= words[i] ^ word_of(words[0], i, count);
    return differ;
  }
};

/// Four words of an item that lies in its slot, read or written by one access; of a warp each lane has every 32nd.
struct alignas(16) Four {
  std::uint32_t words[4];
};
/// Calls `each(Four&, index of its first word)` for the lane's; Four const& where the item is const.
template <class Item, class Each>
HIWAY_DEVICE inline void for_fours_of_lane(Item& item, std::uint32_t lane, Each&& each) {
  static_assert(Item::count % 4 == 0 && alignof(Item) == alignof(Four));
  using As = std::conditional_t<std::is_const_v<Item>, Four const, Four>;
  for (std::uint32_t i = 4 * lane; i < Item::count; i += 4 * 32) each(*reinterpret_cast<As*>(item.words + i), i);
}
/// Item `number`'s words at `i`.
template <class Item>
HIWAY_DEVICE inline Four four_of(std::uint32_t number, std::uint32_t i) {
  Four four;
  for (std::uint32_t k = 0; k != 4; ++k) four.words[k] = word_of(number, i + k, Item::count);
  return four;
}

/// What one receiver saw.
struct Tally {
  std::uint64_t count = 0;
  std::uint64_t sum = 0;      ///< of the numbers; what counts is the rest by 2^32
  std::uint64_t squares = 0;  ///< likewise
  std::uint64_t altered = 0;  ///< not 0: an item was not as it was put

  HIWAY_DEVICE void add(std::uint32_t number, std::uint32_t differences) {
    ++count;
    sum += number;
    squares += std::uint64_t{number} * number;
    altered |= differences;
  }
  HIWAY_DEVICE void add(Tally const& other) {
    count += other.count;
    sum += other.sum;
    squares += other.squares;
    altered |= other.altered;
  }
};

/// An error put in on purpose, to see that it is found.
enum class Plant : std::uint8_t { none, lose, duplicate, alter };
/// What --plant names; empty: none. *Throws* cli::BadInput.
[[nodiscard]] Plant named_plant(std::string const& option);

/// The items of one run: `items` of them, numbered from `first`. Both below 2^31.
struct Order {
  std::uint64_t items = 0;
  std::uint32_t first = 0;
  Plant plant = Plant::none;

  /// The item in which the error is planted; nobody's number when there is none.
  [[nodiscard]] HIWAY_DEVICE std::uint64_t victim() const { return plant == Plant::none ? items : items / 2; }
};

/// What is not as `order` says; empty when everything is.
[[nodiscard]] std::string difference(Tally const& seen, Order const& order);

/// Writes `n` items of `item_bytes` (as Work's) side by side, numbered from `number`; checks as many. As fast as
/// the CPU's widest vectors allow: they are part of what is timed.
void write_items(void* to, std::size_t item_bytes, std::uint32_t number, std::size_t n);
/// The same of items that have been written before: only their numbers are new.
void renumber_items(void* items, std::size_t item_bytes, std::uint32_t number, std::size_t n);
[[nodiscard]] Tally check_items(void const* from, std::size_t item_bytes, std::size_t n);

/// The items from `begin` to `end`, without it, that part `part` of `parts` has to do with.
struct Share {
  std::uint64_t begin;
  std::uint64_t end;
};
[[nodiscard]] constexpr Share share_of(std::uint64_t items, unsigned part, unsigned parts) {
  return {items * part / parts, items * (part + 1) / parts};
}

}  // namespace bench
