// Reyes: patches and their halves, what becomes of a patch, micropolygons and pixels, files, and that each method draws
// the same pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "reyes/methods.hpp"
#include "reyes/stages.hpp"
#include "tests/apps/files.hpp"

namespace reyes {
namespace {

std::array<float, 3> numbers(Vec3 p) { return {p.x, p.y, p.z}; }

void put(Patch& patch, int i, Vec3 p) {
  patch.x[i] = p.x;
  patch.y[i] = p.y;
  patch.z[i] = p.z;
}
/// A parallelogram.
Patch flat(Vec3 corner, Vec3 along_u, Vec3 along_v) {
  Patch patch{};
  for (int i = 0; i < 16; ++i)
    put(patch, i, corner + static_cast<float>(i % 4) / 3 * along_u + static_cast<float>(i / 4) / 3 * along_v);
  return patch;
}
Patch any_patch(unsigned seed) {
  std::mt19937 random{seed};
  std::uniform_real_distribution<float> coordinate{-1, 1};
  Patch patch{};
  for (int i = 0; i < 16; ++i) put(patch, i, {coordinate(random), coordinate(random), coordinate(random)});
  return patch;
}

TEST(Patch, IsWhatItsHalvesAreTogether) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    Patch const whole = any_patch(seed);
    for (Along const along : {Along::u, Along::v}) {
      std::array<Patch, 2> half{};
      halve(whole, along, half[0], half[1]);
      for (int part = 0; part < 2; ++part) {
        for (int i = 0; i < 25; ++i) {
          float const u = static_cast<float>(i % 5) / 4;
          float const v = static_cast<float>(i / 5) / 4;
          auto const in_whole = [&](float t) { return 0.5F * (t + static_cast<float>(part)); };
          auto const is = numbers(surface_point(half[part], u, v).position);
          auto const expected =
              numbers((along == Along::u ? surface_point(whole, in_whole(u), v) : surface_point(whole, u, in_whole(v)))
                          .position);
          for (std::size_t k = 0; k < 3; ++k) ASSERT_NEAR(is[k], expected[k], 1e-5F) << seed << ", point " << i;
        }
      }
    }
  }
}
TEST(Patch, KeepsItsEdgesAndItsHalvesMeet) {
  Patch const whole = any_patch(3);
  Patch low{};
  Patch high{};
  halve(whole, Along::u, low, high);
  for (int i = 0; i < 16; i += 4) {
    EXPECT_EQ(numbers(low.point(i)), numbers(whole.point(i)));
    EXPECT_EQ(numbers(low.point(i + 3)), numbers(high.point(i)));
    EXPECT_EQ(numbers(high.point(i + 3)), numbers(whole.point(i + 3)));
  }
  halve(whole, Along::v, low, high);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(numbers(low.point(i)), numbers(whole.point(i)));
    EXPECT_EQ(numbers(low.point(i + 12)), numbers(high.point(i)));
    EXPECT_EQ(numbers(high.point(i + 12)), numbers(whole.point(i + 12)));
  }
}
TEST(Patch, HasANormalWhereAnEdgeIsAPoint) {
  Patch fan = flat({0, 0, 0}, {1, 0, 0}, {0, 1, 0});
  for (int i = 0; i < 4; ++i) put(fan, i, {0, 0, 0});
  Vec3 const normal = normalized(surface_point(fan, 0.5F, 0).normal);
  EXPECT_NEAR(normal.z, 1, 1e-5F);
}

// At depth 3 a length of 1 has 138.6 pixels.
View const view{640, 480};

