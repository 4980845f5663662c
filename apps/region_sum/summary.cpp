#include "region_sum/summary.hpp"

namespace region_sum {

Summary summarize(std::span<std::uint64_t const> sums) {
  Summary summary{.regions = sums.size()};
  for (std::uint64_t const sum : sums) {
    summary.total += sum;
    summary.checksum = cli::hash_on(summary.checksum, sum);
  }
  return summary;
}

}  // namespace region_sum
