// The serial oracle: each triangle of each picture, each pixel near it.
#include <algorithm>
#include <chrono>
#include <utility>

#include "picture/depth_buffer.hpp"
#include "rasterization/methods.hpp"

namespace rasterization {
namespace {

Drawn draw_all(Problem const& problem) {
  Drawn drawn{.pixels = Pixels(problem.pixels(), {picture::nothing})};
  Vertices vertices{problem};
  picture::Pixel* picture = drawn.pixels.data();
  for (std::uint32_t number = 0; number < problem.pictures; ++number, picture += problem.pixels_a_picture()) {
    std::vector<Triangle> const& triangles = vertices.of(number, number);
    drawn.triangles += triangles.size();
    for (Triangle const& t : triangles) {
      auto const& [a, b, c] = t.corner;
      std::int32_t const left = std::max(0, std::min({a.x, b.x, c.x}) / grid - 1);
      std::int32_t const right = std::min(problem.width, std::max({a.x, b.x, c.x}) / grid + 2);
      std::int32_t const top = std::max(0, std::min({a.y, b.y, c.y}) / grid - 1);
      std::int32_t const bottom = std::min(problem.height, std::max({a.y, b.y, c.y}) / grid + 2);
      for (std::int32_t y = top; y < bottom; ++y) {
        for (std::int32_t x = left; x < right; ++x) {
          auto const is_inside = [&](Edge const& edge) { return edge.at(x, y) >= edge.least(); };
          if (!is_inside({a, b}) || !is_inside({b, c}) || !is_inside({c, a})) continue;
          ++drawn.covered_pixels;
          float const depth = depth_at(t, Edge{b, c}.at(x, y), Edge{c, a}.at(x, y), Edge{a, b}.at(x, y));
          std::uint64_t& pixel = picture[std::int64_t{y} * problem.width + x].bits;
          pixel = std::min(pixel, picture::surface(depth, t.colour));
        }
      }
    }
  }
  return drawn;
}

}  // namespace

Oracle reference_pictures(Problem const& problem) {
  Drawn drawn = draw_all(problem);
  Summary const summary = summarize(drawn);
  return {std::move(drawn.pixels), summary};
}

std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Oracle const* oracle) {
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    Drawn const drawn = draw_all(problem);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    Measurement measured = measurement_of(problem, drawn, oracle);
    measured.seconds = seconds;
    measured.items = drawn.triangles;
    return measured;
  });
}

}  // namespace rasterization
