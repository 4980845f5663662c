// BLAST: the oracle against cases worked out by hand, the node functions and the methods against the oracle, and what it reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ostream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "blast/input.hpp"
#include "blast/methods.hpp"
#include "blast/packed.hpp"
#include "blast/problem.hpp"
#include "blast/query_table.hpp"
#include "blast/stages.hpp"
#include "blast/summary.hpp"
#include "hiway/segment/compose.hpp"
#include "tests/apps/bases.hpp"
#include "tests/apps/files.hpp"

namespace blast {

// Found by GoogleTest through the type's namespace.
void PrintTo(Hit const& hit, std::ostream* out) {
  *out << "{" << hit.database_position << ", " << hit.query_position << ", score " << hit.score << "}";
}
void PrintTo(Counts const& counts, std::ostream* out) {
  *out << counts.seeds_found << " seeds, " << counts.positions << " positions, " << counts.kept_exact << " kept";
}

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Input input_of(std::string_view database, std::string_view query, std::int32_t stride) {
  return {.database = bases(database), .query = bases(query), .stride = stride};
}

/// The nodes one after another, as a segment has them.
Found by_nodes(Search const& search) {
  Found found;
  FindSeed const find_seed{search};
  Positions const positions{search};
  ExtendExact const extend_exact{search};
  Score const score{search};
  for (std::int32_t place = 0; place < search.places(); ++place) {
    Maybe<Seed> const seed = find_seed(static_cast<Place>(place));
    if (!seed.ok) continue;
    ++found.counts.seeds_found;
    Positions::Cursor cursor = positions.start(seed.value);
    while (positions.more(seed.value, cursor)) {
      ++found.counts.positions;
      Maybe<Pair> const pair = extend_exact(positions.next(seed.value, cursor));
      if (!pair.ok) continue;
      ++found.counts.kept_exact;
      Maybe<Hit> const hit = score(pair.value);
      if (hit.ok) found.hits.push_back(hit.value);
    }
  }
  std::ranges::sort(found.hits);
  return found;
}

Hits by_merged(Search const& search) {
  Hits hits;
  auto const merged = hiway::segment::merge(FindSeeds{search}, Positions{search}, ExtendExact{search}, Score{search});
  for (std::int32_t i = 0; i < stretches(search); ++i) {
    auto const stretch = static_cast<Place>(i);
    auto cursor = merged.start(stretch);
    while (merged.more(stretch, cursor)) {
      Maybe<Hit> const hit = merged.next(stretch, cursor);
      if (hit.ok) hits.push_back(hit.value);
    }
  }
  std::ranges::sort(hits);
  return hits;
}

std::vector<std::int32_t> seeds_by_places(Search const& search) {
  std::vector<std::int32_t> positions;
  for (std::int32_t place = 0; place < search.places(); ++place) {
    Maybe<Seed> const seed = FindSeed{search}(static_cast<Place>(place));
    if (seed.ok) positions.push_back(seed.value.position);
  }
  return positions;
}

std::vector<std::int32_t> seeds_by_stretches(Search const& search) {
  std::vector<std::int32_t> positions;
  FindSeeds const find{search};
  for (std::int32_t i = 0; i < stretches(search); ++i) {
    auto const stretch = static_cast<Place>(i);
    FindSeeds::Cursor cursor = find.start(stretch);
    while (find.more(stretch, cursor)) {
      Seed const seed = find.next(stretch, cursor);
      EXPECT_EQ(seed.word, search.database.eight(seed.position));
      positions.push_back(seed.position);
    }
  }
  return positions;
}

/// The oracle's hits, after the nodes have given the same.
Hits hits_of(std::string_view database, std::string_view query, std::int32_t stride = 1) {
  Input const input = input_of(database, query, stride);
  Found const oracle = reference_hits(input, 1);
  Problem const problem = make_problem(input);
  Found const nodes = by_nodes(problem.search());
  EXPECT_EQ(nodes.hits, oracle.hits) << query << " in " << database;
  EXPECT_EQ(nodes.counts, oracle.counts) << query << " in " << database;
  return oracle.hits;
}

// ---- bases of two bits

TEST(PackedBases, AreFourAByteTheFirstInTheHighBits) {
  PackedSequence const packed{bases("ACGTTTTTGGGGCCCCT")};
  EXPECT_EQ(packed.bases(), 17);
  EXPECT_EQ(packed.words()[padding_words], 0x1bffaa55U);
  EXPECT_EQ(packed.words()[padding_words + 1], 0xc0000000U);
}

TEST(PackedBases, AreReadFromAnyPlace) {
  Sequence const sequence = random_bases(200, 1);
  PackedSequence const packed{sequence};
  Packed const view = packed.view(packed.words().data());
  for (std::int32_t position = -28; position <= 200; ++position) {
    std::uint64_t expected = 0;
    for (std::int32_t i = position; i < position + 32; ++i) {
      bool const is_there = i >= 0 && i < 200;
      expected = expected << 2 | (is_there ? static_cast<std::uint64_t>(sequence[static_cast<std::size_t>(i)]) : 0);
    }
    ASSERT_EQ(view.window(position), expected) << position;
    if (position >= 0) {
      ASSERT_EQ(view.eight(position), expected >> 48) << position;
    }
  }
}

// ---- the query's words

TEST(QueryWords, AreFoundAtAllTheirPlaces) {
  //                                                    0       8       16
  QueryTable const table = make_query_table(bases("ACGTACGTACGTACGTT"));
  WordTable const words = table.view();
  auto const places = [&](std::uint32_t word) {
    std::vector<std::int32_t> all;
    for (unsigned k = 0; k < words.entries[word].count(); ++k) all.push_back(words.position(words.entries[word], k));
    EXPECT_EQ(words.has(word), !all.empty()) << word;
    return all;
  };
  EXPECT_THAT(places(0x1b1b), ElementsAre(0, 4, 8));  // ACGTACGT
  EXPECT_THAT(places(0x6c6c), ElementsAre(1, 5));     // CGTACGTA
  EXPECT_THAT(places(0x6c6f), ElementsAre(9));        // CGTACGTT
  EXPECT_THAT(places(0), ElementsAre());
  EXPECT_THAT(places(0xffff), ElementsAre());
}

TEST(QueryWords, OfAShortQueryAreNone) {
  for (std::string const query : {"A", "ACGTACG"}) {
    QueryTable const table = make_query_table(bases(query));
    EXPECT_EQ(std::ranges::count(table.bitmap, 0U), words_in_table / 32);
  }
  EXPECT_TRUE(make_query_table(bases("ACGTACGT")).view().has(0x1b1b));
}

TEST(QueryWords, OccurSixteenTimesAtMost) {
  QueryTable const table = make_query_table(bases(std::string(23, 'C')));
  EXPECT_EQ(table.entries[0x5555].count(), 16U);
  EXPECT_EQ(complaint([] { (void)make_query_table(bases(std::string(24, 'C'))); }),
            "the query has the word CCCCCCCC 17 times; at most 16");
}

// ---- hits, worked out by hand

TEST(BlastHits, NeedElevenEqualBases) {
  EXPECT_THAT(hits_of("ACGTTCGGTCA", "ACGTTCGGTCA", 4), ElementsAre(Hit{0, 0, 3}));
  EXPECT_THAT(hits_of("ACGTTCGGTCC", "ACGTTCGGTCA", 4), ElementsAre());
  // With every base a seed: 0 + 3, 1 + 2, 2 + 1, 3 + 0 bases beside it.
  EXPECT_THAT(hits_of("ACGTTCGGTCA", "ACGTTCGGTCA", 1),
              ElementsAre(Hit{0, 0, 3}, Hit{1, 1, 3}, Hit{2, 2, 3}, Hit{3, 3, 3}));
}

TEST(BlastHits, AreCountedStepByStep) {
  // Seeds at 0 and 12, the first one at two places of the query; the second has two equal bases beside it.
  Input const input = input_of("ACGTTCGGTCAGTTGGCCAAGC", "ACGTTCGGTCATTACGTTCGGAGTTGGCCAACA", 4);
  EXPECT_EQ(reference_hits(input, 1).counts, (Counts{.seeds_found = 2, .positions = 3, .kept_exact = 1}));
  EXPECT_EQ(by_nodes(make_problem(input).search()).counts, reference_hits(input, 1).counts);
}

TEST(BlastHits, BeginAtEveryFourthBase) {
  // The same eleven bases, one place further each time: 3, 2, 1 bases to the left of the seed, then 0.
  EXPECT_THAT(hits_of("GACGTTCGGTCAGGG", "ACGTTCGGTCA", 4), ElementsAre(Hit{4, 3, 3}));
  EXPECT_THAT(hits_of("GGACGTTCGGTCAGGG", "ACGTTCGGTCA", 4), ElementsAre(Hit{4, 2, 3}));
  EXPECT_THAT(hits_of("GGGACGTTCGGTCAGGG", "ACGTTCGGTCA", 4), ElementsAre(Hit{4, 1, 3}));
  EXPECT_THAT(hits_of("GGGGACGTTCGGTCAGGG", "ACGTTCGGTCA", 4), ElementsAre(Hit{4, 0, 3}));
}

TEST(BlastHits, AddOneForAMatchAndTakeThreeForAMismatch) {
  // Of the first seed, to the right: 4 matches; then 4 - 3 + 5.
  EXPECT_THAT(hits_of("ACGTTCGGTCAATTT", "ACGTTCGGTCAACGG", 4), Contains(Hit{0, 0, 4}));
  EXPECT_THAT(hits_of("ACGTTCGGTCAAGCGCGC", "ACGTTCGGTCAATCGCGC", 4), Contains(Hit{0, 0, 6}));
  // 4 - 3 + 2 is less than 4, and 4 - 3 + 3 no more.
  EXPECT_THAT(hits_of("ACGTTCGGTCAAGCG", "ACGTTCGGTCAATCG", 4), Contains(Hit{0, 0, 4}));
  EXPECT_THAT(hits_of("ACGTTCGGTCAAGCGC", "ACGTTCGGTCAATCGC", 4), Contains(Hit{0, 0, 4}));
  // To the left 4, then 4 - 3 + 4.
  EXPECT_THAT(hits_of("GCGCATTGAACGTTCGG", "GCGCCTTGAACGTTCGG", 1), Contains(Hit{9, 9, 5}));
  // To the left 2, to the right 1.
  EXPECT_THAT(hits_of("GGCGACGTTCGGA", "TTCGACGTTCGGA", 4), ElementsAre(Hit{4, 4, 3}));
}

TEST(BlastHits, AreScoredAsFarAsTwentyEightBasesToEitherSide) {
  Sequence const sequence = random_bases(100, 5);
  Hits const hits = hits_of(letters(sequence), letters(sequence), 4);
  auto const score_at = [&](std::int32_t position) {
    auto const hit = std::ranges::find_if(
        hits, [&](Hit const& h) { return h.database_position == position && h.query_position == position; });
    return hit == hits.end() ? -1 : hit->score;
  };
  EXPECT_EQ(score_at(0), 28);
  EXPECT_EQ(score_at(24), 24 + 28);
  EXPECT_EQ(score_at(28), 28 + 28);
  EXPECT_EQ(score_at(32), 28 + 28);
  EXPECT_EQ(score_at(64), 28 + 28);
  EXPECT_EQ(score_at(68), 28 + 24);
  EXPECT_EQ(score_at(92), 28);
}

TEST(BlastHits, EndWhereEitherSequenceDoes) {
  // Behind a sequence's end, and before its begin, a packed one has zeros, which are A's anywhere else.
  EXPECT_THAT(hits_of("CCGTTCGG", "CCGTTCGGAAAA"), ElementsAre());
  EXPECT_THAT(hits_of("CCGTTCGGAAAA", "CCGTTCGG"), ElementsAre());
  EXPECT_THAT(hits_of("CCGTTCGG", "AAAACCGTTCGG"), ElementsAre());
  EXPECT_THAT(hits_of("AAAACCGTTCGG", "CCGTTCGG"), ElementsAre());
  EXPECT_THAT(hits_of("CCGTTCGG", "CCGTTCGG"), ElementsAre());
  EXPECT_THAT(hits_of("CCGTTCGGAA", "CCGTTCGGAAAA"), ElementsAre());
  // One base more on one side counts as far as both have it.
  EXPECT_THAT(hits_of("CCGTTCGGAAA", "CCGTTCGGAAAA", 4), ElementsAre(Hit{0, 0, 3}));
  EXPECT_THAT(hits_of("AAAACCGTTCGG", "AAACCGTTCGG", 4), ElementsAre(Hit{4, 3, 3}));
}

TEST(BlastHits, OfShortSequencesAreNone) {
  for (std::string_view const database : {"A", "ACGTTCG", "ACGTTCGGTC"}) {
    EXPECT_THAT(hits_of(database, "ACGTTCGGTCA"), ElementsAre());
    EXPECT_THAT(hits_of("ACGTTCGGTCA", database), ElementsAre());
  }
}

// ---- on random bases

/// Few letters give words of several places; sizes about those of words, stretches and the 28 bases beside a seed.
Input random_input(std::mt19937_64& random) {
  auto const draw = [&](std::size_t bases) {
    Sequence sequence(bases);
    std::uint64_t const letters = 2 + random() % 3;
    for (Base& base : sequence) base = static_cast<Base>(random() % letters);
    return sequence;
  };
  Input input{.database = draw(1 + random() % 300), .query = draw(1 + random() % 120)};
  input.stride = random() % 2 == 0 ? 4 : 1;
  // A piece of the query, at an end of the database every other time.
  std::size_t const bases = random() % (std::min(input.query.size(), input.database.size()) + 1);
  std::size_t const from = random() % (input.query.size() - bases + 1);
  std::size_t const last = input.database.size() - bases;
  std::size_t const at = random() % 4 == 0 ? 0 : random() % 3 == 0 ? last : random() % (last + 1);
  for (std::size_t i = 0; i < bases; ++i) {
    if (random() % 16 != 0) input.database[at + i] = input.query[from + i];
  }
  return input;
}

bool fits(Input const& input) {
  try {
    (void)make_query_table(input.query);
    return true;
  } catch (cli::BadInput const&) {
    return false;
  }
}

TEST(BlastNodes, AgreeWithTheOracleOnRandomBases) {
  char const* const given = std::getenv("HIWAY_SEED");
  std::uint64_t const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed));
  std::mt19937_64 random{seed};
  std::uint64_t hits = 0;
  for (int round = 0; round < 3000; ++round) {
    Input const input = random_input(random);
    if (!fits(input)) continue;
    Problem const problem = make_problem(input);
    Found const oracle = reference_hits(input, 1);
    Found const nodes = by_nodes(problem.search());
    std::string const what =
        letters(input.query) + " in " + letters(input.database) + " by " + std::to_string(input.stride);
    ASSERT_EQ(nodes.hits, oracle.hits) << what;
    ASSERT_EQ(nodes.counts, oracle.counts) << what;
    ASSERT_EQ(by_merged(problem.search()), oracle.hits) << what;
    ASSERT_EQ(seeds_by_stretches(problem.search()), seeds_by_places(problem.search())) << what;
    // What the exact extension adds is part of either side's score: it keeps nothing that the score refuses.
    ASSERT_EQ(oracle.counts.kept_exact, oracle.hits.size()) << what;
    hits += oracle.hits.size();
  }
  EXPECT_GT(hits, 3000U);
}

