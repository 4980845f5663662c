// The table of Movement::automatic: which row is taken, and what is said about a file that is none.
#include "lib/movement_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "hiway/error.hpp"

namespace {

using namespace hiway;
using testing::HasSubstr;

std::string row(std::string const& direction, std::string const& bus, std::string const& bytes,
                std::string const& movement, std::string const& because = "of a test") {
  return R"({"direction": ")" + direction + R"(", "bus": ")" + bus + R"(", "up_to_bytes": )" + bytes +
         R"(, "movement": ")" + movement + R"(", "because": ")" + because + "\"}";
}
/// A table's text: rows for the four uses of the bus that the test does not care for, behind its own.
std::string table(std::vector<std::string> const& rows, std::vector<std::string> const& rest) {
  std::string text;
  for (auto const* part : {&rows, &rest}) {
    for (std::string const& r : *part) text += (text.empty() ? "" : ",\n") + r;
  }
  return "{\"rows\": [\n" + text + "\n]}\n";
}
std::vector<std::string> const all_direct{
    row("cpu_to_gpu", "one_way", "65536", "direct"), row("gpu_to_cpu", "one_way", "65536", "direct"),
    row("cpu_to_gpu", "both_ways", "65536", "direct"), row("gpu_to_cpu", "both_ways", "65536", "direct")};

TEST(MovementTable, TheSmallestRowThatHoldsTheItemIsTaken) {
  MovementTable const t(
      "t", table({row("cpu_to_gpu", "one_way", "16", "dma", "a"), row("cpu_to_gpu", "one_way", "4", "direct", "b"),
                  row("cpu_to_gpu", "both_ways", "16", "direct", "c"), row("gpu_to_cpu", "one_way", "8", "dma", "d")},
                 all_direct));
  auto const movement = [&](Direction direction, std::size_t bytes, BusUse bus) {
    return t.choose(direction, bytes, bus).movement;
  };
  using enum Direction;
  EXPECT_EQ(movement(cpu_to_gpu, 4, BusUse::one_way), Movement::direct);
  EXPECT_EQ(movement(cpu_to_gpu, 5, BusUse::one_way), Movement::dma);
  EXPECT_EQ(movement(cpu_to_gpu, 16, BusUse::one_way), Movement::dma);
  EXPECT_EQ(movement(cpu_to_gpu, 17, BusUse::one_way), Movement::direct);
  EXPECT_EQ(movement(cpu_to_gpu, 65536, BusUse::one_way), Movement::direct);
  EXPECT_EQ(movement(cpu_to_gpu, 5, BusUse::both_ways), Movement::direct);
  EXPECT_EQ(movement(gpu_to_cpu, 1, BusUse::one_way), Movement::dma);
  EXPECT_EQ(movement(gpu_to_cpu, 9, BusUse::one_way), Movement::direct);
  EXPECT_EQ(t.choose(cpu_to_gpu, 5, BusUse::one_way).why, "t: up to 16 B to the device, bus used one way: a");
  EXPECT_EQ(t.choose(gpu_to_cpu, 1, BusUse::both_ways).why,
            "t: up to 65536 B from the device, bus used both ways: of a test");
}

TEST(MovementTable, TheBuiltInOneHasARowForEveryItem) {
  MovementTable const t = MovementTable::built_in();
  for (Direction const direction : {Direction::cpu_to_gpu, Direction::gpu_to_cpu}) {
    for (BusUse const bus : {BusUse::one_way, BusUse::both_ways}) {
      for (std::size_t bytes = 1; bytes <= 65536; bytes *= 2) {
        MovementChoice const choice = t.choose(direction, bytes, bus);
        EXPECT_EQ(choice.movement, bus == BusUse::both_ways && bytes > 512 ? Movement::dma : Movement::direct);
        EXPECT_THAT(choice.why, HasSubstr("built-in table: up to "));
      }
    }
  }
}

std::string const largest_between = row("gpu_to_gpu", "peer", "65536", "dma", "of a link");

