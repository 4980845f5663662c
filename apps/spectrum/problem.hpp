// Problem: how many packets, and what is in them. Noise of unit amplitude, uniform; in one packet of eight a tone, in
// the middle of a channel.
#pragma once
#include <cstdint>
#include <optional>

#include "spectrum/packet.hpp"

namespace spectrum {

struct Problem {
  std::uint64_t packets = 4096;
  std::uint64_t seed = 1;
  unsigned threads = 0;  ///< that make packets; 0: half of the CPUs
};

/// Noise has a power of channels * 2 / 3 in a channel, on average: 683. A tone has 262144.
inline constexpr float amplitude_of_tone = 0.5F;
/// Above 44 times the noise; it reaches so much once in 10^19 channels.
inline constexpr float threshold = 30'000;

/// The channel of the packet's tone, if it has one.
[[nodiscard]] std::optional<std::uint32_t> tone_of(std::uint64_t seed, std::uint64_t packet);
void make_voltages(std::uint64_t seed, std::uint64_t packet, Voltages& voltages);

/// In whatever order hits come.
struct Summary {
  std::uint64_t hits = 0;
  std::uint64_t checksum = 0;  ///< the sum of hashes of packets and channels
  void add(std::uint64_t packet, std::uint32_t channel);
  bool operator==(Summary const&) const = default;
};
/// What must be found: the tones.
[[nodiscard]] Summary tones_of(Problem const& problem);

}  // namespace spectrum