TEST(BlastOracle, FindsElevenEqualBasesWhereverTheyAre) {
  std::mt19937_64 random{1};
  int elevens = 0;
  for (int round = 0; round < 300; ++round) {
    Input input = random_input(random);
    input.stride = 4;
    Hits const hits = reference_hits(input, 1).hits;
    for (std::size_t d = 0; d + 11 <= input.database.size(); ++d) {
      for (std::size_t q = 0; q + 11 <= input.query.size(); ++q) {
        auto const here = input.database.begin() + static_cast<std::ptrdiff_t>(d);
        if (!std::equal(here, here + 11, input.query.begin() + static_cast<std::ptrdiff_t>(q))) continue;
        ++elevens;
        std::size_t const seed = (d + 3) / 4 * 4;  // the first one in them
        ASSERT_TRUE(std::ranges::any_of(hits,
                                        [&](Hit const& hit) {
                                          return hit.database_position == static_cast<std::int32_t>(seed) &&
                                                 hit.query_position == static_cast<std::int32_t>(q + seed - d);
                                        }))
            << letters(input.query) << " in " << letters(input.database) << " at " << d << ", " << q;
      }
    }
  }
  EXPECT_GT(elevens, 1000);
}

TEST(BlastOracle, FindsTheSameByAnyNumberOfThreads) {
  for (std::int64_t const stride : {1, 4}) {
    Input const input = make_input({.bases = 20001, .query_bases = 3000, .stride = stride});
    Found const alone = reference_hits(input, 1);
    EXPECT_GT(alone.hits.size(), 30U);
    for (unsigned const threads : {2U, 3U, 7U, 64U}) {
      Found const together = reference_hits(input, threads);
      EXPECT_EQ(together.hits, alone.hits) << threads;
      EXPECT_EQ(together.counts, alone.counts) << threads;
    }
  }
}

