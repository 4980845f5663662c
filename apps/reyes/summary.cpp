#include "reyes/summary.hpp"

#include "cli/hash.hpp"

namespace reyes {

std::uint64_t checksum(std::span<Colours const> pictures) {
  std::uint64_t hash = cli::first_hash;
  for (Colours const& colours : pictures) {
    for (std::uint32_t const colour : colours) {
      for (unsigned shift = 0; shift < 32; shift += 8) hash = cli::hash_on(hash, colour >> shift & 0xff);
    }
  }
  return hash;
}

}  // namespace reyes
