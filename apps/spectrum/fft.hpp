// A Fourier transform for where no library is: on an emulated device, and the reference's.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <hiway/launch/stage_words.hpp>
#include <numbers>
#include <utility>

#include "spectrum/packet.hpp"

namespace spectrum {

HIWAY_DEVICE inline Complex product(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/// In place, by Cooley and Tukey's radix 2: bits of indices are reversed, then pairs are combined, ever further apart.
HIWAY_DEVICE inline void transform(Complex* values) {
  for (std::uint32_t i = 1, reversed = 0; i < channels; ++i) {
    std::uint32_t bit = channels / 2;
    for (; (reversed & bit) != 0; bit /= 2) reversed ^= bit;
    reversed ^= bit;
    if (i < reversed) std::swap(values[i], values[reversed]);
  }
  for (std::uint32_t apart = 1; apart < channels; apart *= 2) {
    double const step = -std::numbers::pi / apart;
    for (std::uint32_t k = 0; k < apart; ++k) {
      Complex const turn{static_cast<float>(std::cos(step * k)), static_cast<float>(std::sin(step * k))};
      for (std::uint32_t i = k; i < channels; i += 2 * apart) {
        Complex const a = values[i];
        Complex const b = product(values[i + apart], turn);
        values[i] = {a.re + b.re, a.im + b.im};
        values[i + apart] = {a.re - b.re, a.im - b.im};
      }
    }
  }
}

/// Of many, a thread each.
struct TransformAll {
  Spectrum* spectra;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count())
      transform(spectra[i].channel.data());
  }
};

}  // namespace spectrum