TEST(BlastMethods, FindWhatTheOracleFinds) {
  for (std::int64_t const stride : {1, 4}) {
    Input input = make_input({.bases = 600001, .query_bases = 2100, .stride = stride});
    // Every place has a hit where the database is the query's begin: none, one, a warp's stretches, and one more.
    for (std::size_t const bases : {0, 7, 8, 11, 2055, 2056}) {
      if (bases > 0)
        input.database.assign(input.query.begin(), input.query.begin() + static_cast<std::ptrdiff_t>(bases));
      Found const oracle = reference_hits(input, 2);
      Hits hits{{1, 2, 3}};
      int runs = 0;
      Job const job{.device = "simt", .repeat = 2, .ran = [&] {
                      ++runs;
                      EXPECT_EQ(hits, oracle.hits) << bases << " by " << stride;
                    }};
      (void)run_baseline(make_problem(input), job, hits);
      (void)run_reference(input, job, hits);
      (void)run_hiway(make_problem(input), {}, job, hits);
      (void)run_hiway(make_problem(input), {.replica = Replica::block}, job, hits);
      (void)run_hiway(make_problem(input), {.merged = true, .counters = true}, job, hits);
      (void)run_hiway(make_problem(input), {.feed = Feed::tunnel}, job, hits);
      EXPECT_EQ(runs, 12);
    }
  }
}

