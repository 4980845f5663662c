// Pipeline tests are written once and compiled twice: for the emulated device, and by nvcc for a GPU (tests/gpu).
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "hiway/pipeline.hpp"
#include "tests/environment.hpp"

namespace hiway_tests {

/// "simt", or "cuda:0" in the GPU program.
inline std::string device() {
#if defined(HIWAY_TEST_ON_GPU)
  return "cuda:0";
#else
  return "simt";
#endif
}

/// Why the tests of this program cannot run here; empty when they can.
inline std::string missing_device() {
  for (hiway::DeviceInfo const& d : hiway::devices()) {
    if (d.name == device() && d.usable) return "";
  }
  return "no " + device() + " on this machine";
}

/// Why tests of so many devices cannot run here; of emulated ones there are as many as one likes.
inline std::string missing_devices([[maybe_unused]] int count) {
#if defined(HIWAY_TEST_ON_GPU)
  int there = 0;
  for (hiway::DeviceInfo const& d : hiway::devices()) there += d.usable && d.name.starts_with("cuda:") ? 1 : 0;
  if (there < count) return std::to_string(there) + " GPUs on this machine";
#endif
  return "";
}

/// How a pipeline over several devices names the one of GpuStageOptions::device.
inline std::string name_of_device(int number) {
  return std::string(device() == "simt" ? "simt:" : "cuda:").append(std::to_string(number));
}

/// How long a run of a test may take.
inline std::chrono::seconds longest_run() { return std::chrono::seconds(from_environment("HIWAY_RUN_SECONDS", 50)); }

/// PipelineConfig::slice. With HIWAY_RESIDENCY=yielding and short ones, segments leave after each ensemble.
inline std::chrono::nanoseconds slice() {
  auto const otherwise = static_cast<std::uint64_t>(hiway::PipelineConfig{}.slice.count());
  return std::chrono::nanoseconds(from_environment("HIWAY_SLICE_NS", otherwise));
}
inline bool in_short_slices() { return slice() < std::chrono::microseconds(20); }

/// A configuration whose runs end in any case.
inline hiway::PipelineConfig bounded(std::chrono::milliseconds deadline = longest_run()) {
  hiway::PipelineConfig config;
  config.device = device();
  config.deadline = deadline;
  config.slice = slice();
  return config;
}

/// How long after it is noticed an error may come.
#if defined(HIWAY_SANITIZED)  // everything is 5 to 20 times slower
inline constexpr std::chrono::milliseconds soon{1000};
#elif defined(HIWAY_TEST_ON_GPU)
inline constexpr std::chrono::milliseconds soon{10};
#else
inline constexpr std::chrono::milliseconds soon{50};
#endif

/// Keeps the calling thread busy.
inline void spin_for(std::chrono::nanoseconds duration) {
  for (auto const until = std::chrono::steady_clock::now() + duration; std::chrono::steady_clock::now() < until;) {
  }
}

/// The text of the exception that `call` throws; fails the test when it throws none.
template <class Exception = std::exception, class Call>
std::string text_of_error(Call&& call) {
  try {
    call();
  } catch (Exception const& e) {
    return e.what();
  } catch (std::exception const& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

}  // namespace hiway_tests

/// Skips the test, with the reason, where its device is missing.
#define HIWAY_NEEDS_DEVICE() \
  if (std::string const why = hiway_tests::missing_device(); !why.empty()) GTEST_SKIP() << why
#define HIWAY_NEEDS_DEVICES(count) \
  if (std::string const why = hiway_tests::missing_devices(count); !why.empty()) GTEST_SKIP() << why
