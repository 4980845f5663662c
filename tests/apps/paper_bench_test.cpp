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

std::unique_ptr<Bench> paper(std::vector<Asked>& asked, std::string const& arguments, std::string const& wrong = {}) {
  auto bench = make_paper([&asked, wrong] {
    std::vector<std::unique_ptr<cli::App>> apps;
    for (char const* app :
         {"stencil", "gene-alignment", "evolutionary-program", "reyes", "face-detection", "rasterization"})
      apps.push_back(std::make_unique<StandIn>(app, asked, app != wrong));
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
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "--part breakdown --app reyes");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].what["command"], "hiway run reyes --width 1280 --height 720 --pictures 30");
  ASSERT_THAT(asked, SizeIs(2 * 5));  // one turn of each is not counted
  EXPECT_EQ(asked[0].sizes, "--width 1280 --height 720 --pictures 30 ");
  EXPECT_EQ(asked[0].method, "baseline");
  EXPECT_FALSE(asked[0].pinned);
  EXPECT_EQ(asked[1].method, "baseline");
  EXPECT_TRUE(asked[1].pinned);
  for (std::size_t i : {2U, 3U, 4U}) EXPECT_EQ(asked[i].method, "hiway");
  EXPECT_EQ(asked[2].scheme.end_detection, EndDetection::time_out);
  EXPECT_EQ(asked[2].scheme.end_time_out, std::chrono::milliseconds(2));
  EXPECT_EQ(asked[2].scheme.grouping, Grouping::none);
  EXPECT_EQ(asked[3].scheme.end_detection, EndDetection::tracked);
  EXPECT_EQ(asked[3].scheme.grouping, Grouping::none);
  EXPECT_EQ(asked[4].scheme.end_detection, EndDetection::tracked);
  EXPECT_EQ(asked[4].scheme.grouping, Grouping::automatic);
}
TEST(PaperBench, ComparesRegionsWithCarriedCopies) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "--part breakdown --app stencil");
  ASSERT_THAT(rows, SizeIs(1));
  std::vector<std::string> methods;
  for (Asked const& a : asked) methods.push_back(a.method);
  methods.resize(5);
  EXPECT_THAT(methods, ElementsAre("baseline", "baseline", "baseline", "baseline", "hiway"));
  EXPECT_EQ(asked[0].scheme.grouping, hiway::Grouping::none);
  EXPECT_EQ(rows[0].measured.back().variant, "+ lazy regions");
  EXPECT_NEAR(*rows[0].measured.back().ratio, 3, 1e-9);
}
TEST(PaperBench, AsksEveryPartOfEveryApplication) {
  std::vector<Asked> asked;
  std::vector<Row> const rows = run(asked, "");
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(6 + 1 + 6 + 1));
  EXPECT_EQ(rows[6].what["command"], "hiway run evolutionary-program --population 2048 --generations 20 --compute off");
  EXPECT_EQ(rows[7].beside, "managed");
  for (Asked const& a : asked) {
    bool const has_regions = a.app == "stencil" || a.app == "face-detection";
    EXPECT_FALSE(has_regions && a.scheme.movement == hiway::Movement::managed);
  }
  EXPECT_NEAR(rows.back().measured.front().median, 3, 1e-9);  // 12 ms to 4 ms in each
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
  EXPECT_THAT(listing, HasSubstr(R"("end_detection":"time_out","end_time_out_us":15000,"grouping":"none")"));
  EXPECT_THAT(paper(asked, "")->listing(), IsEmpty());
}
TEST(PaperBench, RefusesWhatItDoesNotKnow) {
  std::vector<Asked> asked;
  EXPECT_THROW(paper(asked, "--app background-extraction"), cli::BadInput);
  EXPECT_THROW(paper(asked, "--part 4.4"), cli::BadInput);
  EXPECT_THROW(paper(asked, "--runs 1001"), cli::BadInput);
}

}  // namespace
}  // namespace bench
