// Taxi: the rules of a line worked out by hand, what devices do with its characters against the oracle, the baseline
// and the segment, in each context, against the oracle, what is read, and what is generated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <regex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/input.hpp"
#include "taxi/input.hpp"
#include "taxi/methods.hpp"
#include "taxi/pieces.hpp"
#include "taxi/reference.hpp"
#include "taxi/stages.hpp"
#include "taxi/summary.hpp"
#include "tests/apps/files.hpp"

namespace taxi {

// Found by GoogleTest through the type's namespace.
void PrintTo(Pair const& pair, std::ostream* out) {
  *out << "{" << pair.line << " at " << pair.place << ": " << to_text(pair.latitude) << ", " << to_text(pair.longitude)
       << "}";
}

namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The eight fields before POLYLINE, with a comma behind each.
std::string const head = R"("1","C","","","2","3","A","False",)";
std::string const header = R"("TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP",)"
                           R"("DAY_TYPE","MISSING_DATA","POLYLINE")";

/// As lanes read it, one character after another.
Trip by_stages(std::string_view line, std::uint32_t number) {
  Text const text{line.data(), static_cast<std::uint32_t>(line.size())};
  Trip trip;
  std::uint32_t place = first_pair(text);
  bool is_right = place != nowhere;
  for (; is_right && place < text.length; ++place) {
    if (!begins_pair(text, place)) continue;
    Maybe<Pair> const pair = read_pair(text, number, place);
    is_right = pair.ok;
    trip.pairs.push_back(pair.value);
  }
  EXPECT_EQ(is_broken(text), !is_right) << line;
  return is_right ? trip : Trip{{}, "broken"};
}

/// The oracle's trip, after the stages have given the same, whatever lies behind the line.
Trip trip_of(std::string const& line) {
  Trip const oracle = read_trip(line, 5);
  for (std::string const behind : {"\n", "[3,4]]\"", "\"[[3,4]]\"", "\"", "3"}) {
    std::string const text = line + behind;
    Trip const stages = by_stages(std::string_view{text}.substr(0, line.size()), 5);
    EXPECT_EQ(stages.pairs, oracle.pairs) << line;
    EXPECT_EQ(stages.broken.empty(), oracle.broken.empty()) << line;
  }
  return oracle;
}
std::string csv_of(std::string const& line) {
  Trip const trip = trip_of(line);
  EXPECT_EQ(trip.broken, "") << line;
  return to_csv(trip.pairs);
}
std::string why_broken(std::string const& line) {
  Trip const trip = trip_of(line);
  EXPECT_TRUE(trip.pairs.empty()) << line;
  return trip.broken;
}

// ---- the rules of a line

TEST(TaxiLine, GivesItsPairsSwapped) {
  EXPECT_EQ(csv_of(head + "\"[[-8.618643,41.141412],[-8.6,41]]\""), "5,41.141412,-8.618643\n5,41,-8.6\n");
  EXPECT_EQ(csv_of(head + "\"[[1,2]]\""), "5,2,1\n");
  EXPECT_EQ(csv_of(head + "\"[]\""), "");
  EXPECT_EQ(csv_of(head + "[]"), "");
}
TEST(TaxiLine, SaysWhereItsPairsBegin) {
  auto const first = static_cast<std::uint32_t>(head.size()) + 2;
  std::vector<Pair> const pairs = trip_of(head + "\"[[1.5,2],[3,4]]\"").pairs;
  EXPECT_THAT(pairs, ElementsAre(Pair{5, first, {2}, {1U << 28 | 15}}, Pair{5, first + 8, {4}, {3}}));
}
TEST(TaxiLine, MayHaveCommasBracketsAndQuotesInOtherFields) {
  std::string const pair = "\"[[1,2]]\"";
  for (std::string const field :
       {"", "x", "\"a,b\"", "\"a,,,b\"", "[[3,4]]]", "\"[5,6]\"", "\"a \"\"b\"\" c\"", "\"\"\",\""}) {
    bool const is_bare = field == "[[3,4]]]";  // its comma separates: a field less elsewhere
    std::string const others = is_bare ? ",,,,,," : ",,,,,,,";
    EXPECT_EQ(csv_of(field + others + "," + pair), "5,2,1\n") << field;
    EXPECT_EQ(csv_of(others + field + "," + pair), "5,2,1\n") << field;
  }
}
TEST(TaxiLine, IsBrokenWithoutNineFields) {
  EXPECT_EQ(why_broken(""), "fields must be 9: 1");
  EXPECT_EQ(why_broken(",,,,,,\"[[1,2]]\""), "fields must be 9: 7");
  EXPECT_EQ(why_broken(head.substr(4) + "\"[[1,2]]\""), "fields must be 9: 8");
  EXPECT_EQ(why_broken("," + head + "\"[[1,2]]\""), "fields must be 9: 10");
  EXPECT_EQ(why_broken(head + "\"[[1,2]]\","), "fields must be 9: 10");
  EXPECT_EQ(why_broken(head + "\"[]\",\"\""), "fields must be 9: 10");
  EXPECT_EQ(why_broken(head + "[[1,2]]"), "fields must be 9: 10");
}
TEST(TaxiLine, IsBrokenWhenAQuoteIsNotClosed) {
  EXPECT_EQ(why_broken("\"" + head + "\"[[1,2]]\""), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\"[[1,2]]"), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\"[[1,2],"), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\"[[1,2],[3,"), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\""), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\"[]"), "a quote is not closed");
  EXPECT_EQ(why_broken(head + "\"[]x"), "a quote is not closed");
}
TEST(TaxiLine, IsBrokenWithoutAListOfPairs) {
  for (std::string const list : {"",
                                 "\"\"",
                                 "1",
                                 "\"1\"",
                                 "[",
                                 "]",
                                 "[[",
                                 "\"[\"",
                                 "\"[[\"",
                                 "\"[]]\"",
                                 "\"[] \"",
                                 "[] ",
                                 "\"[1,2]\"",
                                 "\"[[1,2]\"",
                                 "\"[[1,2]]]\"x",
                                 "\"[[1,2]] \"",
                                 "\" [[1,2]]\"",
                                 "\"[[1,2]],\"",
                                 "\"[[1,2],]\"",
                                 "\"[[1,2]\"]",
                                 "\"[[]\""})
    EXPECT_EQ(why_broken(head + list), "POLYLINE is no list of pairs") << list;
}
TEST(TaxiLine, IsBrokenByOnePairThatIsNone) {
  auto const of_list = [](std::string const& list) { return why_broken(head + "\"[[" + list + "]]\""); };
  EXPECT_EQ(of_list(""), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1"), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1,2,3"), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1,2],[3"), "pair 2: not two numbers");
  EXPECT_EQ(of_list("1,2],[],[3,4"), "pair 2: not two numbers");
  EXPECT_EQ(of_list("1,2],[[3,4"), "pair 2: the longitude is no coordinate");
  EXPECT_EQ(of_list("[1,2"), "pair 1: the longitude is no coordinate");
  EXPECT_EQ(of_list("1,2]"), "pair 1: the latitude is no coordinate");
  EXPECT_EQ(of_list("1,2]],[[3,4"), "pair 1: the latitude is no coordinate");
  EXPECT_EQ(of_list("1,2] ,[3,4"), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1,2], [3,4"), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1,2][3,4"), "pair 1: not two numbers");
  EXPECT_EQ(of_list("1, 2"), "pair 1: the latitude is no coordinate");
  EXPECT_EQ(of_list("1,2],[3,4],[x,5"), "pair 3: the longitude is no coordinate");
}