// ---- the summary

TEST(BlastSummary, IsTheSameInAnyOrderAndDiffersWhenOneNumberDoes) {
  Hits one{{4, 5, 6}, {1, 2, 3}};
  Hits other{{1, 2, 3}, {4, 5, 6}};
  Summary const summary = summarize(one);
  EXPECT_EQ(one, other);
  EXPECT_EQ(summary, summarize(other));
  EXPECT_EQ(summary.hits, 2U);
  for (Hit const& changed : {Hit{2, 2, 3}, Hit{1, 3, 3}, Hit{1, 2, 4}}) {
    Hits hits{changed, {4, 5, 6}};
    EXPECT_NE(summarize(hits), summary);
  }
}

TEST(BlastSummary, AsTsvHasALineAHit) {
  EXPECT_EQ(to_tsv({{4, 50, 6}, {10, 2, 56}}), "database_position\tquery_position\tscore\n4\t50\t6\n10\t2\t56\n");
}

// ---- the input

using BlastInput = Files;

std::string input_complaint(InputOptions const& options) {
  return complaint([&] { (void)make_input(options); });
}

TEST_F(BlastInput, OfNoOptionHasHits) {
  Input const input = make_input({});
  EXPECT_EQ(input.database.size(), static_cast<std::size_t>(default_bases));
  EXPECT_EQ(input.query.size(), static_cast<std::size_t>(default_query_bases));
  EXPECT_EQ(input.stride, 4);
  EXPECT_FALSE(reference_hits(input, 1).hits.empty());
}

