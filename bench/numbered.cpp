#include "bench/numbered.hpp"

#include <cstring>
#include <stdexcept>

#include "cli/bad_input.hpp"

namespace bench {
namespace {

/// Calls `body` with a null pointer to items of this size.
template <class Body>
auto with_items_of(std::size_t item_bytes, Body&& body) {
  switch (item_bytes) {
    case 4: return body(static_cast<Numbered<4>*>(nullptr));
    case 12: return body(static_cast<Numbered<12>*>(nullptr));
    case 16: return body(static_cast<Numbered<16>*>(nullptr));
    case 64: return body(static_cast<Numbered<64>*>(nullptr));
    case 4096: return body(static_cast<Numbered<4096>*>(nullptr));
    case largest_item_bytes: return body(static_cast<Numbered<largest_item_bytes>*>(nullptr));
    default: throw std::invalid_argument("no items of " + std::to_string(item_bytes) + " bytes");
  }
}

// Compiled once for each width of vectors, by being part of a function for that width.
#define BENCH_INLINE __attribute__((always_inline)) inline

/// 16 words, in as few registers as they fit.
using Words = std::uint32_t __attribute__((vector_size(64)));

/// Items of `Stride` words in a row of 64 bytes: lane by lane, which of them.
template <unsigned Stride>
constexpr Words nth = {0,           1 / Stride,  2 / Stride,  3 / Stride, 4 / Stride,  5 / Stride,
                       6 / Stride,  7 / Stride,  8 / Stride,  9 / Stride, 10 / Stride, 11 / Stride,
                       12 / Stride, 13 / Stride, 14 / Stride, 15 / Stride};

/// The lane that has the first word of the item in `lane`.
template <unsigned Stride>
constexpr unsigned first_of(unsigned lane) {
  return lane / Stride * Stride;
}

/// Numbers whole rows of items of 4, 16 or 64 bytes.
template <unsigned Stride>
BENCH_INLINE void number_rows(std::uint32_t* to, std::uint32_t number, std::size_t rows) {
  Words value = nth<Stride> + number;
  for (std::size_t r = 0; r != rows; ++r, value += 16 / Stride) std::memcpy(to + 16 * r, &value, sizeof value);
}

/// Checks them.
template <unsigned Stride>
BENCH_INLINE Tally check_rows(std::uint32_t const* from, std::size_t rows) {
  Words sum{};
  Words squares{};
  Words differ{};
  for (std::size_t r = 0; r != rows; ++r) {
    Words row;
    std::memcpy(&row, from + 16 * r, sizeof row);
    Words const first = __builtin_shufflevector(
        row, row, first_of<Stride>(0), first_of<Stride>(1), first_of<Stride>(2), first_of<Stride>(3),
        first_of<Stride>(4), first_of<Stride>(5), first_of<Stride>(6), first_of<Stride>(7), first_of<Stride>(8),
        first_of<Stride>(9), first_of<Stride>(10), first_of<Stride>(11), first_of<Stride>(12), first_of<Stride>(13),
        first_of<Stride>(14), first_of<Stride>(15));
    sum += row;
    squares += row * row;
    differ |= row ^ first;
  }
  Tally tally;
  tally.count = rows * (16 / Stride);
  for (unsigned lane = 0; lane != 16; ++lane) {
    tally.altered |= differ[lane];
    if (lane % Stride != 0) continue;
    tally.sum += sum[lane];
    tally.squares += squares[lane];
  }
  return tally;
}

/// Whether the words of an item of more than 64 bytes are as they should be: 0.
template <class Item>
BENCH_INLINE std::uint32_t large_differences(Item const& item) {
  Words expected{item.words[0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  Words const step{0, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16};
  Words differ{};
  for (unsigned at = 0; at != Item::count; at += 16, expected += step) {
    Words row;
    std::memcpy(&row, item.words + at, sizeof row);
    differ |= row ^ expected;
  }
  std::uint32_t all = 0;
  for (unsigned lane = 0; lane != 16; ++lane) all |= differ[lane];
  return all;
}

template <class Item>
constexpr bool in_rows = 16 % Item::count == 0;

template <class Item>
BENCH_INLINE void renumber(Item* items, std::uint32_t number, std::size_t n) {
  std::size_t done = 0;
  if constexpr (in_rows<Item>) {
    std::size_t const rows = n * Item::count / 16;
    number_rows<Item::count>(items->words, number, rows);
    done = rows * 16 / Item::count;
  }
  for (; done != n; ++done) items[done].number(number + static_cast<std::uint32_t>(done));
}

template <class Item>
BENCH_INLINE Tally check(Item const* items, std::size_t n) {
  Tally tally;
  std::size_t done = 0;
  if constexpr (in_rows<Item>) {
    std::size_t const rows = n * Item::count / 16;
    tally = check_rows<Item::count>(items->words, rows);
    done = rows * 16 / Item::count;
  }
  for (; done != n; ++done) {
    if constexpr (Item::count > 16) {
      tally.add(items[done].words[0], large_differences(items[done]));
    } else {
      tally.add(items[done].words[0], items[done].differences());
    }
  }
  return tally;
}

#if defined(__x86_64__)
template <class Item>
__attribute__((target("avx2"))) void renumber_wide(Item* items, std::uint32_t number, std::size_t n) {
  renumber(items, number, n);
}
template <class Item>
__attribute__((target("avx2"))) Tally check_wide(Item const* items, std::size_t n) {
  return check(items, n);
}
template <class Item>
__attribute__((target("avx512f"))) void renumber_widest(Item* items, std::uint32_t number, std::size_t n) {
  renumber(items, number, n);
}
template <class Item>
__attribute__((target("avx512f"))) Tally check_widest(Item const* items, std::size_t n) {
  return check(items, n);
}
#endif

}  // namespace

Plant named_plant(std::string const& option) {
  if (option.empty()) return Plant::none;
  if (option == "lose") return Plant::lose;
  if (option == "duplicate") return Plant::duplicate;
  if (option == "alter") return Plant::alter;
  throw cli::BadInput{"--plant: lose, duplicate or alter, not " + option};
}

void renumber_items(void* items, std::size_t item_bytes, std::uint32_t number, std::size_t n) {
  with_items_of(item_bytes, [&]<class Item>(Item*) {
    auto* const at = static_cast<Item*>(items);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return renumber_widest(at, number, n);
    if (__builtin_cpu_supports("avx2")) return renumber_wide(at, number, n);
#endif
    renumber(at, number, n);
  });
}

Tally check_items(void const* from, std::size_t item_bytes, std::size_t n) {
  return with_items_of(item_bytes, [&]<class Item>(Item*) {
    auto const* const at = static_cast<Item const*>(from);
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return check_widest(at, n);
    if (__builtin_cpu_supports("avx2")) return check_wide(at, n);
#endif
    return check(at, n);
  });
}

void write_items(void* to, std::size_t item_bytes, std::uint32_t number, std::size_t n) {
  with_items_of(item_bytes, [&]<class Item>(Item*) {
    if constexpr (Item::count <= 16) {
      renumber_items(to, item_bytes, number, n);
    } else {
      auto* const items = static_cast<Item*>(to);
      for (std::size_t k = 0; k != n; ++k) items[k].write(number + static_cast<std::uint32_t>(k));
    }
  });
}

std::string difference(Tally const& seen, Order const& order) {
  if (seen.count != order.items)
    return std::to_string(seen.count) + " items came of " + std::to_string(order.items) + " that were put";
  if (seen.altered != 0) return "an item came altered";
  // Sums of k and of k^2 for k below n, modulo 2^64; one factor of n(n-1)/2 * (2n-1) is a multiple of 3.
  std::uint64_t const n = order.items;
  std::uint64_t const f = order.first;
  std::uint64_t const numbers = n == 0 ? 0 : n * (n - 1) / 2;
  std::uint64_t const odd = n == 0 ? 0 : 2 * n - 1;
  std::uint64_t const squares = numbers % 3 == 0 ? numbers / 3 * odd : numbers * (odd / 3);
  auto const same = [](std::uint64_t a, std::uint64_t b) { return ((a ^ b) & 0xffff'ffffU) == 0; };
  if (!same(seen.sum, n * f + numbers) || !same(seen.squares, n * f * f + 2 * f * numbers + squares))
    return "other items came than were put";
  return {};
}

}  // namespace bench