TEST(Bound, MakesALeafOfASmallPatch) {
  Bound const b = bound(view, flat({0, 0, 0}, {0.02F, 0, 0}, {0, 0.02F, 0}), 0);
  EXPECT_EQ(b.fate, Fate::leaf);
  EXPECT_EQ(b.sides_u, 2);
  EXPECT_EQ(b.sides_v, 2);
}
TEST(Bound, HalvesInUFirst) {
  EXPECT_EQ(bound(view, flat({0, 0, 0}, {1, 0, 0}, {0, 0.02F, 0}), 0).fate, Fate::halved_in_u);
  EXPECT_EQ(bound(view, flat({0, 0, 0}, {0.02F, 0, 0}, {0, 1, 0}), 0).fate, Fate::halved_in_v);
  EXPECT_EQ(bound(view, flat({0, 0, 0}, {0.05F, 0, 0}, {0, 1, 0}), 0).fate, Fate::halved_in_u) << "though v is longer";
}
TEST(Bound, MakesALeafWithMoreSidesWhereItMayNotHalve) {
  Patch const large = flat({0, 0, 0}, {0.1F, 0, 0}, {0, 1, 0});  // 13.9 and 138.6 pixels
  EXPECT_EQ(bound(view, large, most_splits - 1).fate, Fate::halved_in_u);
  Bound const b = bound(view, large, most_splits);
  EXPECT_EQ(b.fate, Fate::leaf);
  EXPECT_EQ(b.sides_u, 8);
  EXPECT_EQ(b.sides_v, 32);
}
TEST(Bound, DropsWhatNobodySees) {
  Vec3 const u{1, 0, 0};
  Vec3 const v{0, 1, 0};
  EXPECT_EQ(bound(view, flat({0, 0, 4}, u, v), 0).fate, Fate::unseen) << "behind the eye";
  EXPECT_EQ(bound(view, flat({0, 0, 2.99F}, u, v), 0).fate, Fate::unseen) << "nearer than the near plane";
  EXPECT_EQ(bound(view, flat({0, 0, -97.5F}, u, v), 0).fate, Fate::unseen) << "behind the far plane";
  EXPECT_NE(bound(view, flat({0, 0, -96.5F}, u, v), 0).fate, Fate::unseen) << "before the far plane";
  EXPECT_EQ(bound(view, flat({-3.5F, 0, 0}, u, v), 0).fate, Fate::unseen) << "left";
  EXPECT_EQ(bound(view, flat({2.5F, 0, 0}, u, v), 0).fate, Fate::unseen) << "right";
  EXPECT_EQ(bound(view, flat({0, 2, 0}, u, v), 0).fate, Fate::unseen) << "above";
  EXPECT_EQ(bound(view, flat({0, -3, 0}, u, v), 0).fate, Fate::unseen) << "below";
  for (Vec3 const corner : {Vec3{-3, 0, 0}, Vec3{2, 0, 0}, Vec3{0, 1.5F, 0}, Vec3{0, -2.5F, 0}})
    EXPECT_EQ(bound(view, flat(corner, u, v), 0).fate, Fate::halved_in_u) << "across an edge of the picture";
}
TEST(Bound, HalvesAPatchAcrossTheNearPlaneByTurns) {
  Patch const across = flat({0, 0, 2.5F}, {0.001F, 0, 0}, {0, 0, 1});
  EXPECT_EQ(bound(view, across, 0).fate, Fate::halved_in_u);
  EXPECT_EQ(bound(view, across, 1).fate, Fate::halved_in_v);
  EXPECT_EQ(bound(view, across, most_splits - 1).fate, Fate::halved_in_v);
  EXPECT_EQ(bound(view, across, most_splits).fate, Fate::unseen);
}
TEST(Bound, TakesThePowerOfTwoFromAFourthAndOneOn) {
  std::vector<std::pair<float, int>> const sides{{0.0F, 2},      {3.9F, 2},
                                                 {4.0F, 2},      {4.1F, 4},
                                                 {12.0F, 4},     {12.1F, 8},
                                                 {28.0F, 8},     {28.1F, 16},
                                                 {60.0F, 16},    {60.1F, 32},
                                                 {124.0F, 32},   {125.0F, 32},
                                                 {30000.0F, 32}, {std::numeric_limits<float>::infinity(), 32}};
  for (auto const& [extent, expected] : sides) EXPECT_EQ(sides_for(extent), expected) << extent;
}

TEST(Split, GivesEveryLeafOnceWhoeverSplits) {
  Patch const whole = turned(placed(teapot()), 0).front();
  auto const leaves_of = [&](unsigned at_once, Splits& done) {
    std::vector<std::array<float, 3>> corners;
    std::vector<std::pair<Patch, unsigned>> todo{{whole, 0}};
    while (!todo.empty()) {
      auto const [patch, splits] = todo.back();
      todo.pop_back();
      split(
          view, patch, 0, splits, at_once, done,
          [&](Patch const& part, unsigned of_part) {
            EXPECT_LT(of_part, at_once);
            todo.emplace_back(part, of_part);
          },
          [&](Leaf const& leaf) { corners.push_back(numbers(leaf.patch.point(0))); });
    }
    std::ranges::sort(corners);
    return corners;
  };
  Splits alone;
  auto const expected = leaves_of(0, alone);
  EXPECT_GT(alone.dice, 100U);
  EXPECT_EQ(expected.size(), alone.dice);
  for (unsigned const at_once : {1U, 3U, most_splits + 2}) {
    Splits done;
    EXPECT_EQ(leaves_of(at_once, done), expected) << at_once;
    EXPECT_EQ(done.split, alone.split);
    EXPECT_EQ(done.dice, alone.dice);
    EXPECT_EQ(done.grids, alone.grids);
  }
}

