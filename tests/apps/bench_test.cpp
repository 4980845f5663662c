// The frame of the benches: turns and their figures, the answer as JSON, how `hiway bench` ends.
#include "bench/bench.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "hiway/error.hpp"

namespace bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Gives the next of `values` in each turn, and notes its name in `order`.
Variant scripted(std::string const& name, std::vector<double> values, std::string& order) {
  return {name, [name, values = std::move(values), &order, turn = 0U]() mutable {
            order += name;
            return Turn{values.at(turn++), true};
          }};
}

Measured const& variant(Row const& row, std::string const& name) {
  for (Measured const& measured : row.measured) {
    if (measured.variant == name) return measured;
  }
  throw std::runtime_error{"no variant " + name};
}

TEST(Measure, VariantsTakeTurnsBehindOneEachThatIsNotCounted) {
  std::string order;
  Request const request{.device = "cuda:0", .repeat = 3};
  Row const row = measure({{"threads", 32}}, "items/s", Better::more, "b",
                          {scripted("a", {1000, 6, 4, 8}, order), scripted("b", {1000, 2, 2, 3}, order)}, request);
  EXPECT_EQ(order, "abababab");
  EXPECT_THAT(variant(row, "a").values, ElementsAre(6, 4, 8));
  EXPECT_EQ(variant(row, "a").median, 6);
  EXPECT_EQ(variant(row, "a").lowest, 4);
  EXPECT_EQ(variant(row, "a").highest, 8);
  EXPECT_EQ(variant(row, "a").ratio, 3.0);
  EXPECT_EQ(variant(row, "b").ratio, 1.0);
}

TEST(Measure, ARatioAboveOneIsBetterAlsoWhereLessIs) {
  std::string order;
  Request const request{.device = "cuda:0", .repeat = 1};
  Row const row =
      measure({}, "us", Better::less, "b", {scripted("a", {9, 2}, order), scripted("b", {9, 8}, order)}, request);
  EXPECT_EQ(variant(row, "a").ratio, 4.0);
}

TEST(Measure, WithoutWhatItStandsBesideThereIsNoRatio) {
  std::string order;
  Request const request{.device = "cuda:0", .repeat = 1};
  Row const row = measure({}, "us", Better::less, "absent", {scripted("a", {9, 2}, order)}, request);
  EXPECT_FALSE(variant(row, "a").ratio.has_value());
}

TEST(Measure, TheEvenMedianLiesBetweenTheMiddleTwo) {
  std::string order;
  Row const row = measure({}, "us", Better::less, "", {scripted("a", {0, 1, 7, 3, 5}, order)},
                          Request{.device = "cuda:0", .repeat = 4});
  EXPECT_EQ(variant(row, "a").median, 4);
}

TEST(Measure, AnUncountedTurnThatIsWrongIsWrong) {
  int turns = 0;
  Variant const once{"a", [&] { return ++turns == 1 ? Turn{1, false, "item 7 came twice"} : Turn{1, true}; }};
  Row const row = measure({{"threads", 32}}, "us", Better::less, "", {once}, Request{.device = "cuda:0", .repeat = 2});
  EXPECT_FALSE(variant(row, "a").right);
  EXPECT_EQ(first_wrong({row}), "threads 32: a: item 7 came twice");
}

// One run whose time-out was too short took a whole bench with it, of a minute and more: it ends with Aborted.
TEST(Measure, ARunThatFailsIsWrongAndTheOthersAreMeasured) {
  int turns = 0;
  Variant const fails_once{"a", [&] {
                             if (++turns == 2) throw hiway::Aborted("stage 'resolve': too short");
                             return Turn{4, true};
                           }};
  Variant const other{"b", [] { return Turn{2, true}; }};
  Row const row = measure({}, "us", Better::less, "a", {fails_once, other}, Request{.device = "cuda:0", .repeat = 2});
  EXPECT_EQ(first_wrong({row}), ": a: stage 'resolve': too short");
  EXPECT_THAT(variant(row, "a").values, ElementsAre(4));
  EXPECT_THAT(variant(row, "b").values, ElementsAre(2, 2));
  EXPECT_TRUE(variant(row, "b").right);
}

