#include "hiway/plan/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

#include "hiway/error.hpp"
#include "lib/json.hpp"
#include "lib/text.hpp"

namespace {

using namespace hiway::plan;
using hiway::Json;
using hiway::JsonMember;
using hiway::parse_json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string example(std::string const& name) {
  std::ifstream file{std::filesystem::path{HIWAY_SOURCE_DIR} / "examples/plan" / (name + ".json")};
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>{file}, {}};
}

Plan planned(std::string const& json, PlanOptions const& options = {}) {
  return make_plan(read_program(json), options);
}

std::vector<Capacities> corners(Plan const& plan) {
  std::vector<Capacities> all;
  for (Corner const& corner : plan.pareto) all.push_back(corner.capacities);
  return all;
}

// ---- the slides' programs

TEST(Plan, TwoWritesFourReadsNeedFour) {
  for (std::int64_t n : {2, 8, 100}) {
    Plan const plan = planned(example("two_writes_four_reads"), {.params = {{"N", n}}});
    EXPECT_EQ(plan.verdict, Verdict::fits);
    EXPECT_THAT(plan.min, ElementsAre(4));
    EXPECT_THAT(corners(plan), ElementsAre(Capacities{4}));
  }
}

TEST(Plan, SinkFirstNeedsAllElements) {
  for (std::int64_t n : {1, 2, 7, 500}) {
    Plan const plan = planned(example("sink_first"), {.params = {{"N", n}}});
    EXPECT_EQ(plan.verdict, Verdict::fits);
    EXPECT_THAT(plan.min, ElementsAre(n));
  }
}

TEST(Plan, SinkFirstRunsInNoMemoryUnderFifo) {
  Program program = read_program(example("sink_first"));
  program.discipline = Discipline::fifo;
  Plan const plan = make_plan(program);
  EXPECT_EQ(plan.verdict, Verdict::deadlock);
  EXPECT_FALSE(plan.feasible);
  EXPECT_TRUE(plan.pareto.empty());
  EXPECT_THAT(plan.why, HasSubstr("(fifo)"));
  EXPECT_THAT(plan.why, HasSubstr("no capacity helps"));
}

TEST(Plan, TheGlobalSurfaceHasTwoCorners) {
  Plan const plan = planned(example("global_surface"));
  EXPECT_THAT(corners(plan), ElementsAre(Capacities{3, 3}, Capacities{2, 5}));
  EXPECT_THAT(plan.min, ElementsAre(2, 3));
  EXPECT_EQ(plan.min_bytes, 48);
  EXPECT_TRUE(plan.pareto_exhausted);
}

TEST(Plan, APeekHoldsRoom) { EXPECT_THAT(planned(example("peek")).min, ElementsAre(5)); }

// ---- other examples whose answers are known

TEST(Plan, SdfEdgesMeetTheFormula) {
  std::mt19937 random{1};
  auto const from_to = [&](std::int64_t least, std::int64_t most) {
    return least + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(most - least + 1));
  };
  for (int i = 0; i < 500; ++i) {
    std::int64_t const p = from_to(1, 20);
    std::int64_t const c = from_to(1, 20);
    std::int64_t const d = from_to(0, 50);
    std::int64_t const g = std::gcd(p, c);
    std::int64_t const expected = d <= p + c - g ? p + c - g + d % g : d;
    for (std::int64_t iterations : {1, 2, 3}) {
      Program program;
      program.streams = {{"s", 1, {}, d}};
      program.body = {{For{"i", 0, iterations * (c / g), {{Task{"p", {write("s", p)}}}}}},
                      {For{"j", 0, iterations * (p / g), {{Task{"c", {read("s", c)}}}}}}};
      EXPECT_THAT(make_plan(program).min, ElementsAre(expected))
          << "p=" << p << " c=" << c << " d=" << d << ", " << iterations << " iterations";
    }
  }
}

