#include "fir/input.hpp"

#include <string>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"

namespace fir {
namespace {

constexpr std::uint32_t most_blocks = 1U << 20;
constexpr std::uint32_t most_block_samples = 1U << 20;
constexpr std::uint64_t most_samples = std::uint64_t{1} << 28;

float number_of(std::uint64_t seed, std::uint64_t which) {
  return static_cast<float>(cli::mixed(seed + which * cli::mixed_step) >> 40) * 0x1p-24F;
}

}  // namespace

Signal make_signal(InputOptions const& options) {
  cli::require_in_range("--blocks", options.blocks, 1, most_blocks);
  cli::require_in_range("--block-samples", options.block_samples, 1, most_block_samples);
  cli::require_in_range("--taps", options.taps, 1, most_taps);
  std::uint64_t const samples = std::uint64_t{options.blocks} * options.block_samples;
  if (samples > most_samples) {
    throw cli::BadInput{"--blocks and --block-samples: at most " + std::to_string(most_samples) +
                        " samples together, not " + std::to_string(samples)};
  }
  Signal signal{.samples = std::vector<float>(samples), .block_samples = options.block_samples};
  signal.taps.count = options.taps;
  std::uint64_t const seed = cli::mixed(options.seed);
  for (std::uint32_t i = 0; i < options.taps; ++i) signal.taps.values[i] = number_of(seed, i);
  for (std::uint64_t i = 0; i < samples; ++i) signal.samples[i] = number_of(seed, most_taps + i);
  return signal;
}

}  // namespace fir
