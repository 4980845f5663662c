// bench hetero-mark: what it runs, and the bus beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "bench/benches.hpp"
#include "cli/bad_input.hpp"
#include "tests/apps/stand_in.hpp"

namespace bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::unique_ptr<Bench> hetero_mark(std::vector<Asked>& asked, std::string const& arguments,
                                   std::string const& wrong = {}) {
  auto bench = make_hetero_mark([&asked, wrong] {
    std::vector<std::unique_ptr<cli::App>> apps;
    for (std::string const app : {"gene-alignment", "evolutionary-program", "background-extraction", "fir", "aes",
                                  "hist", "bs", "kmeans", "knn", "pagerank", "bst"})
      apps.push_back(std::make_unique<StandIn>(app, asked, app != wrong));
    return apps;
  });
  take_arguments(*bench, arguments);
  return bench;
}
Request const request{.device = "simt", .repeat = 1, .small = false, .ran = {}};

TEST(HeteroMarkBench, ComparesEachOfTheElevenWithBothBaselinesAndTheBus) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = hetero_mark(asked, "--app aes")->run(request);
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].what["command"], "hiway run aes --bytes 33554432");
  EXPECT_EQ(rows[0].what["baseline"], "baseline");
  EXPECT_EQ(rows[0].what["bytes_in"], 33'554'432);
  std::vector<std::string> ways;
  for (Measured const& m : rows[0].measured) ways.push_back(m.variant);
  EXPECT_THAT(ways, ElementsAre("baseline", "baseline, pinned", "hiway", "bus"));
  ASSERT_THAT(asked, SizeIs(2 * 3));  // one turn of each is not counted
  EXPECT_EQ(asked[0].method, "baseline");
  EXPECT_TRUE(asked[1].pinned && !asked[0].pinned && !asked[2].pinned);
  EXPECT_EQ(asked[2].method, "hiway");
  EXPECT_NEAR(*rows[0].measured[2].ratio, 3, 1e-9);
  EXPECT_GT(rows[0].measured[3].median, 0.1) << "32 MiB within a tenth of a millisecond";
}
TEST(HeteroMarkBench, RunsAllOfThemSmallWhereTheDeviceIsEmulated) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = hetero_mark(asked, "")->run({.device = "simt", .repeat = 1, .small = true, .ran = {}});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(12));
  for (Asked const& a : asked) {
    EXPECT_THAT(a.sizes, IsEmpty()) << a.app;
    EXPECT_THAT(a.method, testing::AnyOf("baseline", "hiway")) << a.app;
  }
}
TEST(HeteroMarkBench, TakesTheFiltersBaselineByCudasCallsOnAGpu) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = hetero_mark(asked, "--app fir")->run(request);
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_EQ(rows.at(0).what["baseline"], "cuda");
  ASSERT_THAT(asked, SizeIs(2 * 3));
  EXPECT_EQ(asked[0].method, "cuda");
  EXPECT_EQ(asked[1].method, "cuda");
  EXPECT_TRUE(asked[1].pinned && !asked[0].pinned);
  EXPECT_EQ(asked[2].method, "hiway");
}
TEST(HeteroMarkBench, SaysWhichResultDiffers) {
  std::vector<Asked> asked;
  EXPECT_THAT(first_wrong(hetero_mark(asked, "--app fir", "fir")->run(request)),
              testing::AllOf(HasSubstr("FIR"), HasSubstr("differs from the serial reference")));
}
TEST(HeteroMarkBench, RefusesWhatItDoesNotKnow) {
  std::vector<Asked> asked;
  EXPECT_THROW(hetero_mark(asked, "--app stencil"), cli::BadInput);
  EXPECT_THROW(hetero_mark(asked, "--runs 1001"), cli::BadInput);
}

}  // namespace
}  // namespace bench
