// The stage vertex, and what is drawn.
#pragma once
#include <cstdint>
#include <vector>

#include "picture/camera.hpp"
#include "rasterization/model.hpp"
#include "rasterization/triangle.hpp"

namespace rasterization {

/// What is asked for.
struct Problem {
  Model model = make_cube();
  std::uint32_t pictures = 4;
  std::int32_t width = 256;
  std::int32_t height = 192;

  [[nodiscard]] std::uint64_t pixels_a_picture() const {
    return static_cast<std::uint64_t>(width) * static_cast<std::uint64_t>(height);
  }
  [[nodiscard]] std::uint64_t pixels() const { return pictures * pixels_a_picture(); }
};

/// Makes the triangles of pictures. *Lifetime*: the problem's.
class Vertices {
 public:
  explicit Vertices(Problem const& problem);

  /// Those of picture `number`: the model turned by an angle that is the picture's, as the camera sees it. None has a corner
  /// nearer than Camera::near, or no area. They say that they belong to picture `place`. Valid until the next call.
  std::vector<Triangle> const& of(std::uint32_t number, std::uint32_t place);

 private:
  /// A point of the model in a picture.
  struct Seen {
    picture::Vec3 point;
    Corner corner;
    bool is_near;
  };

  Problem const& problem_;
  picture::Camera camera_;
  picture::Vec3 to_light_;
  std::vector<Seen> seen_;
  std::vector<Triangle> triangles_;
};

}  // namespace rasterization
