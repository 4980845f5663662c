// K-means: its input, its rules by hand, and that all methods find the same clusters.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cli/hash.hpp"
#include "kmeans/methods.hpp"
#include "kmeans/sums.hpp"
#include "tests/apps/files.hpp"

namespace kmeans {
namespace {

using KmeansFiles = Files;

Input input_of(std::vector<float> values, std::uint32_t features, std::uint32_t clusters,
               std::uint32_t iterations = 500) {
  auto const points = static_cast<std::uint32_t>(values.size() / features);
  make_exact(values, points);
  return {points, features, clusters, iterations, std::move(values)};
}

/// Runs every method twice; each run must have this summary.
void expect_of_all(Input const& input, Summary const& expected, Tuning const& tuning = {}) {
  Job const job{.device = "simt", .repeat = 2};
  auto const expect = [&](std::string const& method, std::vector<Measurement> const& runs) {
    EXPECT_EQ(runs.size(), 2U);
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary.iterations, expected.iterations) << method;
      EXPECT_EQ(run.summary.memberships_hash, expected.memberships_hash) << method;
      EXPECT_NEAR(run.summary.rmse, expected.rmse, 1e-6) << method;
      EXPECT_GT(run.seconds, 0) << method;
    }
  };
  expect("hiway", run_hiway(input, tuning, job));
  Tuning launched = tuning;
  launched.stays = false;
  expect("hiway, launched", run_hiway(input, launched, job));
  expect("baseline", run_baseline(input, job));
  expect("reference", run_reference(input, job));
}
std::uint64_t hash_of(std::initializer_list<std::uint32_t> memberships) {
  std::uint64_t hash = cli::first_hash;
  for (std::uint32_t const m : memberships) hash = cli::hash_on(hash, m);
  return hash;
}

TEST(Kmeans, FindsTwoClustersByHand) {
  // Centroids 0 and 10, then 0.5 and 9.5, which change nothing.
  expect_of_all(input_of({0, 10, 1, 9}, 1, 2),
                {.iterations = 2, .rmse = 0.5, .memberships_hash = hash_of({0, 1, 0, 1})});
}

TEST(Kmeans, TakesTheLowerOfTwoClustersThatAreAsNear) {
  // 3 is as far from 0 as from 6, and goes to cluster 0, whose centroid is 1.5 then.
  expect_of_all(input_of({0, 6, 3}, 1, 2),
                {.iterations = 2, .rmse = std::sqrt(4.5 / 3), .memberships_hash = hash_of({0, 1, 0})});
}

TEST(Kmeans, HasZerosWhereAClusterIsEmpty) {
  // All are as near to cluster 1 as to 0, whose centroid becomes 5.25, and that of 1 becomes 0: 2 is nearer to it, 3 is
  // not yet. With 19 / 3 and 2 it is.
  expect_of_all(input_of({8, 8, 3, 2}, 1, 2),
                {.iterations = 4, .rmse = std::sqrt(0.5 / 4), .memberships_hash = hash_of({0, 0, 1, 1})});
}

TEST(Kmeans, StopsAfterSoManyIterations) {
  expect_of_all(input_of({5, 5, 1}, 1, 2, 2), {.iterations = 2, .rmse = 0, .memberships_hash = hash_of({0, 0, 1})});
  expect_of_all(input_of({5, 5, 1}, 1, 2, 1),
                {.iterations = 1, .rmse = std::sqrt(32.0 / 9), .memberships_hash = hash_of({0, 0, 0})});
}

TEST(Kmeans, TakesOnePoint) {
  expect_of_all(input_of({3, 4}, 2, 1), {.iterations = 2, .rmse = 0, .memberships_hash = hash_of({0})});
}

TEST(Kmeans, AllMethodsFindTheSame) {
  struct Size {
    std::uint32_t points, features, clusters;
  };
  for (Size const s : {Size{7, 1, 7}, Size{63, 3, 4}, Size{129, 34, 5}, Size{1000, 5, 6}, Size{333, 34, 11}}) {
    for (Tuning const tuning : {Tuning{1, 1}, Tuning{3, 7}, Tuning{2, 64}}) {
      Input const input = make_input({.points = s.points, .features = s.features, .clusters = s.clusters, .seed = 7});
      expect_of_all(input, run_reference(input, {}).front().summary, tuning);
    }
  }
}

