// Rectangle: a place of the original image where a face is, in pixels.
#pragma once
#include <cstdint>

namespace face_detection {

struct Rectangle {
  std::int32_t x;
  std::int32_t y;
  std::int32_t width;
  std::int32_t height;
  friend bool operator==(Rectangle const&, Rectangle const&) = default;
};

}  // namespace face_detection
