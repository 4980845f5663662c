#include "background_extraction/summary.hpp"

#include "cli/hash.hpp"

namespace background_extraction {

std::uint64_t hash_on(std::uint64_t hash, std::span<std::uint8_t const> bytes) {
  for (std::uint8_t const byte : bytes) hash = cli::hash_on(hash, byte);
  return hash;
}

}  // namespace background_extraction