TEST(Grids, OfALeafOwnEachOfItsPointsOnce) {
  Leaf const leaf{any_patch(5), 7, 4, 8};
  ASSERT_EQ(leaf.grids(), 2U * 4U);
  std::vector<std::array<float, 3>> known;
  for (std::uint32_t k = 0; k < leaf.grids(); ++k) {
    Grid const grid = dice(leaf, k);
    EXPECT_EQ(grid.picture, 7U);
    std::uint32_t fresh = 0;
    for (SurfacePoint const& point : grid.points) {
      if (std::ranges::find(known, numbers(point.position)) != known.end()) continue;
      known.push_back(numbers(point.position));
      ++fresh;
    }
    EXPECT_EQ(grid.owned, fresh) << k;
  }
  EXPECT_EQ(known.size(), 5U * 9U);
  for (int i = 0; i < 5 * 9; ++i) {
    auto const point = surface_point(leaf.patch, static_cast<float>(i % 5) / 4, static_cast<float>(i / 5) / 8).position;
    EXPECT_EQ(std::ranges::count(known, numbers(point)), 1) << i;
  }
}

TEST(Shine, IsTheSameFromBothSides) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SurfacePoint point = surface_point(any_patch(seed), 0.3F, 0.6F);
    auto const front = numbers(shine(point));
    point.normal = -1.0F * point.normal;
    EXPECT_EQ(numbers(shine(point)), front) << seed;
  }
}

constexpr std::int32_t width = 20;
constexpr std::int32_t height = 12;

/// How often each pixel is covered.
std::vector<int> covered_by(std::vector<std::array<Spot, 4>> const& micropolygons) {
  std::vector<int> counts(std::size_t{width} * height);
  for (auto const& [a, b, c, d] : micropolygons) {
    Spot const corners[4] = {a, b, c, d};
    for_each_pixel(View{width, height}, corners, [&](std::int32_t x, std::int32_t y) {
      ASSERT_TRUE(x >= 0 && x < width && y >= 0 && y < height) << x << ", " << y;
      ++counts[static_cast<std::size_t>(y * width + x)];
    });
  }
  return counts;
}
TEST(Micropolygons, CoverThePixelsWhoseMiddlesTheyHave) {
  auto const rectangle = [](float left, float top, float right, float bottom) {
    return std::array{Spot{left, top, 1}, Spot{right, top, 1}, Spot{right, bottom, 1}, Spot{left, bottom, 1}};
  };
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(2, 3, 7, 5)}), 1), 5 * 2);
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(2.5F, 3.5F, 7.5F, 5.5F)}), 1), 6 * 3) << "edges included";
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(2.6F, 3.6F, 3.4F, 4.4F)}), 1), 0) << "between middles";
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(-9, -9, 3, 2)}), 1), 3 * 2);
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(-1e9F, -1e9F, 1e9F, 1e9F)}), 1), width * height);
  EXPECT_EQ(std::ranges::count(covered_by({rectangle(-9, 0, -1, 9)}), 0), width * height);
  auto turned_round = rectangle(2, 3, 7, 5);
  std::ranges::reverse(turned_round);
  EXPECT_EQ(std::ranges::count(covered_by({turned_round}), 1), 5 * 2) << "seen from behind";
}
TEST(Micropolygons, ThatShareEdgesLeaveNoGap) {
  std::mt19937 random{11};
  for (int round = 0; round < 200; ++round) {
    // A net larger than the picture, with knots at sixteenths: its sides are exact, many go through pixels' middles.
    constexpr int across = 14;
    constexpr int down = 10;
    std::uniform_int_distribution<int> shift{-8, 8};
    std::vector<Spot> knots;
    for (int i = 0; i < (across + 1) * (down + 1); ++i) {
      knots.push_back({static_cast<float>(2 * (i % (across + 1)) - 4) + static_cast<float>(shift(random)) / 16,
                       static_cast<float>(2 * (i / (across + 1)) - 4) + static_cast<float>(shift(random)) / 16, 1});
    }
    std::vector<std::array<Spot, 4>> net;
    for (int i = 0; i < across * down; ++i) {
      std::size_t const at = static_cast<std::size_t>(i / across * (across + 1) + i % across);
      net.push_back({knots[at], knots[at + 1], knots[at + across + 2], knots[at + across + 1]});
    }
    std::vector<int> const counts = covered_by(net);
    ASSERT_EQ(std::ranges::count(counts, 0), 0) << round;
  }
}

