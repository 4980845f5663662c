#include "spectrum/problem.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>

#include "cli/hash.hpp"

namespace spectrum {
namespace {

constexpr std::uint64_t number_of(std::uint64_t seed, std::uint64_t packet, std::uint64_t which) {
  return cli::mixed(cli::mixed(seed + which * cli::mixed_step) + packet * cli::mixed_step);
}

/// A tone in channel 1; every n-th value is one in channel n.
Voltages const& tone() {
  static Voltages const all = [] {
    Voltages made{};
    for (std::uint32_t k = 0; k < channels; ++k) {
      double const angle = 2 * std::numbers::pi * k / channels;
      made[k] = {static_cast<std::int16_t>(std::lrint(amplitude_of_tone * full_scale * std::cos(angle))),
                 static_cast<std::int16_t>(std::lrint(amplitude_of_tone * full_scale * std::sin(angle)))};
    }
    return made;
  }();
  return all;
}

/// xorshift32 by so many lanes at once, which a compiler makes vectors of.
class Noise {
 public:
  static constexpr std::size_t lanes = 16;
  Noise(std::uint64_t seed, std::uint64_t packet) {
    for (std::size_t i = 0; i < lanes; ++i)
      state_[i] = static_cast<std::uint32_t>(number_of(seed, packet, i + 1) >> 32) | 1U;
  }
  /// A voltage from each lane, of -1 to 1.
  void next(Voltage* to) {
    for (std::uint32_t& x : state_) {
      x ^= x << 13;
      x ^= x >> 17;
      x ^= x << 5;
    }
    auto const halves = std::bit_cast<std::array<std::int16_t, 2 * lanes>>(state_);
    std::array<std::int16_t, 2 * lanes> scaled;
    for (std::size_t i = 0; i < halves.size(); ++i) scaled[i] = static_cast<std::int16_t>(halves[i] >> 2);
    std::memcpy(to, scaled.data(), sizeof scaled);
  }

 private:
  std::array<std::uint32_t, lanes> state_{};
};

}  // namespace

std::optional<std::uint32_t> tone_of(std::uint64_t seed, std::uint64_t packet) {
  std::uint64_t const number = number_of(seed, packet, 0);
  if (number % 8 != 0) return std::nullopt;
  return static_cast<std::uint32_t>(number >> 32) % channels;
}

void make_voltages(std::uint64_t seed, std::uint64_t packet, Voltages& voltages) {
  Noise noise(seed, packet);
  for (std::size_t i = 0; i < channels; i += Noise::lanes) noise.next(&voltages[i]);
  auto const channel = tone_of(seed, packet);
  if (!channel) return;
  for (std::uint32_t i = 0; i < channels; ++i) {
    Voltage const more = tone()[i * *channel % channels];
    voltages[i].re = static_cast<std::int16_t>(voltages[i].re + more.re);
    voltages[i].im = static_cast<std::int16_t>(voltages[i].im + more.im);
  }
}

void Summary::add(std::uint64_t packet, std::uint32_t channel) {
  ++hits;
  checksum += cli::mixed(packet * cli::mixed_step + channel);
}

Summary tones_of(Problem const& problem) {
  Summary all;
  for (std::uint64_t packet = 0; packet < problem.packets; ++packet)
    if (auto const tone = tone_of(problem.seed, packet)) all.add(packet, *tone);
  return all;
}

}  // namespace spectrum
