#include "lib/affinity.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "hiway/cpus.hpp"
#include "hiway/error.hpp"

namespace hiway {
namespace {

/// Room for 16384 CPUs: the kernel refuses to answer into a set smaller than its own.
using CpuSet = std::array<cpu_set_t, 16>;
constexpr int most_cpus = 16 * CPU_SETSIZE;

bool contains(CpuSet const& cpus, int cpu) {
  return CPU_ISSET_S(static_cast<std::size_t>(cpu), sizeof cpus, cpus.data()) != 0;
}

/// "0-3, 8"
std::string text_of(CpuSet const& cpus) {
  std::string text;
  for (int first = 0; first < most_cpus; ++first) {
    if (!contains(cpus, first)) continue;
    int last = first;
    while (last + 1 < most_cpus && contains(cpus, last + 1)) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last > first) text.append("-").append(std::to_string(last));
    first = last;
  }
  return text;
}

}  // namespace

unsigned available_cpus() noexcept {
  CpuSet allowed{};
  if (sched_getaffinity(0, sizeof allowed, allowed.data()) != 0)
    return std::max(1U, std::thread::hardware_concurrency());
  return static_cast<unsigned>(CPU_COUNT_S(sizeof allowed, allowed.data()));
}

std::string cpu_problem(int cpu) {
  long const there = sysconf(_SC_NPROCESSORS_CONF);
  if (cpu < 0 || cpu >= most_cpus || (there > 0 && cpu >= there))
    return "CPU " + std::to_string(cpu) + " does not exist: there are " + std::to_string(there);
  CpuSet allowed{};
  if (sched_getaffinity(0, sizeof allowed, allowed.data()) != 0) return "";  // pin_this_thread() will report it
  if (contains(allowed, cpu)) return "";
  return "CPU " + std::to_string(cpu) + " is not allowed here: " + text_of(allowed);
}

void pin_this_thread(int cpu) {
  CpuSet only{};
  CPU_SET_S(static_cast<std::size_t>(cpu), sizeof only, only.data());
  if (sched_setaffinity(0, sizeof only, only.data()) != 0)
    throw Error("pinning to CPU " + std::to_string(cpu) + ": " + std::strerror(errno));
}

}  // namespace hiway