TEST(MovementTable, BetweenDevicesItsRowsAreTakenTheSameWay) {
  MovementTable const t("t", table({largest_between, row("gpu_to_gpu", "peer", "16", "direct", "small")}, all_direct));
  auto const choose = [&](std::size_t bytes) { return t.choose(Direction::gpu_to_gpu, bytes, BusUse::peer); };
  EXPECT_EQ(choose(16).movement, Movement::direct);
  EXPECT_EQ(choose(16).why, "t: up to 16 B between devices: small");
  EXPECT_EQ(choose(17).movement, Movement::dma);
  EXPECT_EQ(choose(65536).why, "t: up to 65536 B between devices: of a link");
  EXPECT_EQ(t.choose(Direction::cpu_to_gpu, 17, BusUse::one_way).movement, Movement::direct);
}

// What was written before there were such rows.
TEST(MovementTable, WithoutARowBetweenDevicesItIsDirectThere) {
  MovementTable const t("t", table({}, all_direct));
  for (std::size_t const bytes : {1U, 65536U}) {
    MovementChoice const choice = t.choose(Direction::gpu_to_gpu, bytes, BusUse::peer);
    EXPECT_EQ(choice.movement, Movement::direct);
    EXPECT_THAT(choice.why, testing::EndsWith(": nothing measured between devices"));
  }
}

TEST(MovementTable, TheBuiltInOneHasRowsBetweenDevices) {
  MovementTable const t = MovementTable::built_in();
  for (std::size_t bytes = 1; bytes <= 65536; bytes *= 2) {
    MovementChoice const choice = t.choose(Direction::gpu_to_gpu, bytes, BusUse::peer);
    EXPECT_EQ(choice.movement, bytes > 32 && bytes <= 512 ? Movement::dma : Movement::direct) << bytes;
    EXPECT_THAT(choice.why, HasSubstr("between devices: "));
  }
}

std::string refusal(std::string const& json) {
  try {
    MovementTable const t("t", json);
  } catch (ConfigError const& error) {
    return error.what();
  }
  ADD_FAILURE() << "taken: " << json;
  return "";
}

TEST(MovementTable, SaysWhatIsWrongAndWhere) {
  auto const with = [](std::string const& bad) { return refusal(table({bad}, all_direct)); };
  EXPECT_EQ(refusal(""), "line 1, column 1: not JSON: the text ends too early");
  EXPECT_EQ(refusal("{\"rows\": [}"), "line 1, column 11: not JSON: a value is needed");
  EXPECT_EQ(refusal("[]"), "line 1, column 1: an object is needed, not a list");
  EXPECT_EQ(refusal("{}"), "line 1, column 1: 'rows' is missing");
  EXPECT_EQ(refusal("{\"rows\": 1}"), "line 1, column 10: /rows: a list is needed, not an integer");
  EXPECT_EQ(refusal("{\"rows\": [], \"row\": []}"), "line 1, column 14: no key 'row' here: measured, rows");
  EXPECT_EQ(refusal("{\"rows\": []}"), "line 1, column 10: /rows: no row up to 65536 bytes for cpu_to_gpu, one_way");
  EXPECT_EQ(with("{}"), "line 2, column 1: /rows/0: 'direction' is missing");
  EXPECT_EQ(
      with(row("cpu_to_cpu", "one_way", "4", "dma")),
      "line 2, column 15: /rows/0/direction: 'cpu_to_gpu' or 'gpu_to_cpu' or 'gpu_to_gpu' is needed, not 'cpu_to_cpu'");
  EXPECT_THAT(with(row("cpu_to_gpu", "no_way", "4", "dma")),
              HasSubstr("/rows/0/bus: 'one_way' or 'both_ways' or 'peer' is needed"));
  EXPECT_THAT(with(row("cpu_to_gpu", "one_way", "4", "managed")),
              HasSubstr("/rows/0/movement: 'direct' or 'dma' is needed, not 'managed'"));
  EXPECT_EQ(with(row("gpu_to_gpu", "one_way", "65536", "dma")),
            "line 2, column 1: /rows/0: 'gpu_to_gpu' goes with 'peer', and nothing else does");
  EXPECT_EQ(with(row("cpu_to_gpu", "peer", "65536", "dma")),
            "line 2, column 1: /rows/0: 'gpu_to_gpu' goes with 'peer', and nothing else does");
  EXPECT_THAT(with(row("gpu_to_gpu", "peer", "4096", "dma")),
              HasSubstr("/rows: no row up to 65536 bytes for gpu_to_gpu, peer"));
  for (std::string const bytes : {"0", "-1", "65537"})
    EXPECT_THAT(with(row("cpu_to_gpu", "one_way", bytes, "dma")),
                HasSubstr("/rows/0/up_to_bytes: must be 1 to 65536, not " + bytes));
  EXPECT_THAT(with(row("cpu_to_gpu", "one_way", "1.5", "dma")), HasSubstr("/rows/0/up_to_bytes: an integer is needed"));
  EXPECT_THAT(with(row("cpu_to_gpu", "one_way", "4", "dma", "")), HasSubstr("/rows/0/because"));
  EXPECT_THAT(with(row("cpu_to_gpu", "one_way", "4", "dma", "\\n")), HasSubstr("/rows/0/because: a control character"));
  EXPECT_THAT(with(row("gpu_to_cpu", "one_way", "65536", "dma")),
              HasSubstr("line 4, column 1: /rows/2: this direction, bus and up_to_bytes are there twice"));
}

