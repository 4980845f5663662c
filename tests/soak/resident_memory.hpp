// What of the process lies in memory.
#pragma once
#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>

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

}  // namespace hiway_tests
