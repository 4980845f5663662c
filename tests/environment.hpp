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

/// Why a test that uses up all file descriptors says nothing in this build; empty where it does.
inline std::string needs_descriptors() {
#if defined(HIWAY_SANITIZER_NEEDS_DESCRIPTORS)
  return "the sanitizer opens a pipe to look at an object's type";
#else
  return "";
#endif
}

}  // namespace hiway_tests
