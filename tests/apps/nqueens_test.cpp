// N queens: the packed board, rows of boards, the known numbers, and that each method finds them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "nqueens/methods.hpp"

namespace nqueens {
namespace {

using Counts = std::vector<std::uint64_t>;

/// The squares that are free in the next row, each queen looked at by itself.
std::uint32_t free_by_queens(std::vector<std::uint32_t> const& queens, std::uint32_t n) {
  std::uint32_t free = 0;
  for (std::uint32_t column = 0; column < n; ++column) {
    bool attacked = false;
    for (std::size_t row = 0; row < queens.size(); ++row) {
      auto const down = static_cast<std::int32_t>(queens.size() - row);
      auto const across = static_cast<std::int32_t>(column) - static_cast<std::int32_t>(queens[row]);
      attacked = attacked || across == 0 || across == down || across == -down;
    }
    if (!attacked) free |= 1U << column;
  }
  return free;
}

TEST(Board, PacksWhatItsQueensAttack) {
  EXPECT_EQ(sizeof(Board), 8U);
  std::mt19937 random{5};
  for (std::uint32_t n = least_queens; n <= most_queens; ++n) {
    for (int round = 0; round < 2000; ++round) {
      // Queens that attack each other, too: any squares, edges as often as not.
      Board board{};
      std::vector<std::uint32_t> queens;
      for (std::uint32_t row = 0; row < n; ++row) {
        ASSERT_EQ(free_squares(board, n), free_by_queens(queens, n)) << n << ", row " << row;
        std::uint32_t const any = random() % n;
        std::uint32_t const column = random() % 2 == 0 ? any : any % 2 * (n - 1);
        queens.push_back(column);
        board = with_queen(board, 1U << column);
      }
    }
  }
}

TEST(Place, GivesEachFreeSquareOnceFromTheLowestOn) {
  Place<> const place{6};
  Board const board = with_queen(Board{}, 1U << 2);  // leaves 0, 4 and 5
  auto cursor = place.start(board);
  for (std::uint32_t const column : {0U, 4U, 5U}) {
    ASSERT_TRUE(place.more(board, cursor));
    EXPECT_EQ(place.next(board, cursor).bits, with_queen(board, 1U << column).bits);
  }
  EXPECT_FALSE(place.more(board, cursor));
}

TEST(QueensRows, HaveTheKnownNumbersOfBoards) {
  EXPECT_EQ(boards_of_row(16, 4).size(), 19'688U);
  EXPECT_EQ(boards_of_row(18, 4).size(), 36'264U);
  EXPECT_EQ(boards_of_row(12, 0).size(), 1U);
}

TEST(QueensReference, CountsTheBoardsOfEachRow) {
  Summary const twelve = run_reference({12}, {}).front().summary;  // by several threads
  EXPECT_EQ(twelve.boards, (Counts{1, 12, 110, 756, 4080, 16852, 52856, 120104, 195270, 222720, 160964, 68264, 14200}));
  Summary const eleven = run_reference({11}, {}).front().summary;  // by one
  for (std::uint32_t row = 0; row < 5; ++row) EXPECT_EQ(eleven.boards[row], boards_of_row(11, row).size()) << row;
}

TEST(QueensMethods, FindTheKnownSolutions) {
  Counts const known{2, 10, 4, 40, 92, 352, 724, 2680, 14200};
  for (std::uint32_t n = 4; n <= 12; ++n) {
    EXPECT_EQ(known_solutions(n), known[n - 4]);
    EXPECT_EQ(run_reference({n}, {}).front().summary.solutions, known[n - 4]) << n;
    for (Measurement const& run : run_baseline({n, n / 3}, {.device = "simt", .repeat = n == 8 ? 2U : 1U}))
      EXPECT_EQ(run.summary.solutions, known[n - 4]) << n;
  }
}
/// Method hiway in every form.
TEST(QueensMethods, OfSegmentsFindTheKnownSolutions) {
  for (Replica const replica : {Replica::warp, Replica::block}) {
    for (Nodes const nodes : {Nodes::lanes, Nodes::ensembles, Nodes::by_hand}) {
      for (bool const counts : {false, true}) {
        for (std::uint32_t const interruptible : {0U, 2U, 20U}) {
          Options const options{.interruptible = interruptible, .replica = replica, .nodes = nodes, .counts = counts};
          Measurement const run = run_hiway({8, 2}, options, {.device = "simt"}).front();
          EXPECT_EQ(run.summary.solutions, 92U);
          ASSERT_TRUE(run.segment);
          ASSERT_EQ(run.segment->nodes.size(), 6U);
          if (!counts) continue;
          // A board is an item of the node that places the next queen.
          std::vector<std::uint64_t> const boards = run_reference({8}, {}).front().summary.boards;
          for (std::uint32_t k = 0; k != 6; ++k) {
            EXPECT_EQ(run.segment->nodes[k].counters.items, boards[2 + k]) << k;
            EXPECT_EQ(run.segment->nodes[k].counters.outputs, boards[3 + k]) << k;
            // Some replicas' lanes are fuller than those of all together, and some are not.
            std::vector<double> const& of = run.segment->nodes[k].lanes_of_replicas;
            ASSERT_EQ(of.size(), 5U);
            EXPECT_TRUE(std::ranges::is_sorted(of));
            auto const& sum = run.segment->nodes[k].counters;
            double const all = static_cast<double>(sum.outputs) / static_cast<double>(sum.steps * run.segment->lanes);
            EXPECT_LE(of.front(), all + 1e-9) << k;
            EXPECT_GE(of.back(), all - 1e-9) << k;
          }
        }
      }
    }
    Options const by_tunnel{.replica = replica, .feed = Feed::tunnel};
    for (Measurement const& run : run_hiway({9, 3}, by_tunnel, {.device = "simt", .repeat = 2}))
      EXPECT_EQ(run.summary.solutions, 352U);
  }
}
TEST(QueensMethods, SeveralGpusFindAllSolutions) {
  for (Measurement const& run : run_hiway({9, 3}, {}, {.device = "simt", .repeat = 2, .gpus = 3}))
    EXPECT_EQ(run.summary.solutions, 352U);
  // One board for three.
  EXPECT_EQ(run_hiway({6, 0}, {}, {.device = "simt", .gpus = 3}).front().summary.solutions, 4U);
}
TEST(QueensMethods, OfSegmentsKeepToTheirMemory) {
  Options options{.interruptible = 0, .most_bytes = 1 << 20, .replicas = 1};
  Measurement const run = run_hiway({8, 2}, options, {.device = "simt"}).front();
  EXPECT_EQ(run.summary.solutions, 92U);
  EXPECT_LE(run.segment->queue_bytes, 1U << 20);
  options.most_bytes = 1000;
  EXPECT_THROW((void)run_hiway({8, 2}, options, {.device = "simt"}), hiway::ConfigError);
  options.most_bytes = 0;
  options.queue_bytes = 1000;  // a target: the least comes on top
  Measurement const above = run_hiway({8, 2}, options, {.device = "simt"}).front();
  EXPECT_EQ(above.summary.solutions, 92U);
  EXPECT_GT(above.segment->queue_bytes, 1000U);
  EXPECT_GT(above.segment->bloat_bytes, 0U);
}
TEST(QueensMethods, MayBeginInAnyRow) {
  for (std::uint32_t rows = 0; rows < 7; ++rows) {
    Measurement const run = run_baseline({7, rows}, {.device = "simt"}).front();
    EXPECT_EQ(run.summary.solutions, 40U) << rows;
    EXPECT_EQ(run.items, boards_of_row(7, rows).size()) << rows;
  }
}

TEST(QueensSummary, IsRightWhereAllThatIsKnownAgrees) {
  Summary const oracle = run_reference({6}, {}).front().summary;
  EXPECT_TRUE(is_right(oracle, 6, oracle));
  EXPECT_TRUE(is_right({4}, 6, oracle)) << "boards not counted";
  EXPECT_TRUE(is_right(oracle, 6, {})) << "no oracle";
  EXPECT_FALSE(is_right({5}, 6, oracle));
  EXPECT_FALSE(is_right({5}, 6, {}));
  Summary wrong = oracle;
  ++wrong.boards[3];
  EXPECT_FALSE(is_right(wrong, 6, oracle));
}
TEST(QueensSummary, KnowsUpToTwenty) {
  EXPECT_EQ(known_solutions(16), 14'772'512U);
  EXPECT_EQ(known_solutions(18), 666'090'624U);
  EXPECT_EQ(known_solutions(20), 39'029'188'884U);
}

}  // namespace
}  // namespace nqueens
