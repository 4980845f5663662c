// The benches of rings: they run on the emulated device and are right; every plant is found; the check finds each way
// to be wrong by itself, with and without a bitmap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <hiway/machine/thread_machine.hpp>

#include "bench/benches.hpp"
#include "bench/checked_items.hpp"
#include "bench/device_run.hpp"
#include "cli/bad_input.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"

namespace bench {
namespace {

using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

struct Ended {
  int code;
  std::string out, err;
};

Ended hiway_bench(std::vector<char const*> arguments) {
  arguments.insert(arguments.begin(), {"hiway", "bench"});
  arguments.insert(arguments.end(), {"--device", "simt", "--json"});
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int const code =
      cli::run_program(static_cast<int>(arguments.size()), arguments.data(), cli::all_commands({}, all_benches()));
  std::string out = testing::internal::GetCapturedStdout();
  return {code, std::move(out), testing::internal::GetCapturedStderr()};
}

std::vector<std::string> variants_of(Json const& row) {
  std::vector<std::string> names;
  for (Json const& measured : row["measured"]) names.push_back(measured["variant"]);
  return names;
}

TEST(RingBench, IsRightForEverySizeAndPattern) {
  Ended const ended = hiway_bench({"ring"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  Json const json = Json::parse(ended.out);
  EXPECT_EQ(json["right"], true);
  std::vector<std::string> rows;
  for (Json const& row : json["rows"]) {
    rows.push_back(row["what"]["pattern"].get<std::string>() + " " + row["what"]["item_bytes"].dump());
    EXPECT_THAT(variants_of(row), testing::IsSupersetOf({"hiway", "hiway-counted", "block", "block_scan", "automatic",
                                                         "per-thread", "warp"}));
    EXPECT_EQ(row["beside"], "warp");
    for (Json const& measured : row["measured"]) {
      for (char const* fact : {"bytes_a_slot", "capacity_items", "blocks", "threads", "items"})
        EXPECT_GT(measured["facts"][fact].get<int>(), 0) << fact;
    }
    if (row["what"]["pattern"] == "stream") {
      EXPECT_THAT(variants_of(row), Contains("barrier"));
    }
    if (row["what"]["item_bytes"] == 16) {
      EXPECT_THAT(variants_of(row), testing::IsSupersetOf({"span-4", "block-span"}));
    }
  }
  for (char const* wanted :
       {"each 4", "each 12", "each 16", "each 64", "stream 4", "stream 12", "stream 16", "stream 64"})
    EXPECT_THAT(rows, Contains(wanted));
}

TEST(RingBench, IsRightWhenTheRingIsFullMostOfTheTime) {
  EXPECT_EQ(
      hiway_bench({"ring", "--pattern", "stream", "--slots", "256", "--items", "65536", "--item-bytes", "16"}).code, 0);
}

TEST(ContentionBench, IsRightForPutsAndGets) {
  Ended const ended = hiway_bench({"contention"});
  ASSERT_EQ(ended.code, 0) << ended.err;
  std::vector<std::string> calls;
  Json const json = Json::parse(ended.out);
  for (Json const& row : json["rows"]) {
    calls.push_back(row["what"]["call"]);
    EXPECT_THAT(variants_of(row), testing::IsSupersetOf({"none", "warp", "block", "block_scan", "automatic"}));
    EXPECT_EQ(row["beside"], "none");
  }
  EXPECT_THAT(calls, testing::IsSupersetOf({"put", "get"}));
}

TEST(RingBench, EveryPlantIsFoundInEveryRowAndVariant) {
  for (char const* bench : {"ring", "contention"}) {
    for (char const* plant : {"lose", "duplicate", "swap"}) {
      Ended const ended = hiway_bench({bench, "--plant", plant});
      EXPECT_EQ(ended.code, 1) << bench << " " << plant;
      EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
      Json const json = Json::parse(ended.out);
      ASSERT_FALSE(json["rows"].empty());
      for (Json const& row : json["rows"]) {
        for (Json const& measured : row["measured"])
          EXPECT_EQ(measured["right"], false) << bench << " " << plant << " " << row["what"] << measured["variant"];
      }
    }
  }
}

TEST(RingBench, WrongOptionsAreNamed) {
  auto const refused = [](std::vector<char const*> arguments, char const* text) {
    Ended const ended = hiway_bench(std::move(arguments));
    EXPECT_EQ(ended.code, 2) << text;
    EXPECT_THAT(ended.out, IsEmpty());
    EXPECT_THAT(ended.err, HasSubstr(text));
    EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  };
  refused({"ring", "--plant", "steal"}, "--plant must be lose, duplicate or swap: steal");
  refused({"ring", "--pattern", "zigzag"}, "--pattern must be each, stream or all: zigzag");
  refused({"ring", "--item-bytes", "4,5"}, "--item-bytes must be 4, 12, 16 or 64: 5");
  refused({"ring", "--item-bytes", "many"}, "--item-bytes");
  refused({"ring", "--threads", "300"}, "--threads must be a multiple of 256: 300");
  refused({"ring", "--threads", "-256"}, "--threads must be 256 to");
  refused({"ring", "--slots", "1"}, "--slots must be 256 to");
  refused({"ring", "--items", "5"}, "--items must be 1024 to");
  refused({"contention", "--plant", "steal"}, "--plant must be lose, duplicate or swap: steal");
  refused({"contention", "--threads", "300"}, "--threads must be a multiple of 256: 300");
  refused({"contention", "--threads", "16384", "--items", "8192"}, "--items must be 16384 to");
}

// ---- the check

constexpr std::uint32_t total = 96;
constexpr std::uint32_t producers = 32;

/// What comes out, counted by one lane; marked or not.
template <unsigned Bytes>
std::string wrong_with(std::vector<Item<Bytes>> const& items, bool with_bitmap, RingPlant const& plant = {}) {
  std::vector<hiway::Word<std::uint32_t>> marked(with_bitmap ? total / 32 : 0);
  Check const check{nullptr, with_bitmap ? marked.data() : nullptr, total, plant};
  LaneTally tally;
  for (Item<Bytes> const& item : items) check.account(hiway::ThreadMachine{}, tally, item);
  std::vector<std::uint32_t> bits;
  for (auto const& word : marked) bits.push_back(word.bits);
  return wrong_in({tally}, bits, total, producers);
}

template <unsigned Bytes>
std::vector<Item<Bytes>> all_items(RingPlant const& plant = {}) {
  std::vector<Item<Bytes>> items;
  for (std::uint32_t id = 0; id < total; ++id) items.push_back(Check{nullptr, nullptr, total, plant}.make<Bytes>(id));
  return items;
}

TEST(CheckedItems, AllOfThemInAnyOrderAreRight) {
  std::vector<Item<16>> items = all_items<16>();
  std::ranges::reverse(items);
  EXPECT_EQ(wrong_with(items, true), "");
  EXPECT_EQ(wrong_with(items, false), "");
}

TEST(CheckedItems, ALostItemIsNamedWhereItIsMarked) {
  std::vector<Item<16>> items = all_items<16>();
  items.erase(items.begin() + 69);
  EXPECT_EQ(wrong_with(items, true), "item 2 of producer 5 is lost");
  EXPECT_EQ(wrong_with(items, false), "95 items came of 96");
}

TEST(CheckedItems, AnItemInThePlaceOfAnotherIsFound) {
  std::vector<Item<16>> items = all_items<16>();
  items[3] = items[4];
  EXPECT_EQ(wrong_with(items, true), "1 items came twice");
  EXPECT_EQ(wrong_with(items, false), "other items came than were put");
}

TEST(CheckedItems, IdsThatAddUpToTheSameAreFound) {
  std::vector<Item<4>> items = all_items<4>();
  items[10] = items[9];   // one less,
  items[20] = items[21];  // one more
  EXPECT_EQ(wrong_with(items, true), "2 items came twice");
  EXPECT_EQ(wrong_with(items, false), "other items came than were put");
}

TEST(CheckedItems, AnUnknownItemIsFound) {
  std::vector<Item<16>> items = all_items<16>();
  items[3] = make_item<16>(total);
  EXPECT_EQ(wrong_with(items, true), "1 items came that nobody put");
  EXPECT_EQ(wrong_with(items, false), "other items came than were put");
}

template <unsigned Bytes>
void every_torn_word_is_found() {
  for (unsigned word = 1; word < Bytes / 4; ++word) {
    std::vector<Item<Bytes>> items = all_items<Bytes>();
    items[3].words[word] = items[4].words[word];
    EXPECT_EQ(wrong_with(items, false), "1 items are not whole") << Bytes << " bytes, word " << word;
  }
}
TEST(CheckedItems, EveryTornWordIsFound) {
  every_torn_word_is_found<12>();
  every_torn_word_is_found<16>();
  every_torn_word_is_found<64>();
}

TEST(CheckedItems, APlantIsFoundWithoutABitmapToo) {
  for (char const* name : {"lose", "duplicate", "swap"}) {
    RingPlant const plant = plant_of(name);
    EXPECT_NE(wrong_with(all_items<4>(plant), false, plant), "") << name;
    EXPECT_NE(wrong_with(all_items<64>(plant), false, plant), "") << name;
  }
}

TEST(CheckedItems, NothingPutIsNotRight) { EXPECT_EQ(wrong_in({}, {}, 0, 1), "no item was put"); }

// ---- the device

struct StandStill {
  hiway::Control* control;
  HIWAY_DEVICE void operator()() const {
    hiway::on_this_device([&](auto m) {
      for (;;) {
        hiway::leave_if_aborted(m, *control);
        m.relax(0);
      }
    });
  }
};
struct Leave {
  HIWAY_DEVICE void operator()() const {}
};

TEST(DeviceRun, AKernelThatStandsStillIsNamedAndTheNextOneRuns) {
  DeviceRun run{"simt", std::chrono::milliseconds(500)};  // a busy machine may take 50 to run the one that leaves
  try {
    run.run("the kernel", StandStill{run.control()}, 2, 64);
    FAIL() << "nothing was thrown";
  } catch (StandsStill const& error) {
    EXPECT_STREQ(error.what(), "the kernel: the kernel stood still for 500 ms");
  }
  EXPECT_GE(run.run("the next", Leave{}, 2, 64), 0);
}

}  // namespace
}  // namespace bench