// ---- coordinates

TEST(TaxiCoordinate, IsWrittenAsItWasRead) {
  for (std::string const text : {"0",   "-0",    "0.0",       "-0.5",      "0.000000", "0.000001",   "7",
                                 "10",  "100",   "180",       "-180",      "180.0",    "180.000000", "-179.999999",
                                 "8.6", "-8.60", "-8.618643", "41.141412", "0.05",     "1.000000"}) {
    EXPECT_EQ(csv_of(head + "\"[[" + text + ",1]]\""), "5,1," + text + "\n");
    EXPECT_EQ(csv_of(head + "\"[[1," + text + "]]\""), "5," + text + ",1\n");
  }
}
TEST(TaxiCoordinate, IsANumberOfDegrees) {
  for (std::string const text : {"",
                                 "-",
                                 "+1",
                                 "--1",
                                 "1-",
                                 ".",
                                 "-.",
                                 ".5",
                                 "-.5",
                                 "5.",
                                 "1..2",
                                 "1.2.3",
                                 "1.-2",
                                 "01",
                                 "00",
                                 "-01.5",
                                 "1e1",
                                 "x",
                                 "1x",
                                 "0x1",
                                 " 1",
                                 "1 ",
                                 "NaN",
                                 "181",
                                 "-181",
                                 "180.000001",
                                 "-180.1",
                                 "999.9",
                                 "1000",
                                 "1.0000000",
                                 "0.1234567",
                                 "4294967296",
                                 "4294967297.5",
                                 "18446744073709551617",
                                 "0000000000000000001",
                                 "1.00000000000000000000"}) {
    EXPECT_EQ(why_broken(head + "\"[[" + text + ",1]]\""), "pair 1: the longitude is no coordinate") << text;
    EXPECT_EQ(why_broken(head + "\"[[1," + text + "]]\""), "pair 1: the latitude is no coordinate") << text;
  }
}