TEST(Plan, AnArrayOfStreamsSharesOneCapacity) {
  Plan const plan = planned(R"({"params": {"N": 3}, "streams": [{"name": "s", "elem_bytes": 8, "dims": ["N", 2]}],
    "body": [{"for": "i", "from": 0, "to": "N", "body": [
      {"task": "w", "ops": [{"stream": "s", "index": ["i", 1], "write": "i + 1"}]},
      {"task": "r", "ops": [{"stream": "s", "index": ["i", 1], "read": "i + 1"}]}]}]})");
  EXPECT_THAT(plan.min, ElementsAre(3));
  EXPECT_EQ(plan.min_bytes, 3 * 8 * 6);
}

TEST(Plan, EachIndexIsAStreamOfItsOwn) {
  Program program;
  program.streams = {{"s", 1, {2, 3}}};
  program.body = {{For{"i", 0, 2, {{For{"j", 0, 3, {{Task{"w", {write("s", 1, {"i", "j"})}}}}}}}}}};
  EXPECT_THAT(make_plan(program).min, ElementsAre(1));
  program.body.push_back({Task{"again", {write("s", 1, {1, 2})}}});
  EXPECT_THAT(make_plan(program).min, ElementsAre(2));
}

TEST(Plan, ElementsThatNobodyReadsKeepTheirPlacesUnlessDropped) {
  Program program;
  program.streams = {{"s"}};
  program.body = {{Task{"w", {write("s", 3)}}}, {Task{"r", {read("s", 1)}}}, {Task{"v", {write("s", 4)}}}};
  EXPECT_THAT(make_plan(program).min, ElementsAre(6));
  EXPECT_THAT(make_plan(program).why, HasSubstr("never read"));
  program.leftover = Leftover::drop;
  EXPECT_THAT(make_plan(program).min, ElementsAre(3));
}

TEST(Plan, ElementsThereAtTheStartNeedTheirRoom) {
  Program program;
  program.streams = {{"s", 1, {}, 5}};
  program.body = {{For{"i", 0, 5, {{Task{"r", {read("s", 1)}}}}}}};
  EXPECT_THAT(make_plan(program).min, ElementsAre(5));
}

TEST(Plan, AProcessRunsItsTasksInOrder) {
  // Either order of the reads would do with one element of each stream; the writer's process has but one.
  Program program;
  program.streams = {{"a"}, {"b"}};
  program.body = {{For{"i", 0, 10, {{Task{"wa", {write("a", 1)}, "writer"}}}}},
                  {Task{"wb", {write("b", 1)}, "writer"}},
                  {Task{"rb", {read("b", 1)}, "reader"}},
                  {For{"i", 0, 10, {{Task{"ra", {read("a", 1)}, "reader"}}}}}};
  EXPECT_THAT(make_plan(program).min, ElementsAre(10, 1));
}

TEST(Plan, AReaderOfWhatNobodyWritesStarves) {
  Program program;
  program.streams = {{"s"}};
  program.body = {{Task{"w", {write("s", 3)}}}, {For{"i", 0, 2, {{Task{"r", {read("s", 2)}}}}}}};
  Plan const plan = make_plan(program);
  EXPECT_EQ(plan.verdict, Verdict::starved);
  EXPECT_FALSE(plan.feasible);
  EXPECT_EQ(plan.why, "'r(i=1)' needs elements 2 to 3 of 's', and only 3 are ever written");
}

TEST(Plan, TasksThatWaitForEachOthersElementsDeadlockInAnyMemory) {
  Program program;
  program.streams = {{"a"}, {"b"}};
  program.body = {{Task{"f", {read("a", 1), write("b", 1)}}}, {Task{"g", {read("b", 1), write("a", 1)}}}};
  Plan const plan = make_plan(program);
  EXPECT_EQ(plan.verdict, Verdict::deadlock);
  EXPECT_THAT(plan.why, HasSubstr("'f' waits for element 0 of 'a' from 'g'"));
  EXPECT_THAT(plan.why, HasSubstr("'g' waits for element 0 of 'b' from 'f'"));
}

