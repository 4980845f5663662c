#include "reyes/summary.hpp"

namespace reyes {

std::uint64_t checksum(std::span<Colours const> pictures) {
  std::uint64_t hash = 14695981039346656037U;
  for (Colours const& colours : pictures) {
    for (std::uint32_t const colour : colours) {
      for (unsigned shift = 0; shift < 32; shift += 8) hash = (hash ^ (colour >> shift & 0xff)) * 1099511628211U;
    }
  }
  return hash;
}

}  // namespace reyes
