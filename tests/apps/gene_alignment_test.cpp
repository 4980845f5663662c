// Gene alignment: the stage code against the serial oracle, and the oracle against cases computed by
// hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gene_alignment/input.hpp"
#include "gene_alignment/methods.hpp"
#include "gene_alignment/stages.hpp"
#include "gene_alignment/summary.hpp"
#include "tests/apps/bases.hpp"
#include "tests/apps/files.hpp"

namespace gene_alignment {

// Found by GoogleTest through the type's namespace.
void PrintTo(Alignment const& a, std::ostream* out) {
  *out << "{position " << a.position << ", similarity " << a.similarity << ", target_index " << a.target_index << "}";
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// ---- coarse matching

std::vector<std::int32_t> coarse_matches(Sequence const& target, Sequence const& query) {
  std::vector<std::uint32_t> const seeds = make_seeds(query);
  CoarseProblem const problem{target.data(),
                              query.data(),
                              seeds.data(),
                              static_cast<std::int32_t>(target.size()),
                              static_cast<std::int32_t>(query.size()),
                              static_cast<std::int32_t>(seeds.size())};
  std::vector<std::int32_t> positions;
  for (std::int32_t p = 0; p < coarse_positions(problem.target_bases, problem.query_bases); ++p) {
    if (coarse_match(problem, p)) positions.push_back(p);
  }
  return positions;
}

TEST(CoarseMatch, FindsElevenEqualBasesAnywhereInTheQuery) {
  //                             0         1         2
  //                             0123456789012345678901234
  Sequence const target = bases("TTACGTACGGTCATTTTTTTTTTTT");
  EXPECT_THAT(coarse_matches(target, bases("ACGTACGGTCA")), ElementsAre(2));
  EXPECT_THAT(coarse_matches(target, bases("GGGGACGTACGGTCAG")), ElementsAre(2));
  EXPECT_THAT(coarse_matches(target, bases("ACGTACGGTCG")), ElementsAre());  // ten of them
}

TEST(CoarseMatch, LeavesOutTheLastPositionWhereASeedFits) {
  EXPECT_THAT(coarse_matches(bases("ACGTACGGTCAT"), bases("ACGTACGGTCA")), ElementsAre(0));
  EXPECT_THAT(coarse_matches(bases("TACGTACGGTCA"), bases("ACGTACGGTCA")), ElementsAre());
  EXPECT_THAT(coarse_matches(bases("ACGTACGGTCA"), bases("ACGTACGGTCA")), ElementsAre());
}

TEST(CoarseMatch, NeverMatchesAnUnknownBase) {
  EXPECT_THAT(coarse_matches(bases("ACGTACNGTCATT"), bases("ACGTACGGTCA")), ElementsAre());
  EXPECT_THAT(coarse_matches(bases("ACGTACGGTCATT"), bases("ACGTACNGTCA")), ElementsAre());
  EXPECT_THAT(coarse_matches(bases("ACGTACNGTCATT"), bases("ACGTACNGTCA")), ElementsAre());
  EXPECT_THAT(coarse_matches(bases("NNNNNNNNNNNNN"), bases("NNNNNNNNNNN")), ElementsAre());
  // T has the highest code: eleven of them are the highest word, and not the mark of an unknown one.
  EXPECT_THAT(coarse_matches(bases("TTTTTTTTTTTTN"), bases("TTTTTTTTTTTN")), ElementsAre(0, 1));
}

TEST(CoarseMatch, AllowsOneMismatchWithAQueryShorterThanASeed) {
  EXPECT_THAT(coarse_matches(bases("ACGTAGGAACGA"), bases("ACG")), ElementsAre(0, 4, 8));  // AGG has one mismatch
  EXPECT_THAT(coarse_matches(bases("ANGNNGA"), bases("ACG")), ElementsAre(0));             // an N is a mismatch
  EXPECT_THAT(coarse_matches(bases("ACGT"), bases("A")), ElementsAre(0, 1, 2));
  EXPECT_THAT(coarse_matches(bases("ACGTACGTAC"), bases("ACGTACGTAC")), ElementsAre());
  EXPECT_THAT(coarse_matches(bases("ACGTACGTACA"), bases("ACGTTCGTAC")), ElementsAre(0));
}

// ---- fine matching

/// The stage code's answer, after the oracle has given the same.
Alignment fine(std::string_view target, std::string_view query, std::int32_t position = 0) {
  Alignment const oracle = reference_fine_match(bases(target), bases(query), position);
  Alignment const stage = fine_match(bases(target), bases(query), Match{position});
  EXPECT_EQ(stage, oracle) << query << " in " << target << " at " << position;
  return oracle;
}

TEST(FineMatch, ScoresOneBase) {
  EXPECT_EQ(fine("A", "A"), (Alignment{0, 4, 0}));
  EXPECT_EQ(fine("C", "A"), (Alignment{0, -1, 0}));
  EXPECT_EQ(fine("N", "N"), (Alignment{0, -1, 0}));
}

TEST(FineMatch, AddsUpAlongTheDiagonal) {
  EXPECT_EQ(fine("AC", "AC"), (Alignment{0, 8, 0}));
  EXPECT_EQ(fine("TTACGTAA", "ACGT", 2), (Alignment{2, 16, 2}));
  EXPECT_EQ(fine("ACGNACGN", "ACGNACGN"), (Alignment{0, 6 * 4 - 2, 0}));
}

TEST(FineMatch, DoesNotAccumulateItsBorders) {
  // Rows GA, columns AA: (1,0) is the match's 4, although nothing before it matched; (1,1) is max(4-2, -1+4, -1-2) = 3.
  EXPECT_EQ(fine("AA", "GA"), (Alignment{0, 4, 0}));
}

TEST(FineMatch, BeginsWhereTheTracebackMeetsTheFirstRow) {
  // The query's bases lie three columns to the right: no gap is paid for, row 0 is a border.
  EXPECT_EQ(fine("TTTACGAT", "ACGACCCC"), reference_fine_match(bases("TTTACGAT"), bases("ACGACCCC"), 0));
  EXPECT_EQ(fine("GGGAACC", "AACCTTT").target_index, 3);
}

TEST(FineMatch, PaysForAGap) {
  // ACGTACGT with one base more in the target: eight matches, one gap.
  EXPECT_EQ(fine("ACGTTACGT", "ACGTACGTA").target_index, 0);
  // Rows ACGT, columns ACT(T): the G is skipped. A and C 8, gap 6, T 10.
  EXPECT_EQ(fine("ACTG", "ACGT"), (Alignment{0, 10, 0}));
}

TEST(FineMatch, StopsAtTheTargetsEnd) {
  EXPECT_EQ(fine("TTTTAC", "ACGT", 4), (Alignment{4, 4, 4}));  // A, C match; both gaps are paid: 8 - 4
}

TEST(FineMatch, AgreesWithTheOracleOnRandomInput) {
  unsigned const seed =
      std::getenv("HIWAY_SEED") != nullptr ? static_cast<unsigned>(std::atoi(std::getenv("HIWAY_SEED"))) : 1U;
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed));
  std::mt19937 random{seed};
  for (int round = 0; round < 3000; ++round) {
    // Few letters: many ties. Five: unknown bases on both sides.
    auto const letter_count = static_cast<unsigned>(1 + random() % 5);
    auto const first_letter = static_cast<unsigned>(random() % (6 - letter_count));
    auto const draw = [&](std::size_t length) {
      Sequence sequence(length);
      for (Base& base : sequence) base = static_cast<Base>(first_letter + random() % letter_count);
      return sequence;
    };
    Sequence const query = draw(1 + random() % (round % 50 == 0 ? 300 : 40));
    Sequence const target = draw(query.size() + random() % 60);
    auto const position = static_cast<std::int32_t>(random() % target.size());
    ASSERT_EQ(fine_match(target, query, Match{position}), reference_fine_match(target, query, position))
        << letters(query) << " in " << letters(target) << " at " << position;
  }
}

