// The stage code of Reyes, of which every method on a device runs the same functions.
//
//   split   bounds a patch in the picture: one that nobody sees goes; a large one is halved, and its halves are split;
//   a small
//           one is a leaf
//   dice    cuts a leaf into micropolygons: grids of 2 x 2 of them, with their nine points
//   shade   colours a grid's points and shows its micropolygons in the picture's depth buffer
#pragma once
#include <cmath>
#include <cstdint>

#include "hiway/config.hpp"
#include "picture/camera.hpp"
#include "picture/depth_buffer.hpp"
#include "reyes/patch.hpp"

namespace reyes {

using picture::Camera;
using picture::Spot;

inline constexpr float longest_extent = 4;  ///< of a leaf's control points, in pixels
inline constexpr unsigned most_splits = 20;
inline constexpr unsigned most_sides = 32;  ///< micropolygons of a leaf, in each direction
inline constexpr std::uint32_t background = 0x202830;

/// The pictures' size, and the eye.
struct View {
  View(std::int32_t w, std::int32_t h) : width(w), height(h), camera(w, h) {}
  std::int32_t width;
  std::int32_t height;
  Camera camera;

  [[nodiscard]] HIWAY_DEVICE std::uint32_t pixels() const { return static_cast<std::uint32_t>(width * height); }
};

/// What is to become of a patch.
enum class Fate : std::uint8_t { unseen, halved_in_u, halved_in_v, leaf };
struct Bound {
  Fate fate;
  std::uint8_t sides_u = 0;  ///< a leaf's micropolygons along u, a power of two
  std::uint8_t sides_v = 0;
};

/// How many micropolygons a leaf of this extent has in a direction. More than two only where a patch is not halved
/// again.
HIWAY_DEVICE inline std::uint8_t sides_for(float extent) {
  unsigned const least = static_cast<unsigned>(std::ceil((extent < 4096.0F ? extent : 4096.0F) / longest_extent)) + 1;
  unsigned sides = 2;
  while (sides < least && sides < most_sides) sides *= 2;
  return static_cast<std::uint8_t>(sides);
}

struct Range {
  float least;
  float most;
};
HIWAY_DEVICE inline Range least_and_most(float const (&values)[16]) {
  Range range{values[0], values[0]};
  for (float const v : values) range = {v < range.least ? v : range.least, range.most < v ? v : range.most};
  return range;
}
/// Of four lines through four points each: `step` from a point to the next of its line, `line` from line to line.
template <int step, int line>
HIWAY_DEVICE inline float longest_line(float const (&x)[16], float const (&y)[16]) {
  float longest = 0;
  for (int k = 0; k < 4; ++k) {
    auto const piece = [&](int i) {
      float const across = x[i] - x[i + step];
      float const down = y[i] - y[i + step];
      return std::sqrt(across * across + down * down);
    };
    float const length = piece(k * line) + piece(k * line + step) + piece(k * line + 2 * step);
    longest = k == 0 || longest < length ? length : longest;
  }
  return longest;
}

/// Bounds a patch that has been halved `splits` times to get here.
HIWAY_DEVICE inline Bound bound(View const& view, Patch const& patch, unsigned splits) {
  // One after another, and each for all points: compilers do four at once.
  float x[16], y[16], depth[16];
  for (int i = 0; i < 16; ++i) {
    Spot const s = view.camera.see(patch.point(i));
    x[i] = s.x;
    y[i] = s.y;
    depth[i] = s.depth;
  }
  auto const [nearest, farthest] = least_and_most(depth);
  if (farthest < Camera::near || nearest >= Camera::far) return {Fate::unseen};
  if (nearest < Camera::near) {  // its extent means nothing
    if (splits >= most_splits) return {Fate::unseen};
    return {splits % 2 == 0 ? Fate::halved_in_u : Fate::halved_in_v};
  }
  auto const [left, right] = least_and_most(x);
  auto const [top, bottom] = least_and_most(y);
  if (right < 0 || bottom < 0 || left > static_cast<float>(view.width) || top > static_cast<float>(view.height))
    return {Fate::unseen};
  float const extent_u = longest_line<1, 4>(x, y);
  float const extent_v = longest_line<4, 1>(x, y);
  if (splits < most_splits) {
    if (extent_u >= longest_extent) return {Fate::halved_in_u};
    if (extent_v >= longest_extent) return {Fate::halved_in_v};
  }
  return {Fate::leaf, sides_for(extent_u), sides_for(extent_v)};
}

/// What became of patches.
struct Splits {
  std::uint64_t split = 0;  ///< patches that were bounded, leaves too
  std::uint64_t dice = 0;   ///< leaves
  std::uint64_t grids = 0;  ///< of the leaves

