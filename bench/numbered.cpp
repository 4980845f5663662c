#include "bench/numbered.hpp"

#include <stdexcept>

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
    default: throw std::invalid_argument("no items of " + std::to_string(item_bytes) + " bytes");
  }
}

}  // namespace

void write_items(void* to, std::size_t item_bytes, std::uint32_t number, std::size_t n) {
  with_items_of(item_bytes, [&]<class Item>(Item*) {
    auto* const items = static_cast<Item*>(to);
    for (std::size_t k = 0; k != n; ++k) items[k].write(number + static_cast<std::uint32_t>(k));
  });
}

Tally check_items(void const* from, std::size_t item_bytes, std::size_t n) {
  return with_items_of(item_bytes, [&]<class Item>(Item*) {
    auto const* const items = static_cast<Item const*>(from);
    Tally tally;
    for (std::size_t k = 0; k != n; ++k) tally.add(items[k].words[0], items[k].differences());
    return tally;
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
  if (seen.sum != n * f + numbers || seen.squares != n * f * f + 2 * f * numbers + squares)
    return "other items came than were put";
  return {};
}

}  // namespace bench
