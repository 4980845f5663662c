// What passes through the receiver: packets of voltages, their spectra, and hits.
#pragma once
#include <array>
#include <cstdint>

#include "hiway/config.hpp"

namespace spectrum {

inline constexpr std::uint32_t channels = 1024;

struct alignas(8) Complex {
  float re;
  float im;
};
HIWAY_DEVICE constexpr float power(Complex c) { return c.re * c.re + c.im * c.im; }

/// As a converter gives it: full_scale is 1.
struct alignas(4) Voltage {
  std::int16_t re;
  std::int16_t im;
};
inline constexpr float full_scale = 8192;
using Voltages = std::array<Voltage, channels>;
HIWAY_DEVICE constexpr Complex in_floats(Voltage v) {
  return {static_cast<float>(v.re) / full_scale, static_cast<float>(v.im) / full_scale};
}

/// One after another in time.
struct alignas(16) Packet {
  Voltages voltages;
  std::uint64_t number;
};
/// The Fourier transform of a packet, not normalised.
struct alignas(16) Spectrum {
  std::array<Complex, channels> channel;
  std::uint64_t number;  ///< the packet's
};
/// A channel whose power is above the threshold.
struct Hit {
  std::uint64_t packet;
  std::uint32_t channel;
  float power;
};

}  // namespace spectrum