TEST(FineMatch, HoldsTheScoresOfLongQueries) {
  // 16-bit numbers up to 8,000 bases, 32-bit ones from there on: the highest score, then the lowest, on both sides.
  for (std::int64_t const length : {8000, 8001, 9000}) {
    Sequence const target = random_sequence(length, 3);
    EXPECT_EQ(fine_match(target, target, Match{0}), (Alignment{0, static_cast<std::int32_t>(4 * length), 0}));
    Sequence const other(target.size(), Base::n);
    EXPECT_EQ(fine_match(target, other, Match{0}).similarity, -1);  // column 0 of the last row: a border
  }
  Sequence const target = random_sequence(8100, 4);
  Sequence const query = cut_query(target, 50, 8050, 0.2, 5);
  EXPECT_EQ(fine_match(target, query, Match{30}), reference_fine_match(target, query, 30));
}

TEST(FineMatch, MayBeCalledWithShorterQueriesAfterLongerOnes) {
  Sequence const target = random_sequence(500, 6);
  for (std::int64_t const length : {300, 7, 120, 1}) {
    Sequence const query = random_sequence(length, 7);
    EXPECT_EQ(fine_match(target, query, Match{100}), reference_fine_match(target, query, 100)) << length;
  }
}

// ---- the summary

TEST(Summary, OfNothingIsTheChecksumsOffset) {
  Summary const summary = summarize({});
  EXPECT_EQ(summary.coarse_matches, 0);
  EXPECT_FALSE(summary.first.has_value());
  EXPECT_EQ(summary.matches_checksum, 0xcbf29ce484222325U);
}

