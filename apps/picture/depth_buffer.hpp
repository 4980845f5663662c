// DepthBuffer: a word for each pixel, with how near the nearest surface is and its colour; whoever is nearer wins, in any order.
#pragma once
#include <cstdint>
#include <cstring>

#include "hiway/config.hpp"
#include "hiway/machine/machine.hpp"

namespace picture {

using Pixel = hiway::Word<std::uint64_t>;

/// A pixel that nothing covers.
inline constexpr std::uint64_t nothing = ~std::uint64_t{0};

/// A surface with its colour (red << 16 | green << 8 | blue); the smaller word is nearer, of equals the darker one.
HIWAY_DEVICE inline std::uint64_t surface(float depth, std::uint32_t colour) {
  std::uint32_t bits = 0;
  memcpy(&bits, &depth, sizeof bits);  // a positive float's bits grow with it
  return std::uint64_t{bits} << 32 | colour;
}
HIWAY_DEVICE inline std::uint32_t colour_of(std::uint64_t pixel, std::uint32_t background) {
  return pixel == nothing ? background : static_cast<std::uint32_t>(pixel);
}

/// Shows the surface where nothing nearer is.
template <class Machine>
HIWAY_DEVICE inline void show(Machine m, Pixel& pixel, std::uint64_t surface) {
  m.fetch_min(pixel, surface, hiway::MemoryOrder::relaxed);
}

/// Components of a colour, each from 0 to 1 (others are cut off there).
HIWAY_DEVICE inline std::uint32_t colour(float red, float green, float blue) {
  auto const byte = [](float c) {
    float const cut = c < 0 ? 0 : c > 1 ? 1 : c;
    return static_cast<std::uint32_t>(cut * 255 + 0.5F);
  };
  return byte(red) << 16 | byte(green) << 8 | byte(blue);
}

}  // namespace picture
