// Summary: what rasterization answers, and the pictures that it is made of.
#pragma once
#include <cstdint>
#include <vector>

#include "picture/depth_buffer.hpp"
#include "picture/picture.hpp"
#include "rasterization/vertex.hpp"

namespace rasterization {

/// All pictures in order, each row by row from the top.
using Pixels = std::vector<picture::Pixel>;

struct Summary {
  std::uint64_t triangles = 0;       ///< that vertex put, of all pictures
  std::uint64_t covered_pixels = 0;  ///< by each triangle for itself: of those that others hide, too
  std::uint64_t image_checksum = 0;  ///< FNV-1a, 64 bit, a step a pixel with its colour as a number
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// What a run leaves.
struct Drawn {
  Pixels pixels;
  std::uint64_t triangles = 0;
  std::uint64_t covered_pixels = 0;
};
/// What others are compared with.
struct Oracle {
  Pixels pixels;
  Summary summary;
};

Summary summarize(Drawn const& drawn);
/// The last picture in colours.
picture::Picture last_picture(Problem const& problem, Pixels const& pixels);

}  // namespace rasterization
