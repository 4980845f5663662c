// The serial oracle: each level as an image with its sums, each row of windows from left to right, as OpenCV goes.
#include <chrono>
#include <cstdint>
#include <utility>
#include <vector>

#include "face_detection/methods.hpp"

namespace face_detection {
namespace {

/// sums[y][x] adds up the pixels above row y and left of column x.
using Sums = std::vector<std::vector<std::uint32_t>>;

Sums sums_of(Image const& image) {
  auto const width = static_cast<std::size_t>(image.width);
  auto const height = static_cast<std::size_t>(image.height);
  Sums sums(height + 1, std::vector<std::uint32_t>(width + 1));
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x)
      sums[y + 1][x + 1] = image.pixels[y * width + x] + sums[y][x + 1] + sums[y + 1][x] - sums[y][x];
  }
  return sums;
}

unsigned code(Sums const& sums, Feature const& f, std::size_t x, std::size_t y) {
  std::uint32_t cell[3][3];
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      std::size_t const left = x + f.x + column * f.width;
      std::size_t const top = y + f.y + row * f.height;
      cell[row][column] = sums[top + f.height][left + f.width] - sums[top + f.height][left] -
                          sums[top][left + f.width] + sums[top][left];
    }
  }
  std::uint32_t const clockwise[] = {cell[0][0], cell[0][1], cell[0][2], cell[1][2],
                                     cell[2][2], cell[2][1], cell[2][0], cell[1][0]};
  unsigned bits = 0;
  for (std::uint32_t const neighbour : clockwise) bits = bits * 2 + (neighbour >= cell[1][1] ? 1 : 0);
  return bits;
}

/// The number of stages that the window at (x, y) passes.
std::size_t stages_passed(Cascade const& cascade, Sums const& sums, std::size_t x, std::size_t y) {
  std::size_t passed = 0;
  for (Stage const& stage : cascade.stages) {
    double sum = 0;
    auto const first = cascade.weaks.begin() + stage.first_weak;
    for (auto weak = first; weak != first + stage.weak_count; ++weak) {
      unsigned const c = code(sums, cascade.features[static_cast<std::size_t>(weak->feature)], x, y);
      bool const is_set = (weak->subset[c >> 5] & 1U << (c & 31U)) != 0;
      sum += static_cast<double>(is_set ? weak->leaf_of_set : weak->leaf_of_clear);
    }
    if (sum < static_cast<double>(stage.threshold)) return passed;
    ++passed;
  }
  return passed;
}

struct Found {
  std::vector<Rectangle> raw;
  std::uint64_t windows = 0;
};

Found find(Input const& input, Pyramid const& pyramid) {
  Cascade const& cascade = input.cascade;
  Found found;
  for (Level const& level : pyramid.levels) {
    Sums const sums = sums_of(resize_level(pyramid.view(input.image.view()), level));
    for (std::int32_t y = 0; y + cascade.window_height <= level.height; y += level.step) {
      for (std::int32_t x = 0; x + cascade.window_width <= level.width; x += level.step) {
        std::size_t const passed =
            stages_passed(cascade, sums, static_cast<std::size_t>(x), static_cast<std::size_t>(y));
        ++found.windows;
        if (passed == cascade.stages.size()) found.raw.push_back(face_at(level, x, y));
        if (passed == 0) x += level.step;
      }
    }
  }
  return found;
}

}  // namespace

Summary reference_summary(Input const& input) {
  Pyramid const pyramid = make_pyramid(input);
  return summarize(pyramid, find(input, pyramid).raw, input.min_neighbours);
}

std::vector<Measurement> run_reference(Input const& input, Job const& job) {
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    Pyramid const pyramid = make_pyramid(input);
    Found found = find(input, pyramid);
    Measurement run{.summary = summarize(pyramid, std::move(found.raw), input.min_neighbours)};
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.items = found.windows;
    runs.push_back(run);
    job.ran();
  }
  return runs;
}

}  // namespace face_detection