TEST(MovementTable, EveryUseOfTheBusNeedsARowForTheLargestItem) {
  for (std::size_t missing = 0; missing < all_direct.size(); ++missing) {
    std::vector<std::string> rows = all_direct;
    rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(missing));
    EXPECT_THAT(refusal(table({}, rows)), HasSubstr("/rows: no row up to 65536 bytes for ")) << missing;
  }
}

class MovementTableFile : public testing::Test {
 protected:
  ~MovementTableFile() override {
    unsetenv("HIWAY_MOVEMENT_TABLE");
    std::remove(path_.c_str());
  }
  std::string refusal_of(std::string const& path) {
    setenv("HIWAY_MOVEMENT_TABLE", path.c_str(), 1);
    try {
      (void)chosen_movement_table();
    } catch (ConfigError const& error) {
      return error.what();
    }
    ADD_FAILURE() << "taken: " << path;
    return "";
  }
  std::string path_ = testing::TempDir() + "movement_table_" + std::to_string(getpid()) + ".json";
};

TEST_F(MovementTableFile, TheEnvironmentNamesAnother) {
  unsetenv("HIWAY_MOVEMENT_TABLE");
  auto const why = [] { return chosen_movement_table().choose(Direction::cpu_to_gpu, 4, BusUse::one_way).why; };
  EXPECT_THAT(why(), HasSubstr("built-in table"));
  setenv("HIWAY_MOVEMENT_TABLE", "", 1);
  EXPECT_THAT(why(), HasSubstr("built-in table"));
  std::ofstream(path_) << table({}, all_direct);
  setenv("HIWAY_MOVEMENT_TABLE", path_.c_str(), 1);
  EXPECT_EQ(why(), "table " + path_ + ": up to 65536 B to the device, bus used one way: of a test");
}

TEST_F(MovementTableFile, WhatIsWrongIsSaidWithTheVariableAndTheFile) {
  EXPECT_EQ(refusal_of("/nowhere/table.json"),
            "HIWAY_MOVEMENT_TABLE: /nowhere/table.json: cannot be opened: No such file or directory");
  EXPECT_EQ(refusal_of("/"), "HIWAY_MOVEMENT_TABLE: /: is a directory");
  EXPECT_EQ(refusal_of("/dev/zero"), "HIWAY_MOVEMENT_TABLE: /dev/zero: is longer than 1 MiB: no table");
  std::ofstream(path_) << "{\n  \"rows\": 1}";
  EXPECT_EQ(refusal_of(path_),
            "HIWAY_MOVEMENT_TABLE: " + path_ + ": line 2, column 11: /rows: a list is needed, not an integer");
}

}  // namespace
