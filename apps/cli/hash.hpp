// FNV-1a, 64 bit, by which results are told apart.
#pragma once
#include <cstdint>

namespace cli {

inline constexpr std::uint64_t first_hash = 14695981039346656037U;

/// The hash with `value` behind it: a byte, or a word where whole words are hashed.
constexpr std::uint64_t hash_on(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 1099511628211U; }

}  // namespace cli
