// Rasterization: which pixels a triangle covers, models and their files, and that each method draws the same pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hiway/machine/on_this_device.hpp"
#include "rasterization/methods.hpp"
#include "rasterization/stages.hpp"
#include "tests/apps/files.hpp"

namespace rasterization {
namespace {

struct Point {
  std::int32_t x, y;  ///< steps
};

/// Turned round when its corners are in the wrong order.
Triangle triangle_of(Point a, Point b, Point c) {
  auto const corner = [](Point p) { return Corner{p.x, p.y, 0.5F}; };
  Triangle triangle{0, 0xffffff, {corner(a), corner(b), corner(c)}};
  if (area_of(triangle) < 0) std::swap(triangle.corner[1], triangle.corner[2]);
  return triangle;
}

constexpr std::int32_t width = 100;
constexpr std::int32_t height = 40;

/// How often each pixel of a picture is covered.
using Counts = std::vector<int>;

Counts by_definition(std::vector<Triangle> const& triangles) {
  Counts counts(std::size_t{width} * height);
  for (Triangle const& t : triangles) {
    for (std::int32_t i = 0; i < width * height; ++i) {
      bool inside = true;
      for (int k = 0; k < 3; ++k) {
        Edge const edge{t.corner[k], t.corner[(k + 1) % 3]};
        inside &= edge.at(i % width, i / width) >= edge.least();
      }
      counts[static_cast<std::size_t>(i)] += inside ? 1 : 0;
    }
  }
  return counts;
}

/// By the stages' own functions; the tiles that raster put are added to `tiles`.
Counts by_stages(std::vector<Triangle> const& triangles, std::size_t& tiles) {
  Counts counts(std::size_t{width} * height);
  hiway::anywhere([&](auto m) {
    for (Triangle const& t : triangles) {
      Pixels pixels(counts.size(), {picture::nothing});
      std::uint64_t covered = 0;
      cut(m, t, width, height, [&](Tile const& tile, bool is_wanted) {
        if (!is_wanted) return;
        ++tiles;
        covered += draw(m, tile, Frames{pixels.data(), width, height});
      });
      std::uint64_t shown = 0;
      for (std::size_t i = 0; i < pixels.size(); ++i) {
        if (pixels[i].bits == picture::nothing) continue;
        ++counts[i];
        ++shown;
      }
      EXPECT_EQ(covered, shown);
    }
  });
  return counts;
}

TEST(Coverage, OfARectangleIsEachPixelOnce) {
  // Its sides lie between centres, on centres, and on pixels' sides.
  for (std::int32_t const shift : {0, 1, 127, 128, 129, 255}) {
    Point const low{5 * grid + shift, 3 * grid + shift};
    Point const high{70 * grid + shift, 30 * grid + shift};
    Point const right{high.x, low.y};
    Point const left{low.x, high.y};
    for (auto const& both : {std::array{triangle_of(low, right, high), triangle_of(low, high, left)},
                             std::array{triangle_of(low, right, left), triangle_of(right, high, left)}}) {
      Counts const counts = by_definition({both.begin(), both.end()});
      EXPECT_EQ(std::ranges::count(counts, 1), 65 * 27) << shift;
      EXPECT_EQ(std::ranges::count(counts, 0), width * height - 65 * 27) << shift;
      std::size_t tiles = 0;
      EXPECT_EQ(by_stages({both.begin(), both.end()}, tiles), counts);
    }
  }
}
TEST(Coverage, OfAFanIsEachPixelOnce) {
  // Spokes in eight directions, from a pixel's centre through other centres.
  Point const middle{50 * grid + grid / 2, 20 * grid + grid / 2};
  std::int32_t const r = 15 * grid;
  std::vector<Point> const rim{{r, 0}, {r, r}, {0, r}, {-r, r}, {-r, 0}, {-r, -r}, {0, -r}, {r, -r}};
  std::vector<Triangle> fan;
  for (std::size_t i = 0; i < rim.size(); ++i) {
    Point const a = rim[i];
    Point const b = rim[(i + 1) % rim.size()];
    fan.push_back(triangle_of(middle, {middle.x + a.x, middle.y + a.y}, {middle.x + b.x, middle.y + b.y}));
  }
  Counts const counts = by_definition(fan);
  EXPECT_EQ(std::ranges::count(counts, 1), 30 * 30);
  EXPECT_EQ(std::ranges::max(counts), 1);
  std::size_t tiles = 0;
  EXPECT_EQ(by_stages(fan, tiles), counts);
}
TEST(Coverage, IsLostInNoTile) {
  std::mt19937 random{7};
  auto const between = [&](std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>{low, high}(random);
  };
  for (int i = 0; i < 300; ++i) {
    // Large ones that reach out of the picture, and small ones.
    std::int32_t const reach = (i % 2 == 0 ? 60 : 3) * grid;
    Point const near{between(-20, width + 20) * grid, between(-20, height + 20) * grid};
    auto const corner = [&] { return Point{near.x + between(-reach, reach), near.y + between(-reach, reach)}; };
    std::vector<Triangle> const one{triangle_of(corner(), corner(), corner())};
    std::size_t tiles = 0;
    ASSERT_EQ(by_stages(one, tiles), by_definition(one)) << i;
  }
}
TEST(Coverage, LeavesOutTilesBesideATriangle) {
  std::vector<Triangle> const thin{
      triangle_of({0, 0}, {width * grid, height * grid - 40}, {width * grid, height * grid})};
  std::size_t tiles = 0;
  (void)by_stages(thin, tiles);
  EXPECT_EQ(box_of(thin[0], width, height).count(), 12);
  EXPECT_LT(tiles, 8U);
}
TEST(Coverage, HasNoPixelBetweenCentres) {
  Triangle const small =
      triangle_of({grid / 2 + 1, grid / 2 + 1}, {grid + 127, grid / 2 + 1}, {grid / 2 + 1, grid + 127});
  EXPECT_EQ(box_of(small, width, height).count(), 0);
  Triangle const beside = triangle_of({-9 * grid, 0}, {-grid, grid}, {-grid, 9 * grid});
  EXPECT_EQ(box_of(beside, width, height).count(), 0);
}

TEST(Depth, IsTheCornersAtTheCornersAndNotTheMeanBetween) {
  Triangle t = triangle_of({0, 0}, {64 * grid, 0}, {0, 64 * grid});
  float const depths[] = {1, 4, 2};
  for (int i = 0; i < 3; ++i) t.corner[i].nearness = 1 / depths[i];
  EXPECT_EQ(depth_at(t, 100, 0, 0), 1);
  EXPECT_EQ(depth_at(t, 0, 100, 0), 4);
  EXPECT_EQ(depth_at(t, 50, 50, 0), 1.6F);  // 2 / (1 + 1/4)
}

TEST(Vertices, LeaveOutWhatIsNearOrHasNoArea) {
  Problem problem{.model = {.points = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 2.99F}, {2, 0, 0}}}};
  auto const kept = [&](std::array<std::uint32_t, 3> point) {
    problem.model.triangles = {{point, 0}};
    Vertices vertices{problem};
    return vertices.of(0, 0).size();
  };
  EXPECT_EQ(kept({0, 1, 2}), 1U);
  EXPECT_EQ(kept({0, 2, 1}), 1U) << "seen from behind";
  EXPECT_EQ(kept({0, 1, 3}), 0U) << "near";
  EXPECT_EQ(kept({0, 1, 4}), 0U) << "in a line";
}
TEST(Vertices, AreInOrderAndTurnWithThePicture) {
  Problem const problem;
  Vertices vertices{problem};
  Triangle const first = vertices.of(0, 3).front();
  EXPECT_EQ(first.picture, 3U);
  std::vector<Triangle> const later = vertices.of(9, 4);
  EXPECT_EQ(later.size(), 12U);
  EXPECT_NE(later.front().corner[0].x, first.corner[0].x);
  for (Triangle const& t : later) EXPECT_GT(area_of(t), 0);
}
TEST(Vertices, OfAHundredPicturesCoverWhatOtherProgramsCubesDo) {
  Problem const problem{.pictures = 100, .width = 1024, .height = 768};
  Vertices vertices{problem};
  double area = 0;
  for (std::uint32_t i = 0; i < problem.pictures; ++i) {
    for (Triangle const& t : vertices.of(i, 0)) area += static_cast<double>(area_of(t)) / (2 * grid * grid);
  }
  EXPECT_NEAR(area / 16051800, 1, 0.01);
}