// Fractions of many magnitudes: threads add them up in any order, and subtract what has gone.
TEST(Kmeans, SumsAreExactInAnyOrder) {
  std::vector<float> values;
  for (std::uint32_t i = 0; i < 600; ++i) {
    float const value = static_cast<float>(cli::mixed(i) % 100'000) * 0.1F;
    values.push_back(i % 3 == 0 ? value * 1e-9F : -value);
  }
  Input const input = input_of(values, 2, 5);
  for (unsigned const threads : {1U, 2U, 5U})
    expect_of_all(input, run_reference(input, {}).front().summary, {.threads = threads, .at_once = 3});
  Sums forwards{1, 1};
  Sums backwards{1, 1};
  for (std::size_t i = 0; i < values.size(); ++i) {
    forwards.add(0, &input.values[i]);
    backwards.add(0, &input.values[values.size() - 1 - i]);
  }
  Centroids a(1);
  Centroids b(1);
  forwards.write_centroids(a);
  backwards.write_centroids(b);
  EXPECT_EQ(a, b);
}

TEST(Kmeans, PointsAreOfTheSeedAndIntegersThatNobodyRounds) {
  Input const one = make_input({.points = 500, .seed = 1});
  EXPECT_EQ(one.values, make_input({.points = 500, .seed = 1}).values);
  EXPECT_NE(one.values, make_input({.points = 500, .seed = 2}).values);
  EXPECT_EQ(*std::ranges::min_element(one.values), 0);
  EXPECT_EQ(*std::ranges::max_element(one.values), 255);
  EXPECT_TRUE(std::ranges::all_of(one.values, [](float v) { return v == std::floor(v); }));
}

TEST(Kmeans, RoundsWhatIsTooSmallToCount) {
  std::vector<float> values{1, 0.1F, 1e-30F, std::numeric_limits<float>::denorm_min(), 0};
  make_exact(values, 5);
  EXPECT_EQ(values, (std::vector<float>{1, 0.1F, 0, 0, 0}));
  std::vector<float> zeros(3);
  make_exact(zeros, 3);
  EXPECT_EQ(zeros, std::vector<float>(3));
}

TEST_F(KmeansFiles, ReadsAPointALineWithoutItsFirstNumber) {
  for (std::string const text : {"1 2 3 \n2\t-4 5.5 \n", "0 2 3\r\n0 -4 5.5"}) {
    Input const input = make_input({.file = plain("points", text), .clusters = 2});
    EXPECT_EQ(input.points, 2U);
    EXPECT_EQ(input.features, 2U);
    EXPECT_EQ(input.values, (std::vector<float>{2, 3, -4, 5.5F}));
  }
}

TEST_F(KmeansFiles, RoundsWhatItReads) {
  Input const input = make_input({.file = plain("points", "1 1\n2 1e-30\n"), .clusters = 1});
  EXPECT_EQ(input.values, (std::vector<float>{1, 0}));
}

TEST_F(KmeansFiles, SaysWhatIsWrongWithAFile) {
  auto const said = [&](std::string const& text) {
    return complaint([&] { (void)make_input({.file = plain("bad", text), .clusters = 1}); });
  };
  std::string const file = path("bad");
  EXPECT_EQ(said(""), file + ": empty");
  EXPECT_EQ(said("1 2 3\n1 2 three\n"), file + ": line 2: not a number: 'three'");
  EXPECT_EQ(said("1 2 3\n1 2\n"), file + ": line 2: 1 features, and the first line has 2");
  EXPECT_EQ(said("1 2 3\n\n"),
            file + ": line 2: no features: a point is a number, which is not used, then its features");
  EXPECT_EQ(said("1\n"), file + ": line 1: no features: a point is a number, which is not used, then its features");
  EXPECT_EQ(said("1 1e16\n"), file + ": line 1: beyond 1e15: '1e16'");
  EXPECT_EQ(complaint([&] { (void)make_input({.file = path("none")}); }).find(path("none")), 0U);
  EXPECT_EQ(complaint([&] { (void)make_input({.file = plain("few", "1 2\n"), .clusters = 2}); }),
            "--clusters: 2 are more than the points, 1");
}

TEST(Kmeans, SaysWhichOptionIsWrong) {
  auto const said = [](InputOptions const& options) { return complaint([&] { (void)make_input(options); }); };
  EXPECT_EQ(said({.points = 0}), "--points must be 1 to 67108864: 0");
  EXPECT_EQ(said({.features = 1025}), "--features must be 1 to 1024: 1025");
  EXPECT_EQ(said({.clusters = 0}), "--clusters must be 1 to 1024: 0");
  EXPECT_EQ(said({.iterations = 0}), "--iterations must be 1 to 1048576: 0");
  EXPECT_EQ(said({.points = 4, .clusters = 5}), "--clusters: 5 are more than the points, 4");
  EXPECT_EQ(said({.file = "a", .points = 4}), "--input and --points exclude each other");
  EXPECT_EQ(said({.file = "a", .features = 4}), "--input and --features exclude each other");
  EXPECT_EQ(said({.file = ""}), "--input: the file's name is empty");
  EXPECT_EQ(said({.points = 2000, .features = 1024, .clusters = 1024}),
            "--clusters times features must be at most 8192: 1048576");
}

}  // namespace
}  // namespace kmeans