  Splits& operator+=(Splits const& other) {
    split += other.split;
    dice += other.dice;
    grids += other.grids;
    return *this;
  }
};

/// A patch that is small enough.
struct alignas(16) Leaf {
  Patch patch;
  std::uint32_t picture;
  std::uint8_t sides_u;
  std::uint8_t sides_v;

  [[nodiscard]] HIWAY_DEVICE std::uint32_t grids() const { return sides_u / 2U * (sides_v / 2U); }
  [[nodiscard]] HIWAY_DEVICE std::uint32_t points() const { return (sides_u + 1U) * (sides_v + 1U); }
};

/// Bounds a patch, and calls `leaf(Leaf const&)` if it is one. Halves that have been halved `at_once` times or more are
/// split here, depth first, to their leaves; others go to `part(Patch const&, splits)`, to be split later.
template <class Part, class ToLeaf>
void split(View const& view, Patch const& patch, std::uint32_t picture, unsigned splits, unsigned at_once, Splits& done,
           Part const& part, ToLeaf const& leaf) {
  ++done.split;
  Bound const b = bound(view, patch, splits);
  if (b.fate == Fate::unseen) return;
  if (b.fate == Fate::leaf) {
    Leaf const made{patch, picture, b.sides_u, b.sides_v};
    ++done.dice;
    done.grids += made.grids();
    leaf(made);
    return;
  }
  Patch low, high;
  halve(patch, b.fate == Fate::halved_in_u ? Along::u : Along::v, low, high);
  for (Patch const* const piece : {&low, &high}) {
    if (splits + 1 < at_once) {
      part(*piece, splits + 1);
    } else {
      split(view, *piece, picture, splits + 1, at_once, done, part, leaf);
    }
  }
}

/// 2 x 2 micropolygons of a leaf.
struct alignas(16) Grid {
  static constexpr unsigned side = 2;
  SurfacePoint points[9];  ///< row by row
  std::uint32_t picture;
  std::uint32_t owned;  ///< points that no grid before it has
};

/// Grid number `k` of a leaf.
HIWAY_DEVICE inline Grid dice(Leaf const& leaf, std::uint32_t k) {
  std::uint32_t const columns = leaf.sides_u / Grid::side;
  std::uint32_t const column = k % columns;
  std::uint32_t const row = k / columns;
  float const step_u = 1.0F / static_cast<float>(leaf.sides_u);  // exact, and so is every multiple up to 1
  float const step_v = 1.0F / static_cast<float>(leaf.sides_v);
  Grid grid;
  for (std::uint32_t y = 0; y <= Grid::side; ++y) {
    for (std::uint32_t x = 0; x <= Grid::side; ++x) {
      grid.points[y * 3 + x] = surface_point(leaf.patch, static_cast<float>(column * Grid::side + x) * step_u,
                                             static_cast<float>(row * Grid::side + y) * step_v);
    }
  }
  grid.picture = leaf.picture;
  grid.owned = (column == 0 ? 3U : 2U) * (row == 0 ? 3U : 2U);
  return grid;
}

/// The colour of a point: what light it sends to the eye, whichever side of the surface it is on.
HIWAY_DEVICE inline Vec3 shine(SurfacePoint const& p) {
  Vec3 const to_light{0.45F, 0.65F, 0.6123724F};  // length 1
  Vec3 const to_eye = normalized(Vec3{-p.position.x, -p.position.y, Camera::eye_z - p.position.z});
  Vec3 normal = normalized(p.normal);
  if (dot(normal, to_eye) < 0) normal = -1.0F * normal;
  float const lit = dot(normal, to_light);
  float const diffuse = lit > 0 ? lit : 0;
  float gloss = dot(normal, normalized(to_light + to_eye));
  gloss = gloss > 0 ? gloss : 0;
  for (int i = 0; i < 5; ++i) gloss = gloss * gloss;  // to the 32nd
  return (0.12F + 0.8F * diffuse) * Vec3{0.85F, 0.62F, 0.36F} + 0.4F * gloss * Vec3{1, 1, 1};
}

/// Whether the middle of a pixel lies in a triangle, edges included: neighbours that share an edge leave no gap (but
/// where rounding, of the 2^-24th part, finds the middle outside of both), and the nearer of them wins.
struct Triangle {
  Spot a, b, c;
  HIWAY_DEVICE static float side(Spot const& p, Spot const& q, float x, float y) {
    return (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x);
  }
  [[nodiscard]] HIWAY_DEVICE bool covers(float x, float y) const {
    float const ab = side(a, b, x, y);
    float const bc = side(b, c, x, y);
    float const ca = side(c, a, x, y);
    return (ab >= 0 && bc >= 0 && ca >= 0) || (ab <= 0 && bc <= 0 && ca <= 0);
  }
};

/// The pixel whose middle is the first at or behind `x`, in [0, end].
HIWAY_DEVICE inline std::int32_t pixel_from(float x, std::int32_t end) {
  float const first = std::ceil(x - 0.5F);
  return first <= 0 ? 0 : first >= static_cast<float>(end) ? end : static_cast<std::int32_t>(first);
}

/// Calls `covered(x, y)` for each pixel whose middle lies in the micropolygon with these corners, in order along it.
template <class Covered>
HIWAY_DEVICE inline void for_each_pixel(View const& view, Spot const (&corner)[4], Covered const& covered) {
  float left = corner[0].x, right = corner[0].x, top = corner[0].y, bottom = corner[0].y;
  for (Spot const& s : corner) {
    left = s.x < left ? s.x : left;
    right = s.x > right ? s.x : right;
    top = s.y < top ? s.y : top;
    bottom = s.y > bottom ? s.y : bottom;
  }
  Triangle const one{corner[0], corner[1], corner[2]};
  Triangle const other{corner[0], corner[2], corner[3]};
  std::int32_t const first_x = pixel_from(left, view.width);
  std::int32_t const first_y = pixel_from(top, view.height);
  for (std::int32_t y = first_y; y < view.height && static_cast<float>(y) + 0.5F <= bottom; ++y) {
    for (std::int32_t x = first_x; x < view.width && static_cast<float>(x) + 0.5F <= right; ++x) {
      float const px = static_cast<float>(x) + 0.5F;
      float const py = static_cast<float>(y) + 0.5F;
      if (one.covers(px, py) || other.covers(px, py)) covered(x, y);
    }
  }
}

/// Colours and shows a grid; a micropolygon has one depth, and the colour of its middle. `pixels`: the picture's.
template <class Machine>
HIWAY_DEVICE inline void shade(Machine m, View const& view, Grid const& grid, picture::Pixel* pixels) {
  Spot spots[9];
  Vec3 colours[9];
  for (int i = 0; i < 9; ++i) {
    spots[i] = view.camera.see(grid.points[i].position);
    colours[i] = shine(grid.points[i]);
  }
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 2; ++x) {
      int const at = y * 3 + x;
      Spot const corner[4] = {spots[at], spots[at + 1], spots[at + 4], spots[at + 3]};
      Vec3 const colour = 0.25F * ((colours[at] + colours[at + 1]) + (colours[at + 4] + colours[at + 3]));
      float const depth = 0.25F * ((corner[0].depth + corner[1].depth) + (corner[2].depth + corner[3].depth));
      std::uint64_t const surface = picture::surface(depth, picture::colour(colour.x, colour.y, colour.z));
      for_each_pixel(view, corner, [&](std::int32_t px, std::int32_t py) {
        picture::show(m, pixels[static_cast<std::uint32_t>(py * view.width + px)], surface);
      });
    }
  }
}

}  // namespace reyes