TEST(Summary, IsFnv1aOverFourBytesANumberInAscendingPosition) {
  EXPECT_EQ(summarize({{1, -2, 3}}).matches_checksum, 0xfac75d3b44ed1fb2U);
  Summary const summary = summarize({{4, 5, 6}, {1, -2, 3}});  // any order
  EXPECT_EQ(summary.matches_checksum, 0xa53e37b992f45795U);
  EXPECT_EQ(summary.coarse_matches, 2);
  EXPECT_EQ(summary.similarity_sum, 3);
  EXPECT_EQ(summary.first, (Alignment{1, -2, 3}));
}

TEST(Summary, DiffersWhenOneNumberDoes) {
  Summary const summary = summarize({{1, 2, 3}, {4, 5, 6}});
  EXPECT_NE(summary, summarize({{1, 2, 3}, {4, 5, 7}}));
  EXPECT_NE(summary, summarize({{1, 2, 3}, {4, 6, 6}}));
  EXPECT_NE(summary, summarize({{1, 2, 3}, {5, 5, 6}}));
  EXPECT_NE(summary, summarize({{1, 2, 3}}));
}

// ---- the input

using InputOf = Files;

std::string input_complaint(InputOptions const& options) {
  return complaint([&] { (void)make_input(options); });
}

TEST_F(InputOf, NoOptionIsARandomTargetAndAPieceOfIt) {
  Input const input = make_input({});
  EXPECT_EQ(input.target.size(), static_cast<std::size_t>(default_target_length));
  EXPECT_EQ(input.query.size(), static_cast<std::size_t>(default_query_length));
  EXPECT_FALSE(reference_alignments(input.target, input.query).empty());
}

TEST_F(InputOf, OneSeedIsTheSameEverywhere) {
  EXPECT_EQ(random_sequence(100, 1), random_sequence(100, 1));
  EXPECT_NE(random_sequence(100, 1), random_sequence(100, 2));
  EXPECT_EQ(letters(random_sequence(16, 1)), "AACACTCAGGAGTACA");
}

