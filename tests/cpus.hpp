// The CPUs that the tests may use.
#pragma once
#include <gtest/gtest.h>
#include <sched.h>

#include <vector>

namespace hiway_tests {

/// Those that the calling thread may run on.
inline std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

}  // namespace hiway_tests
