// Model: points in space, and the triangles between them; the cube, or a Wavefront OBJ file's.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "picture/camera.hpp"

namespace rasterization {

struct Model {
  struct Triangle {
    std::array<std::uint32_t, 3> point;
    std::uint32_t face;  ///< what has one colour: of a polygon that is several triangles all have one
  };
  std::vector<picture::Vec3> points{};
  std::vector<Triangle> triangles{};
};

/// The side of the cube, whose centre is at (0, 0, 0), and the longest extent of a file's model.
inline constexpr float model_extent = 1.02F;
inline constexpr std::size_t most_triangles = std::size_t{1} << 20;  ///< of a file

/// Six faces of two triangles.
Model make_cube();

/// Reads lines `v` and `f` (polygons as fans; corners v, v/vt, v//vn, v/vt/vn; negative numbers count back from the last
/// point so far), plain or gzip. A # begins a comment; a line that ends with \ continues in the next one. Normals,
/// textures, names and materials are passed over; of any other keyword a note tells, with its line. The model is centred
/// and scaled. *Throws* cli::BadInput: one line with file and line.
Model read_obj(std::string const& path, std::vector<std::string>& notes);

}  // namespace rasterization
