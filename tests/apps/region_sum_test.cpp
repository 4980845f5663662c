// Region sums: how ints are cut, the oracle against sums worked out by hand, and the baseline and the segment, in each
// context, against the oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "region_sum/methods.hpp"
#include "region_sum/pieces.hpp"
#include "tests/apps/files.hpp"

namespace region_sum {
namespace {

std::vector<std::uint64_t> lengths_of(Problem const& problem) {
  std::vector<std::uint64_t> lengths(problem.offsets.size());
  std::adjacent_difference(problem.offsets.begin(), problem.offsets.end(), lengths.begin());
  lengths.erase(lengths.begin());
  return lengths;
}

// ---- how ints are cut

TEST(Regions, OfOneLengthHaveItButForTheLast) {
  using Lengths = std::vector<std::uint64_t>;
  EXPECT_EQ(lengths_of(make_problem({.ints = 10, .most = 4})), (Lengths{4, 4, 2}));
  EXPECT_EQ(lengths_of(make_problem({.ints = 8, .most = 4})), (Lengths{4, 4}));
  EXPECT_EQ(lengths_of(make_problem({.ints = 3, .most = 4})), (Lengths{3}));
  EXPECT_EQ(lengths_of(make_problem({.ints = 0, .most = 4})), Lengths{});
}
TEST(Regions, OfUniformLengthHaveEachAsOften) {
  Problem const problem = make_problem({.ints = 400'000, .lengths = Lengths::uniform, .most = 9});
  EXPECT_EQ(problem.offsets.front(), 0U);
  EXPECT_EQ(problem.offsets.back(), 400'000U);
  std::vector<int> seen(10);
  for (std::uint64_t const length : lengths_of(problem)) {
    ASSERT_LE(length, 9U);
    ++seen[length];
  }
  double const each = static_cast<double>(problem.regions()) / 10;
  for (std::size_t length = 0; length < seen.size(); ++length) EXPECT_NEAR(seen[length], each, 0.03 * each) << length;
}
TEST(Regions, DependOnTheSeed) {
  auto const uniform = [](std::uint64_t ints, std::uint64_t seed) {
    return make_problem({.ints = ints, .lengths = Lengths::uniform, .most = 50, .seed = seed});
  };
  EXPECT_EQ(uniform(1000, 1).offsets, uniform(1000, 1).offsets);
  EXPECT_NE(uniform(1000, 1).offsets, uniform(1000, 2).offsets);
  std::vector<std::uint32_t> const few = uniform(1000, 1).ints;
  std::vector<std::uint32_t> many = uniform(3000, 1).ints;
  EXPECT_NE(few, uniform(1000, 2).ints);
  many.resize(1000);
  EXPECT_EQ(few, many);
}
TEST(Regions, HaveIntsOfAllBits) {
  std::vector<std::uint32_t> const ints = make_problem({.ints = 100'000}).ints;
  for (unsigned bit = 0; bit < 32; ++bit) {
    auto const set = std::ranges::count_if(ints, [=](std::uint32_t i) { return (i >> bit & 1U) != 0; });
    EXPECT_NEAR(static_cast<double>(set), 50'000, 800) << bit;
  }
}
TEST(Regions, AreSharedOutInStretches) {
  for (std::uint64_t const ints : {0, 1, 7, 1000}) {
    Problem const problem = make_problem({.ints = ints, .lengths = Lengths::uniform, .most = 9});
    for (std::uint64_t const parts : {1, 2, 3, 5000}) {
      std::uint64_t next = 0;
      for (std::uint64_t part = 0; part < parts; ++part) {
        Stretch const stretch = stretch_of(problem, part, parts);
        ASSERT_EQ(stretch.first, next) << part << " of " << parts << ", " << ints << " ints";
        ASSERT_LE(stretch.first, stretch.end);
        ASSERT_LE(problem.offsets[stretch.end] - problem.offsets[stretch.first], ints / parts + 1 + 9);
        next = stretch.end;
      }
      EXPECT_EQ(next, problem.regions());
    }
  }
}
TEST(Regions, AreGivenByOneLengthOrTheLongest) {
  ProblemOptions options;
  parse_region("7", options);
  EXPECT_EQ(options.lengths, Lengths::fixed);
  EXPECT_EQ(options.most, 7U);
  parse_region("uniform:2147483648", options);
  EXPECT_EQ(options.lengths, Lengths::uniform);
  EXPECT_EQ(options.most, 2147483648U);
  for (std::string const text : {"", "0", "-1", "8x", "2147483649", "uniform", "uniform:", "uniform:0", "uniform: 3",
                                 "99999999999999999999", "normal:3"})
    EXPECT_EQ(complaint([&] { parse_region(text, options); }),
              "--region must be K or uniform:MAX, of 1 to 2147483648 ints: " + text);
}

// ---- sums

TEST(RegionSums, AreThoseWorkedOutByHand) {
  Problem const problem{.ints = {1, 2, 3, 0xffffffff, 0xffffffff, 7}, .offsets = {0, 3, 3, 5, 6, 6}};
  Sums const expected{6, 0, 0x1fffffffe, 7, 0};
  EXPECT_EQ(reference_sums(problem, 1), expected);
  EXPECT_EQ(reference_sums(problem, 3), expected);
  EXPECT_EQ(reference_sums(problem, 64), expected);
}

TEST(RegionSums, OfTheBaselineAreTheOracles) {
  std::vector<ProblemOptions> all;
  for (std::uint64_t const most : {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 700}) {
    for (std::uint64_t const ints : {0, 1, 31, 32, 33, 5000}) {
      all.push_back({.ints = ints, .most = most});
      all.push_back({.ints = ints, .lengths = Lengths::uniform, .most = most});
    }
  }
  // A warp takes one part at once; a region of several parts, also of different lengths; and few such regions.
  all.push_back({.ints = 30'001, .most = 8191});
  all.push_back({.ints = 16'384 * 4, .most = 16'384 * 4});
  all.push_back({.ints = 16'384 * 7 + 13, .most = most_ints});
  all.push_back({.ints = 300'000, .lengths = Lengths::uniform, .most = 150'000});
  for (ProblemOptions const& options : all) {
    Problem const problem = make_problem(options);
    Sums const oracle = reference_sums(problem, 1);
    Sums sums;
    int runs = 0;
    Job const job{.device = "simt", .repeat = 2, .ran = [&] {
                    ++runs;
                    EXPECT_EQ(sums, oracle) << options.ints << " ints, " << options.most;
                  }};
    for (Measurement const& run : run_baseline(problem, job, sums)) {
      EXPECT_EQ(run.summary, summarize(oracle));
      EXPECT_EQ(run.items, options.ints);
    }
    (void)run_reference(problem, job, sums);
    EXPECT_EQ(runs, 4);
  }
}

cli::Replica replica_of(std::string const& name) { return name == "warp" ? cli::Replica::warp : cli::Replica::block; }
hiway::segment::Context context_of(std::string const& name) {
  using hiway::segment::Context;
  return name == "sparse"  ? Context::sparse
         : name == "dense" ? Context::dense
         : name == "lane"  ? Context::lane
                           : Context::automatic;
}

TEST(RegionSums, OfTheSegmentAreTheOraclesInEachContext) {
  for (std::string const region : {"1", "32", "33", "129", "100000", "uniform:77", "uniform:3"}) {
    for (std::uint64_t const ints : {0, 20'001}) {
      ProblemOptions options{.ints = ints};
      parse_region(region, options);
      Problem const problem = make_problem(options);
      Sums const oracle = reference_sums(problem, 1);
      for (std::string const context : {"sparse", "dense", "lane", "automatic"}) {
        for (std::string const replicas : {"warp", "block"}) {
          SCOPED_TRACE(std::to_string(ints) + " ints, --region " + region + " --context " + context + " --replicas " +
                       replicas);
          Sums sums;
          unsigned runs = 0;
          // A firing of each int takes an emulated device seconds.
          unsigned const repeat = context == "sparse" && options.most <= 3 ? 1 : 2;
          Job const job{.device = "simt", .repeat = repeat, .ran = [&] {
                          ++runs;
                          EXPECT_EQ(sums, oracle);
                        }};
          SegmentOptions const segment{.replica = replica_of(replicas), .context = context_of(context)};
          for (Measurement const& run : run_hiway(problem, segment, job, sums)) {
            EXPECT_EQ(run.summary, summarize(oracle));
            EXPECT_EQ(run.items, ints);
          }
          EXPECT_EQ(runs, repeat);
        }
      }
    }
  }
}

TEST(RegionSums, ComeInPiecesThatHaveEachIntOnce) {
  for (std::string const region : {"1", "32", "1851", "1852", "1853", "100000", "uniform:77", "uniform:3"}) {
    ProblemOptions options{.ints = 20'001};
    parse_region(region, options);
    Problem const problem = make_problem(options);
    Sums sums(problem.regions());
    std::vector<std::uint32_t> ints;
    for (std::uint64_t const first : {0, 777, 5000, 20'000}) {
      std::uint64_t const end = first == 0 ? 777 : first == 777 ? 5000 : first == 5000 ? 20'000 : 20'001;
      for (Cutter cutter{problem, first, end}; !cutter.is_done();) {
        Piece piece;
        cutter.cut(piece);
        ASSERT_LE(piece.parts, Piece::most_parts);
        ASSERT_GT(piece.parts, 0U);
        for (Part const& part : std::span(piece.part, piece.parts)) {
          ASSERT_LE(part.first + part.count, Piece::most_ints);
          ASSERT_GT(part.count, 0U);
          auto const of_part = std::span(piece.ints).subspan(part.first, part.count);
          ints.insert(ints.end(), of_part.begin(), of_part.end());
          for (std::uint32_t const i : of_part) sums[part.region] += i;
        }
      }
    }
    EXPECT_EQ(ints, problem.ints) << region;
    EXPECT_EQ(sums, reference_sums(problem, 1)) << region;
  }
}
TEST(RegionSums, ByTunnelsAreTheOraclesInEachContext) {
  for (std::string const region : {"1", "32", "129", "100000", "uniform:77"}) {
    for (std::uint64_t const ints : {0, 20'001}) {
      ProblemOptions options{.ints = ints};
      parse_region(region, options);
      Problem const problem = make_problem(options);
      Sums const oracle = reference_sums(problem, 1);
      for (std::string const context : {"sparse", "dense", "lane", "automatic"}) {
        SCOPED_TRACE(std::to_string(ints) + " ints, --region " + region + " --context " + context);
        Sums sums;
        unsigned runs = 0;
        Job const job{.device = "simt", .repeat = 2, .ran = [&] {
                        ++runs;
                        EXPECT_EQ(sums, oracle);
                      }};
        SegmentOptions const segment{.context = context_of(context), .feed = Feed::tunnel};
        for (Measurement const& run : run_hiway(problem, segment, job, sums)) {
          EXPECT_EQ(run.summary, summarize(oracle));
          EXPECT_EQ(run.items, ints);
          EXPECT_EQ(run.tunnels.size(), 2U);
        }
        EXPECT_EQ(runs, 2U);
      }
    }
  }
}

TEST(RegionSums, AreSummedUpInOrder) {
  Summary const summary = summarize(Sums{5, 0, 7});
  EXPECT_EQ(summary.regions, 3U);
  EXPECT_EQ(summary.total, 12U);
  std::uint64_t hash = 14695981039346656037U;
  for (std::uint64_t const sum : {5U, 0U, 7U}) hash = (hash ^ sum) * 1099511628211U;
  EXPECT_EQ(summary.checksum, hash);
  EXPECT_NE(summarize(Sums{7, 0, 5}), summary);
}

}  // namespace
}  // namespace region_sum