TEST(Plan, ATaskThatReadsWhatItWritesDeadlocks) {
  Program program;
  program.streams = {{"s"}};
  program.body = {{Task{"t", {write("s", 1), read("s", 1)}}}};
  EXPECT_EQ(make_plan(program).verdict, Verdict::deadlock);
}

TEST(Plan, AnEmptyProgramFits) {
  Plan const plan = planned(R"({"streams": [], "body": []})");
  EXPECT_EQ(plan.verdict, Verdict::fits);
  EXPECT_EQ(plan.min_bytes, 0);
  EXPECT_EQ(plan.tasks, 0);
}

TEST(Plan, MemoryDecidesWhetherItFits) {
  EXPECT_EQ(planned(example("global_surface"), {.memory_bytes = 48}).verdict, Verdict::fits);
  Plan const plan = planned(example("global_surface"), {.memory_bytes = 47});
  EXPECT_EQ(plan.verdict, Verdict::needs_more);
  EXPECT_TRUE(plan.feasible);
  EXPECT_THAT(plan.why, HasSubstr("47 bytes are given, 48 bytes are needed"));
  EXPECT_THAT(plan.why, HasSubstr("'ta' waits for room in 's2' for elements 3 to 4, held for 'tb'"));
  EXPECT_THAT(plan.why, HasSubstr("raise 's1' to 3 or 's2' to 5"));
}

TEST(Plan, TimeIsBoughtWithMemory) {
  Plan const plan = planned(example("two_writes_four_reads"), {.memory_vs_makespan = true});
  std::vector<std::pair<std::int64_t, std::int64_t>> trades;
  for (Trade const& trade : plan.trades) trades.emplace_back(trade.bytes, trade.makespan);
  EXPECT_THAT(trades, ElementsAre(std::pair{16, 8}, std::pair{32, 4}, std::pair{64, 2}));
  EXPECT_EQ(plan.unbounded_makespan, 2);
  EXPECT_TRUE(plan.trades_exhausted);
}

TEST(Plan, ASearchCutShortClaimsNoMoreThanItKnows) {
  PlanOptions options{.max_states = 1};
  Plan const cut = planned(example("global_surface"), options);
  EXPECT_EQ(cut.verdict, Verdict::fits);
  EXPECT_FALSE(cut.pareto_exhausted);
  EXPECT_EQ(cut.min_bytes, std::nullopt);
  ASSERT_EQ(cut.pareto.size(), 1);  // some corner, found another way
  EXPECT_THAT(cut.pareto[0].capacities, testing::AnyOf(Capacities{2, 5}, Capacities{3, 3}));
  // Between what is known to be too little and what is known to be enough, it does not know.
  options.memory_bytes = cut.least_bytes;
  EXPECT_EQ(planned(example("global_surface"), options).verdict, Verdict::unknown);
  options.memory_bytes = cut.least_bytes - 1;
  EXPECT_EQ(planned(example("global_surface"), options).verdict, Verdict::needs_more);
  options.memory_bytes = cut.pareto[0].bytes;
  EXPECT_EQ(planned(example("global_surface"), options).verdict, Verdict::fits);
}

/// Two processes that each write n elements before they read what the other wrote: one of the streams must hold all.
Program two_writers_first(std::int64_t n, std::string const& suffix = "") {
  std::string const ab = "ab" + suffix;
  std::string const ba = "ba" + suffix;
  Program program;
  program.streams = {{ab}, {ba}};
  program.body = {{For{"i", 0, n, {{Task{"a writes", {write(ab, 1)}, "a" + suffix}}}}},
                  {For{"i", 0, n, {{Task{"b writes", {write(ba, 1)}, "b" + suffix}}}}},
                  {For{"i", 0, n, {{Task{"a reads", {read(ba, 1)}, "a" + suffix}}}}},
                  {For{"i", 0, n, {{Task{"b reads", {read(ab, 1)}, "b" + suffix}}}}}};
  return program;
}

