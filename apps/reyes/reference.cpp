// Method reference: the serial oracle. It shares what a patch is and how a micropolygon covers pixels; it makes a leaf's points
// at once and keeps its own depths.
#include <chrono>
#include <limits>
#include <vector>

#include "reyes/methods.hpp"

namespace reyes {
namespace {

class Painter {
 public:
  explicit Painter(View const& view)
      : view_(view),
        depths_(view.pixels(), std::numeric_limits<float>::infinity()),
        colours_(view.pixels(), background) {}

  void split(Patch const& patch, unsigned splits, Summary& summary) {
    ++summary.split;
    Bound const b = bound(view_, patch, splits);
    if (b.fate == Fate::unseen) return;
    if (b.fate == Fate::leaf) {
      ++summary.dice;
      summary.shade += (b.sides_u + 1U) * (b.sides_v + 1U);
      paint(patch, b.sides_u, b.sides_v);
      return;
    }
    Patch halves[2];
    halve(patch, b.fate == Fate::halved_in_u ? Along::u : Along::v, halves[0], halves[1]);
    for (Patch const& part : halves) split(part, splits + 1, summary);
  }
  Colours const& colours() const { return colours_; }

 private:
  void paint(Patch const& patch, unsigned sides_u, unsigned sides_v) {
    std::vector<Spot> spots;
    std::vector<Vec3> lights;
    for (unsigned v = 0; v <= sides_v; ++v) {
      for (unsigned u = 0; u <= sides_u; ++u) {
        SurfacePoint const p = surface_point(patch, static_cast<float>(u) / static_cast<float>(sides_u),
                                             static_cast<float>(v) / static_cast<float>(sides_v));
        spots.push_back(view_.camera.see(p.position));
        lights.push_back(shine(p));
      }
    }
    std::size_t const row = sides_u + 1;
    for (unsigned v = 0; v < sides_v; ++v) {
      for (unsigned u = 0; u < sides_u; ++u) {
        std::size_t const at[4] = {v * row + u, v * row + u + 1, (v + 1) * row + u + 1, (v + 1) * row + u};
        Vec3 const light = 0.25F * ((lights[at[0]] + lights[at[1]]) + (lights[at[2]] + lights[at[3]]));
        float const depth =
            0.25F * ((spots[at[0]].depth + spots[at[1]].depth) + (spots[at[2]].depth + spots[at[3]].depth));
        std::uint32_t const colour = picture::colour(light.x, light.y, light.z);
        for_each_pixel(view_, {spots[at[0]], spots[at[1]], spots[at[2]], spots[at[3]]},
                       [&](std::int32_t x, std::int32_t y) {
                         std::size_t const pixel = static_cast<std::size_t>(y) * view_.width + x;
                         if (depth > depths_[pixel] || (depth == depths_[pixel] && colour >= colours_[pixel])) return;
                         depths_[pixel] = depth;
                         colours_[pixel] = colour;
                       });
      }
    }
  }

  View view_;
  std::vector<float> depths_;
  Colours colours_;
};

}  // namespace

std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Pictures& pictures) {
  return cli::repeated(job, [&] {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < problem.pictures.size(); ++i) {
      Painter painter{problem.view};
      for (Patch const& patch : problem.pictures[i]) painter.split(patch, 0, run.summary);
      pictures[i] = painter.colours();
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary.checksum = checksum(pictures);
    run.items = run.summary.split + run.summary.dice + run.summary.shade;
    return run;
  });
}

}  // namespace reyes
