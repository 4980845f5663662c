// The numbers below are OpenCV's in every bit: which are float, which double, and that each operation rounds. A
// compiler that fuses a multiplication with an addition changes them: cmake/HiwayApps.cmake forbids it for this file.
#include "face_detection/pyramid.hpp"

namespace face_detection {
namespace {

std::int32_t rounded(double value) { return static_cast<std::int32_t>(std::lrint(value)); }  // half to even

/// No centre lies outside the original: `scaled` is not larger than it.
std::uint32_t add_taps(std::vector<Tap>& taps, std::int32_t original, std::int32_t scaled) {
  auto const first_tap = static_cast<std::uint32_t>(taps.size());
  double const step = 1.0 / (static_cast<double>(scaled) / original);
  for (std::int32_t i = 0; i < scaled; ++i) {
    double const at = step * (i + 0.5) - 0.5;  // centres of pixels lie at halves
    double const whole = std::floor(at);
    auto const first = static_cast<std::int32_t>(whole);
    std::int32_t const weight = rounded((at - whole) * tap_unit);
    if (first == original - 1) {
      taps.push_back({static_cast<std::uint16_t>(original - 2), tap_unit});  // all of the last pixel
    } else {
      taps.push_back({static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(weight)});
    }
  }
  return first_tap;
}

}  // namespace

Pyramid make_pyramid(std::int32_t image_width, std::int32_t image_height, std::int32_t window_width,
                     std::int32_t window_height, double scale_factor) {
  Pyramid pyramid{image_width, image_height};
  for (double factor = 1;; factor *= scale_factor) {
    if (rounded(window_width * factor) > image_width || rounded(window_height * factor) > image_height) return pyramid;
    auto const scale = static_cast<float>(factor);
    std::int32_t const width = rounded(static_cast<float>(image_width) / scale);
    std::int32_t const height = rounded(static_cast<float>(image_height) / scale);
    if (width < window_width || height < window_height)
      continue;  // where a window just fits, rounding may go both ways
    std::int32_t const step = scale < 2 ? 2 : 1;
    Level const level{.scale = scale,
                      .width = width,
                      .height = height,
                      .step = step,
                      .columns = (width - window_width) / step + 1,
                      .rows = (height - window_height) / step + 1,
                      .face_width = rounded(static_cast<float>(window_width) * scale),
                      .face_height = rounded(static_cast<float>(window_height) * scale),
                      .first_tap_x = add_taps(pyramid.taps, image_width, width),
                      .first_tap_y = add_taps(pyramid.taps, image_height, height),
                      .first_rejected_word = pyramid.rejected_words};
    pyramid.levels.push_back(level);
    pyramid.rejected_words += static_cast<std::size_t>(level.columns + 31) / 32 * static_cast<std::size_t>(level.rows);
  }
}

Image resize_level(PyramidView const& pyramid, Level const& level) {
  Image image{level.width, level.height, {}};
  image.pixels.resize(static_cast<std::size_t>(level.width) * static_cast<std::size_t>(level.height));
  resize_tile(pyramid, level, 0, 0, level.width, level.height, image.pixels.data(), level.width);
  return image;
}

}  // namespace face_detection
