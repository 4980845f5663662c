// What of the process lies in memory.
#pragma once
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <ostream>

namespace hiway_tests {

/// In bytes, without what the allocator holds for later.
inline std::int64_t resident_bytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  std::int64_t total = 0;
  std::int64_t resident = 0;
  statm >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

/// Of the process, in bytes.
struct Memory {
  std::int64_t resident = 0;
  std::int64_t in_use = 0;  ///< what malloc has given and not got back

  static Memory now() { return {resident_bytes(), static_cast<std::int64_t>(mallinfo2().uordblks)}; }
  friend std::ostream& operator<<(std::ostream& out, Memory const& m) {
    return out << m.resident / 1024 << " KiB resident, " << m.in_use / 1024 << " KiB in use";
  }
};

}  // namespace hiway_tests