TEST_F(BlastInput, OfOneSeedIsTheSameEverywhere) {
  EXPECT_EQ(letters(random_bases(16, 1)), letters(random_bases(40, 1)).substr(0, 16));
  EXPECT_NE(random_bases(100, 1), random_bases(100, 2));
  // The query does not depend on the database's length, nor do the random bases of either on the other.
  EXPECT_EQ(make_input({.bases = 100}).query, make_input({.bases = 5000}).query);
  EXPECT_NE(make_input({.seed = 1}).query, make_input({.seed = 2}).query);
}

TEST_F(BlastInput, HasAPieceOfTheQueryInEverySixtyFourKibibytes) {
  Input const input = make_input({.bases = 4 * 65536 * 2 + 60, .query_bases = 2000});
  for (std::size_t const at : {std::size_t{0}, std::size_t{262144}}) {
    std::size_t best = 0;
    for (std::size_t from = 0; from + 120 <= input.query.size(); ++from) {
      std::size_t equal = 0;
      for (std::size_t i = 0; i < 120; ++i) equal += input.database[at + i] == input.query[from + i] ? 1 : 0;
      best = std::max(best, equal);
    }
    EXPECT_GE(best, 100U) << at;
    EXPECT_LT(best, 120U) << at;
  }
  // The last one is cut short, and a query that is shorter than a piece lies there as a whole.
  EXPECT_EQ(input.database.size(), 524348U);
  EXPECT_EQ(make_input({.bases = 300, .query_bases = 5}).database.size(), 300U);
}