TEST(Measure, APipelineThatIsRefusedEndsTheBench) {
  Variant const refused{"a", []() -> Turn { throw hiway::ConfigError("no such device"); }};
  EXPECT_THROW((void)measure({}, "us", Better::less, "a", {refused}, Request{.device = "cuda:0", .repeat = 1}),
               hiway::ConfigError);
}

TEST(Measure, FactsAreAskedBehindTheLastTurn) {
  int turns = 0;
  Variant const counting{"a", [&] { return Turn{double(++turns), true}; }, [&] { return Json{{"turns", turns}}; }};
  Row const row = measure({}, "us", Better::less, "", {counting}, Request{.device = "cuda:0", .repeat = 2});
  EXPECT_EQ(variant(row, "a").facts.dump(), R"({"turns":3})");
}

TEST(Measure, OnTheEmulatedDeviceEveryTurnCounts) {
  int turns = 0;
  int heard = 0;
  Variant const counting{"a", [&] { return Turn{double(++turns), true}; }};
  Row const row = measure({}, "us", Better::less, "", {counting},
                          Request{.device = "simt", .repeat = 2, .small = true, .ran = [&] { ++heard; }});
  EXPECT_THAT(variant(row, "a").values, ElementsAre(1, 2));
  EXPECT_EQ(heard, 2);
}

TEST(FirstWrong, NothingMeasuredIsNotRight) {
  EXPECT_THAT(first_wrong({}), HasSubstr("no row"));
  EXPECT_THAT(first_wrong({Row{{{"threads", 32}}, "us", Better::less, "", {}}}), HasSubstr("no variant"));
}

Result two_rows(bool emulated) {
  std::string order;
  Request const request{.device = emulated ? "simt" : "cuda:0", .repeat = 1, .small = emulated};
  return {"turns",
          "hiway bench turns",
          request,
          {measure({{"threads", 32}}, "items/s", Better::more, "b",
                   {scripted("a", {6e9, 12e9}, order), scripted("b", {3e9, 3e9}, order)}, request)}};
}

TEST(BenchJson, HasTheContractsKeys) {
  Json const json = to_json(two_rows(false));
  std::vector<std::string> keys;
  for (auto const& [key, value] : json.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("bench", "command", "device", "machine", "emulated", "repeat", "right", "rows"));
  Json const& row = json["rows"][0];
  keys.clear();
  for (auto const& [key, value] : row.items()) keys.push_back(key);
  EXPECT_THAT(keys, ElementsAre("what", "unit", "better", "beside", "measured"));
  keys.clear();
  for (auto const& [key, value] : row["measured"][0].items()) keys.push_back(key);
  EXPECT_THAT(keys,
              ElementsAre("variant", "median", "lowest", "highest", "values", "ratio", "right", "wrong", "facts"));
  EXPECT_EQ(row["measured"][0]["median"], 12e9);
  EXPECT_EQ(row["measured"][0]["ratio"], 4.0);
  EXPECT_EQ(json["emulated"], false);
  EXPECT_EQ(json["right"], true);
}

TEST(BenchJson, AnEmulatedTimeIsNull) {
  Json const json = to_json(two_rows(true));
  EXPECT_EQ(json["emulated"], true);
  for (char const* key : {"median", "lowest", "highest", "values", "ratio"})
    EXPECT_TRUE(json["rows"][0]["measured"][0][key].is_null()) << key;
  EXPECT_EQ(json["rows"][0]["measured"][0]["right"], true);
}

TEST(BenchJson, ATimeWithoutADeviceIsATimeBesideTheEmulatedOne) {
  Result result = two_rows(true);
  result.rows.push_back(result.rows[0]);
  result.rows[1].only_cpu = true;
  Json const json = to_json(result);
  EXPECT_TRUE(json["rows"][0]["measured"][0]["median"].is_null());
  EXPECT_EQ(json["rows"][1]["measured"][0]["median"], 6e9);
  EXPECT_THAT(to_text(result), HasSubstr("6 G"));
  EXPECT_THAT(to_text(result), HasSubstr("no time is a speed, but for CPU threads alone; median of 1"));
}