TEST(Scene, PlacesAModelAtTheOriginUprightAndScaled) {
  Patches const patches = placed({flat({5, 5, 5}, {20, 0, 0}, {0, 0, 10})});
  auto const is_near = [](Vec3 is, Vec3 expected) {
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(numbers(is)[k], numbers(expected)[k], 1e-5F);
  };
  is_near(patches[0].point(0), {-1.375F, -0.6875F, 0});
  is_near(patches[0].point(15), {1.375F, 0.6875F, 0});  // z in the file is up
  for (float const size : {0.0F, 1e-45F}) {
    Patches const dot = placed({flat({0, 0, size}, {0, 0, 0}, {size, 0, 0})});
    is_near(dot[0].point(15), {0, 0, 0});
  }
}
TEST(Scene, TurnsByTwelveDegreesAPicture) {
  Patches const patches = placed(teapot());
  EXPECT_EQ(patches.size(), 28U);
  EXPECT_EQ(numbers(turned(patches, 31)[0].point(5)), numbers(turned(patches, 1)[0].point(5)));
  Patches const side = turned({flat({1, 0, 0}, {0, 0, 0}, {0, 0, 0})}, 15);  // by 180
  EXPECT_NEAR(side[0].x[0], -1, 1e-5F);
}

std::string numbers_text(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += std::to_string(i) + (i % 3 == 2 ? "\n" : "\t");
  return text;
}
TEST(PatchFile, IsReadPointByPoint) {
  Patches const patches = parse_patches("two", "BBP\r\n" + numbers_text(48) + numbers_text(48));
  ASSERT_EQ(patches.size(), 2U);
  for (int i = 0; i < 16; ++i) {
    auto const first = static_cast<float>(3 * i);
    EXPECT_EQ(numbers(patches[1].point(i)), (std::array{first, first + 1, first + 2}));
  }
}
using PatchFiles = Files;
TEST_F(PatchFiles, AreTheSameWhateverProgramWroteThem) {
  std::string const numbers = numbers_text(48);
  for (std::string const& text : {"\xef\xbb\xbf"
                                  "BBP\n" +
                                      numbers,
                                  "BBP\r" + numbers, "BBP 1e-50 -1e-400 +0 " + numbers_text(45)})
    EXPECT_EQ(read_patches(plain("a.bez", text)).size(), 1U);
  EXPECT_EQ(parse_patches("x", "BBP 1e-50 -1e-400 +0 " + numbers_text(45)).front().x[0], 0);
}
TEST_F(PatchFiles, ThatAreBadAreRefusedWithTheirLine) {
  std::string const good = "BBP\n" + numbers_text(48);
  std::vector<std::array<std::string, 2>> const files{
      {"", "1: begins with the word BBP when it has bicubic patches"},
      {"\n\nBEZ 1 2 3", "3: begins with the word BBP when it has bicubic patches"},
      {"BBP\n", "2: no patches"},
      {"BBP\n1 2 3\n4 x 6\n", "3: not a number: 'x'"},
      {"BBP\n1 2 3x\n", "2: not a number: '3x'"},
      {"BBP\n1 2 nan\n", "2: not a number: 'nan'"},
      {"BBP\n1 2 inf\n", "2: not a number: 'inf'"},
      {"BBP\n1 2 -1e38\n", "2: larger than 1e37: '-1e38'"},
      {"BBP\n1 2 1e39\n", "2: larger than 1e37: '1e39'"},
      {"BBP\r1 2 1e999\r", "2: larger than 1e37: '1e999'"},
      {"BBP\n" + numbers_text(47), "17: the last patch has 47 numbers instead of 48"},
      {good + "1", "18: the last patch has 1 numbers instead of 48"}};
  for (auto const& [content, expected] : files) {
    EXPECT_EQ(complaint([&] { (void)parse_patches("bad.bez", content); }), "bad.bez: line " + expected);
  }
  std::string const cut = plain("cut.bez", "BBP 1");
  EXPECT_EQ(complaint([&] { (void)read_patches(cut); }), cut + ": line 1: the last patch has 1 numbers instead of 48");
  EXPECT_EQ(complaint([&] { (void)read_patches(path("none.bez")); }),
            path("none.bez") + ": cannot be opened: No such file or directory");
}

