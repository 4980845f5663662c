// Ranges: tell an attached profiler what a CPU thread or the bus is doing (NVTX, if the CUDA library is linked).
#pragma once
#include <cstdint>

namespace hiway {

/// A thread's ranges from push to pop nest; ranges from start to stop may overlap in any way. *Threads*: any at once.
struct RangeCalls {
  void (*push)(char const* name) = nullptr;
  void (*pop)() = nullptr;
  std::uint64_t (*start)(char const* name) = nullptr;
  void (*stop)(std::uint64_t range) = nullptr;
};
/// *Threads*: before main, or one at a time.
void set_range_calls(RangeCalls calls) noexcept;

void push_range(char const* name) noexcept;
void pop_range() noexcept;
std::uint64_t start_range(char const* name) noexcept;
void stop_range(std::uint64_t range) noexcept;

}  // namespace hiway
