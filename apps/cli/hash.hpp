// FNV-1a, 64 bit, by which results are told apart; and numbers that look random.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace cli {

inline constexpr std::uint64_t first_hash = 14695981039346656037U;

/// The hash with `value` behind it: a byte, or a word where whole words are hashed.
constexpr std::uint64_t hash_on(std::uint64_t hash, std::uint64_t value) { return (hash ^ value) * 1099511628211U; }

/// Each bit depends on all bits of `value`: the last steps of splitmix64.
HIWAY_DEVICE constexpr std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}
/// What splitmix64 adds from number to number.
inline constexpr std::uint64_t mixed_step = 0x9e3779b97f4a7c15U;
/// Of a place in an input that is made by a seed.
constexpr std::uint64_t random_at(std::uint64_t seed, std::uint64_t place) {
  return mixed(seed * mixed_step + mixed(place + mixed_step));
}

}  // namespace cli
