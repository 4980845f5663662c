// From what bench movement measured to a machine's table for Movement::automatic (HIWAY_MOVEMENT_TABLE).
#pragma once
#include <array>
#include <cstddef>
#include <hiway/config.hpp>
#include <utility>
#include <vector>

#include "bench/bench.hpp"

namespace bench {

/// Who carries each way, as the rows' variants name them; the way to the device first.
struct BothWays {
  char const* variant;
  hiway::Movement there;
  hiway::Movement back;
};
inline constexpr std::array<BothWays, 4> both_ways{
    {{"direct", hiway::Movement::direct, hiway::Movement::direct},
     {"dma", hiway::Movement::dma, hiway::Movement::dma},
     {"dma, back direct", hiway::Movement::dma, hiway::Movement::direct},
     {"direct, back dma", hiway::Movement::direct, hiway::Movement::dma}}};

/// The measured item sizes, and how large the items are that are taken to be like them: half way to the next, in ratio;
/// items of more than 12 bytes lie otherwise in a ring.
inline constexpr std::array<std::pair<std::size_t, std::size_t>, 5> classes{
    {{4, 4}, {12, 12}, {16, 32}, {64, 512}, {4096, 65536}}};

/// Taken: what moves most items a second; of those within 10 % of it, what has the shortest round trip. `rows`: all that
/// bench movement measured, and all right; where there was one device, nothing between two. *Throws* std::logic_error for a row that is not there.
[[nodiscard]] Json movement_table(std::vector<Row> const& rows);

}  // namespace bench
