// The benches of what crosses tunnels, small, on the emulated device: they are right, and a planted error is found in
// every variant of every row.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "bench/asked.hpp"
#include "bench/benches.hpp"
#include "bench/echo.hpp"
#include "bench/ending.hpp"
#include "bench/movement_table.hpp"
#include "bench/numbered.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"
#include "lib/movement_table.hpp"

namespace bench {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

Tally tally_of(std::vector<std::uint32_t> const& numbers) {
  Tally tally;
  for (std::uint32_t number : numbers) tally.add(number, 0);
  return tally;
}

TEST(Numbered, TheItemsOfAnOrderMakeNoDifference) {
  EXPECT_THAT(difference(tally_of({5, 7, 6, 8}), {4, 5}), IsEmpty());
  EXPECT_THAT(difference({}, {0, 5}), IsEmpty());
  for (std::uint32_t items = 1; items != 20; ++items) {
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t i = 0; i != items; ++i) numbers.push_back(0x3fff'ffffU + i);
    EXPECT_THAT(difference(tally_of(numbers), {items, 0x3fff'ffffU}), IsEmpty()) << items;
  }
}

TEST(Numbered, SumsBeyond64BitsAreStillTheSame) {
  Order const order{std::uint64_t{1} << 24, 0x3fff'fff0U};
  Tally tally;
  for (std::uint64_t i = 0; i != order.items; ++i) tally.add(order.first + static_cast<std::uint32_t>(i), 0);
  EXPECT_GT(static_cast<double>(order.items) * order.first * order.first,
            std::numeric_limits<std::uint64_t>::max() / 2);
  EXPECT_THAT(difference(tally, order), IsEmpty());
}

TEST(Numbered, WhatIsLostDoubledOrAlteredMakesOne) {
  Order const order{4, 5};
  EXPECT_THAT(difference(tally_of({5, 6, 7}), order), HasSubstr("3 items came of 4"));
  EXPECT_THAT(difference(tally_of({5, 6, 7, 8, 8}), order), HasSubstr("5 items came of 4"));
  EXPECT_THAT(difference(tally_of({5, 6, 6, 8}), order), HasSubstr("other items"));
  EXPECT_THAT(difference(tally_of({5, 5, 8, 8}), order), HasSubstr("other items")) << "of the same sum";
  EXPECT_THAT(difference(tally_of({1, 2, 3, 4}), order), HasSubstr("other items")) << "an earlier order's";
  Tally altered = tally_of({5, 6, 7, 8});
  altered.altered = 4;
  EXPECT_THAT(difference(altered, order), HasSubstr("altered"));
}

template <class Item>
class EveryItem : public testing::Test {};
using Items = testing::Types<Numbered<4>, Numbered<12>, Numbered<16>, Numbered<64>, Numbered<4096>>;
TYPED_TEST_SUITE(EveryItem, Items);

TYPED_TEST(EveryItem, IsKnownByEveryWord) {
  TypeParam item;
  item.write(77);
  item.number(78);
  EXPECT_EQ(item.words[0], 78U);
  EXPECT_EQ(item.differences(), 0U);
  for (std::uint32_t i = 0; i != TypeParam::count; ++i) {
    item.words[i] ^= 0x100U;
    EXPECT_TRUE(item.differences() != 0U || item.words[0] != 78U) << "word " << i;
    item.words[i] ^= 0x100U;
  }
}

/// Many side by side are handled in whole vectors; what is left over one by one.
TYPED_TEST(EveryItem, IsTheSameSideBySide) {
  for (std::size_t n = 0; n != 40; ++n) {
    Order const order{n, 0x3fff'fff0U};
    std::vector<TypeParam> items(n + 1);
    items[n].write(1);
    write_items(items.data(), sizeof(TypeParam), order.first - 7, n);
    renumber_items(items.data(), sizeof(TypeParam), order.first, n);
    for (std::size_t k = 0; k != n; ++k) {
      EXPECT_EQ(items[k].words[0], order.first + k);
      EXPECT_EQ(items[k].differences(), 0U);
    }
    EXPECT_TRUE(items[n].words[0] == 1U && items[n].differences() == 0U) << "one beyond";
    EXPECT_THAT(difference(check_items(items.data(), sizeof(TypeParam), n), order), IsEmpty()) << n;
    for (std::size_t word = 0; word<n * TypeParam::count; word += TypeParam::count> 16 ? 97 : 1) {
      std::uint32_t& at = items[word / TypeParam::count].words[word % TypeParam::count];
      at ^= 0x100U;
      EXPECT_THAT(difference(check_items(items.data(), sizeof(TypeParam), n), order), testing::Not(IsEmpty())) << word;
      at ^= 0x100U;
    }
  }
}

TEST(Shares, AreTheWholeWithoutOverlap) {
  for (std::uint64_t items : {0ULL, 1ULL, 7ULL, 1000ULL}) {
    std::uint64_t at = 0;
    for (unsigned part = 0; part != 8; ++part) {
      Share const share = share_of(items, part, 8);
      EXPECT_EQ(share.begin, at);
      at = share.end;
    }
    EXPECT_EQ(at, items);
  }
}

/// Moves a million items a second, or says that it did not.
class SlowMover final : public Mover {
 public:
  explicit SlowMover(std::vector<std::uint64_t>& asked, std::string wrong = "")
      : asked_(asked), wrong_(std::move(wrong)) {}
  Moved move(std::uint64_t items) override {
    asked_.push_back(items);
    return {static_cast<double>(items) * 1e-6, wrong_};
  }

 private:
  std::vector<std::uint64_t>& asked_;
  std::string wrong_;
};

TEST(TimedMover, LooksOnceForItemsThatTakeLongEnough) {
  std::vector<std::uint64_t> asked;
  TimedMover timed{std::make_unique<SlowMover>(asked), {.item_bytes = 4096}, 0, false};
  EXPECT_NEAR(timed.turn().value, 1e6, 1);
  std::size_t const tries = asked.size();
  EXPECT_EQ(asked.front(), 0U) << "what a move takes without items";
  EXPECT_GE(asked.back(), 50'000U);
  EXPECT_LE(asked.back(), 200'000U);
  EXPECT_TRUE(timed.turn().right);
  EXPECT_EQ(asked.size(), tries + 1);
  EXPECT_EQ(timed.facts()["items"], asked.back());
  EXPECT_NEAR(timed.facts()["bytes_per_second"].get<double>(), 4096e6, 4096);
}

TEST(TimedMover, CountsBothWaysAndSaysWhatIsWrong) {
  std::vector<std::uint64_t> asked;
  TimedMover both{std::make_unique<SlowMover>(asked), {.flow = Flow::both}, 500, false};
  EXPECT_NEAR(both.turn().value, 2e6, 1);
  EXPECT_THAT(asked, testing::ElementsAre(500U)) << "as many as were asked for";
  TimedMover wrong{std::make_unique<SlowMover>(asked, "lost"), {}, 0, false};
  EXPECT_FALSE(wrong.turn().right);
  EXPECT_EQ(wrong.turn().wrong, "lost");
}

TEST(TimedMover, SaysNoSpeedOfTheEmulatedDevice) {
  std::vector<std::uint64_t> asked;
  TimedMover timed{std::make_unique<SlowMover>(asked), {}, 500, true};
  EXPECT_TRUE(timed.turn().right);
  EXPECT_FALSE(timed.facts().contains("bytes_per_second"));
}

TEST(Traffic, MovesNothingAndThenSomething) {
  for (Flow flow : {Flow::cpu_to_gpu, Flow::gpu_to_cpu, Flow::both, Flow::gpu_to_gpu}) {
    auto const mover = make_traffic({.device = "simt", .flow = flow, .cpu_threads = 2}, {});
    EXPECT_THAT(mover->move(0).wrong, IsEmpty()) << name_of(flow);
    EXPECT_THAT(mover->move(1).wrong, IsEmpty()) << name_of(flow);
  }
}

std::vector<Row> run_small(std::string const& name, std::vector<std::string> arguments) {
  for (auto const& bench : all_benches()) {
    if (bench->name() != name) continue;
    cli::Options command;
    bench->add_options(command);
    EXPECT_TRUE(command.parse(arguments));
    return bench->run({.device = "simt", .repeat = 1, .small = true});
  }
  throw std::runtime_error{"no bench " + name};
}

void expect_each_found(std::vector<Row> const& rows) {
  EXPECT_FALSE(rows.empty());
  for (Row const& row : rows) {
    for (Measured const& measured : row.measured)
      EXPECT_FALSE(measured.right) << row.what.dump() << " " << measured.variant;
  }
}

TEST(TunnelBench, IsRightForEveryFlowSizeMovementAndCall) {
  std::vector<Row> const rows = run_small("tunnel", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(3 * 5 * 2 + 5));
  for (Row const& row : rows) {
    bool const along = row.what["flow"] == "gpu_to_gpu";
    EXPECT_THAT(row.measured, SizeIs(along ? 1 : 6)) << row.what.dump();
    EXPECT_EQ(row.unit, "items/s");
    EXPECT_THAT(row.what["beside"].get<std::string>(), HasSubstr("needs a GPU"));
  }
}

TEST(TunnelBench, TellsWhatEveryTunnelCreatedFinishedAndCopied) {
  std::vector<Row> const rows =
      run_small("tunnel", {"--flow", "both", "--item-bytes", "16", "--threads", "3", "--items", "777"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].what["cpu_threads"], 3);
  for (Measured const& measured : rows[0].measured) {
    ASSERT_THAT(measured.facts["tunnels"], SizeIs(2)) << measured.variant;
    for (Json const& tunnel : measured.facts["tunnels"]) {
      EXPECT_EQ(tunnel["created"], 777);
      EXPECT_EQ(tunnel["finished"], 777);
      EXPECT_EQ(tunnel["batches"].get<int>() > 0, tunnel["movement"] == "dma") << tunnel.dump();
    }
  }
}

TEST(TunnelBench, FindsEveryPlantedErrorInEveryVariant) {
  for (char const* plant : {"lose", "duplicate", "alter"}) {
    for (char const* bytes : {"4", "16", "4096"})
      expect_each_found(run_small("tunnel", {"--plant", plant, "--item-bytes", bytes, "--threads", "2"}));
  }
}

TEST(TunnelBench, RefusesWhatItDoesNotHave) {
  auto const refused = [](std::vector<std::string> const& arguments, std::string const& text) {
    try {
      (void)run_small("tunnel", arguments);
      FAIL() << "taken";
    } catch (cli::BadInput const& error) {
      EXPECT_THAT(error.what(), HasSubstr(text));
    }
  };
  refused({"--flow", "sideways"}, "--flow: no flow sideways");
  refused({"--item-bytes", "5"}, "--item-bytes: 4, 12, 16, 64 or 4096, not 5");
  refused({"--movement", "magic"}, "--movement: no movement magic");
  refused({"--movement", "none"}, "needs a GPU");
  refused({"--plant", "swap"}, "--plant: lose, duplicate or alter, not swap");
  refused({"--threads-per-block", "33"}, "whole warps");
  refused({"--batch-bytes", "1"}, "--batch-bytes");
}

TEST(MovementBench, SetsDmaBesideDirectForEveryDirectionAndSize) {
  std::vector<Row> const rows = run_small("movement", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(3 * 5 * 2 + 5));
  for (Row const& row : rows) {
    EXPECT_TRUE(row.what.contains("item_bytes") && row.what.contains("direction")) << row.what.dump();
    EXPECT_EQ(row.beside, "direct");
    EXPECT_EQ(row.measured[0].variant, "direct");
    EXPECT_EQ(row.measured[1].variant, "dma");
  }
}

/// What bench movement would have measured: direct `items` million items a second and a round trip of 10 us; dma 100,
/// and 20 us; both ways at once the four ways in turn.
std::vector<Row> measured_rows(double direct, std::vector<double> const& both) {
  std::vector<Row> rows;
  auto const add = [&](char const* direction, std::size_t bytes, char const* unit,
                       std::vector<std::pair<std::string, double>> const& medians) {
    Row row{{{"direction", direction}, {"item_bytes", bytes}}, unit, Better::more, "direct", {}};
    for (auto const& [variant, median] : medians) row.measured.push_back({.variant = variant, .median = median});
    rows.push_back(std::move(row));
  };
  for (std::size_t const bytes : item_sizes) {
    for (char const* const direction : {"cpu_to_gpu", "gpu_to_cpu"}) {
      add(direction, bytes, "items/s", {{"direct", direct * 1e6}, {"dma", 100e6}});
      add(direction, bytes, "us", {{"direct", 10}, {"dma", 20}});
    }
    std::vector<std::pair<std::string, double>> medians;
    for (std::size_t i = 0; i < both_ways.size(); ++i) medians.emplace_back(both_ways[i].variant, both[i] * 1e6);
    add("both", bytes, "items/s", medians);
  }
  return rows;
}

std::vector<std::pair<std::string, std::string>> movements(Json const& rows, std::string const& bus) {
  std::set<std::pair<std::string, std::string>> all;
  for (Json const& row : rows) {
    if (row["bus"] == bus) all.emplace(row["direction"], row["movement"]);
  }
  return {all.begin(), all.end()};
}

TEST(MovementTableOfABench, TakesWhatMovesMostAndOfEqualsTheShorterRoundTrip) {
  using Movements = std::vector<std::pair<std::string, std::string>>;
  Movements const direct{{"cpu_to_gpu", "direct"}, {"gpu_to_cpu", "direct"}};
  Movements const dma{{"cpu_to_gpu", "dma"}, {"gpu_to_cpu", "dma"}};
  Json const faster = movement_table(measured_rows(150, {50, 50, 60, 50}));
  EXPECT_THAT(faster, SizeIs(5 * 4));
  EXPECT_EQ(movements(faster, "one_way"), direct);
  EXPECT_EQ(faster[0]["because"], "direct 1.50 times dma in items a second");
  EXPECT_EQ(movements(faster, "both_ways"), (Movements{{"cpu_to_gpu", "dma"}, {"gpu_to_cpu", "direct"}}));
  Json const near = movement_table(measured_rows(95, {50, 54, 50, 50}));
  EXPECT_EQ(movements(near, "one_way"), direct);
  EXPECT_EQ(near[0]["because"], "direct 0.95 times dma in items a second; round trip 10.0 us, not 20.0");
  EXPECT_EQ(movements(near, "both_ways"), direct);
  Json const slower = movement_table(measured_rows(80, {50, 50, 50, 60}));
  EXPECT_EQ(movements(slower, "one_way"), dma);
  EXPECT_EQ(slower[0]["because"], "dma 1.25 times direct in items a second");
  EXPECT_EQ(movements(slower, "both_ways"), (Movements{{"cpu_to_gpu", "direct"}, {"gpu_to_cpu", "dma"}}));
}

/// What it would have measured between two devices, too: dma twice direct, in 5 us.
std::vector<Row> measured_between(std::vector<Row> rows) {
  for (std::size_t const bytes : item_sizes) {
    for (auto const& [unit, direct, dma] : {std::tuple{"items/s", 100.0, 200.0}, {"us", 2.0, 5.0}}) {
      Row row{{{"direction", "gpu_to_gpu"}, {"item_bytes", bytes}}, unit, Better::more, "direct", {}};
      row.measured.push_back({.variant = "direct", .median = direct});
      row.measured.push_back({.variant = "dma", .median = dma});
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

TEST(MovementTableOfABench, HasRowsBetweenDevicesWhereThereWereTwo) {
  Json const rows = movement_table(measured_between(measured_rows(80, {9, 9, 9, 9})));
  EXPECT_THAT(rows, SizeIs(5 * 5));
  EXPECT_EQ(movements(rows, "peer"), (std::vector<std::pair<std::string, std::string>>{{"gpu_to_gpu", "dma"}}));
  hiway::MovementTable const read("t", Json{{"rows", rows}}.dump());
  hiway::MovementChoice const choice = read.choose(hiway::Direction::gpu_to_gpu, 12, hiway::BusUse::peer);
  EXPECT_EQ(choice.movement, hiway::Movement::dma);
  EXPECT_EQ(choice.why, "t: up to 12 B between devices: dma 2.00 times direct in items a second");
  std::vector<Row> part = measured_between(measured_rows(80, {9, 9, 9, 9}));
  part.pop_back();
  EXPECT_THROW((void)movement_table(part), std::logic_error) << "all of them, or none";
}

TEST(MovementTableOfABench, IsOneThatTheLibraryReads) {
  Json const table{{"measured", {{"bench", "movement"}}}, {"rows", movement_table(measured_rows(80, {9, 9, 9, 9}))}};
  hiway::MovementTable const read("t", table.dump());
  EXPECT_EQ(read.choose(hiway::Direction::cpu_to_gpu, 65536, hiway::BusUse::one_way).why,
            "t: up to 65536 B to the device, bus used one way: dma 1.25 times direct in items a second");
}

TEST(MovementTableOfABench, HasAClassForEveryMeasuredSize) {
  ASSERT_EQ(classes.size(), std::size(item_sizes));
  for (std::size_t i = 0; i < classes.size(); ++i) EXPECT_EQ(classes[i].first, item_sizes[i]);
  EXPECT_EQ(classes.back().second, 65536U);
  std::vector<Row> rows = measured_rows(80, {9, 9, 9, 9});
  rows.pop_back();
  EXPECT_THROW((void)movement_table(rows), std::logic_error);
}

TEST(MovementBench, WritesNoTableOfEmulatedTimes) {
  auto const refused = [](std::vector<std::string> const& arguments) -> std::string {
    try {
      (void)run_small("movement", arguments);
    } catch (cli::BadInput const& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refused({"--write-table", "table.json"}),
            "--write-table: the emulated device's times are no speed; --device cuda:N is needed");
  EXPECT_FALSE(std::filesystem::exists("table.json"));
}

TEST(RoundTripBench, IsRightForOneWarpAndForABlockOnEverySm) {
  std::vector<Row> const rows = run_small("round-trip", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].what["blocks"], 1);
  EXPECT_GT(rows[1].what["blocks"], 1);
}

TEST(PeerBench, IsRightInEveryPart) {
  std::vector<Row> const rows = run_small("peer", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(6)) << "emulated: nothing stands beside what is asked";
  auto const variants = [&](std::size_t row) {
    std::vector<std::string> names;
    for (Measured const& measured : rows[row].measured) names.push_back(measured.variant);
    return names;
  };
  using testing::ElementsAre;
  EXPECT_THAT(variants(0),
              ElementsAre("direct, low latency", "direct", "dma", "direct, spans of a block", "dma, spans of a block"));
  for (std::size_t const row : {2U, 3U})
    EXPECT_THAT(variants(row), ElementsAre("direct, low latency", "direct", "dma")) << rows[row].what.dump();
  EXPECT_THAT(variants(1), ElementsAre("direct", "dma"));
  for (std::size_t const row : {4U, 5U})
    EXPECT_THAT(variants(row), ElementsAre("1 device", "2 devices", "4 devices")) << rows[row].what.dump();
  for (Row const& row : rows) {
    EXPECT_EQ(row.what["from"], "simt:0");
    EXPECT_EQ(row.what["to"], "simt:1");
  }
  for (std::size_t const row : {0U, 1U, 2U})
    EXPECT_THAT(rows[row].what["beside"].get<std::string>(), HasSubstr("needs a GPU"));
}

TEST(PeerBench, ItsItemsGoFromOneDeviceToAnother) {
  std::vector<Row> const rows = run_small("peer", {"--only", "once", "--items", "777", "--to", "3"});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].what["to"], "simt:3");
  for (Measured const& measured : rows[0].measured) {
    ASSERT_THAT(measured.facts["tunnels"], SizeIs(1)) << measured.variant;
    Json const& tunnel = measured.facts["tunnels"][0];
    EXPECT_EQ(tunnel["created"], 777);
    EXPECT_EQ(tunnel["movement"], measured.variant == "dma" ? "dma" : "direct");
    EXPECT_EQ(tunnel["batches"].get<int>() > 0, measured.variant == "dma") << "within a device nothing is copied";
  }
}

TEST(PeerBench, ItsChainsHaveATunnelFromEachDeviceToTheNext) {
  std::vector<Row> const rows = run_small("peer", {"--only", "chain"});
  ASSERT_THAT(rows, SizeIs(1));
  ASSERT_THAT(rows[0].measured, SizeIs(3));
  EXPECT_EQ(rows[0].measured[0].facts["tunnels"][0]["movement"], "memory");
  EXPECT_THAT(rows[0].measured[1].facts["tunnels"], SizeIs(1));
  EXPECT_THAT(rows[0].measured[2].facts["tunnels"], SizeIs(3));
  for (std::size_t const chain : {1U, 2U}) {
    for (Json const& tunnel : rows[0].measured[chain].facts["tunnels"]) EXPECT_EQ(tunnel["movement"], "direct");
  }
}

TEST(PeerBench, RefusesWhatItDoesNotHave) {
  auto const refused = [](std::vector<std::string> const& arguments) -> std::string {
    try {
      (void)run_small("peer", arguments);
    } catch (cli::BadInput const& error) {
      return error.what();
    }
    return "taken";
  };
  EXPECT_EQ(refused({"--to", "0"}), "--to: another device than simt");
  EXPECT_EQ(refused({"--to", "-1"}), "--to: the number of a device, not -1");
  EXPECT_EQ(refused({"--only", "all"}), "--only: stream, large, round-trip, once, chain or end, not all");
  EXPECT_EQ(refused({"--trips", "500001"}), "--trips: at most 500000");
  EXPECT_EQ(refused({"--threads-per-block", "33"}), "--threads-per-block: whole warps of 32");
}

TEST(PeerEcho, OfEverySizeIsRightAndFindsAnAlteredItem) {
  for (std::size_t const bytes : {4U, 12U, 64U, 4096U}) {
    for (hiway::Movement const movement : {hiway::Movement::direct, hiway::Movement::dma}) {
      EchoSetup setup{"simt", bytes, 1, 32, movement, movement};
      setup.to_device = 1;
      auto const echo = make_echo(setup);
      for (unsigned run = 0; run != 2; ++run) {
        RoundTrips const made = echo->run(20);
        EXPECT_THAT(made.wrong, IsEmpty()) << bytes;
        EXPECT_THAT(made.us, SizeIs(20));
      }
      EXPECT_THAT(echo->run(20, true).wrong, testing::Not(IsEmpty())) << bytes;
    }
  }
}

// A trip is from one arrival to the next, and the cycles wrap.
TEST(RallyTimes, AreSharesOfTheWholeTime) {
  std::vector<std::uint32_t> const came{0xffff'fff0U, 0xffff'fffaU, 20, 40, 50};  // 10, 26, 20, 10 cycles
  EXPECT_THAT(rally_times(came, 2, 33.0).us,
              testing::ElementsAre(testing::DoubleEq(5), testing::DoubleEq(10), testing::DoubleEq(13)));
  EXPECT_THAT(rally_times(came, 0, 33.0).us, SizeIs(4)) << "nobody knows when the first was sent";
  EXPECT_THAT(rally_times({}, 1, 0).us, IsEmpty());
}

Row peer_row(char const* measures, Better better, std::string const& beside,
             std::vector<std::pair<std::string, double>> const& medians) {
  Row row{{{"measures", measures}}, "items/s", better, beside, {}};
  for (auto const& [variant, median] : medians)
    row.measured.push_back({.variant = variant, .values = {median, 2 * median}, .median = median, .right = true});
  return row;
}

TEST(Asked, AreTheSharesOfTheFasterFloorAndTheShortestRoundTrip) {
  std::vector<Row> const rows =
      asked({peer_row(small_items, Better::more, "raw stores, full grid",
                      {{"raw stores, 64 blocks", 20}, {"raw stores, full grid", 10}, {"direct", 15}, {"dma", 3}}),
             peer_row(large_items, Better::more, "large copy", {{"large copy", 100}, {"direct", 50}, {"dma", 80}}),
             peer_row(there_and_back, Better::less, "raw ping-pong", {{"raw ping-pong", 1}, {"low", 2}, {"dma", 60}}),
             peer_row("every item once", Better::more, "direct", {{"direct", 1}, {"dma", 1}})});
  ASSERT_THAT(rows, SizeIs(3));
  std::vector<double> shares;
  for (Row const& row : rows) shares.push_back(row.measured.at(0).median);
  EXPECT_THAT(shares, testing::ElementsAre(0.75, 0.8, 2));
  EXPECT_THAT(rows[0].measured[0].values, testing::ElementsAre(0.75, 1.5));
  EXPECT_EQ(rows[0].unit, "of raw stores, 64 blocks");
  EXPECT_EQ(rows[0].what["asked"], "at least 0.7");
  EXPECT_EQ(rows[0].measured[0].variant, "direct");
  EXPECT_EQ(rows[0].measured[0].facts["as_asked"], true);
  EXPECT_EQ(rows[1].measured[0].variant, "dma");
  EXPECT_EQ(rows[1].measured[0].facts["as_asked"], false);
  EXPECT_EQ(rows[2].measured[0].variant, "low");
  EXPECT_EQ(rows[2].what["asked"], "at most 2.6");
  EXPECT_DOUBLE_EQ(rows[2].measured[0].facts["beside_what_is_asked"], 1.3);
}

TEST(Asked, WithoutAFloorThereIsNoShare) {
  EXPECT_THAT(asked({peer_row(small_items, Better::more, "", {{"direct", 15}}),
                     peer_row(there_and_back, Better::less, "", {{"direct", 2}})}),
              IsEmpty());
}

TEST(EndDetectionBench, IsRightForALineAndForACycle) {
  std::vector<Row> const rows = run_small("end-detection", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(2));
}

// The end of a scope, scopes beside none (64 open, 4,096), puts at an open inlet (of one thread, of several), a
// service's requests, a stream in order, one request at a time.
TEST(ServicesBench, IsRight) {
  std::vector<Row> const rows = run_small("services", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(8));
}

TEST(PollingBench, IsRightAloneAndBesideAPipeline) {
  std::vector<Row> const rows = run_small("polling", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(rows[0].measured, SizeIs(2));
}

// Without a GPU: a stream of one stage and of three, many stages beside one, a request after a rest.
TEST(GuestBench, IsRight) {
  std::vector<Row> const rows = run_small("guest", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(4));
}

// Without a GPU nothing stands beside it.
TEST(BatchBench, IsRightAndFindsItsPlantedErrors) {
  std::vector<Row> const rows = run_small("batch", {});
  EXPECT_THAT(first_wrong(rows), IsEmpty());
  EXPECT_THAT(rows, SizeIs(4));
  for (char const* plant : {"lose", "duplicate", "alter"}) {
    std::vector<Row> const planted = run_small("batch", {"--plant", plant});
    EXPECT_FALSE(planted[0].measured[0].right) << plant;
    EXPECT_FALSE(planted[1].measured[0].right) << plant;
  }
}

TEST(TunnelsBenches, FindTheirPlantedErrors) {
  for (char const* name : {"movement", "round-trip", "peer", "end-detection", "polling", "guest"}) {
    SCOPED_TRACE(name);
    expect_each_found(run_small(name, {"--plant"}));
  }
}

TEST(RawCuda, IsNotThereForTheEmulatedDevice) { EXPECT_EQ(raw_cuda("simt"), nullptr); }

}  // namespace
}  // namespace bench
