#include "face_detection/summary.hpp"

#include <algorithm>
#include <utility>

#include "face_detection/grouping.hpp"

namespace face_detection {

Summary summarize(Pyramid const& pyramid, std::vector<Rectangle> raw, std::int32_t min_neighbours) {
  Summary summary{std::move(raw), {}};
  summary.rectangles = group(summary.raw, min_neighbours);
  for (std::vector<Rectangle>* const list : {&summary.raw, &summary.rectangles}) {
    for (Rectangle& r : *list) {
      r.width = std::min(r.width, pyramid.image_width - r.x);
      r.height = std::min(r.height, pyramid.image_height - r.y);
    }
  }
  return summary;
}

Summary summarize(Pyramid const& pyramid, std::span<std::uint32_t const> rejected, std::vector<Candidate> candidates,
                  std::int32_t min_neighbours) {
  std::ranges::sort(candidates);
  std::vector<Rectangle> raw;
  for (Candidate const& c : candidates) {
    Level const& level = pyramid.levels[static_cast<std::size_t>(c.level)];
    if (!is_visited(level, rejected.data(), c.column, c.row)) continue;
    raw.push_back(face_at(level, c.column * level.step, c.row * level.step));
  }
  return summarize(pyramid, std::move(raw), min_neighbours);
}

}  // namespace face_detection
