// CUDA calls that a program makes beside a pipeline: bench/guest_calls.cu, which is there where the program was built
// with CUDA and makes itself known before main.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace bench {

struct GuestCall {
  std::string name;
  std::function<void()> call;  ///< *Throws* std::runtime_error
};

struct GuestCalls {
  /// The calls, with what they need; made while no kernel runs.
  std::vector<GuestCall> (*make)(std::string const& device) = nullptr;
  /// A call that runs a kernel which fills the device for some milliseconds, and waits for it.
  GuestCall (*make_full_grid)(std::string const& device) = nullptr;
  /// Microseconds from the call of a launch until its kernel's first store is seen at the host, after a rest.
  double (*launch_after)(std::string const& device, unsigned rest_ms) = nullptr;
};
/// *Threads*: before main. Returns true.
bool register_guest_calls(GuestCalls calls) noexcept;
/// Null for a device that is no GPU, or in a program without CUDA.
[[nodiscard]] GuestCalls const* guest_calls(std::string const& device);

}  // namespace bench
