// Input: an image, and the colours of its pixels.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace hist {

inline constexpr std::uint32_t most_colours = 256;

/// What travels at once: 16 KiB.
using Pixels = std::array<std::uint32_t, 4096>;
/// Counted nowhere: it follows an image's last pixel, up to the end of its Pixels.
inline constexpr std::uint32_t no_colour = ~std::uint32_t{0};

struct Image {
  std::vector<Pixels> pieces;  ///< its pixels, one after another, and then no_colour
  std::uint64_t pixels = 0;
  std::uint32_t colours = most_colours;  ///< each pixel is below
};

struct InputOptions {
  std::uint64_t pixels = 65536;
  std::uint32_t colours = most_colours;
  std::string file;  ///< pixels of 4 bytes, low byte first; empty: random ones
  std::uint64_t seed = 1;
};
/// *Throws* BadInput.
Image make_image(InputOptions const& options);
/// *Throws* BadInput that names `name` where a pixel is not below `colours`.
Image image_of(std::span<std::uint32_t const> pixels, std::uint32_t colours, std::string const& name);

}  // namespace hist
