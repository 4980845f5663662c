// What a test takes from the environment: its seed, how many; and what it sets there.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <string>

namespace hiway_tests {

/// A whole number from the environment.
inline std::uint64_t from_environment(char const* name, std::uint64_t otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

/// Set while it lives.
class Environment {
 public:
  Environment(char const* name, std::string const& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Environment() { unsetenv(name_); }
  Environment(Environment const&) = delete;
  Environment& operator=(Environment const&) = delete;

 private:
  char const* name_;
};

}  // namespace hiway_tests