using Obj = Files;

/// Of which nothing is to be told.
Model read_quiet(std::string const& path) {
  std::vector<std::string> notes;
  Model model = read_obj(path, notes);
  EXPECT_TRUE(notes.empty()) << notes.front();
  return model;
}

TEST_F(Obj, OfACubeIsTheCube) {
  Model const cube = make_cube();
  // Twice as large, elsewhere; a point that no face has; what is not known.
  std::string points = "# a cube\r\nmtllib x.mtl\nv 99 99 99\n";
  for (picture::Vec3 const& p : cube.points) {
    auto const shifted = [](float v) { return std::to_string(2 * v + 7); };
    points += "v " + shifted(p.x) + "\t+" + shifted(p.y) + "  " + shifted(p.z) + " 1.0\n";
  }
  std::string faces;
  std::string negative;
  for (std::size_t i = 0; i < cube.triangles.size(); i += 2) {
    auto const& [a, b, c] = cube.triangles[i].point;
    std::uint32_t const d = cube.triangles[i + 1].point[2];
    faces += " f " + std::to_string(a + 2) + "/1 " + std::to_string(b + 2) + "//4 " + std::to_string(c + 2) + "/1/1 " +
             std::to_string(d + 2) + "\n";
    negative += "f";
    for (std::uint32_t const point : {a, b, c, d}) negative += " -" + std::to_string(8 - point);
    negative += "\nvn 1 0 0\n";
  }
  for (std::string const& text : {points + faces, points + negative}) {
    Model const model = read_quiet(plain("cube.obj", text));
    ASSERT_EQ(model.triangles.size(), 12U);
    for (std::size_t i = 0; i < model.triangles.size(); ++i) {
      EXPECT_EQ(model.triangles[i].face, cube.triangles[i].face);
      for (std::size_t k = 0; k < 3; ++k) {
        picture::Vec3 const is = model.points[model.triangles[i].point[k]];
        picture::Vec3 const expected = cube.points[cube.triangles[i].point[k]];
        EXPECT_NEAR(is.x, expected.x, 1e-6F);
        EXPECT_NEAR(is.y, expected.y, 1e-6F);
        EXPECT_NEAR(is.z, expected.z, 1e-6F);
      }
    }
  }
}
// A byte order mark made the first point an unknown keyword: a picture of another model was "verified".
TEST_F(Obj, IsTheSameWhateverProgramWroteIt) {
  std::string const plainly = "v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 2 0\nf 1 2 3 4\nf 2 3 4\n";
  Model const expected = read_quiet(plain("a.obj", plainly));
  auto const with = [&](std::string const& from, std::string const& to) {
    std::string text = plainly;
    for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
    return text;
  };
  for (std::string const& text :
       {"\xef\xbb\xbf" + plainly, "\xef\xbb\xbf# a program's\n" + plainly, with("\n", "\r\n"), with("\n", "\r"),
        with("\n", " # \\\n"), with("\n", "#f 1 2\n"), with("f 1 2 3 4", "f 1/ 2// 3/1/ 4//1"),
        with("0 0\n", "0 \\\n0\n"), with(" 3 4", " \\\r\n3 4"), with(" 4\n", " \\\n4\n"), with("f 2", "f \\\n\\\n2"),
        with("v 0 0 0", "v 0 1e-400 -1e-999999"), with("f 1 2 3 4\n", "usemtl x\nf -4 -3 -2 -1\n"),
        with("1 0\n", "1 0 1 0.5 .5 .5\n"), plainly + "f 1 2 3 \\"}) {
    Model const model = read_quiet(plain("b.obj", text));
    ASSERT_EQ(model.points.size(), expected.points.size()) << text;
    for (std::size_t i = 0; i < model.points.size(); ++i) {
      EXPECT_EQ(model.points[i].x, expected.points[i].x) << text;
      EXPECT_EQ(model.points[i].y, expected.points[i].y) << text;
      EXPECT_EQ(model.points[i].z, expected.points[i].z) << text;
    }
    ASSERT_GE(model.triangles.size(), expected.triangles.size()) << text;
    for (std::size_t i = 0; i < expected.triangles.size(); ++i)
      EXPECT_EQ(model.triangles[i].point, expected.triangles[i].point) << text;
  }
}
TEST_F(Obj, KeywordsThatAreNotReadAreToldOfWithTheirLine) {
  std::string const file = plain("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\ncurv 0 1 1 2\nf 1 2 3\nl 1 2\n");
  std::vector<std::string> notes;
  EXPECT_EQ(read_obj(file, notes).triangles.size(), 1U);
  EXPECT_EQ(notes, std::vector{file + ": line 5: keyword 'curv' is not read; lines not read: 2"});
}
TEST_F(Obj, IsScaledToItsLongestExtent) {
  Model const model = read_quiet(plain("long.obj", "v 0 0 0\nv 1e300 0 0\nv 1e300 1e299 0\nf 1 2 3"));
  EXPECT_FLOAT_EQ(model.points[0].x, -model_extent / 2);
  EXPECT_FLOAT_EQ(model.points[1].x, model_extent / 2);
  EXPECT_FLOAT_EQ(model.points[2].y, model_extent / 20);
}
TEST_F(Obj, ThatIsBadIsRefusedWithItsLine) {
  std::string const three = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  std::vector<std::array<std::string, 2>> const files{
      {"", ": no faces (lines 'f')"},
      {three, ": no faces (lines 'f')"},
      {"v 1 2\n", ": line 1: a point has three numbers"},
      {three + "v 1 2 x3\n", ": line 4: not a number: 'x3'"},
      {three + "v 1 nan 3\n", ": line 4: not a number: 'nan'"},
      {three + "v 1 1e999 3\n", ": line 4: not a number: '1e999'"},
      {three + "v 1 +-2 3\n", ": line 4: not a number: '+-2'"},
      {three + "\nf 1 2\n", ": line 5: a face has three corners or more, not 2"},
      {three + "f\n", ": line 4: a face has three corners or more, not 0"},
      {three + "f 1 2 4\n", ": line 4: point 4 of 3 so far"},
      {three + "f 1 2 -4\n", ": line 4: point -4 of 3 so far"},
      {three + "f 0 1 2\n", ": line 4: not a corner: '0'"},
      {three + "f 1 2 c\n", ": line 4: not a corner: 'c'"},
      {three + "f 1 2 3///\n", ": line 4: not a corner: '3///'"},
      {three + "f 1 2 /3\n", ": line 4: not a corner: '/3'"},
      {three + "v 1 2 3 pink\n", ": line 4: not a number: 'pink'"},
      {three + "v 1 inf 3\n", ": line 4: not a number: 'inf'"},
      {three + "v 1 \\\n 2 \\\n z\n", ": line 4: not a number: 'z'"},
      {three + "\\\n\nf 1 2\n", ": line 6: a face has three corners or more, not 2"},
      {"V 0 0 0\nV 1 0 0\nF 1 2 3\n", ": no faces (lines 'f'); line 1: keyword 'V' is not read; lines not read: 3"},
      {"# \xff\xfe\n\xff\xfe v 0 0 0\n",
       ": no faces (lines 'f'); line 2: keyword '?"
       "?' is not read; lines not read: 1"},
      {std::string("v 0 0 0\nv \0", 11), ": line 2: byte 0x00 in column 3: this is no text"},
      {"\xff\xfev\0 \0", ": UTF-16: only UTF-8 is read"},
      {three + "f 1 2 3/1/1/1\n", ": line 4: not a corner: '3/1/1/1'"},
      {three + "f 1 2 /1\n", ": line 4: not a corner: '/1'"},
      {three + "f 1 2 99999999999999999999\n", ": line 4: not a corner: '99999999999999999999'"},
      {three + "f 1 2 \x01\x80\n",
       ": line 4: not a corner: '?"
       "?'"},
      {three + "f 1 1 1\n", ": all of its faces' points are in one place"},
      {"v -1.5e308 0 0\nv 1.5e308 0 0\nv 0 1 0\nf 1 2 3\n", ": its points are too far apart"}};
  for (auto const& [content, expected] : files) {
    std::string const file = plain("bad.obj", content);
    EXPECT_EQ(complaint([&] { (void)read_quiet(file); }), file + expected);
  }
  EXPECT_EQ(complaint([&] { (void)read_quiet(path("none.obj")); }),
            path("none.obj") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(complaint([&] { (void)read_quiet(path(".")); }), path(".") + ": cannot be read: Is a directory");
}

using RasterizationMethods = Files;

TEST_F(RasterizationMethods, DrawTheSamePictures) {
  // A pyramid on a square, and one side of it alone that is seen edge on in the first picture.
  std::string const pyramid =
      "v 0 0 0\nv 1 0 0\nv 1 0 1\nv 0 0 1\nv 0.5 1.5 0.5\nf 1 2 3 4\nf 1 2 5\nf 2 3 5\nf 3 4 5\nf 4 1 5\n";
  Model const from_file = read_quiet(plain("pyramid.obj", pyramid));
  std::vector<Problem> problems{{},
                                {.pictures = 1, .width = 1, .height = 1},
                                {.pictures = 3, .width = 7, .height = 5},
                                {.pictures = 2, .width = 33, .height = 17},
                                {.pictures = 5, .width = 100, .height = 61}};
  problems.push_back({.model = from_file, .pictures = 3, .width = 130, .height = 50});
  for (Problem const& problem : problems) {
    SCOPED_TRACE(std::to_string(problem.pictures) + " of " + std::to_string(problem.width) + " x " +
                 std::to_string(problem.height));
    Oracle const oracle = reference_pictures(problem);
    Job const job{.device = "simt", .repeat = 2};
    std::vector<Measurement> runs = run_hiway(problem, job, &oracle);
    std::uint64_t const tiles = runs.front().tiles.value();
    for (Measured const measured : {Measured::all, Measured::kernels_only}) {
      for (auto* const method : {run_baseline, run_kernels}) {
        for (Measurement& run : method(problem, job, &oracle, measured)) runs.push_back(std::move(run));
      }
    }
    for (Measurement const& run : runs) {
      EXPECT_TRUE(run.right);
      EXPECT_EQ(run.summary, oracle.summary);
      EXPECT_EQ(run.tiles, tiles);
    }
  }
}
TEST_F(RasterizationMethods, AreWrongWhenAPixelIs) {
  Problem const problem{.pictures = 1, .width = 64, .height = 48};
  Oracle oracle = reference_pictures(problem);
  EXPECT_TRUE(run_reference(problem, {}, &oracle).front().right);
  auto const shown = std::ranges::find_if(oracle.pixels, [](auto const& p) { return p.bits != picture::nothing; });
  shown->bits += std::uint64_t{1} << 32;  // the depth alone, which no colour shows
  EXPECT_FALSE(run_reference(problem, {}, &oracle).front().right);
}
TEST_F(RasterizationMethods, ShowTheLastPicture) {
  Problem const problem{.pictures = 2, .width = 64, .height = 48};
  picture::Picture const last = run_hiway(problem, {.device = "simt"}, nullptr).front().last;
  EXPECT_EQ(last.rgb.size(), 3U * 64 * 48);
  EXPECT_EQ(last.rgb, run_reference(problem, {}, nullptr).front().last.rgb);
  EXPECT_NE(last.rgb, run_reference({.pictures = 1, .width = 64, .height = 48}, {}, nullptr).front().last.rgb);
}

}  // namespace
}  // namespace rasterization
