#include "bench/checked_items.hpp"

#include <bit>
#include <map>

#include "cli/bad_input.hpp"

namespace bench {
namespace {

std::uint64_t hashes_below(std::uint32_t total) {
  static std::map<std::uint32_t, std::uint64_t> known;  // rows ask for the same again and again
  auto const [at, is_new] = known.try_emplace(total, 0);
  if (is_new) {
    for (std::uint32_t id = 0; id < total; ++id) at->second += hash_of(id);
  }
  return at->second;
}

}  // namespace

RingPlant plant_of(std::string const& name) {
  // Two ids with other low bits and other high bits; every turn puts more.
  constexpr std::uint32_t first = 0x01;
  constexpr std::uint32_t second = 0x22;
  if (name.empty()) return {};
  if (name == "lose") return {PlantKind::lose, first, RingPlant::no_id};
  if (name == "duplicate") return {PlantKind::duplicate, first, RingPlant::no_id};
  if (name == "swap") return {PlantKind::swap, first, second};
  throw cli::BadInput{"--plant must be lose, duplicate or swap: " + name};
}

std::string wrong_in(std::vector<LaneTally> const& tallies, std::vector<std::uint32_t> const& marked,
                     std::uint32_t total, std::uint32_t producers) {
  LaneTally all;
  for (LaneTally const& one : tallies) {
    all.items += one.items;
    all.ids += one.ids;
    all.hashes += one.hashes;
    all.torn += one.torn;
    all.twice += one.twice;
    all.unknown += one.unknown;
  }
  if (total == 0) return "no item was put";
  if (all.torn != 0) return std::to_string(all.torn) + " items are not whole";
  if (all.unknown != 0) return std::to_string(all.unknown) + " items came that nobody put";
  if (all.twice != 0) return std::to_string(all.twice) + " items came twice";
  for (std::uint32_t word = 0; word < marked.size(); ++word) {
    std::uint32_t const missing = ~marked[word];
    std::uint32_t const id = word * 32 + static_cast<std::uint32_t>(std::countr_zero(missing));
    if (missing == 0 || id >= total) continue;
    return "item " + std::to_string(id / producers) + " of producer " + std::to_string(id % producers) + " is lost";
  }
  if (all.items != total) return std::to_string(all.items) + " items came of " + std::to_string(total);
  if (all.ids != std::uint64_t{total} * (total - 1) / 2 || all.hashes != hashes_below(total))
    return "other items came than were put";
  return {};
}

}  // namespace bench
