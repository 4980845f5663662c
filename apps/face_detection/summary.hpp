// Summary: what face detection answers; two runs found the same when their summaries are equal.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "face_detection/pyramid.hpp"
#include "face_detection/rectangle.hpp"
#include "face_detection/stages.hpp"

namespace face_detection {

struct Summary {
  std::vector<Rectangle> raw{};         ///< of every window that counts, by level, row and column
  std::vector<Rectangle> rectangles{};  ///< grouped
  friend bool operator==(Summary const&, Summary const&) = default;
};

/// The summary of rectangles in this order. They are grouped as they are; then what reaches beyond the image is cut
/// off.
Summary summarize(Pyramid const& pyramid, std::vector<Rectangle> raw, std::int32_t min_neighbours);

/// The summary of windows that were tested in any order, each once; `rejected` has a bit for every window that the
/// first stage rejects (stages.hpp). Those that OpenCV does not visit are left out.
Summary summarize(Pyramid const& pyramid, std::span<std::uint32_t const> rejected, std::vector<Candidate> candidates,
                  std::int32_t min_neighbours);

}  // namespace face_detection
