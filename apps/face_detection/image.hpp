// Image: a grey picture of 8 bits a pixel; how it is read from files, and how a PNG with rectangles on it is made. Samples: a
// picture as its file has it, for who keeps colours.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "face_detection/rectangle.hpp"
#include "hiway/config.hpp"

namespace face_detection {

/// Larger pictures are refused where they are read.
inline constexpr std::int32_t max_side = 16384;
inline constexpr std::int64_t max_pixels = std::int64_t{1} << 26;

/// Pixels that somebody else owns; `pixels` may point into the middle of a picture.
struct PixelView {
  std::uint8_t const* pixels;
  std::int32_t pitch;  ///< from a row to the next, in pixels

  [[nodiscard]] HIWAY_DEVICE std::uint8_t at(std::int32_t x, std::int32_t y) const {
    return pixels[std::ptrdiff_t{y} * pitch + x];
  }
  /// The part that begins at (x, y).
  [[nodiscard]] HIWAY_DEVICE PixelView from(std::int32_t x, std::int32_t y) const {
    return {pixels + std::ptrdiff_t{y} * pitch + x, pitch};
  }
};

struct Image {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::vector<std::uint8_t> pixels{};  ///< row by row, width * height of them

  /// *Lifetime*: until `pixels` changes its size.
  [[nodiscard]] PixelView view() const { return {pixels.data(), width}; }
};

/// Colours as OpenCV's cvtColor weighs them: 0.299 red, 0.587 green, 0.114 blue in units of 2^-15, rounded half up.
inline std::uint8_t grey(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  return static_cast<std::uint8_t>((red * 9798 + green * 19235 + blue * 3735 + (1 << 14)) >> 15);
}

/// A picture with as many bytes a pixel as its file has.
struct Samples {
  std::int32_t width = 0;
  std::int32_t height = 0;
  std::int32_t channels = 0;          ///< 1: grey; 3: red, green, blue
  std::vector<std::uint8_t> bytes{};  ///< row by row, pixel by pixel
};

/// Reads a binary PGM (P5) or a binary PPM (P6) as it is. *Throws* cli::BadInput like read_image.
Samples read_samples(std::string const& path);

/// Reads a binary PGM (P5), a binary PPM (P6) or a PNG, told apart by their first bytes. Colours become grey, a PNG's
/// transparency is left out, its 16-bit samples become 8-bit ones.
/// *Throws* cli::BadInput in one line with the file: not readable, of another kind, maxval other than 255, cut short,
/// more than it should hold, damaged, no pixels, or more than max_side or max_pixels.
Image read_image(std::string const& path);

/// A small picture of a face, which the program carries.
Image face_image();

/// A PNG in colours, whole, as bytes for a file: the image with the outlines of the rectangles.
/// *Throws* std::runtime_error when libpng cannot.
std::string encode_png(Image const& image, std::span<Rectangle const> rectangles);

}  // namespace face_detection
