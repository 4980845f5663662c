// What the applications of arrays share: which piece is next, how an array is cut into pieces, and with how many
// threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "arrays/carrying.hpp"
#include "arrays/piece.hpp"
#include "arrays/turns.hpp"
#include "tests/apps/files.hpp"

namespace arrays {
namespace {

using testing::ElementsAre;

TEST(Turns, GiveEachPieceOnceFromEitherEnd) {
  Turns turns;
  turns.begin(10);
  auto const is = [](Stretch stretch, std::uint32_t first, std::uint32_t count) {
    return stretch.first == first && stretch.count == count;
  };
  EXPECT_TRUE(is(turns.front(3), 0, 3));
  EXPECT_TRUE(is(turns.back(2), 8, 2));
  EXPECT_TRUE(is(turns.back(1), 7, 1));
  EXPECT_TRUE(is(turns.front(5), 3, 4)) << "as many as are left";
  EXPECT_EQ(turns.front(1).count, 0U);
  EXPECT_EQ(turns.back(1).count, 0U);
  turns.begin(1);
  EXPECT_TRUE(is(turns.back(4), 0, 1)) << "begun again";
  turns.begin(0);
  EXPECT_EQ(turns.front(1).count, 0U);
}

/// How often each piece was given to one of four threads, two of which take from the front.
std::vector<std::atomic<std::uint8_t>> given_to_threads(std::uint32_t pieces) {
  constexpr unsigned threads = 4;
  Turns turns;
  turns.begin(pieces);
  std::vector<std::atomic<std::uint8_t>> given(pieces);
  std::barrier all_are_there(threads);
  std::vector<std::jthread> all;
  for (unsigned t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      all_are_there.arrive_and_wait();
      for (Stretch s; (s = t % 2 == 0 ? turns.front(t + 1) : turns.back(t)).count != 0;)
        for (std::uint32_t i = 0; i < s.count; ++i) ++given[s.first + i];
    });
  }
  all.clear();
  return given;
}

// Several times: on a busy machine threads may take turns so seldom that nothing would go wrong.
TEST(Turns, GiveEachPieceOnceToThreads) {
  for (int round = 0; round < 8; ++round) {
    auto const given = given_to_threads(1'000'000);
    EXPECT_TRUE(std::ranges::all_of(given, [](auto const& times) { return times == 1; })) << round;
  }
}

TEST(Pieces, BringWhatIsBeforeThem) {
  std::vector<int> array(7);
  std::iota(array.begin(), array.end(), 1);
  Piece<int, 3, 2> piece{};
  cut(piece, 0, std::span<int const>(array));
  EXPECT_THAT(piece.all, ElementsAre(0, 0, 1, 2, 3));
  cut(piece, 1, std::span<int const>(array));
  EXPECT_THAT(piece.all, ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(piece.first, 3U);
  cut(piece, 2, std::span<int const>(array));
  EXPECT_THAT(std::span(piece.all).first(3), ElementsAre(5, 6, 7));
  EXPECT_EQ(piece.count, 1U);
}

// The history may be longer than the array before the piece.
TEST(Pieces, AreShorterThanWhatIsBeforeThem) {
  std::vector<int> const array{1, 2, 3};
  Piece<int, 2, 5> piece{};
  cut(piece, 1, std::span<int const>(array));
  EXPECT_THAT(std::span(piece.all).first(6), ElementsAre(0, 0, 0, 1, 2, 3));
}

TEST(Pieces, AreKeptInTheirPlace) {
  std::vector<int> array(7, -1);
  keep(Piece<int, 3>{.all = {1, 2, 3}, .first = 3, .count = 3}, std::span(array));
  keep(Piece<int, 3>{.all = {4, 9, 9}, .first = 6, .count = 1}, std::span(array));
  EXPECT_THAT(array, ElementsAre(-1, -1, -1, 1, 2, 3, 4));
}

TEST(Carrying, RefusesWhatIsOutOfRange) {
  auto const error_of = [](Carrying const& carrying) { return complaint([&] { carrying.check(); }); };
  EXPECT_NO_THROW(Carrying{}.check());
  EXPECT_EQ(error_of({.feeders = 1025}), "--feeders must be 0 to 1024: 1025");
  EXPECT_EQ(error_of({.takers = 1025}), "--takers must be 0 to 1024: 1025");
  EXPECT_EQ(error_of({.batch = 4097}), "--batch must be 0 to 4096: 4097");
  EXPECT_EQ(error_of({.least_batch = 0}), "--least-batch must be 1 to 4096: 0");
  EXPECT_EQ(error_of({.in_flight = 0}), "--in-flight must be 1 to 64: 0");
}

TEST(Carrying, IsAsAskedAndHasAThreadOfEachKind) {
  Carriers const asked = carriers_there_and_back({.feeders = 5, .takers = 7, .batch = 6, .least_batch = 9}, "simt");
  EXPECT_EQ(asked.feeders.threads, 5U);
  EXPECT_EQ(asked.takers.threads, 7U);
  EXPECT_EQ(asked.batches.max_items, 6U);
  EXPECT_EQ(asked.batches.min_items, 6U) << "not more than a batch has";
  Carriers const by_cpus = carriers_there_and_back({}, "simt", 1000);
  EXPECT_EQ(by_cpus.feeders.threads, 1U);
  EXPECT_EQ(by_cpus.takers.threads, 1U);
}

}  // namespace
}  // namespace arrays