// Each cycle asks for one element more on either stream: by such clauses alone it takes 300 x 300 runs.
TEST(Plan, ClausesAreRaisedToTheirLimits) {
  Plan const plan = make_plan(two_writers_first(300));
  EXPECT_THAT(corners(plan), testing::UnorderedElementsAre(Capacities{1, 300}, Capacities{300, 1}));
  EXPECT_TRUE(plan.pareto_exhausted);
  EXPECT_LT(plan.states, 200);
}

// Pairs that have nothing to do with each other: 2^12 corners, and a first one that takes long to reach.
TEST(Plan, ALimitInWorkEndsTheSearch) {
  Program all;
  for (char pair = 'a'; pair < 'a' + 12; ++pair) {
    Program const one = two_writers_first(4, std::string(1, pair));
    all.streams.insert(all.streams.end(), one.streams.begin(), one.streams.end());
    all.body.insert(all.body.end(), one.body.begin(), one.body.end());
  }
  PlanOptions options{.max_steps = 1'000'000};
  Plan const plan = make_plan(all, options);
  EXPECT_FALSE(plan.pareto_exhausted);
  EXPECT_EQ(plan.min_bytes, std::nullopt);
  EXPECT_EQ(plan.pareto.front().bytes, 12 * (1 + 4));
  EXPECT_LT(plan.least_bytes, plan.pareto.front().bytes);
  options.memory_bytes = plan.least_bytes;
  EXPECT_EQ(make_plan(all, options).verdict, Verdict::unknown);
}

