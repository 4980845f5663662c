// Input: a signal, and the taps of the filter.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace fir {

inline constexpr std::uint32_t most_taps = 64;

/// By value, so that a kernel has them with its arguments.
struct Taps {
  std::array<float, most_taps> values;
  std::uint32_t count;
};

struct Signal {
  std::vector<float> samples;
  Taps taps{};
  std::uint32_t block_samples = 0;  ///< methods baseline and cuda: in a block
};

struct InputOptions {
  std::uint32_t blocks = 64;
  std::uint32_t block_samples = 1024;
  std::uint32_t taps = 16;
  std::uint64_t seed = 1;
};
/// Samples and taps from 0 to 1. *Throws* BadInput.
Signal make_signal(InputOptions const& options);

}  // namespace fir
