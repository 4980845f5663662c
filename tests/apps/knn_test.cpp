// Nearest neighbours: the input, what is near by hand, shares of a list, and that all methods find the same places.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "knn/methods.hpp"
#include "knn/nearest.hpp"
#include "knn/shares.hpp"
#include "tests/apps/files.hpp"

namespace knn {
namespace {

using KnnFiles = Files;

/// Runs every method twice; each run must find these.
void expect_of_all(Input const& input, Summary const& expected, Tuning const& tuning = {}) {
  Job const job{.device = "simt", .repeat = 2};
  auto const expect = [&](std::string const& method, std::vector<Measurement> const& runs) {
    EXPECT_EQ(runs.size(), 2U);
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary, expected) << method;
      EXPECT_GT(run.seconds, 0) << method;
    }
  };
  expect("hiway", run_hiway(input, tuning, job));
  expect("baseline", run_baseline(input, tuning, job));
  expect("reference", run_reference(input, job));
}
Summary found_by_reference(Input const& input) { return run_reference(input, {}).front().summary; }

TEST(Knn, FindsTheNearestByHand) {
  Input const input{.places = {{3, 4}, {0, 2}, {-6, 8}, {0, 0}}, .from = {0, 0}, .k = 3};
  expect_of_all(input, {key_of(0, 3), key_of(4, 1), key_of(25, 0)});
  EXPECT_EQ(distance_of(key_of(25, 7)), 5);
  EXPECT_EQ(number_of(key_of(25, 7)), 7U);
}

TEST(Knn, TakesTheLowerOfTwoThatAreAsFar) {
  Input const input{.places = {{0, 5}, {3, 4}, {-4, 3}, {5, 0}, {1, 1}}, .from = {0, 0}, .k = 3};
  expect_of_all(input, {key_of(2, 4), key_of(25, 0), key_of(25, 1)});
}

// Squares that differ may have one root: the distances are what is compared.
TEST(Knn, ComparesDistancesNotTheirSquares) {
  float const more = std::nextafter(25.0F, 26.0F);
  ASSERT_EQ(std::sqrt(more), 5);
  EXPECT_LT(key_of(more, 0), key_of(25, 1));
  std::vector<Place> const places{{9, 0}, {0, std::nextafter(5.0F, 4.0F)}, {0, 5}};
  Nearest nearest{1};
  nearest.add(key_of(squared_distance({}, places[1]), 7));
  nearest.search(places, {0, 2}, {}, farthest);
  EXPECT_EQ(number_of(nearest.keys().front()), 1U);
}

TEST(Knn, FindsAllWhereThereAreFew) {
  Input const input = make_input({.places = 3, .k = 10});
  EXPECT_EQ(input.k, 3U);
  expect_of_all(input, found_by_reference(input));
  Input const one{.places = {{1, 2}}, .from = {1, 1}, .k = 1};
  expect_of_all(one, {key_of(1, 0)});
}

