// What a test takes from the environment: its seed, how many.
#pragma once
#include <cstdint>
#include <cstdlib>

namespace hiway_tests {

/// A whole number from the environment.
inline std::uint64_t from_environment(char const* name, std::uint64_t otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

}  // namespace hiway_tests