TEST(Plan, HundredAndFiftyThousandTasksTakeLessThanFiveSeconds) {
#if defined(HIWAY_SANITIZED)
  GTEST_SKIP() << "a sanitizer is several times slower";
#endif
  // Every depth of the two streams between has its own makespan: the front is long.
  Program program;
  program.streams = {{"a", 4}, {"b", 4}, {"c", 4}};
  program.body = {{For{"i",
                       0,
                       50'000,
                       {{Task{"source", {write("a", 2)}}},
                        {Task{"middle", {read("a", 2), write("b", 3)}}},
                        {Task{"sink", {read("b", 3), write("c", 1)}}}}}},
                  {Task{"end", {read("c", 50'000)}}}};
  std::clock_t const start = std::clock();
  Plan const plan = make_plan(program, {.memory_vs_makespan = true});
  double const seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  std::cout << plan.states << " states, " << plan.trades.size() << " trades, " << seconds << " s of CPU" << std::endl;
  EXPECT_EQ(plan.tasks, 150'001);
  EXPECT_THAT(corners(plan), ElementsAre(Capacities{2, 3, 50'000}));
  EXPECT_TRUE(plan.pareto_exhausted);
  EXPECT_GT(plan.trades.size(), 10);
  EXPECT_LT(seconds, 5);
}

// ---- the JSON input

std::string dumped(Json const& value) {
  std::string text;
  switch (value.kind) {
    case Json::Kind::integer: return std::to_string(value.integer);
    case Json::Kind::text: return "\"" + value.text + "\"";
    case Json::Kind::list:
      for (Json const& item : value.items) text += (text.empty() ? "" : ", ") + dumped(item);
      return "[" + text + "]";
    case Json::Kind::object:
      for (JsonMember const& member : value.members)
        text += (text.empty() ? "\"" : ",\n \"") + member.key + "\": " + dumped(member.value);
      return "{" + text + "}";
    default: ADD_FAILURE() << "not in a program"; return "";
  }
}

/// Shuffles all keys, and renames what `is_name` says in the order of `names`.
void scramble(Json& value, std::mt19937& random, std::map<std::string, std::string>& names) {
  std::ranges::shuffle(value.members, random);
  for (JsonMember& member : value.members) {
    bool const is_name =
        member.key == "name" || member.key == "stream" || member.key == "task" || member.key == "process";
    if (is_name) {
      std::string const fresh = hiway::numbered("x", random() % 1000) + hiway::numbered("_", names.size());
      member.value.text = names.try_emplace(member.value.text, fresh).first->second;
    }
    scramble(member.value, random, names);
  }
  for (Json& item : value.items) scramble(item, random, names);
}

TEST(PlanInput, NamesAndTheOrderOfKeysChangeNothing) {
  for (auto const& entry :
       std::filesystem::directory_iterator(std::filesystem::path{HIWAY_SOURCE_DIR} / "examples/plan")) {
    if (entry.path().extension() != ".json") continue;
    std::string const name = entry.path().stem();
    Plan const expected = planned(example(name), {.memory_vs_makespan = true});
    std::mt19937 random{1};
    for (int way = 0; way < 200; ++way) {
      Json json = parse_json(example(name));
      std::map<std::string, std::string> names;
      scramble(json, random, names);
      Plan const plan = planned(dumped(json), {.memory_vs_makespan = true});
      ASSERT_EQ(plan.verdict, expected.verdict) << name << "\n" << dumped(json);
      ASSERT_EQ(plan.min, expected.min) << name << "\n" << dumped(json);
      ASSERT_EQ(corners(plan), corners(expected)) << name << "\n" << dumped(json);
      ASSERT_EQ(plan.min_bytes, expected.min_bytes);
      ASSERT_EQ(plan.states, expected.states) << name;
      ASSERT_EQ(plan.trades.size(), expected.trades.size());
      for (std::size_t t = 0; t < plan.trades.size(); ++t)
        ASSERT_EQ(plan.trades[t].makespan, expected.trades[t].makespan);
    }
  }
}

/// A program with one task whose one operation is `operation`.
std::string with_operation(std::string const& operation) {
  return "{\"streams\": [{\"name\": \"s\", \"elem_bytes\": 4}],\n \"body\": [{\"task\": \"t\", \"ops\": [\n  " +
         operation + "]}]}";
}

struct BadInput {
  char const* what;
  std::string json;
  char const* says;
};

TEST(PlanInput, WhatIsWrongIsSaidInOneLineWithItsPlace) {
  BadInput const cases[] = {
      {"empty", "", "line 1, column 1: not JSON: the text ends too early"},
      {"broken", "{\"streams\": [}", "line 1, column 14: not JSON: a value is needed"},
      {"cut off", "{\"streams\": [\n  {\"name\": \"s\"", "line 2, column 15: not JSON: ',' or '}' is needed"},
      {"two values", "{} {}", "line 1, column 4: not JSON: nothing may follow"},
      {"twice a key", "{\"body\": [],\n \"body\": []}", "line 2, column 2: the key 'body' is there twice"},
      {"very deep", std::string(300, '['), "column 202: not JSON: nested more than 200 deep"},
      {"no streams", "{\"body\": []}", "line 1, column 1: 'streams' is missing"},
      {"not an object", "[]", "line 1, column 1: an object is needed, not a list"},
      {"unknown key", "{\"streams\": [],\n \"bodies\": []}", "line 2, column 2: no key 'bodies' here: "},
      {"line break in a key", R"({"streams": [], "bo\ndy": []})", "line 1, column 17: no key 'bo?dy' here"},
      {"line break in a name", R"({"streams": [{"name": "s\n", "elem_bytes": 1}], "body": []})",
       "/streams/0/name: a control character in a name"},
      {"segment", "{\"segment\": {}}", "line 1, column 13: /segment: a segment stands in a file of its own"},
      {"semantics", R"({"streams": [], "body": [], "semantics": {"discipline": "lifo"}})",
       "line 1, column 57: /semantics/discipline: 'indexed' or 'fifo' is needed, not 'lifo'"},
      {"param", R"({"params": {"N": "4"}, "streams": [], "body": []})",
       "line 1, column 18: /params/N: an integer is needed, not a text"},
      {"two streams", R"({"streams": [{"name": "s", "elem_bytes": 4},
  {"name": "s", "elem_bytes": 8}], "body": []})",
       "line 2, column 3: /streams/1: there are two streams 's'"},
      {"elem_bytes", R"({"streams": [{"name": "s", "elem_bytes": 0}], "body": []})",
       "line 1, column 42: /streams/0/elem_bytes: '0': 0 bytes"},
      {"unknown stream", with_operation(R"({"stream": "q", "write": 1})"),
       "line 3, column 3: /body/0/ops/0/stream: no stream 'q'"},
      {"no access", with_operation(R"({"stream": "s"})"),
       "line 3, column 3: /body/0/ops/0: one of 'write', 'read' and 'peek' is needed"},
      {"two accesses", with_operation(R"({"stream": "s", "write": 1, "read": 1})"),
       "one of 'write', 'read' and 'peek'"},
      {"horizon of a write", with_operation(R"({"stream": "s", "write": 1, "horizon": 1})"),
       "only a 'read' has a 'horizon'"},
      {"horizon too short", with_operation(R"({"stream": "s", "read": 3, "horizon": 2})"),
       "line 3, column 41: /body/0/ops/0/horizon: '2': 2 as horizon"},
      {"negative count", with_operation(R"({"stream": "s", "write": "2 - 3"})"),
       "line 3, column 28: /body/0/ops/0/write: '2 - 3': -1 elements"},
      {"fraction", with_operation(R"({"stream": "s", "write": 1.5})"), "not a number that is no integer of 64 bits"},
      {"huge", with_operation(R"({"stream": "s", "write": 99999999999999999999})"), "no integer of 64 bits"},
      {"too many elements", with_operation(R"({"stream": "s", "write": 4611686018427387904})"), "elements"},
      {"index without dims", with_operation(R"({"stream": "s", "write": 1, "index": 0})"),
       "stream 's' has 0 dims, and 1 are given"},
      {"unknown name", with_operation(R"({"stream": "s", "write": "1 + n"})"),
       "line 3, column 28: /body/0/ops/0/write: '1 + n': column 5: no parameter or loop variable 'n' here: there are "
       "none"},
      {"broken expression", with_operation(R"({"stream": "s", "write": "1 + "})"),
       "'1 + ': column 5: a number, a name, '-', '!' or '(' is needed"},
      {"two comparisons", with_operation(R"({"stream": "s", "write": "0 < 1 < 2"})"),
       "column 7: a comparison of a comparison: write a < b and b < c, or brackets"},
      {"an assignment", with_operation(R"({"stream": "s", "write": "1 = 1"})"), "column 3: == compares"},
      {"no operator", with_operation(R"({"stream": "s", "write": "1 & 1"})"),
       "column 3: an operator is needed: + - * / % < <= > >= == != and or"},
      {"a NUL", with_operation(R"({"stream": "s", "write": "1\u0000"})"), "column 2: an operator is needed"},
      {"nothing to negate", with_operation(R"({"stream": "s", "write": "1 and != 2"})"),
       "column 7: a number, a name, '-', '!' or '(' is needed"},
      {"a word run together", with_operation(R"({"stream": "s", "write": "1 and1"})"),
       "column 3: an operator is needed"},
      {"many negations", with_operation("{\"stream\": \"s\", \"write\": \"" + std::string(500, '!') + "1\"}"),
       "nested more than 200 deep"},
      {"the right side counts", with_operation(R"({"stream": "s", "write": "1 and 1 / 0"})"), "division by 0"},
      {"open bracket", with_operation(R"({"stream": "s", "write": "(1"})"), "column 3: ')' or an operator is needed"},
      {"a word as a name", R"({"params": {"not": 1}, "streams": [], "body": []})",
       "/params: 'not' is no name for an expression"},
      {"half a character", R"({"params": {"\ud83d": 1}, "streams": [], "body": []})",
       "line 1, column 20: not JSON: half of a surrogate pair"},
      {"lines that end with a carriage return", "{\r\"streams\": 1\r\n}",
       "line 2, column 12: /streams: a list is needed"},
      {"deep expression", with_operation("{\"stream\": \"s\", \"write\": \"" + std::string(5000, '(') + "\"}"),
       "nested more than 200 deep"},
      {"division by 0", with_operation(R"({"stream": "s", "write": "1 / 0"})"), "'1 / 0': division by 0"},
      {"overflow", with_operation(R"({"stream": "s", "write": "9223372036854775807 + 1"})"), "more than 64 bits"},
      {"neither task nor loop", R"({"streams": [], "body": [{"while": 1}]})",
       "line 1, column 26: /body/0: a 'task', a 'for' or an 'if' is needed"},
      {"unbounded loop", R"({"streams": [], "body": [{"for": "i", "from": 0, "to": 9, "step": 0, "body": []}]})",
       "line 1, column 67: /body/0/step: '0': 0 as step: the loop would not end"},
      {"long loop", R"({"streams": [], "body": [{"for": "i", "from": 0, "to": 1000000000000, "body": []}]})",
       "line 1, column 26: /body/0: more than 40000000 loop iterations and operations"},
      {"10^7 tasks",
       R"({"streams": [], "body": [{"for": "i", "from": 0, "to": 10000000, "body": [{"task": "t", "ops": []}]}]})",
       "/body/0/body/0: more than 4000000 tasks"},
      {"10^12 streams", R"({"streams": [{"name": "s", "elem_bytes": 1, "dims": [1000000, 1000000]}], "body": []})",
       "line 1, column 14: /streams/0: more than 4000000 streams"},
      {"loop variable twice",
       R"({"streams": [], "body": [{"for": "i", "from": 0, "to": 1, "body": [{"for": "i", "from": 0, "to": 1, "body": []}]}]})",
       "/body/0/body/0/for: 'i' is already"},
      {"index outside", R"({"streams": [{"name": "s", "elem_bytes": 1, "dims": [4]}], "body": [
  {"for": "i", "from": 0, "to": 9, "body": [{"task": "t", "ops": [{"stream": "s", "write": 1, "index": "i"}]}]}]})",
       "line 2, column 104: /body/0/body/0/ops/0/index/0: 'i': index 4 of 's' is not within 0 to 3 (i=4)"},
  };
  for (BadInput const& bad : cases) {
    try {
      (void)planned(bad.json);
      ADD_FAILURE() << bad.what << " is accepted";
    } catch (hiway::ConfigError const& error) {
      EXPECT_THAT(error.what(), HasSubstr(bad.says)) << bad.what;
      EXPECT_EQ(std::string{error.what()}.find('\n'), std::string::npos) << bad.what;
    }
  }
}

TEST(PlanInput, AnUnknownParameterIsRefused) {
  EXPECT_THROW((void)planned(example("sink_first"), {.params = {{"M", 1}}}), hiway::ConfigError);
}

TEST(PlanInput, ExpressionsFloorAndBindAsUsual) {
  struct {
    char const* text;
    std::int64_t value;
  } const cases[] = {
      {"7 / 2", 3},    {"-7 / 2 + 9", 5},         {"(0 - 7) % 3", 2}, {"2 + 3 * 4", 14}, {"10 - 3 - 2", 5},
      {"N*N - 1", 15}, {"(1 < 2) + (2 >= 3)", 1}, {"5 == 5", 1},      {"5 != 5", 0},     {"1 + 1 <= 2", 1},
      {"--3", 3},      {"100 % 7 * 2", 4},        {" N ", 4}};
  for (auto const& one : cases) {
    Program program;
    program.params = {{"N", 4}};
    program.streams = {{"s"}};
    program.body = {{Task{"w", {write("s", one.text)}}}};
    EXPECT_THAT(make_plan(program).min, ElementsAre(one.value)) << one.text;
  }
}

/// The remainder was once found by a product that left 64 bits.
TEST(PlanInput, RemaindersHaveTheDivisorsSignUpToTheLeastNumber) {
  std::string const least = "(0 - 9223372036854775807 - 1)";
  std::pair<std::string, std::int64_t> const cases[] = {
      {"7 % -4 + 2", 1}, {"-7 / -2", 3}, {least + " % 3", 1}, {least + " % -1 + 2", 2}};
  for (auto const& [text, value] : cases) {
    Program program;
    program.streams = {{"s"}};
    program.body = {{Task{"w", {write("s", text)}}}};
    EXPECT_THAT(make_plan(program).min, ElementsAre(value)) << text;
  }
}

TEST(PlanInput, ConditionsAreJoinedAndNegated) {
  struct {
    char const* text;
    std::int64_t value;
  } const cases[] = {{"1 and 0", 0},
                     {"N and 7", 1},
                     {"0 or N", 1},
                     {"0 || 0", 0},
                     {"1 && 2", 1},
                     {"not N", 0},
                     {"!0", 1},
                     {"not not 5", 1},
                     {"1 or 0 and 0", 1},  // and before or
                     {"(1 or 0) and 0", 0},
                     {"not 1 or 1", 1},  // not before both
                     {"not 1 == 2", 1},  // a comparison before not
                     {"!1 == 2", 0},     // ! before a comparison
                     {"!(N > 3 && N < 5)", 0},
                     {"3 * !0 + 1", 4},
                     {"N>0and N<9", 1},
                     {"N != 0 and 8 % N == 0", 1},
                     {"N == 4 or 1 / (N - 4) > 0", 1},  // what the left side decides, the right one does not
                     {"N != 4 and 1 / (N - 4) > 0", 0},
                     {"(0 or 0 or 3) + (1 and 1 and 1)", 2},
                     {"android + not_ + order", 6}};
  for (auto const& one : cases) {
    Program program;
    program.params = {{"N", 4}, {"android", 1}, {"not_", 2}, {"order", 3}};
    program.streams = {{"s"}};
    program.body = {{Task{"w", {write("s", one.text)}}}};
    EXPECT_THAT(make_plan(program).min, ElementsAre(one.value)) << one.text;
  }
}

TEST(PlanInput, AnUnknownNameIsToldWhatIsKnown) {
  Program program;
  program.params = {{"N", 4}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", "n")}}}}}}};
  EXPECT_THAT([&] { (void)make_plan(program); },
              testing::ThrowsMessage<hiway::ConfigError>(HasSubstr("no parameter or loop variable 'n' here: N, i")));
}

TEST(PlanInput, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(planned("\xef\xbb\xbf{\"streams\": [], \"body\": []}").tasks, 0);
  EXPECT_THAT([] { (void)planned("\xef\xbb\xbf{]"); },
              testing::ThrowsMessage<hiway::ConfigError>(HasSubstr("line 1, column 2: not JSON")));
}

// Each key was compared with all others.
TEST(PlanInput, AHundredThousandKeysTakeLessThanFiveSeconds) {
  std::string json = R"({"streams": [], "body": [], "params": {"a": 1)";
  for (int i = 0; i < 100'000; ++i) json += ",\n\"p" + std::to_string(i) + "\": 1";
  std::clock_t const begin = std::clock();
  EXPECT_EQ(planned(json + "}}").tasks, 0);
  EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
  EXPECT_THAT([&] { (void)planned(json + ", \"p7\": 1}}"); },
              testing::ThrowsMessage<hiway::ConfigError>(HasSubstr("the key 'p7' is there twice")));
}

TEST(PlanInput, BranchesAndStepsAreFollowed) {
  Plan const plan = planned(R"({"streams": [{"name": "s", "elem_bytes": 1}], "body": [
    {"for": "i", "from": 1, "to": 10, "step": 4, "body": [
      {"if": "i > 1", "then": [{"task": "w", "ops": [{"stream": "s", "write": "i"}]}],
       "else": [{"task": "v", "ops": [{"stream": "s", "write": 100}]}]}]}]})");
  EXPECT_EQ(plan.tasks, 3);
  EXPECT_THAT(plan.min, ElementsAre(100 + 5 + 9));
}

TEST(PlanInput, AnEscapedNameIsRead) {
  Plan const plan = planned(R"({"streams": [{"name": "\u00e9\"\ud83d\ude00", "elem_bytes": 1}], "body": []})");
  EXPECT_THAT(plan.streams, ElementsAre("\xc3\xa9\"\xf0\x9f\x98\x80"));
}

}  // namespace