TEST_F(InputOf, APieceOfTheTargetIsCutAndMutated) {
  Sequence const target = random_sequence(2000, 1);
  Sequence const same = cut_query(target, 100, 1000, 0, 1);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), target.begin() + 100));
  auto const changed = [&](double rate) {
    Sequence const query = cut_query(target, 100, 1000, rate, 1);
    int count = 0;
    for (std::size_t i = 0; i < query.size(); ++i) count += query[i] == target[100 + i] ? 0 : 1;
    return count;
  };
  EXPECT_EQ(changed(1), 1000);
  EXPECT_GT(changed(0.1), 60);
  EXPECT_LT(changed(0.1), 140);
  EXPECT_EQ(letters(cut_query(bases("NNN"), 0, 3, 1, 1)), "NNN");
}

TEST_F(InputOf, FilesAreReadAndNotedWhenTheyHoldMore) {
  std::string const target = plain("t.fa", ">t\nACGTACGT\n>u\nA\n");
  Input const input = make_input({.target_file = target, .query_file = plain("q.fa", ">q\nACG\n")});
  EXPECT_EQ(letters(input.target), "ACGTACGT");
  EXPECT_EQ(letters(input.query), "ACG");
  EXPECT_THAT(input.notes, ElementsAre(target + ": 2 records, only the first ('t') is used"));
  EXPECT_EQ(letters(make_input({.target_file = target, .query_length = 3, .query_at = 2}).query), "GTA");
}

TEST_F(InputOf, OptionsThatDoNotFitTogetherAreRefused) {
  EXPECT_THAT(input_complaint({.target_file = "t", .pair_file = "p"}), HasSubstr("--pair brings query and target"));
  EXPECT_EQ(input_complaint({.target_file = "t", .target_length = 5}),
            "--target and --target-length exclude each other");
  EXPECT_EQ(input_complaint({.query_file = "q"}), "--query needs --target");
  EXPECT_EQ(input_complaint({.target_file = "t"}), "--target needs --query, or --query-at with --query-length");
  EXPECT_EQ(input_complaint({.target_file = "t", .query_length = 5}),
            "--target needs --query, or --query-at with --query-length");
  EXPECT_EQ(input_complaint({.target_file = "t", .query_file = "q", .query_at = 5}),
            "--query goes with neither --query-length nor --query-at");
  EXPECT_EQ(input_complaint({.target_length = 100, .query_at = 5}), "--query-at needs --query-length");
  EXPECT_EQ(input_complaint({.mutate = 0.5}), "--mutate needs --query-at");
}