TEST(TaxiStages, SeeAPairBeginAtABracketThatNoBracketFollows) {
  std::string const list = "\"[[1,2],[3,4]]\"";
  std::string begins;
  for (std::uint32_t place = 0; place < list.size(); ++place)
    begins += begins_pair({list.data(), static_cast<std::uint32_t>(list.size())}, place) ? '^' : '.';
  EXPECT_EQ(begins, "..^.....^......");
}

// ---- on random lines

TEST(TaxiStages, AgreeWithTheOracleOnLinesWithFaults) {
  char const* const given = std::getenv("HIWAY_SEED");
  std::uint64_t const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed));
  std::mt19937_64 random{seed};
  constexpr std::string_view characters = "[]],,\"\"-.0198 x";
  int broken = 0;
  int with_pairs = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = random() % 2 == 0 ? head : ",,,,,,,,";
    line += "\"[[-8.618643,41.141412],[0.5,-41],[180,0]]\"";
    for (std::uint64_t faults = random() % 4; faults > 0; --faults) {
      std::size_t const at = random() % line.size();
      char const other = characters[random() % characters.size()];
      switch (random() % 3) {
        case 0: line[at] = other; break;
        case 1: line.insert(at, 1, other); break;
        default: line.erase(at, 1 + random() % 5); break;
      }
    }
    Trip const trip = trip_of(line);
    broken += trip.broken.empty() ? 0 : 1;
    with_pairs += trip.pairs.empty() ? 0 : 1;
    ASSERT_FALSE(testing::Test::HasFailure()) << line;
  }
  EXPECT_GT(broken, 4'000);
  EXPECT_GT(with_pairs, 4'000);
}

// ---- the input

using TaxiInput = Files;

std::vector<std::string> lines_of(Input const& input) {
  std::vector<std::string> lines;
  for (Line const& line : input.lines) lines.emplace_back(input.line(line));
  return lines;
}
Input input_of(std::string const& text) { return index_lines(text, "f.csv"); }

TEST_F(TaxiInput, HasTheLinesBehindTheHeader) {
  Input const input = input_of(header + "\none\n\nthree\n");
  EXPECT_THAT(lines_of(input), ElementsAre("one", "", "three"));
  EXPECT_EQ(input.lines[0], (Line{header.size() + 1, 3, 2}));
  EXPECT_EQ(input.lines[2], (Line{header.size() + 6, 5, 4}));
}
TEST_F(TaxiInput, MayEndWithoutANewline) {
  EXPECT_THAT(lines_of(input_of(header + "\none\ntwo")), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of(input_of(header)), ElementsAre());
  EXPECT_THAT(lines_of(input_of(header + "\n")), ElementsAre());
  EXPECT_THAT(lines_of(input_of(header + "\n\n")), ElementsAre(""));
}
TEST_F(TaxiInput, MayEndItsLinesWithAReturn) {
  EXPECT_THAT(lines_of(input_of(header + "\r\none\r\n\r\ntwo\r\n")), ElementsAre("one", "", "two"));
  EXPECT_THAT(lines_of(input_of(header + "\r\none\r\ntwo\r")), ElementsAre("one", "two"));
  EXPECT_THAT(lines_of(input_of(header + "\r\no\rne\r\r\n")), ElementsAre("o\rne\r"));
}
TEST_F(TaxiInput, IsReadFromAFile) {
  std::string const file = plain("trips.csv", header + "\r\n" + head + "\"[[1,2]]\"\r\n");
  Input const input = make_input({.file = file});
  EXPECT_EQ(to_csv(reference_conversion(input, 1).pairs), "2,2,1\n");
}
TEST_F(TaxiInput, MayBeginWithAByteOrderMark) {
  Input const input =
      make_input({.file = plain("trips.csv", "\xef\xbb\xbf" + std::string{header} + "\n" + head + "\"[[1,2]]\"\n")});
  EXPECT_EQ(input.text.front(), header.front());
  EXPECT_EQ(to_csv(reference_conversion(input, 1).pairs), "2,2,1\n");
}
TEST_F(TaxiInput, WithReturnsAloneOrWithoutAnEndIsRefused) {
  EXPECT_EQ(complaint([&] { (void)input_of(header + "\rone\r"); }),
            "f.csv: line 1: a carriage return alone: lines end with \\n or \\r\\n");
  EXPECT_EQ(complaint([&] { (void)make_input({.file = "/dev/zero"}); }),
            "/dev/zero: line 1: byte 0x00 in column 1: this is no text");
}
TEST_F(TaxiInput, HasAHeader) {
  EXPECT_THAT(lines_of(input_of("a,b,c,d,e,f,g,h,POLYLINE\none")), ElementsAre("one"));
  for (std::string const bad : {"", "POLYLINE", "a,b,c,d,e,f,g,h,i", "a,b,c,d,e,f,g,h,i,POLYLINE",
                                "a,b,c,d,e,f,g,POLYLINE,i", "a,b,c,d,e,f,g,h,\"POLYLINE"})
    EXPECT_EQ(complaint([&] { (void)input_of(bad + "\none"); }),
              "f.csv: line 1: not a header of 9 fields, the last of them POLYLINE")
        << bad;
}
TEST_F(TaxiInput, WithOptionsThatDoNotFitIsRefused) {
  auto const said = [](InputOptions const& options) { return complaint([&] { (void)make_input(options); }); };
  EXPECT_EQ(said({.file = "f", .lines = 5}), "--input and --lines exclude each other");
  EXPECT_EQ(said({.lines = -1}), "--lines must be 0 to 3000000: -1");
  EXPECT_EQ(said({.lines = 3'000'001}), "--lines must be 0 to 3000000: 3000001");
  EXPECT_THAT(said({.file = path("absent.csv")}), HasSubstr("absent.csv: cannot be opened"));
  EXPECT_THAT(said({.file = plain("empty.csv", "")}), HasSubstr("empty.csv: empty"));
}

// ---- generated trips

TEST(TaxiTrips, AreLongAsPortosAre) {
  constexpr std::uint64_t lines = 20'000;
  Input const input = index_lines(generated_trips(lines, 1), "");
  ASSERT_EQ(input.lines.size(), lines);
  EXPECT_NEAR(static_cast<double>(input.text.size()) / lines, 1062, 1062 * 0.01);
  std::vector<int> seen(most_pairs_a_line + 1);
  for (Line const& line : input.lines) {
    Trip const trip = read_trip(input.line(line), line.number);
    ASSERT_EQ(trip.broken, "");
    ASSERT_LE(trip.pairs.size(), most_pairs_a_line);
    ++seen[trip.pairs.size()];
  }
  EXPECT_EQ(seen[0], 0);
  double const each = double{lines} / most_pairs_a_line;
  for (std::size_t pairs = 1; pairs < seen.size(); ++pairs) EXPECT_NEAR(seen[pairs], each, 0.35 * each) << pairs;
}
TEST(TaxiTrips, LookLikePortos) {
  std::regex const form{
      R"re("(\d{10})6(20000\d{3})","C","","","\2","\1","A","False","\[\[-8\.\d{6},41\.\d{6}\](,\[-8\.\d{6},41\.\d{6}\])*\]")re"};
  Input const input = index_lines(generated_trips(200, 3), "");
  EXPECT_EQ(input.text.substr(0, header.size() + 1), header + "\n");
  EXPECT_EQ(input.text.back(), '\n');
  double sum = 0;
  double count = 0;
  for (Line const& line : input.lines) {
    EXPECT_TRUE(std::regex_match(std::string{input.line(line)}, form)) << input.line(line);
    for (Pair const& pair : read_trip(input.line(line), 2).pairs) {
      sum += pair.longitude.digits() + pair.latitude.digits();
      count += 2;
    }
  }
  EXPECT_NEAR(sum / count, (8.5e6 + 41.5e6) / 2, 1e4);
}
TEST(TaxiTrips, DependOnTheSeed) {
  std::string const few = generated_trips(10, 1);
  EXPECT_EQ(generated_trips(20, 1).substr(0, few.size()), few);
  EXPECT_NE(generated_trips(10, 2), few);
}

// ---- methods

/// Generated and broken lines, one line, and none; the last line ends with the file, or with `end` as all others do.
std::vector<Input> inputs(std::string const& end) {
  std::string text = generated_trips(100, 1);
  // Lists that begin and end anywhere in 32 characters; broken ones among them, with the fault first, last, or in the
  // middle.
  for (std::size_t blanks = 0; blanks < 70; ++blanks) {
    std::string const padded = std::string(blanks, ' ') + head;
    text += padded + "\"[]\"\n";
    text += padded + "\"[[1,2]]\"\n";
    text += padded + "\"[[1,2],[3,4],[5,6],[-7.5,8.25],[9,10],[11,12]]\"\n";
    text += padded + "\"[[1,2],[3,4],[5,6],[-7.5,8.25],[9,10],[11,x]]\"\n";
    text += padded + "\"[[1,2],[3,x],[5,6],[-7.5,8.25],[9,10],[11,12]]\"\n";
    text += padded + "\"[[1,2],[3,4],[5,6],[-7.5,8.25],[9,10],[11,12]],\"\n";
    text += padded + "\n";
    // A lane that has read a broken pair reads others.
    text += padded + "\"[[1x,20],[10,20],[10,20],[10,20],[10,20],[10,20],[10,20],[10,20],[10,20]]\"\n";
  }
  std::vector<Input> all;
  for (std::string const& more : {std::string{}, head + "\"[[1,2],[3,4]]\""}) {
    for (std::string const& lines : {text + more, header + "\n" + more, header})
      all.push_back(index_lines(std::regex_replace(lines, std::regex{"\n"}, end), ""));
  }
  return all;
}
/// What each of two runs gives is the oracle's.
void expect_oracles(Conversion const& oracle,
                    std::function<std::vector<Measurement>(Job const&, Conversion&)> const& method) {
  Conversion conversion;
  int runs = 0;
  Job const job{.device = "simt", .repeat = 2, .ran = [&] {
                  ++runs;
                  EXPECT_EQ(conversion.pairs, oracle.pairs);
                  EXPECT_EQ(conversion.broken, oracle.broken);
                }};
  for (Measurement const& run : method(job, conversion)) EXPECT_EQ(run.items, oracle.pairs.size());
  EXPECT_EQ(runs, 2);
}

cli::Replica replica_of(std::string const& name) { return name == "warp" ? cli::Replica::warp : cli::Replica::block; }
hiway::segment::Context context_of(std::string const& name) {
  using hiway::segment::Context;
  return name == "sparse"  ? Context::sparse
         : name == "dense" ? Context::dense
         : name == "lane"  ? Context::lane
                           : Context::automatic;
}
std::string shown(Input const& input, std::string const& end) {
  return std::to_string(input.lines.size()) + " lines, each with " +
         (end == "\n" ? "a newline" : "a return and a newline");
}

/// Short lines, and some that are longer than a piece, right and broken: by their fields, by a pair, or at their end.
Input long_lines() {
  std::mt19937_64 random{7};
  std::string text = generated_trips(20, 4);
  auto const list = [&](std::size_t pairs) {
    std::string all = "\"[";
    for (std::size_t i = 0; i < pairs; ++i) {
      all += i == 0 ? "[" : ",[";
      all +=
          (i % 3 == 0 ? "-179." : "7.") + std::to_string(random() % 1'000'000) + "," + std::to_string(random() % 181);
      all += ']';
    }
    return all + "]\"";
  };
  for (std::size_t const pairs : {300U, 450U, 500U, 550U, 600U, 1200U, 5000U}) {
    std::string const line = head + list(pairs);
    text += line + "\n" + line.substr(0, line.size() - 1) + "\n" + line + ",\n";
    std::string broken = line;
    broken[broken.rfind(']', broken.size() - 40)] = 'x';
    text += broken + "\n" + head + "\"[[1,2]]\"\n";
    std::string const field(Piece::text_bytes * 2, '0');
    text += "\"[[1,2],[" + field + "\"" + head.substr(3) + list(pairs) + "\n";  // its list begins in a later piece
    text += head + "\"[[0" + field + ",1],[1,2]]\"\n";                          // a number that fills a piece
  }
  text += std::string(3 * Piece::text_bytes, ',') + "\n";
  text += std::string(Piece::text_bytes, ' ') + head + "\"[]\"";
  return index_lines(text, "");
}

/// What the stages make of pieces.
Conversion of_pieces(Input const& input, std::size_t lines_at_once) {
  Conversion all;
  for (std::size_t first = 0; first < input.lines.size(); first += lines_at_once) {
    for (Cutter cutter{input, first, std::min(input.lines.size(), first + lines_at_once)}; !cutter.is_done();) {
      auto const piece = std::make_unique<Piece>();
      cutter.cut(*piece);
      EXPECT_LE(piece->parts, Piece::most_parts);
      EXPECT_GT(piece->parts, 0U);
      for (Part const& part : std::span(piece->part, piece->parts)) {
        EXPECT_LE(part.begin + part.length, Piece::text_bytes);
        EXPECT_LE(part.owned, part.length);
        std::uint32_t list = part.list;
        if (list == Part::to_be_found) list = first_pair(piece->of(part));
        if (list == Part::none || list == nowhere) {
          all.broken.push_back(part.number);
          continue;
        }
        for (std::uint32_t place = list; place < part.owned; ++place) {
          if (!begins_pair(piece->of(part), place)) continue;
          Maybe<Pair> pair = read_pair(piece->of(part), part.number, place);
          pair.value.place += part.place;
          if (pair.ok) all.pairs.push_back(pair.value);
          if (!pair.ok) all.broken.push_back(part.number);
        }
      }
    }
  }
  put_in_order(all);
  return all;
}

TEST(TaxiPieces, HaveAllLinesHoweverLong) {
  Input const input = long_lines();
  Conversion const oracle = reference_conversion(input, 1);
  EXPECT_EQ(oracle.broken.size(), 7U * 4 + 1);
  EXPECT_EQ(oracle, of_pieces(input, 1));
  EXPECT_EQ(oracle, of_pieces(input, 10));
  EXPECT_EQ(oracle, of_pieces(input, 1000));
  for (Input const& short_lines : inputs("\r\n"))
    EXPECT_EQ(reference_conversion(short_lines, 1), of_pieces(short_lines, 64));
}
/// A cut before each character of a line with pairs as long as they may be.
TEST(TaxiPieces, MayBeCutAnywhere) {
  std::string const pair = "-179.123456,-179.654321";
  for (std::size_t blanks = 0; blanks < pair.size() + 6; ++blanks) {
    std::string const field(Piece::text_bytes - 200 + blanks, ' ');
    std::string text = header + "\n" + field + head + "\"[";
    for (int i = 0; i < 12; ++i) text += (i == 0 ? "[" : ",[") + pair + "]";
    for (std::string const end : {"]\"", "]", "]\",", "],[1]\""}) {
      Input const input = index_lines(text + end, "");
      EXPECT_EQ(reference_conversion(input, 1), of_pieces(input, 1)) << blanks << " " << end;
    }
  }
}
TEST(TaxiPieces, ConvertAsTheOracleDoesByTunnelsInEachContext) {
  std::vector<Input> all = inputs("\n");
  all.push_back(long_lines());
  for (Input const& input : all) {
    Conversion const oracle = reference_conversion(input, 1);
    for (std::string const context : {"sparse", "dense", "lane", "automatic"}) {
      SCOPED_TRACE(shown(input, "\n") + "; --context " + context);
      SegmentOptions const segment{.context = context_of(context), .feed = Feed::tunnel};
      expect_oracles(oracle, [&](Job const& job, Conversion& made) { return run_hiway(input, segment, job, made); });
    }
  }
}

TEST(TaxiMethods, ConvertAsTheOracleDoes) {
  for (std::string const end : {"\n", "\r\n"}) {
    for (Input const& input : inputs(end)) {
      SCOPED_TRACE(shown(input, end));
      Conversion const oracle = reference_conversion(input, 1);
      EXPECT_EQ(oracle.broken.size(), input.lines.size() > 1 ? 350U : 0U);
      auto const baseline = [&](Job const& job, Conversion& made) { return run_baseline(input, job, made); };
      auto const reference = [&](Job const& job, Conversion& made) { return run_reference(input, job, made); };
      expect_oracles(oracle, baseline);
      expect_oracles(oracle, reference);
      for (unsigned const threads : {2U, 7U, 64U}) EXPECT_EQ(reference_conversion(input, threads), oracle) << threads;
    }
  }
}
TEST(TaxiMethods, ConvertAsTheOracleDoesByTheSegmentInEachContext) {
  for (std::string const end : {"\n", "\r\n"}) {
    for (Input const& input : inputs(end)) {
      Conversion const oracle = reference_conversion(input, 1);
      for (std::string const context : {"sparse", "dense", "lane", "automatic"}) {
        for (std::string const replicas : {"warp", "block"}) {
          SCOPED_TRACE(shown(input, end) + "; --context " + context + " --replicas " + replicas);
          SegmentOptions const options{.replica = replica_of(replicas), .context = context_of(context)};
          expect_oracles(oracle,
                         [&](Job const& job, Conversion& made) { return run_hiway(input, options, job, made); });
        }
      }
    }
  }
}

TEST(TaxiSummary, DiffersWhenOneNumberDoes) {
  Conversion const conversion{{{2, 70, {1}, {2}}, {3, 70, {4}, {5}}}, {4}};
  Summary const summary = summarize(conversion, 3);
  EXPECT_EQ(summary.lines, 3U);
  EXPECT_EQ(summary.pairs, 2U);
  EXPECT_EQ(summary.broken_lines, 1U);
  for (Pair const& changed : {Pair{3, 70, {1}, {2}}, Pair{2, 70, {3}, {2}}, Pair{2, 70, {1}, {3}}}) {
    Conversion other = conversion;
    other.pairs[0] = changed;
    EXPECT_NE(summarize(other, 3), summary);
  }
  Conversion swapped = conversion;
  std::swap(swapped.pairs[0], swapped.pairs[1]);
  EXPECT_NE(summarize(swapped, 3), summary);
}

}  // namespace
}  // namespace taxi
