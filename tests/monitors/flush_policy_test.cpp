#include <gtest/gtest.h>

#include "monitors/flush_policy.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;

constexpr FlushState waiting{
    .pending_items = 3, .batch_items = 8, .item_bytes = 16, .capacity_items = 1024, .age = 10us, .flush_after = 50us};

TEST(FlushPolicy, WaitsForCompany) { EXPECT_EQ(decide_flush(waiting), FlushDecision::wait); }

TEST(FlushPolicy, NothingPendingNeverLeaves) {
  FlushState s = waiting;
  s.pending_items = 0;
  s.age = 1s;
  s.closing = true;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
}

TEST(FlushPolicy, LeavesAtTheThreshold) {
  FlushState s = waiting;
  s.pending_items = 7;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
  s.pending_items = 8;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

TEST(FlushPolicy, LeavesWhenOldEnough) {
  FlushState s = waiting;
  s.age = 49us;
  EXPECT_EQ(decide_flush(s), FlushDecision::wait);
  s.age = 50us;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

TEST(FlushPolicy, LeavesWhenNoCompanyWillCome) {
  FlushState s = waiting;
  s.closing = true;
  EXPECT_EQ(decide_flush(s), FlushDecision::flush);
}

struct Chosen {
  std::uint64_t item_bytes;
  std::uint64_t capacity_items;
  std::uint64_t under_way_items;
  std::uint64_t threshold;
};
constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t many = std::uint64_t{1} << 24;

TEST(FlushPolicy, ChoosesTheThresholdByWhatIsUnderWay) {
  Chosen const table[] = {
      // nothing under way: the first item leaves
      {16, many, 0, 1},
      {64 * kib, many, 0, 1},
      {16, 1, 0, 1},
      // copies under way: as much again, from 64 KiB to 256 KiB
      {1, many, 1, 64 * kib},
      {1, many, 64 * kib, 64 * kib},
      {1, many, 100 * kib, 100 * kib},
      {1, many, 256 * kib, 256 * kib},
      {1, many, 4096 * kib, 256 * kib},
      {16, many, 1, 4 * kib},
      {16, many, 8 * kib, 8 * kib},
      {16, many, many, 16 * kib},
      {12, many, 1, 64 * kib / 12},
      {64 * kib, many, 3, 3},
      {64 * kib, many, 8, 4},
      // never more than half the capacity, never less than an item
      {16, 1024, 1, 512},
      {16, 1024, 512, 512},
      {16, 3, 2, 1},
      {16, 1, 1, 1},
  };
  for (Chosen const& row : table) {
    FlushState s = waiting;
    s.batch_items = 0;
    s.item_bytes = row.item_bytes;
    s.capacity_items = row.capacity_items;
    s.under_way_items = row.under_way_items;
    EXPECT_EQ(flush_threshold(s), row.threshold)
        << row.item_bytes << " bytes an item, capacity " << row.capacity_items << ", under way " << row.under_way_items;
    s.pending_items = row.threshold;
    EXPECT_EQ(decide_flush(s), FlushDecision::flush);
    s.pending_items = row.threshold - 1;
    EXPECT_EQ(decide_flush(s), FlushDecision::wait);
  }
}

TEST(FlushPolicy, KeepsTheUsersThresholdWhateverIsUnderWay) {
  for (std::uint64_t under_way : {0u, 1u, 100'000u}) {
    FlushState s = waiting;
    s.under_way_items = under_way;
    EXPECT_EQ(flush_threshold(s), 8u);
  }
}

}  // namespace