constexpr BaselineOptions baselines[] = {
    {.canvases = 1}, {.canvases = 3}, {.kernels_only = true}, {.splitter = Splitter::cpu}};
std::string told(BaselineOptions const& options) {
  if (options.splitter == Splitter::cpu) return "baseline, split on the CPU";
  return "baseline, " + std::string(options.kernels_only ? "kernels only, " : "") + std::to_string(options.canvases);
}

/// Runs every method twice and compares each run's pictures with the reference's; what the reference says.
Summary compare(Problem const& problem, Pictures& expected) {
  expected.assign(problem.pictures.size(), Colours(problem.view.pixels()));
  Summary const oracle = run_reference(problem, {}, expected).front().summary;
  Pictures pictures;
  Job job{.device = "simt", .repeat = 2};
  int runs = 0;
  job.ran = [&] {
    EXPECT_EQ(pictures, expected) << "run " << runs;
    ++runs;
  };
  auto const all_are_right = [&](auto const& method) {
    pictures.assign(problem.pictures.size(), Colours(problem.view.pixels()));
    runs = 0;
    for (Measurement const& run : method()) EXPECT_EQ(run.summary, oracle);
    EXPECT_EQ(runs, 2);
  };
  for (Splitter const splitter : {Splitter::gpu, Splitter::cpu}) {
    for (Form const form : {Form::group, Form::stages}) {
      SCOPED_TRACE(std::string(form == Form::group ? "group" : "stages") +
                   (splitter == Splitter::gpu ? ", split on the GPU" : ", split on the CPU"));
      all_are_right([&] { return run_hiway(problem, job, {form, splitter}, pictures); });
    }
  }
  for (BaselineOptions const& options : baselines) {
    SCOPED_TRACE(told(options));
    all_are_right([&] { return run_baseline(problem, job, options, pictures); });
  }
  return oracle;
}
Problem of_teapots(std::int32_t w, std::int32_t h, std::uint32_t pictures) {
  Problem problem{{}, View{w, h}};
  for (std::uint32_t i = 0; i < pictures; ++i) problem.pictures.push_back(turned(placed(teapot()), i));
  return problem;
}

