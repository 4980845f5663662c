// Camera: where a point of space lies in a picture, the same in every bit on every device (no multiplication may be fused with
// an addition: cmake/HiwayApps.cmake).
#pragma once
#include <cmath>
#include <cstdint>

#include "hiway/config.hpp"

namespace picture {

struct Vec3 {
  float x, y, z;
};
HIWAY_DEVICE inline Vec3 operator+(Vec3 a, Vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
HIWAY_DEVICE inline Vec3 operator-(Vec3 a, Vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
HIWAY_DEVICE inline Vec3 operator*(float s, Vec3 a) { return {s * a.x, s * a.y, s * a.z}; }
HIWAY_DEVICE inline float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
HIWAY_DEVICE inline Vec3 cross(Vec3 a, Vec3 b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
/// Of length 1; no direction at all stays none.
HIWAY_DEVICE inline Vec3 normalized(Vec3 a) {
  float const length = std::sqrt(dot(a, a));
  return length > 0 ? (1.0F / length) * a : a;
}

/// A point in a picture.
struct Spot {
  float x, y;   ///< in pixels, from the left and from the top
  float depth;  ///< distance from the eye along its look; not positive: at the eye or behind it
};

/// The eye is at (0, 0, 3) and looks along -z; 60 degrees from the picture's bottom to its top.
struct Camera {
  static constexpr float eye_z = 3;
  static constexpr float near = 0.02F;
  static constexpr float far = 100;

  Camera(std::int32_t width, std::int32_t height)
      : middle_x(0.5F * static_cast<float>(width)),
        middle_y(0.5F * static_cast<float>(height)),
        pixels_at_1(middle_y / std::tan(30 * 3.14159265358979F / 180)) {}

  float middle_x;
  float middle_y;
  float pixels_at_1;  ///< that a length of 1 has at a distance of 1

  HIWAY_DEVICE Spot see(Vec3 point) const {
    float const depth = eye_z - point.z;
    float const scale = pixels_at_1 / depth;
    return {middle_x + point.x * scale, middle_y - point.y * scale, depth};
  }
};

}  // namespace picture