TEST_F(InputOf, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(input_complaint({.target_length = 0}), "--target-length must be 1 to 2000000000: 0");
  EXPECT_EQ(input_complaint({.target_length = 3'000'000'000}), "--target-length must be 1 to 2000000000: 3000000000");
  EXPECT_EQ(input_complaint({.query_length = -1}), "--query-length must be 1 to 2000000000: -1");
  EXPECT_EQ(input_complaint({.query_length = 1, .query_at = -1}), "--query-at must be 0 or more: -1");
  EXPECT_EQ(input_complaint({.query_length = 1, .query_at = 1, .mutate = 1.5}), "--mutate must be 0 to 1: 1.5");
  EXPECT_EQ(input_complaint({.target_length = 100, .query_length = 51, .query_at = 50}),
            "--query-at 50 --query-length 51: reaches beyond the target's 100 bases");
  EXPECT_EQ(input_complaint({.target_length = 10, .query_length = 11}),
            "the query (11 bases) is longer than the target (10 bases)");
  EXPECT_EQ(input_complaint({.pair_file = plain("p", "ACG\nAC\n")}),
            "the query (3 bases) is longer than the target (2 bases)");
}

// ---- the methods, on the emulated device

void expect_every_method_agrees(Sequence const& target, Sequence const& query, unsigned repeat = 1) {
  Input const input{target, query, {}};
  Job const job{.device = "simt", .repeat = repeat};
  Summary const oracle = summarize(reference_alignments(target, query));
  using Method = std::vector<Measurement> (*)(Input const&, Job const&);
  for (Method const method : {Method{[](Input const&i, Job const&j) { return run_hiway(i, j); }},
                              Method{[](Input const&i, Job const&j) { return run_hiway(i, j, Cross::all); }},
                              Method{[](Input const&i, Job const&j) { return run_paper(i, j); }},
                              Method{[](Input const&i, Job const&j) { return run_paper(i, j, Cross::all); }},
                              Method{run_baseline}, Method{run_reference}}) {
    std::vector<Measurement> const runs = method(input, job);
    ASSERT_EQ(runs.size(), repeat);
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary, oracle);
      EXPECT_GT(run.seconds, 0);
    }
  }
}

TEST(EveryMethod, FindsAMutatedPieceAndMayRunAgain) {
  Sequence const target = random_sequence(5000, 1);
  expect_every_method_agrees(target, cut_query(target, 2000, 200, 0.05, 2), 3);
}

TEST(EveryPosition, CrossesIfThatIsAskedFor) {
  Sequence const target = random_sequence(3000, 1);
  Input const input{target, cut_query(target, 1000, 100, 0.05, 2), {}};
  Job const job{.device = "simt"};
  auto const positions = static_cast<std::uint64_t>(3000 - seed_bases);
  Measurement const paper = run_paper(input, job, Cross::all).front();
  EXPECT_EQ(paper.items, positions);
  auto const matches = static_cast<std::uint64_t>(paper.summary.coarse_matches);
  EXPECT_EQ(run_hiway(input, job, Cross::all).front().items, positions + matches);  // matches cross once more
  EXPECT_EQ(run_paper(input, job, Cross::matches).front().items, matches);
  EXPECT_EQ(run_hiway(input, job, Cross::matches).front().items, 2 * matches);
}

TEST(SeveralGpus, FindWhatOneFinds) {
  Sequence const target = random_sequence(3000, 7);
  for (unsigned const gpus : {2U, 3U}) {
    for (Sequence const& query :
         {cut_query(target, 1450, 120, 0.05, 8), Sequence(target.begin(), target.begin() + 7)}) {
      Input const input{target, query, {}};
      Job const job{.device = "simt", .repeat = 2, .gpus = gpus};
      for (Measurement const& run : run_hiway(input, job))
        EXPECT_EQ(run.summary, summarize(reference_alignments(target, query)));
    }
  }
}

TEST(EveryMethod, FindsNothingWhereNothingIs) {
  expect_every_method_agrees(Sequence(3000, Base::a), Sequence(100, Base::c));
}

TEST(EveryMethod, FindsMoreThanATunnelHolds) {
  expect_every_method_agrees(Sequence(2500, Base::a), Sequence(12, Base::a));
}

TEST(EveryMethod, TakesQueriesShorterThanASeed) {
  expect_every_method_agrees(random_sequence(2200, 3), random_sequence(5, 4));
  expect_every_method_agrees(random_sequence(1030, 3), random_sequence(1, 4));
}

TEST(EveryMethod, TakesUnknownBases) {
  Sequence target = random_sequence(3000, 5);
  std::mt19937 random{6};
  for (Base& base : target) base = random() % 40 == 0 ? Base::n : base;
  expect_every_method_agrees(target, cut_query(target, 900, 300, 0.02, 7));
}

TEST(EveryMethod, TakesATargetAsLongAsTheQuery) {
  expect_every_method_agrees(bases("ACGTACGTACGTACGT"), bases("ACGTACGTACGTACGT"));
  expect_every_method_agrees(bases("ACGTACGTACG"), bases("ACGTACGTACG"));  // no position at all
  expect_every_method_agrees(bases("A"), bases("A"));
}

// Seeds at a chunk's end reach into the next one, which the baseline has not copied yet.
TEST(EveryMethod, FindsSeedsAcrossTheBaselinesChunks) {
  Sequence target = random_sequence(4096, 8);
  Sequence const query = random_sequence(40, 9);
  for (std::size_t const chunk : {1024U, 2048U, 3072U})
    std::copy(query.begin(), query.end(), target.begin() + static_cast<std::ptrdiff_t>(chunk) - 20);
  expect_every_method_agrees(target, query);
}

}  // namespace
}  // namespace gene_alignment