TEST(BenchText, ShowsFiguresInUnitsOrNone) {
  EXPECT_THAT(to_text(two_rows(false)), HasSubstr("12 G"));
  EXPECT_THAT(to_text(two_rows(false)), HasSubstr("x4 of b"));
  EXPECT_THAT(to_text(two_rows(true)), testing::Not(HasSubstr(" G")));
}

/// A bench of one variant that is right or not.
class Fake : public Bench {
 public:
  explicit Fake(bool right, Request* asked = nullptr) : right_(right), asked_(asked) {}
  std::string name() const override { return "fake"; }
  std::string summary() const override { return "for tests"; }
  void add_options(cli::Options& command) override { command.add_option("--flavour", flavour_, "of it"); }
  std::vector<Row> run(Request const& request) override {
    if (asked_ != nullptr) *asked_ = request;
    Variant const one{"a", [this] { return Turn{1, right_, right_ ? "" : "item 7 is lost"}; }};
    return {measure({{"flavour", flavour_}}, "us", Better::less, "", {one}, request)};
  }

 private:
  bool right_;
  Request* asked_;
  std::string flavour_ = "plain";
};

struct Ended {
  int code;
  std::string out, err;
};

Ended run_with(Fake* fake, std::vector<char const*> arguments) {
  Benches benches;
  benches.emplace_back(fake);
  arguments.insert(arguments.begin(), "/anywhere/hiway");
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int const code =
      cli::run_program(static_cast<int>(arguments.size()), arguments.data(), cli::all_commands({}, benches));
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(BenchCommand, RightEndsWithZeroAndTellsHowItWasAsked) {
  Ended const ended =
      run_with(new Fake{true}, {"bench", "fake", "--device", "simt", "--flavour", "sour", "--repeat", "2", "--json"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.err, IsEmpty());
  Json const json = Json::parse(ended.out);
  EXPECT_EQ(json["bench"], "fake");
  EXPECT_EQ(json["command"], "hiway bench fake --device simt --flavour sour --repeat 2 --json");
  EXPECT_EQ(json["device"], "simt");
  EXPECT_EQ(json["repeat"], 2);
  EXPECT_EQ(json["rows"][0]["what"]["flavour"], "sour");
}

TEST(BenchCommand, WrongEndsWithOneAndStillAnswers) {
  Ended const ended = run_with(new Fake{false}, {"bench", "fake", "--device", "simt", "--json"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, "hiway: bench fake: flavour plain: a: item 7 is lost\n");
  EXPECT_EQ(Json::parse(ended.out)["right"], false);
}

TEST(BenchCommand, EmulatedIsSmallAndOneTurn) {
  Request asked;
  run_with(new Fake{true, &asked}, {"bench", "fake", "--device", "simt"});
  EXPECT_TRUE(asked.small);
  EXPECT_EQ(asked.repeat, 1U);
}

TEST(BenchCommand, MistakesEndWithTwoInOneLine) {
  auto const mistake = [](std::vector<char const*> arguments, std::string const& text) {
    Ended const ended = run_with(new Fake{true}, std::move(arguments));
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_THAT(ended.err, StartsWith("hiway: "));
    EXPECT_THAT(ended.err, HasSubstr(text));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1);
  };
  mistake({"bench"}, "bench needs a name: fake");
  mistake({"bench", "--"}, "bench needs a name: fake");
  mistake({"bench", "fast"}, "bench: no bench 'fast': fake");
  mistake({"bench", "fake", "--wrong"}, "--wrong");
  mistake({"bench", "fake", "--repeat", "0"}, "--repeat must be 1 to 1000000: 0");
  mistake({"bench", "fake", "--repeat", "-3"}, "--repeat");
  mistake({"bench", "fake", "--device", "tpu"}, "no device 'tpu'");
  mistake({"bench", "fake", "--json", "/nowhere/at/all"}, "--json: /nowhere/at/all");
}

TEST(BenchCommand, ListNamesTheBench) {
  Ended const ended = run_with(new Fake{true}, {"list"});
  EXPECT_THAT(ended.out, HasSubstr("bench fake"));
  EXPECT_THAT(ended.out, HasSubstr("for tests"));
}

}  // namespace
}  // namespace bench
