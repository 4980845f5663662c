// What is asked of the ways between two devices, and what bench peer's rows say to that.
#pragma once
#include <vector>

#include "bench/bench.hpp"

namespace bench {

inline constexpr double asked_of_raw_stores = 0.7;  ///< small items, of 16-byte slots stored by hand
inline constexpr double asked_of_the_copy = 0.85;   ///< items of 64 KiB, of a queued copy
inline constexpr double asked_round_trip_us = 2.6;  ///< one item there and back, at most

/// What the rows of bench peer measure.
inline constexpr char const* small_items = "small items";
inline constexpr char const* large_items = "large items";
inline constexpr char const* there_and_back = "one item there and back";

/// A row for each of these that stands beside a floor, the fastest way's: its share of the floor, of the faster one where
/// there are two, turn by turn, or its time. facts: whether it is as asked, and how far above or below (1: just met).
[[nodiscard]] std::vector<Row> asked(std::vector<Row> const& rows);

}  // namespace bench