TEST_F(BlastInput, HasNoUnknownBase) {
  std::string const database = plain("d.fa", ">d\nACGTNNNNACGT\n>e\nA\n");
  std::string const query = plain("q.fa", ">q\nACGTACGT\n");
  Input const input = make_input({.database_file = database, .query_file = query});
  std::string const read = letters(input.database);
  EXPECT_EQ(read.substr(0, 4) + read.substr(8), "ACGTACGT");
  EXPECT_EQ(read.find('N'), std::string::npos);
  EXPECT_EQ(letters(input.query), "ACGTACGT");
  EXPECT_THAT(input.notes, ElementsAre(database + ": 2 records, only the first ('d') is used",
                                       database + ": 4 unknown bases, each replaced by a random one"));
}

TEST_F(BlastInput, WithOptionsThatDoNotFitIsRefused) {
  EXPECT_EQ(input_complaint({.database_file = "d"}), "--database needs --query");
  EXPECT_EQ(input_complaint({.database_file = "d", .query_file = "q", .bases = 5}),
            "--database and --bases exclude each other");
  EXPECT_EQ(input_complaint({.query_file = "q", .query_bases = 5}), "--query and --query-bases exclude each other");
  EXPECT_EQ(input_complaint({.bases = 0}), "--bases must be 1 to 2000000000: 0");
  EXPECT_EQ(input_complaint({.query_bases = 1'000'001}), "--query-bases must be 1 to 1000000: 1000001");
  EXPECT_EQ(input_complaint({.stride = 2}), "--stride must be 1 or 4: 2");
  EXPECT_THAT(input_complaint({.query_file = path("absent.fa")}), HasSubstr("absent.fa: cannot be opened"));
}

}  // namespace
}  // namespace blast