TEST(Knn, AllMethodsFindTheSame) {
  struct Size {
    std::uint32_t places, k;
  };
  for (Size const s : {Size{513, 1}, Size{1000, 10}, Size{5000, 33}, Size{3000, 256}, Size{20'001, 10}}) {
    Input const input = make_input({.places = s.places, .k = s.k, .latitude = 12.5, .longitude = -30, .seed = 3});
    for (Tuning const tuning : {Tuning{1, 0, 4096}, Tuning{2, 1, 100}, Tuning{1, 2, 7}, Tuning{1, 1, 1U << 20}})
      expect_of_all(input, found_by_reference(input), tuning);
  }
}

// The first and the last of a piece, of a warp's turn, and of all.
TEST(Knn, FindsAPlaceWhereverItIs) {
  for (std::uint32_t const i : {0U, 31U, 255U, 256U, 511U, 512U, 1023U, 2099U}) {
    Input input{.places = std::vector<Place>(2100, {10, 10}), .from = {0, 0}, .k = 2};
    input.places[i] = {1, 1};
    Summary const expected{key_of(2, i), key_of(200, i == 0 ? 1 : 0)};
    expect_of_all(input, expected, {.feeders = 1, .searchers = 0});
    expect_of_all(input, expected, {.feeders = 1, .searchers = 1, .at_once = 700});
  }
}

// Farther and farther, and nearer and nearer: no place, or each, is among the nearest of its warp.
TEST(Knn, OrderChangesNothing) {
  for (float const sign : {1.0F, -1.0F}) {
    Input input{.places = {}, .from = {0, 0}, .k = 10};
    for (std::uint32_t i = 0; i < 3000; ++i) input.places.push_back({100 + sign * static_cast<float>(i / 3) / 32, 0});
    expect_of_all(input, found_by_reference(input), {.feeders = 1, .searchers = 0});
    expect_of_all(input, found_by_reference(input), {.feeders = 1, .searchers = 1, .at_once = 64});
  }
}

TEST(Nearest, LooksAtWhatIsWithinTheLimitOnly) {
  std::vector<Place> const places{{0, 3}, {0, 1}, {0, 2}, {0, 1}};
  Nearest nearest{4};
  nearest.search(places, {0, 4}, {}, key_of(1, 4));
  EXPECT_EQ(std::ranges::count(nearest.keys(), key_of(1, 1)), 1);
  EXPECT_EQ(std::ranges::count(nearest.keys(), key_of(1, 3)), 1);
  EXPECT_EQ(std::ranges::count(nearest.keys(), key_of(9, 0)), 0);
}

TEST(Shares, EachPlaceIsTakenOnce) {
  for (std::uint32_t const count : {0U, 1U, 7U, 1000U, 5001U}) {
    Shares shares{count};
    for (int round = 0; round < 2; ++round) {
      std::vector<std::atomic<int>> taken(count);
      auto const mark = [&](Range range) {
        for (std::uint32_t i = range.first; i < range.end; ++i) ++taken[i];
        return !range.is_empty();
      };
      shares.begin();
      {
        std::vector<std::jthread> threads;
        for (std::uint32_t t = 1; t <= 2; ++t) {
          threads.emplace_back([&, t] {
            while (mark(shares.from_front(17 * t))) continue;
          });
          threads.emplace_back([&, t] {
            while (mark(shares.from_back(3 * t))) continue;
          });
        }
      }
      EXPECT_TRUE(std::ranges::all_of(taken, [](std::atomic<int> const& n) { return n == 1; })) << count;
    }
  }
}

TEST(Knn, PlacesAreOfTheSeedAndOnTheEarth) {
  Input const one = make_input({.places = 5000});
  EXPECT_EQ(one.places, make_input({.places = 5000}).places);
  EXPECT_NE(one.places, make_input({.places = 5000, .seed = 2}).places);
  auto const [south, north] = std::ranges::minmax(one.places, {}, &Place::latitude);
  EXPECT_LT(south.latitude, -85);
  EXPECT_GE(south.latitude, -90);
  EXPECT_GT(north.latitude, 85);
  EXPECT_LE(north.latitude, 90);
  auto const [west, east] = std::ranges::minmax(one.places, {}, &Place::longitude);
  EXPECT_GE(west.longitude, -180);
  EXPECT_LE(east.longitude, 180);
  EXPECT_LT(west.longitude, -170);
  EXPECT_GT(east.longitude, 170);
}

/// A record with these two numbers, of five characters each.
std::string record(std::string const& latitude, std::string const& longitude) {
  return std::string(28, '.') + latitude + longitude + "  85   106";
}

TEST_F(KnnFiles, ReadsTheFilesThatAListNames) {
  std::string const a = plain("a", record(" 30.5", "-12.3") + "\n" + record("-7.25", "   80") + "\n");
  std::string const b = plain("b", record("1.000", "2.000"));
  Input const input = make_input({.file = plain("list", a + "\n " + b + " \n"), .k = 2});
  EXPECT_EQ(input.places, (std::vector<Place>{{30.5F, -12.3F}, {-7.25F, 80}, {1, 2}}));
}

TEST_F(KnnFiles, SaysWhatIsWrongWithAFile) {
  auto const said = [&](std::string const& text) {
    std::string const list = plain("list", plain("bad", text));
    return complaint([&] { (void)make_input({.file = list}); });
  };
  std::string const file = path("bad");
  std::string const right = record(" 30.5", "-12.3");
  EXPECT_EQ(said(""), file + ": empty");
  EXPECT_EQ(said(right + "\n" + right.substr(1)), file + ": line 2: a record has 48 characters, not 47");
  EXPECT_EQ(said(right + "x\n"), file + ": line 1: a record has 48 characters, not 49");
  EXPECT_EQ(said(right + "\n\n"), file + ": line 2: a record has 48 characters, not 0");
  EXPECT_EQ(said(record("north", "-12.3")), file + ": line 1: latitude is not a number: 'north'");
  EXPECT_EQ(said(record(" 30.5", "     ")), file + ": line 1: longitude is not a number: '     '");
  EXPECT_EQ(said(record(" 30.5", "361.0")), file + ": line 1: longitude is beyond 360 degrees: '361.0'");
  EXPECT_EQ(complaint([&] { (void)make_input({.file = plain("list", " \n\n")}); }), path("list") + ": names no file");
  EXPECT_EQ(complaint([&] { (void)make_input({.file = plain("list", "")}); }), path("list") + ": empty");
  EXPECT_EQ(complaint([&] { (void)make_input({.file = path("none")}); }).find(path("none")), 0U);
  EXPECT_EQ(complaint([&] { (void)make_input({.file = plain("list", path("gone"))}); }).find(path("gone")), 0U);
}

TEST(Knn, SaysWhichOptionIsWrong) {
  auto const said = [](InputOptions const& options) { return complaint([&] { (void)make_input(options); }); };
  EXPECT_EQ(said({.places = 0}), "--places must be 1 to 268435456: 0");
  EXPECT_EQ(said({.k = 0}), "--k must be 1 to 256: 0");
  EXPECT_EQ(said({.k = 257}), "--k must be 1 to 256: 257");
  EXPECT_EQ(said({.latitude = 361}), "--lat must be -360 to 360: 361.000000");
  EXPECT_EQ(said({.longitude = std::nan("")}), "--lng must be -360 to 360: nan");
  EXPECT_EQ(said({.file = "a", .places = 4}), "--input and --places exclude each other");
  EXPECT_EQ(said({.file = ""}), "--input: the file's name is empty");
}

}  // namespace
}  // namespace knn
