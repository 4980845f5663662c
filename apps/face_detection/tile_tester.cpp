#include "face_detection/tile_tester.hpp"

#include <algorithm>
#include <bit>

namespace face_detection {
namespace {

/// Windows that begin at sums `first` + i, for i in [0, N): their codes of a feature whose corners are at `corner` from there.
template <std::int32_t N>
void codes_of(std::uint16_t const* first, std::array<std::int32_t, 16> const& corners,
              std::uint16_t* __restrict codes) {
  std::uint16_t const* p[4][4];
  for (std::size_t i = 0; i < 16; ++i) p[i / 4][i % 4] = first + corners[i];
  for (std::int32_t i = 0; i < N; ++i) {
    auto const cell = [&](int column, int row) {
      return static_cast<std::int16_t>(p[row + 1][column + 1][i] - p[row + 1][column][i] - p[row][column + 1][i] +
                                       p[row][column][i]);
    };
    std::int16_t const centre = cell(1, 1);
    auto const bit = [&](int column, int row, int value) {
      return static_cast<std::uint16_t>(cell(column, row) >= centre ? value : 0);
    };
    codes[i] = static_cast<std::uint16_t>(bit(0, 0, 128) | bit(1, 0, 64) | bit(2, 0, 32) | bit(2, 1, 16) |
                                          bit(2, 2, 8) | bit(1, 2, 4) | bit(0, 2, 2) | bit(0, 1, 1));
  }
}

}  // namespace

TileTester::TileTester(CascadeView const& cascade) : cascade_(cascade), sums_(std::size_t{most} * pitch + tile_side) {
  for (std::int32_t s = 0; s < cascade.stage_count; ++s) {
    Stage const& stage = cascade.stages[s];
    auto const weaks = static_cast<std::size_t>(stage.first_weak + stage.weak_count);
    leaves_.resize(256 * weaks);
    for (std::vector<Corners>& list : corners_) list.resize(weaks);
    for (std::int32_t w = stage.first_weak; w < stage.first_weak + stage.weak_count; ++w) {
      WeakClassifier const& weak = cascade.weaks[w];
      Feature const& f = cascade.features[weak.feature];
      for (std::int32_t i = 0; i < 16; ++i) {
        std::int32_t const x = f.x + i % 4 * f.width;
        std::int32_t const y = f.y + i / 4 * f.height;
        corners_[0][static_cast<std::size_t>(w)][static_cast<std::size_t>(i)] = place_of<1>(x, y);
        corners_[1][static_cast<std::size_t>(w)][static_cast<std::size_t>(i)] = place_of<2>(x, y);
      }
      for (std::uint32_t code = 0; code < 256; ++code) {
        bool const is_set = (weak.subset[code / 32] >> code % 32 & 1U) != 0;
        leaves_[std::size_t{256} * static_cast<std::size_t>(w) + code] = is_set ? weak.leaf_of_set : weak.leaf_of_clear;
      }
    }
  }
}

template <std::int32_t Step>
void TileTester::add_up(PixelView area, std::int32_t width, std::int32_t height) {
  std::uint16_t of_row[pitch] = {};  // sums of a row's pixels, where they will be added
  std::uint16_t* above = sums_.data();
  std::fill_n(above, pitch, std::uint16_t{0});
  for (std::int32_t y = 0; y < height; ++y, above += pitch) {
    std::uint16_t sum = 0;
    for (std::int32_t x = 0; x < width; ++x) {
      sum = static_cast<std::uint16_t>(sum + area.at(x, y));
      of_row[place_of<Step>(x + 1, 0)] = sum;
    }
    for (std::int32_t i = 0; i < pitch; ++i) above[pitch + i] = static_cast<std::uint16_t>(above[i] + of_row[i]);
  }
}

template <std::int32_t Step, std::int32_t N>
std::uint32_t TileTester::passes(Stage const& stage, std::uint16_t const* first) const {
  double sums[N] = {};  // of leaves in this order: as OpenCV rounds
  for (std::int32_t w = stage.first_weak; w < stage.first_weak + stage.weak_count; ++w) {
    std::uint16_t codes[N];
    codes_of<N>(first, corners_[Step - 1][static_cast<std::size_t>(w)], codes);
    float const* const leaves = leaves_.data() + std::size_t{256} * static_cast<std::size_t>(w);
    for (std::int32_t i = 0; i < N; ++i) sums[i] += static_cast<double>(leaves[codes[i]]);
  }
  std::uint32_t pass = 0;
  for (std::int32_t i = 0; i < N; ++i) pass |= (sums[i] >= static_cast<double>(stage.threshold) ? 1U : 0U) << i;
  return pass;
}

template <std::int32_t Step>
void TileTester::test_row(std::int32_t row) {
  constexpr std::int32_t in_row = tile_side / Step;
  std::uint16_t const* const first = sums_.data() + place_of<Step>(0, row * Step);
  std::uint32_t const all = rows_.windows.columns == 32 ? ~0U : (1U << rows_.windows.columns) - 1;
  std::uint32_t passed = all & passes<Step, in_row>(cascade_.stages[0], first);
  rows_.rejected[static_cast<std::size_t>(row)] = all & ~passed;
  std::int32_t s = 1;
  for (; s < cascade_.stage_count && std::popcount(passed) * 8 >= in_row; ++s)
    passed &= passes<Step, in_row>(cascade_.stages[s], first);
  for (std::uint32_t left = passed; left != 0; left &= left - 1) {
    std::uint32_t const window = left & ~(left - 1);
    for (std::int32_t t = s; t < cascade_.stage_count && (passed & window) != 0; ++t) {
      if (passes<Step, 1>(cascade_.stages[t], first + std::countr_zero(window)) == 0) passed &= ~window;
    }
  }
  rows_.passed[static_cast<std::size_t>(row)] = passed;
}

TileTester::Rows const& TileTester::test(Level const& level, std::int32_t column, std::int32_t row, PixelView area) {
  rows_.windows = windows_of(level, column, row);
  if (rows_.windows.columns == 0 || rows_.windows.rows == 0) {
    rows_.windows.columns = rows_.windows.rows = 0;
    return rows_;
  }
  auto const test_all = [&](auto step) {
    constexpr std::int32_t s = decltype(step)::value;
    add_up<s>(area, (rows_.windows.columns - 1) * s + cascade_.window_width,
              (rows_.windows.rows - 1) * s + cascade_.window_height);
    for (std::int32_t y = 0; y < rows_.windows.rows; ++y) test_row<s>(y);
  };
  if (level.step == 2) {
    test_all(std::integral_constant<std::int32_t, 2>{});
  } else {
    test_all(std::integral_constant<std::int32_t, 1>{});
  }
  return rows_;
}

}  // namespace face_detection
