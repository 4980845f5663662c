#include "rasterization/vertex.hpp"

#include <array>
#include <cmath>
#include <utility>

#include "picture/depth_buffer.hpp"

namespace rasterization {
namespace {

using picture::Vec3;

/// About the upright axis, then about the one to the right.
class Turn {
 public:
  explicit Turn(std::uint32_t number)
      : sin_up_(sine(number * degrees_up)),
        cos_up_(sine(number * degrees_up + 90)),
        sin_right_(sine(number * degrees_right)),
        cos_right_(sine(number * degrees_right + 90)) {}

  [[nodiscard]] Vec3 of(Vec3 p) const {
    Vec3 const q{cos_up_ * p.x + sin_up_ * p.z, p.y, cos_up_ * p.z - sin_up_ * p.x};
    return {q.x, cos_right_ * q.y - sin_right_ * q.z, sin_right_ * q.y + cos_right_ * q.z};
  }

 private:
  static constexpr double degrees_up = 7.2;
  static constexpr double degrees_right = 3.6;

  static float sine(double degrees) {
    return static_cast<float>(std::sin(std::fmod(degrees, 360.0) * 3.14159265358979323846 / 180));
  }

  float sin_up_, cos_up_, sin_right_, cos_right_;
};

constexpr std::array<Vec3, 6> colours{{{0.9F, 0.3F, 0.2F},
                                       {0.2F, 0.7F, 0.3F},
                                       {0.2F, 0.4F, 0.9F},
                                       {0.9F, 0.8F, 0.2F},
                                       {0.7F, 0.3F, 0.8F},
                                       {0.2F, 0.8F, 0.8F}}};

std::int32_t steps(float pixels) { return static_cast<std::int32_t>(std::floor(pixels * grid + 0.5F)); }

}  // namespace

Vertices::Vertices(Problem const& problem)
    : problem_(problem),
      camera_(problem.width, problem.height),
      to_light_(picture::normalized({0.3F, 0.5F, 0.8F})),
      seen_(problem.model.points.size()) {
  triangles_.reserve(problem.model.triangles.size());
}

std::vector<Triangle> const& Vertices::of(std::uint32_t number, std::uint32_t place) {
  Turn const turn{number};
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    Seen& seen = seen_[i];
    seen.point = turn.of(problem_.model.points[i]);
    picture::Spot const spot = camera_.see(seen.point);
    seen.is_near = spot.depth < picture::Camera::near;
    if (!seen.is_near) seen.corner = {steps(spot.x), steps(spot.y), 1 / spot.depth};
  }
  triangles_.clear();
  for (Model::Triangle const& of_model : problem_.model.triangles) {
    Seen const& a = seen_[of_model.point[0]];
    Seen const& b = seen_[of_model.point[1]];
    Seen const& c = seen_[of_model.point[2]];
    if (a.is_near || b.is_near || c.is_near) continue;
    Triangle triangle{.picture = place, .colour = 0, .corner = {a.corner, b.corner, c.corner}};
    std::int64_t const area = area_of(triangle);
    if (area == 0) continue;
    if (area < 0) std::swap(triangle.corner[1], triangle.corner[2]);
    // Lambert's law, the same from both sides, for both are drawn.
    Vec3 const normal = picture::normalized(picture::cross(b.point - a.point, c.point - a.point));
    Vec3 const shaded =
        (0.25F + 0.75F * std::abs(picture::dot(normal, to_light_))) * colours[of_model.face % colours.size()];
    triangle.colour = picture::colour(shaded.x, shaded.y, shaded.z);
    triangles_.push_back(triangle);
  }
  return triangles_;
}

}  // namespace rasterization