TEST(ReyesMethods, DrawTheSamePictures) {
  for (auto const& [w, h, pictures] : {std::tuple{1, 1, 1U}, {3, 200, 1U}, {97, 61, 2U}}) {
    SCOPED_TRACE(std::to_string(pictures) + " of " + std::to_string(w) + " x " + std::to_string(h));
    Pictures expected;
    Summary const summary = compare(of_teapots(w, h, pictures), expected);
    EXPECT_EQ(summary.shade, 9 * summary.dice);
    for (Colours const& colours : expected)
      EXPECT_TRUE(std::ranges::any_of(colours, [](auto c) { return c != background; }));
    if (pictures == 2) {
      EXPECT_NE(expected[0], expected[1]);
    }
  }
}
TEST(ReyesMethods, ClearDepthBuffersForTheNextRun) {
  // The same pictures again would hide what is left of them: behind each run they change places.
  Problem problem = of_teapots(97, 61, 2);
  Pictures expected(2, Colours(problem.view.pixels()));
  (void)run_reference(problem, {}, expected);
  Pictures pictures(2, Colours(problem.view.pixels()));
  Job job{.device = "simt", .repeat = 3};
  job.ran = [&] {
    EXPECT_EQ(pictures, expected);
    std::swap(problem.pictures[0], problem.pictures[1]);
    std::swap(expected[0], expected[1]);
  };
  for (Splitter const splitter : {Splitter::gpu, Splitter::cpu})
    EXPECT_EQ(run_hiway(problem, job, {.splitter = splitter}, pictures).size(), 3U);
  for (BaselineOptions const& options : baselines)
    EXPECT_EQ(run_baseline(problem, job, options, pictures).size(), 3U) << told(options);
}
TEST(ReyesMethods, DrawMorePicturesThanTheBaselineHasCanvases) {
  Problem const problem = of_teapots(61, 47, 5);
  Pictures expected(5, Colours(problem.view.pixels()));
  Summary const oracle = run_reference(problem, {}, expected).front().summary;
  for (BaselineOptions const& options : baselines) {
    for (bool const pinned : {false, true}) {
      SCOPED_TRACE(told(options) + (pinned ? ", pinned" : ""));
      Pictures pictures(5, Colours(problem.view.pixels()));
      Job job{.device = "simt", .repeat = 2, .pinned = pinned};
      job.ran = [&] { EXPECT_EQ(pictures, expected); };
      for (Measurement const& run : run_baseline(problem, job, options, pictures)) EXPECT_EQ(run.summary, oracle);
    }
  }
}
TEST(ReyesMethods, EndWhereNothingIsSeen) {
  Patch const behind = flat({0, 0, 4}, {1, 0, 0}, {0, 1, 0});
  Problem problem{{Patches{behind, behind}, Patches{behind}}, View{70, 60}};
  Pictures expected;
  Summary const empty = compare(problem, expected);
  EXPECT_EQ(empty, (Summary{3, 0, 0, checksum(expected)}));
  for (Colours const& colours : expected) EXPECT_EQ(std::ranges::count(colours, background), 70 * 60);
  // One picture without anything between others: it has an end of its own.
  problem.pictures[0] = turned(placed(teapot()), 0);
  problem.pictures.push_back(problem.pictures[0]);
  Summary const summary = compare(problem, expected);
  EXPECT_GT(summary.dice, 0U);
  EXPECT_EQ(expected[0], expected[2]);
}
TEST(ReyesMethods, TakeAPatchThatIsAPoint) {
  Problem const problem{{Patches{flat({0.01F, 0.01F, 0}, {0, 0, 0}, {0, 0, 0})}}, View{40, 30}};
  Pictures expected;
  Summary const summary = compare(problem, expected);
  EXPECT_EQ(summary.split, 1U);
  EXPECT_EQ(summary.dice, 1U);
  EXPECT_EQ(summary.shade, 9U);
}
TEST(ReyesMethods, DrawLeavesOfManyGrids) {
  // It begins behind the eye: near it, leaves are large when they may not be halved again.
  Problem const problem{{Patches{flat({-0.3F, -0.2F, 0}, {0.6F, 0, 0}, {0, 0.2F, 3.2F})}}, View{64, 48}};
  Pictures expected;
  Summary const summary = compare(problem, expected);
  EXPECT_GT(summary.shade, 9 * summary.dice);
}
TEST(ReyesMethods, PutHalvesBackAndSendAPictureInSeveralStrips) {
  for (Splitter const splitter : {Splitter::gpu, Splitter::cpu}) {
    Pictures pictures(1, Colours(128 * 96));
    Measurement const run =
        run_hiway(of_teapots(128, 96, 1), {.device = "simt"}, {.splitter = splitter}, pictures).front();
    std::vector<std::pair<std::string, std::uint64_t>> items;
    for (hiway::TunnelReport const& tunnel : run.tunnels) items.emplace_back(tunnel.name, tunnel.items);
    auto const has = [&](char const* name, std::uint64_t expected) {
      EXPECT_EQ(std::ranges::count(items, std::pair{std::string{name}, expected}), 1) << name;
    };
    has("leaves", run.summary.dice);
    has("strips", 4);  // 12288 pixels, 4092 a strip
    if (splitter == Splitter::gpu) {
      has("patches", 28);
      has("halves", run.summary.split - 28);
    } else {
      has("whole", 1);
    }
  }
}
TEST(ReyesMethods, TakeAsManyCpuThreadsToCollectAsTheyAreTold) {
  Pictures expected(2, Colours(97 * 61));
  Problem const problem = of_teapots(97, 61, 2);
  (void)run_reference(problem, {}, expected);
  for (unsigned const collectors : {1U, 5U}) {
    Pictures pictures(2, Colours(97 * 61));
    (void)run_hiway(problem, {.device = "simt"}, {.collectors = collectors}, pictures);
    EXPECT_EQ(pictures, expected) << collectors;
  }
}

}  // namespace
}  // namespace reyes
