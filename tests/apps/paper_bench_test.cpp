// bench paper: what it runs, with which switches, and what it makes of the times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>
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

/// `stencil`: the seconds of the stencil by method hiway.
std::unique_ptr<Bench> paper(std::vector<Asked>& asked, std::string const& arguments, std::string const& wrong = {},
                             double stencil = 0.004) {
  auto bench = make_paper([&asked, wrong, stencil] {
    std::vector<std::unique_ptr<cli::App>> apps;
    for (std::string const app :
         {"stencil", "gene-alignment", "evolutionary-program", "reyes", "face-detection", "rasterization", "bfs"}) {
      auto made = std::make_unique<StandIn>(app, asked, app != wrong);
      if (app == "stencil") made->set_seconds(stencil);
      apps.push_back(std::move(made));
    }
    return apps;
  });
  take_arguments(*bench, arguments);
  return bench;
}
std::vector<Row> run(std::vector<Asked>& asked, std::string const& arguments, std::string const& wrong = {}) {
  return paper(asked, arguments, wrong)->run({.device = "cuda:0", .repeat = 1, .small = false, .ran = {}});
}

TEST(PaperBench, TurnsTheSwitchesOneByOne) {
  using hiway::EndDetection;
  using hiway::Grouping;
  using hiway::Movement;
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "--part breakdown --app evolutionary-program");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].what["command"], "hiway run evolutionary-program --population 2048 --generations 20");
  ASSERT_THAT(asked, SizeIs(2 * 6));  // one turn of each is not counted
  EXPECT_EQ(asked[0].sizes, "--population 2048 --generations 20 ");
  EXPECT_EQ(asked[0].method, "baseline");
  EXPECT_FALSE(asked[0].pinned);
  EXPECT_EQ(asked[1].method, "baseline");
  EXPECT_TRUE(asked[1].pinned);
  for (std::size_t i : {2U, 3U, 4U, 5U}) EXPECT_EQ(asked[i].method, "hiway");
  for (std::size_t i : {2U, 3U, 4U}) EXPECT_EQ(asked[i].scheme.movement, Movement::dma);
  EXPECT_EQ(asked[2].scheme.end_detection, EndDetection::time_out);
  EXPECT_EQ(asked[2].scheme.end_time_out, std::chrono::milliseconds(10));
  EXPECT_EQ(asked[2].scheme.grouping, Grouping::none);
  EXPECT_EQ(asked[3].scheme.end_detection, EndDetection::tracked);
  EXPECT_EQ(asked[3].scheme.grouping, Grouping::none);
  EXPECT_EQ(asked[4].scheme.grouping, Grouping::warp);
  EXPECT_EQ(asked[5].scheme.end_detection, EndDetection::tracked);
  EXPECT_EQ(asked[5].scheme.grouping, Grouping::automatic);
  EXPECT_EQ(asked[5].scheme.movement, Movement::automatic);
}
TEST(PaperBench, ComparesRegionsWithCarriedCopies) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "--part breakdown --app stencil");
  ASSERT_THAT(rows, SizeIs(1));
  std::vector<std::string> methods;
  for (Asked const& a : asked) methods.push_back(a.method);
  methods.resize(5);
  EXPECT_THAT(methods, ElementsAre("baseline", "baseline", "baseline", "hiway", "hiway"));
  // What late triggering makes of the basic scheme is the baseline, and is measured once.
  EXPECT_EQ(asked[0].scheme.grouping, hiway::Grouping::none);
  EXPECT_EQ(asked[0].scheme.movement, hiway::Movement::dma);
  EXPECT_EQ(asked[1].scheme.end_detection, hiway::EndDetection::time_out);
  EXPECT_EQ(rows[0].measured[3].variant, "+ lazy regions");
  EXPECT_NEAR(*rows[0].measured.back().ratio, 3, 1e-9);
}
TEST(PaperBench, SharesClaimsInEveryWay) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "--part relief --app bfs");
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].what["command"], "hiway run bfs --graph road --width 2048 --height 2048");
  std::vector<std::string> ways;
  for (Measured const& measured : rows[1].measured) ways.push_back(measured.variant);
  EXPECT_THAT(ways, ElementsAre("none", "warp", "block", "block_scan", "automatic", "baseline"));
  EXPECT_EQ(rows[0].beside, "none");
  EXPECT_EQ(asked[3].scheme.grouping, hiway::Grouping::block_scan);
  EXPECT_EQ(rows[0].measured[2].facts["items"], 30);
  EXPECT_EQ(rows[0].measured[2].facts["shared_puts"], 5);
  EXPECT_EQ(rows[0].measured[2].facts["shared_gets"], 7);
  EXPECT_FALSE(rows[0].measured.back().facts.contains("items"));
}
TEST(PaperBench, AsksEveryPartOfEveryApplication) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(9 + 6 + 2 + 1 + 6 + 1));
  EXPECT_EQ(rows[17].what["command"],
            "hiway run evolutionary-program --population 2048 --generations 20 --compute off");
  EXPECT_EQ(rows[18].beside, "managed");
  for (Asked const& a : asked) {
    bool const has_regions = a.app == "stencil" || a.app == "face-detection";
    EXPECT_FALSE(has_regions && a.scheme.movement == hiway::Movement::managed);
  }
}
/// Variants of the six, such as one picture of Reyes, do not count.
TEST(PaperBench, MeansAreOfTheSixAlone) {
  std::vector<Asked> asked;
  auto bench = paper(asked, "--part breakdown", {}, 0.002);  // stencil: 6 times as fast, the others 3 times
  Row const means = bench->run({.device = "cuda:0", .repeat = 1, .small = false, .ran = {}}).back();
  ASSERT_THAT(means.measured, SizeIs(4));
  EXPECT_NEAR(means.measured[0].median, std::pow(std::pow(3, 5) * 6, 1.0 / 6), 1e-9);
  EXPECT_NEAR(means.measured[1].median, (5 * 3 + 6) / 6.0, 1e-9);
}
TEST(PaperBench, SaysWhichResultDiffers) {
  std::vector<Asked> asked;
  EXPECT_THAT(first_wrong(run(asked, "--part breakdown", "face-detection")),
              testing::AllOf(HasSubstr("FD"), HasSubstr("differs from the serial reference")));
}
TEST(PaperBench, ListsInsteadOfRunning) {
  std::vector<Asked> asked;
  std::string const listing = paper(asked, "--list --image faces.pgm")->listing();
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_THAT(listing, HasSubstr("breakdown: hiway run face-detection --image faces.pgm\n"));
  EXPECT_THAT(listing,
              HasSubstr(R"("end_detection":"time_out","end_time_out_us":15000,"grouping":"none","movement":"dma")"));
  EXPECT_THAT(paper(asked, "")->listing(), IsEmpty());
}
TEST(PaperBench, RefusesWhatItDoesNotKnow) {
  std::vector<Asked> asked;
  EXPECT_THROW(paper(asked, "--app background-extraction"), cli::BadInput);
  EXPECT_THROW(paper(asked, "--part 4.4"), cli::BadInput);
  EXPECT_THROW(paper(asked, "--part communication --app reyes"), cli::BadInput);
  EXPECT_THROW(paper(asked, "--runs 1001"), cli::BadInput);
}

}  // namespace
}  // namespace bench
