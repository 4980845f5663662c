// Summary: what a run says of its sums; two runs gave the same sums when their summaries are equal.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "cli/hash.hpp"

namespace region_sum {

/// One a region, in the regions' order.
using Sums = std::vector<std::uint64_t>;

struct Summary {
  std::uint64_t regions = 0;
  std::uint64_t total = 0;                   ///< of all sums
  std::uint64_t checksum = cli::first_hash;  ///< FNV-1a, 64 bit, over the sums, a word each
  friend bool operator==(Summary const&, Summary const&) = default;
};

Summary summarize(std::span<std::uint64_t const> sums);

}  // namespace region_sum
