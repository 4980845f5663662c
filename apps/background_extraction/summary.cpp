#include "background_extraction/summary.hpp"

namespace background_extraction {

std::uint64_t hash_on(std::uint64_t hash, std::span<std::uint8_t const> bytes) {
  for (std::uint8_t const byte : bytes) hash = (hash ^ byte) * 1099511628211U;
  return hash;
}

}  // namespace background_extraction
