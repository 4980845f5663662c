// Face detection's pipelines: tiles, windows side by side, and that each method finds what the serial oracle finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "face_detection/methods.hpp"
#include "face_detection/scan.hpp"
#include "face_detection/tile.hpp"
#include "face_detection/tile_tester.hpp"

namespace face_detection {
namespace {

std::string const data = HIWAY_SOURCE_DIR "/apps/face_detection/data/";

Input astronaut_at(double scale_factor) {
  return make_input({data + "astronaut_512.pgm", data + "lbpcascade_frontalface.xml", scale_factor, 3});
}
/// The astronaut, cut down: its right lower part.
Input cut(Input input, std::int32_t width, std::int32_t height) {
  Image part{width, height, {}};
  PixelView const from = input.image.view().from(input.image.width - width, input.image.height - height);
  for (std::int32_t y = 0; y < height; ++y) {
    for (std::int32_t x = 0; x < width; ++x) part.pixels.push_back(from.at(x, y));
  }
  input.image = part;
  return input;
}

TEST(Mosaic, IsFilledByWhatLevelsHave) {
  for (auto const& [width, height, scale_factor] :
       {std::tuple{1280, 720, 1.1}, {512, 512, 1.5}, {24, 24, 2.0}, {2000, 24, 1.2}, {24, 900, 1.05}, {33, 70, 1.01}}) {
    Pyramid const pyramid = make_pyramid(width, height, 24, 24, scale_factor);
    Mosaic const mosaic = make_mosaic(pyramid);
    SCOPED_TRACE(std::to_string(width) + " x " + std::to_string(height));
    ASSERT_EQ(mosaic.places.size(), pyramid.levels.size());
    EXPECT_GE(mosaic.width, 3);
    EXPECT_GE(mosaic.height, 3);
    std::vector<int> owners(static_cast<std::size_t>(mosaic.width * mosaic.height));
    for (std::size_t l = 0; l < mosaic.places.size(); ++l) {
      TilePlace const& place = mosaic.places[l];
      EXPECT_GE(place.columns * tile_side, pyramid.levels[l].width);
      EXPECT_GE(place.rows * tile_side, pyramid.levels[l].height);
      EXPECT_LE(place.columns, place.owned_columns);
      EXPECT_LE(place.rows, place.owned_rows);
      for (std::int32_t y = place.y; y < place.y + place.owned_rows; ++y) {
        for (std::int32_t x = place.x; x < place.x + place.owned_columns; ++x)
          ++owners.at(static_cast<std::size_t>(y * mosaic.width + x));
      }
    }
    EXPECT_THAT(owners, testing::Each(1));
  }
}

// Of windows side by side, and in the tester's own sums: the same as one by one, of the pixels themselves.
TEST(TileTester, AgreesWithTheStageCode) {
  Input const input = cut(astronaut_at(1.3), 330, 470);
  Pyramid const pyramid = make_pyramid(input);
  CascadeView const cascade = input.cascade.view();
  TileTester tester{cascade};
  std::size_t passed = 0;
  for (Level const& level : pyramid.levels) {
    Image const image = resize_level(pyramid.view(input.image.view()), level);
    for (std::int32_t row = 0; row * tile_side < level.height; ++row) {
      for (std::int32_t column = 0; column * tile_side < level.width; ++column) {
        PixelView const area = image.view().from(column * tile_side, row * tile_side);
        TileTester::Rows const& rows = tester.test(level, column, row, area);
        for (std::int32_t y = 0; y < rows.windows.rows; ++y) {
          for (std::int32_t x = 0; x < rows.windows.columns; ++x) {
            std::int32_t const stages = run_window(cascade, PixelCells{area.from(x * level.step, y * level.step)});
            bool const is_rejected = (rows.rejected[static_cast<std::size_t>(y)] >> x & 1U) != 0;
            bool const has_passed = (rows.passed[static_cast<std::size_t>(y)] >> x & 1U) != 0;
            ASSERT_EQ(is_rejected, stages == 0) << column << ", " << row << ": " << x << ", " << y;
            ASSERT_EQ(has_passed, stages == cascade.stage_count) << column << ", " << row << ": " << x << ", " << y;
            passed += has_passed ? 1 : 0;
          }
        }
      }
    }
  }
  EXPECT_GT(passed, 0U);
}

std::map<std::string, std::uint64_t> items_of(Measurement const& run) {
  std::map<std::string, std::uint64_t> items;
  for (hiway::TunnelReport const& tunnel : run.tunnels) items[tunnel.name] = tunnel.items;
  return items;
}

TEST(FaceMethods, FindWhatTheReferenceFinds) {
  for (Input const& input : {astronaut_at(1.1), cut(astronaut_at(1.2), 330, 24), cut(astronaut_at(1.4), 24, 24),
                             cut(astronaut_at(1.05), 100, 90)}) {
    Summary const oracle = reference_summary(input);
    for (Placement const placement : {Placement::paper, Placement::lbp_on_cpu, Placement::cpu}) {
      for (bool const stops : {false, true}) {
        if (stops && placement == Placement::paper) continue;
        for (auto* const method : {run_hiway, run_baseline}) {
          for (Measurement const& run : method(input, {.device = "simt", .repeat = 2}, {placement, stops})) {
            EXPECT_EQ(run.summary, oracle);
            if (placement == Placement::paper) continue;
            EXPECT_EQ(items_of(run)["candidates"] == 0, stops || oracle.raw.empty());
          }
        }
      }
    }
  }
}

TEST(FaceMethods, ACascadeAndAPictureAreBuiltIn) {
  Cascade const file = read_cascade(data + "lbpcascade_frontalface.xml");
  Cascade const built_in = frontal_face_cascade();
  EXPECT_EQ(built_in.stages.size(), file.stages.size());
  EXPECT_EQ(built_in.weaks.size(), file.weaks.size());
  EXPECT_EQ(built_in.features.size(), file.features.size());
  Input input = astronaut_at(1.1);
  Summary const found = reference_summary(input);
  input.cascade = built_in;
  EXPECT_EQ(reference_summary(input), found);
  EXPECT_EQ(face_image().pixels, read_image(data + "face_176.pgm").pixels);
  EXPECT_EQ(reference_summary(make_input({})).rectangles, (std::vector<Rectangle>{{45, 41, 99, 99}}));
}

TEST(FaceMethods, EachTileCrossesOnce) {
  Input const input = astronaut_at(1.1);
  Pyramid const pyramid = make_pyramid(input);
  Mosaic const mosaic = make_mosaic(pyramid);
  std::uint64_t const tiles = static_cast<std::uint64_t>(mosaic.width * mosaic.height);
  std::uint64_t areas = 0;
  for (TilePlace const& place : mosaic.places) areas += static_cast<std::uint64_t>(place.columns * place.rows);

  Measurement const hiway = run_hiway(input, {.device = "simt"}, {.placement = Placement::lbp_on_cpu}).front();
  EXPECT_EQ(hiway.bytes_moved, tiles * sizeof(Tile));
  EXPECT_THAT(items_of(hiway),
              testing::IsSupersetOf({std::pair<std::string const, std::uint64_t>{"levels", pyramid.levels.size()},
                                     {"tiles", tiles},
                                     {"matrix tasks", tiles},
                                     {"matrix", *hiway.region_copies},
                                     {"candidates", 35}}));
  Measurement const baseline = run_baseline(input, {.device = "simt"}, {}).front();
  EXPECT_EQ(baseline.bytes_moved, areas * 4 * tile_side * tile_side);
  EXPECT_EQ(items_of(baseline)["tiles with neighbours"], areas);
}

// Where the GPU compares: an area for each tile that windows begin in, and one answer for each area.
TEST(FaceMethods, HandTheSumsOfEachAreaToTheGpu) {
  Input const input = cut(astronaut_at(1.2), 330, 150);
  Pyramid const pyramid = make_pyramid(input);
  std::uint64_t areas = 0;
  for (Level const& level : pyramid.levels) {
    std::int32_t const in_tile = tile_side / level.step;
    auto const tiles = [&](std::int32_t windows) {
      return static_cast<std::uint64_t>((windows + in_tile - 1) / in_tile);
    };
    areas += tiles(level.columns) * tiles(level.rows);
  }
  for (auto* const method : {run_hiway, run_baseline}) {
    auto const items = items_of(method(input, {.device = "simt"}, {.placement = Placement::paper}).front());
    EXPECT_EQ(items.at("areas"), areas);
    EXPECT_EQ(items.at("tested"), areas);
  }
}

// The sums that cells of a window have by an area, also where it reaches into all four tiles: those of its pixels.
TEST(SummedArea, HasTheCellsOfEachWindow) {
  for (std::int32_t const step : {1, 2}) {
    for (std::int32_t const side : {3, 24, 33}) {
      std::vector<std::uint8_t> pixels(64 * 64);
      for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i / 7 + 200);
      TileWindows const windows{0, 0, 32 / step, 32 / step - 1};
      CascadeView const cascade{.window_width = side, .window_height = side};
      SummedArea area;
      std::fill_n(area.sums, std::size(area.sums), std::uint16_t{0xdead});
      sum_area(
          cascade, step, windows, [&](std::int32_t y) { return pixels.data() + 64 * y; },
          [&](std::int32_t y) { return pixels.data() + 64 * y + tile_side; }, area);
      for (std::int32_t row = 0; row < windows.rows; ++row) {
        for (std::int32_t column = 0; column < windows.columns; ++column) {
          PixelCells const expected{PixelView{pixels.data(), 64}.from(column * step, row * step)};
          AreaCells const is{area.sums + row * step * SummedArea::pitch + column * step};
          std::int32_t const cell = side / 3;
          for (std::int32_t i = 0; i < 9; ++i)
            ASSERT_EQ(is.sum(i % 3 * cell, i / 3 * cell, cell, cell),
                      expected.sum(i % 3 * cell, i / 3 * cell, cell, cell))
                << step << ", " << side << ": " << column << ", " << row << ", cell " << i;
        }
      }
    }
  }
}

/// The areas of all tiles of an input's levels that windows begin in.
struct PutAreas {
  Input const* input;
  Pyramid const* pyramid;
  void operator()(hiway::Inlet<SummedArea> out) const {
    for (std::size_t l = 0; l < pyramid->levels.size(); ++l) {
      Level const& level = pyramid->levels[l];
      Image const image = resize_level(pyramid->view(input->image.view()), level);
      for (std::int32_t row = 0; windows_of(level, 0, row).rows != 0; ++row) {
        for (std::int32_t column = 0; windows_of(level, column, row).columns != 0; ++column) {
          std::uint8_t const* const first = image.view().from(column * tile_side, row * tile_side).pixels;
          SummedArea area{.level = static_cast<std::int32_t>(l), .column = column, .row = row};
          sum_area(
              input->cascade.view(), level.step, windows_of(level, column, row),
              [&](std::int32_t y) { return first + y * level.width; },
              [&](std::int32_t y) { return first + y * level.width + tile_side; }, area);
          out.put_h(area);
        }
      }
    }
  }
};
// Every window's bits, also of those that is_visited leaves out.
TEST(ScanAreas, AgreesWithTheStageCode) {
  Input const input = cut(astronaut_at(1.3), 330, 270);
  Pyramid const pyramid = make_pyramid(input);
  CascadeView const cascade = input.cascade.view();
  hiway::Pipeline pipe({.device = "simt"});
  auto& areas = pipe.create_tunnel<SummedArea>("areas", hiway::Direction::cpu_to_gpu);
  auto& tested = pipe.create_tunnel<TestedArea>("tested", hiway::Direction::gpu_to_cpu);
  pipe.add_cpu_stage("put", PutAreas{&input, &pyramid}, hiway::into(areas));
  pipe.add_gpu_stage("scan", ScanAreas{cascade, pyramid.levels.data()}, hiway::from(areas), hiway::into(tested),
                     {.blocks = 1, .threads_per_block = 32});
  std::size_t windows_seen = 0;
  std::size_t wrong = 0;
  pipe.add_cpu_stage(
      "compare",
      [&](TestedArea const& is) {
        Level const& level = pyramid.levels[static_cast<std::size_t>(is.level)];
        Image const image = resize_level(pyramid.view(input.image.view()), level);
        TileWindows const windows = windows_of(level, is.column, is.row);
        for (std::int32_t y = 0; y < tile_side; ++y) {
          for (std::int32_t x = 0; x < tile_side; ++x) {
            int stages = -1;
            if (x < windows.columns && y < windows.rows) {
              ++windows_seen;
              stages = run_window(cascade, PixelCells{image.view().from((windows.first_column + x) * level.step,
                                                                        (windows.first_row + y) * level.step)});
            }
            wrong += (is.rejected[y] >> x & 1U) != (stages == 0 ? 1U : 0U) ? 1 : 0;
            wrong += (is.passed[y] >> x & 1U) != (stages == cascade.stage_count ? 1U : 0U) ? 1 : 0;
          }
        }
      },
      hiway::from(tested));
  (void)pipe.run();
  EXPECT_EQ(wrong, 0U);
  std::size_t windows = 0;
  for (Level const& level : pyramid.levels) windows += static_cast<std::size_t>(level.columns * level.rows);
  EXPECT_EQ(windows_seen, windows);
}

TEST(FaceMethods, RefuseWindowsThatTilesDoNotTake) {
  Input input = astronaut_at(2);
  input.cascade.window_height = 34;
  try {
    (void)run_hiway(input, {.device = "simt"}, {});
    FAIL() << "accepted";
  } catch (cli::BadInput const& error) {
    EXPECT_STREQ(error.what(),
                 "--cascade: windows of 24 x 34 pixels are more than tiles take, 33 a side: only --method reference");
  }
}

}  // namespace
}  // namespace face_detection
