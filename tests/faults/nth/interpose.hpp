// What a process asks of the system, with a failure on order: the n-th allocation by operator new, thread, or file operation
// from begin() on, by whatever thread. The program replaces operator new, and is linked so that what starts a thread and
// what works on files comes by here (tests/CMakeLists.txt, --wrap).
#pragma once
#include <cstdint>

namespace hiway_tests::nth {

enum class Resource : std::uint8_t { memory, thread, file };

/// From here on the n-th fails, counted from 1; 0: none, all are counted.
void begin(Resource resource, std::uint64_t n);
/// From here on none fails. How many were asked for since begin().
std::uint64_t end();
/// The one that was to fail was asked for.
[[nodiscard]] bool has_failed();
/// From now on every allocation fails, until false is given.
void exhaust_memory(bool on);

/// While it lives nothing that the calling thread asks for fails, or counts.
class Spared {
 public:
  Spared();
  ~Spared();
  Spared(Spared const&) = delete;
  Spared& operator=(Spared const&) = delete;
};

}  // namespace hiway_tests::nth
