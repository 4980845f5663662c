// Patch: a bicubic Bezier patch, and what the stages ask of it. Everything is the same in every bit on every device.
#pragma once
#include <cmath>
#include <cstdint>

#include "hiway/config.hpp"
#include "picture/camera.hpp"

namespace reyes {

using picture::Vec3;

/// Control points, row by row: u goes along a row, v from row to row.
struct Patch {
  Vec3 points[16];
};

/// The middle of two points.
HIWAY_DEVICE inline Vec3 middle(Vec3 a, Vec3 b) { return 0.5F * (a + b); }

enum class Along : std::uint8_t { u, v };

/// Cuts a patch in the middle (de Casteljau).
inline void halve(Patch const& patch, Along along, Patch& low, Patch& high) {
  int const step = along == Along::u ? 1 : 4;
  int const line = along == Along::u ? 4 : 1;
  for (int k = 0; k < 4; ++k) {
    Vec3 const* const p = patch.points + k * line;
    Vec3* const l = low.points + k * line;
    Vec3* const h = high.points + k * line;
    Vec3 const ab = middle(p[0], p[step]);
    Vec3 const bc = middle(p[step], p[2 * step]);
    Vec3 const cd = middle(p[2 * step], p[3 * step]);
    Vec3 const abc = middle(ab, bc);
    Vec3 const bcd = middle(bc, cd);
    Vec3 const abcd = middle(abc, bcd);
    l[0] = p[0];
    l[step] = ab;
    l[2 * step] = abc;
    l[3 * step] = abcd;
    h[0] = abcd;
    h[step] = bcd;
    h[2 * step] = cd;
    h[3 * step] = p[3 * step];
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
HIWAY_DEVICE inline Vec3 weigh(Vec3 const* points, int step, float const (&by)[4]) {
  return (by[0] * points[0] + by[1] * points[step]) + (by[2] * points[2 * step] + by[3] * points[3 * step]);
}
/// Where u and v are from 0 to 1. The normal is that of a point a little nearer the patch's middle: where an edge is but a
/// point, there is none.
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
    Vec3 const* const points = patch.points + 4 * row;
    at[row] = weigh(points, 1, wu.at);
    inside[row] = weigh(points, 1, iu.at);
    slope[row] = weigh(points, 1, iu.slope);
  }
  return {weigh(at, 1, wv.at), cross(weigh(slope, 1, iv.at), weigh(inside, 1, iv.slope))};
}

}  // namespace reyes
