// Patch: a bicubic Bezier patch, and what the stages ask of it. Everything is the same in every bit on every device.
#pragma once
#include <cmath>
#include <cstdint>

#include "hiway/config.hpp"
#include "picture/camera.hpp"

namespace reyes {

using picture::Vec3;

/// Control points, row by row: u goes along a row, v from row to row. Each coordinate by itself, for code that does the
/// same to all. Aligned so that a lane copies it by few and wide words.
struct alignas(16) Patch {
  float x[16];
  float y[16];
  float z[16];

  [[nodiscard]] HIWAY_DEVICE Vec3 point(int i) const { return {x[i], y[i], z[i]}; }
};

enum class Along : std::uint8_t { u, v };

/// Cuts four curves in the middle (de Casteljau): `step` from a point to the next of its curve, `line` from curve to
/// curve.
template <int step, int line>
HIWAY_DEVICE inline void halve_curves(float const (&p)[16], float (&low)[16], float (&high)[16]) {
  for (int k = 0; k < 4; ++k) {
    int const at = k * line;
    float const ab = 0.5F * (p[at] + p[at + step]);
    float const bc = 0.5F * (p[at + step] + p[at + 2 * step]);
    float const cd = 0.5F * (p[at + 2 * step] + p[at + 3 * step]);
    float const abc = 0.5F * (ab + bc);
    float const bcd = 0.5F * (bc + cd);
    float const middle = 0.5F * (abc + bcd);
    low[at] = p[at];
    low[at + step] = ab;
    low[at + 2 * step] = abc;
    low[at + 3 * step] = middle;
    high[at] = middle;
    high[at + step] = bcd;
    high[at + 2 * step] = cd;
    high[at + 3 * step] = p[at + 3 * step];
  }
}
template <int step, int line>
HIWAY_DEVICE inline void halve_coordinates(Patch const& patch, Patch& low, Patch& high) {
  halve_curves<step, line>(patch.x, low.x, high.x);
  halve_curves<step, line>(patch.y, low.y, high.y);
  halve_curves<step, line>(patch.z, low.z, high.z);
}
/// Cuts a patch in the middle.
HIWAY_DEVICE inline void halve(Patch const& patch, Along along, Patch& low, Patch& high) {
  if (along == Along::u) {
    halve_coordinates<1, 4>(patch, low, high);
  } else {
    halve_coordinates<4, 1>(patch, low, high);
  }
}

/// A point of a patch, and a vector across the surface there (of no certain length).
struct SurfacePoint {
  Vec3 position;
  Vec3 normal;
};

/// Bernstein's weights at t, and those of the derivative by three.
struct Weights {
  float at[4];
  float slope[4];
};
HIWAY_DEVICE inline Weights weights(float t) {
  float const s = 1 - t;
  return {{s * s * s, 3 * (s * s * t), 3 * (s * t * t), t * t * t},
          {-(s * s), s * s - 2 * (s * t), 2 * (s * t) - t * t, t * t}};
}
HIWAY_DEVICE inline Vec3 weigh(Vec3 const (&points)[4], float const (&by)[4]) {
  return (by[0] * points[0] + by[1] * points[1]) + (by[2] * points[2] + by[3] * points[3]);
}
/// Where u and v are from 0 to 1. The normal is that of a point a little nearer the patch's middle: where an edge is
/// but a point, there is none.
HIWAY_DEVICE inline SurfacePoint surface_point(Patch const& patch, float u, float v) {
  constexpr float edge = 1.0F / 64;
  Weights const wu = weights(u);
  Weights const wv = weights(v);
  Weights const iu = weights(edge + u * (1 - 2 * edge));
  Weights const iv = weights(edge + v * (1 - 2 * edge));
  Vec3 at[4];
  Vec3 inside[4];
  Vec3 slope[4];
  for (int row = 0; row < 4; ++row) {
    Vec3 const points[4] = {patch.point(4 * row), patch.point(4 * row + 1), patch.point(4 * row + 2),
                            patch.point(4 * row + 3)};
    at[row] = weigh(points, wu.at);
    inside[row] = weigh(points, iu.at);
    slope[row] = weigh(points, iu.slope);
  }
  return {weigh(at, wv.at), cross(weigh(slope, iv.at), weigh(inside, iv.slope))};
}

}  // namespace reyes
