// Ranges: what a CPU thread is in, told to a profiler that is attached (NVTX, where the CUDA library is linked).
#pragma once

namespace hiway {

/// A thread's ranges nest. *Threads*: any at once.
struct RangeCalls {
  void (*push)(char const* name) = nullptr;
  void (*pop)() = nullptr;
};
/// *Threads*: before main, or one at a time.
void set_range_calls(RangeCalls calls) noexcept;

void push_range(char const* name) noexcept;
void pop_range() noexcept;

}  // namespace hiway
