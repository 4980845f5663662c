// Symbolic plans: what is proven, what is not, and that a changed proof is found. The checker that shares nothing with the
// planner: check_certificate.py.
#include "hiway/plan/symbolic.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>

#include "hiway/error.hpp"
#include "hiway/plan/plan.hpp"
#include "lib/plan/agreement.hpp"
#include "lib/plan/certificate.hpp"
#include "lib/plan/model.hpp"
#include "lib/plan/prove.hpp"

namespace {

using namespace hiway::plan;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Strings = std::vector<std::string>;

Program example(std::string const& name) {
  std::ifstream file{std::filesystem::path{HIWAY_SOURCE_DIR} / "examples/plan" / (name + ".json")};
  EXPECT_TRUE(file) << name;
  return read_program(std::string{std::istreambuf_iterator<char>{file}, {}});
}

/// The prover alone, without looking at small values.
bool provable(Program const& program, Symbols const& symbols, std::map<std::string, std::string> const& bound,
              std::size_t degree = 1) {
  Model const model = make_model(program, {}, symbols, bound, degree);
  return prove(program, model, model.bound, degree).proven.has_value();
}

// ---- the slides' programs

TEST(SymbolicPlan, TwoWritesFourReadsNeedFourForAllN) {
  SymbolicPlan const plan = make_symbolic_plan(example("two_writes_four_reads"), {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("4"));
  EXPECT_EQ(plan.range, "N >= 0");
}

TEST(SymbolicPlan, SinkFirstNeedsNForAllN) {
  SymbolicPlan const plan = make_symbolic_plan(example("sink_first"), {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("N"));
  EXPECT_EQ(plan.range, "N >= 1");  // with N = 0 the sink reads what the source writes: one element
}

TEST(SymbolicPlan, SinkFirstUnderFifoIsDisprovenWithTheValues) {
  Program program = example("sink_first");
  program.discipline = Discipline::fifo;
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::disproven);
  EXPECT_THAT(plan.bound, IsEmpty());
  EXPECT_THAT(plan.range, HasSubstr("N=2; N=3"));
  EXPECT_THAT(plan.why, HasSubstr("(fifo)"));
}

// Each side of the two comparisons is a part of its own.
TEST(SymbolicPlan, JoinedConditionsArePartsOfAStatement) {
  for (char const* const condition : {"i > 0 and i < N - 1", "!(i <= 0 || i >= N - 1)", "not (i < 1 or N - 2 < i)",
                                      "not not (i != 0 and N - 1 - i and 1)"}) {
    Program program = example("borders");
    std::get<If>(std::get<For>(program.body[0].is).body[0].is).condition = condition;
    SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
    EXPECT_EQ(plan.outcome, Outcome::proven) << condition << ": " << plan.why;
    EXPECT_THAT(plan.bound, ElementsAre("2")) << condition;
    EXPECT_EQ(plan.range, "N >= 0") << condition;
    for (std::size_t degree : {1, 2}) EXPECT_FALSE(provable(program, {{"N"}, 3}, {{"sent", "1"}}, degree)) << condition;
  }
}

// The controls: the prover must not prove what is wrong, whatever small values say.
TEST(SymbolicPlan, OneLessIsNotProven) {
  EXPECT_TRUE(provable(example("two_writes_four_reads"), {{"N"}, 2}, {{"s", "4"}}));
  EXPECT_TRUE(provable(example("sink_first"), {{"N"}, 1}, {{"s", "N"}}));
  EXPECT_TRUE(provable(example("stencil_chain"), {{"N", "K"}, 1}, {{"line", "3"}}));
  EXPECT_TRUE(provable(example("gauss_seidel"), {{"N", "T"}, 2}, {{"sweep", "2"}, {"left", "2"}}));
  EXPECT_TRUE(provable(example("smith_waterman"), {{"ROWS"}, 1}, {{"right_edges", "2"}, {"lower_edges", "2"}}));
  EXPECT_TRUE(provable(example("cholesky"), {{"N"}, 2}, {{"a", "2"}, {"l", "1"}}));
  for (std::size_t degree : {1, 2}) {
    EXPECT_FALSE(provable(example("two_writes_four_reads"), {{"N"}, 2}, {{"s", "3"}}, degree));
    EXPECT_FALSE(provable(example("sink_first"), {{"N"}, 1}, {{"s", "N - 1"}}, degree));
    EXPECT_FALSE(provable(example("stencil_chain"), {{"N", "K"}, 1}, {{"line", "2"}}, degree));
    EXPECT_FALSE(provable(example("gauss_seidel"), {{"N", "T"}, 2}, {{"sweep", "1"}, {"left", "2"}}, degree));
    EXPECT_FALSE(provable(example("gauss_seidel"), {{"N", "T"}, 2}, {{"sweep", "2"}, {"left", "1"}}, degree));
    EXPECT_FALSE(
        provable(example("smith_waterman"), {{"ROWS"}, 1}, {{"right_edges", "1"}, {"lower_edges", "2"}}, degree));
    EXPECT_FALSE(provable(example("cholesky"), {{"N"}, 2}, {{"a", "1"}, {"l", "1"}}, degree));
    EXPECT_FALSE(provable(example("cholesky"), {{"N"}, 2}, {{"a", "2"}, {"l", "0"}}, degree));
  }
}

TEST(SymbolicPlan, ABoundThatIsTooLittleIsDisproven) {
  SymbolicPlan const plan = make_symbolic_plan(example("sink_first"), {.symbols = {"N"}, .bound = {{"s", "N - 1"}}});
  EXPECT_EQ(plan.outcome, Outcome::disproven);
  EXPECT_THAT(plan.why, HasSubstr("the bound is too little for N=0; N=1; N=2"));
}

TEST(SymbolicPlan, ABoundMayBeMoreThanTheLeast) {
  SymbolicPlan const plan =
      make_symbolic_plan(example("sink_first"), {.symbols = {"N"}, .bound = {{"s", "2 * N + 1"}}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_EQ(plan.range, "N >= 0");
}

// ---- other examples

TEST(SymbolicPlan, TheExamplesAreProvenForAllParameters) {
  struct {
    char const* name;
    Strings symbols;
    Strings bound;
  } const cases[] = {{"stencil_chain", {"N"}, {"3"}},          {"stencil_chain", {"N", "K"}, {"3"}},
                     {"gauss_seidel", {"N", "T"}, {"2", "2"}}, {"smith_waterman", {"ROWS", "COLUMNS"}, {"2", "2"}},
                     {"cholesky", {"N"}, {"2", "1"}},          {"multi_rate", {"TIMES"}, {"1", "4", "8", "14", "5"}}};
  for (auto const& one : cases) {
    SymbolicPlan const plan = make_symbolic_plan(example(one.name), {.symbols = one.symbols});
    EXPECT_EQ(plan.outcome, Outcome::proven) << one.name << ": " << plan.why;
    EXPECT_EQ(plan.bound, one.bound) << one.name;
  }
}

TEST(SymbolicPlan, MultiRateEdgesMeetTheFormulaForAllLengths) {
  for (int p = 1; p <= 7; ++p) {
    for (int c = 1; c <= 7; ++c) {
      int const g = std::gcd(p, c);
      Program program;
      program.params = {{"N", 2}};
      program.streams = {{"s"}};
      program.body = {{For{"i", 0, std::to_string(c / g) + " * N", {{Task{"p", {write("s", p)}, "p"}}}}},
                      {For{"j", 0, std::to_string(p / g) + " * N", {{Task{"c", {read("s", c)}, "c"}}}}}};
      SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}, .degree = 1});
      EXPECT_EQ(plan.outcome, Outcome::proven) << p << " " << c << ": " << plan.why;
      EXPECT_THAT(plan.bound, ElementsAre(std::to_string(p + c - g)));
      EXPECT_EQ(plan.range, "N >= 0");
    }
  }
}

/// N rows of M elements, written and read row by row: windows i*M + j.
Program by_rows(char const* writer, char const* reader) {
  Program program;
  program.params = {{"N", 3}, {"M", 4}};
  program.streams = {{"s"}};
  auto const rows = [](Task const& task) { return For{"i", 0, "N", {{For{"j", 0, "M", {{task}}}}}}; };
  program.body = {{rows({"w", {write("s", 1)}, writer})}, {rows({"r", {read("s", 1)}, reader})}};
  return program;
}

TEST(SymbolicPlan, PolynomialWindowsNeedTheirDegree) {
  SymbolicPlan plan = make_symbolic_plan(by_rows("", ""), {.symbols = {"N", "M"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("1"));
  plan = make_symbolic_plan(by_rows("", ""), {.symbols = {"N", "M"}, .degree = 1});
  EXPECT_EQ(plan.outcome, Outcome::unknown);
  EXPECT_THAT(plan.why, HasSubstr("no proof of degree 1"));
  plan = make_symbolic_plan(by_rows("p", "p"), {.symbols = {"N", "M"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("N*M"));
}

TEST(SymbolicPlan, AnOrderRowByRowNeedsTimesWithTwoEntries) {
  Program program;
  program.params = {{"N", 3}, {"M", 4}};
  program.streams = {{"s", 1, {"N", "M"}}};
  Task const task{"t", {write("s", 1, {"i", "j"})}, "p"};
  program.body = {{For{"i", 0, "N", {{For{"j", 0, "M", {{task}}}}}}}};
  EXPECT_EQ(make_symbolic_plan(program, {.symbols = {"N", "M"}, .degree = 1}).outcome, Outcome::proven);
}

TEST(SymbolicPlan, ATriangleNeedsASquare) {
  Program program;
  program.params = {{"N", 3}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{For{"j", 0, "i + 1", {{Task{"w", {write("s", 1)}, "p"}}}}}}}},
                  {For{"i", 0, "N", {{Task{"r", {read("s", "i + 1")}, "p"}}}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("(N*N + N) / 2"));
}

TEST(SymbolicPlan, StepsAndHalvesAreCounted) {
  Program program;
  program.params = {{"N", 3}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", 1)}, "p"}}}, 2}},
                  {For{"i", 0, "(N + 1) / 2", {{Task{"r", {read("s", 1)}, "p"}}}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("((N + 1) / 2)"));
}

TEST(SymbolicPlan, WhereTheLeastIsNoPolynomialMoreIsProven) {
  // P + 3 - gcd(P, 3) is the least.
  Program program;
  program.params = {{"P", 2}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, 9, {{Task{"w", {write("s", "P")}}}}}},
                  {For{"i", 0, "3 * P", {{Task{"r", {read("s", 3)}}}}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"P"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_THAT(plan.bound, ElementsAre("P + 2"));
  EXPECT_THAT(plan.why, HasSubstr("exact plans need less for some of P=2 to P=7"));
}

TEST(SymbolicPlan, BadInputBelowSomeValueIsNoReasonAgainst) {
  Program program;
  program.params = {{"N", 5}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", 1)}}}}}}, {Task{"r", {read("s", "N - 2")}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_EQ(plan.range, "N >= 4");
}

TEST(SymbolicPlan, BadInputBelowSomeValueDoesNotHideACounterexample) {
  Program program;
  program.params = {{"N", 5}};
  program.streams = {{"s"}};
  program.body = {{Task{"w", {write("s", "N - 2")}}}, {Task{"r", {read("s", "N")}}}};
  EXPECT_EQ(make_symbolic_plan(program, {.symbols = {"N"}}).outcome, Outcome::disproven);
  // Bad input above some value: nobody knows what comes between.
  program.body = {{Task{"w", {write("s", "(5 - N) * (N < 4) - (N > 6)")}}}, {Task{"r", {read("s", "7 - N")}}}};
  EXPECT_EQ(make_symbolic_plan(program, {.symbols = {"N"}}).outcome, Outcome::unknown);
}

// ---- what has no proof

TEST(SymbolicPlan, WhatNoPolynomialCountsIsUnknown) {
  Program program;
  program.params = {{"N", 4}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", "1 + i % 2")}}}}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::unknown);
  EXPECT_THAT(plan.why, HasSubstr("what 'w' writes is not counted"));
}

TEST(SymbolicPlan, AProgramThatStarvesForSomeValuesIsDisproven) {
  Program program;
  program.params = {{"N", 4}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", 1)}}}}}}, {Task{"r", {read("s", "N + N % 2")}}}};
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::disproven);
  EXPECT_EQ(plan.range, "N=1; N=3; N=5; N=7; N=9; N=11; N=13");
}

TEST(SymbolicPlan, ValuesThatStarveAreLeftBelow) {
  Program program;
  program.params = {{"N", 9}};
  program.streams = {{"s"}};
  program.body = {{For{"i", 0, "N", {{Task{"w", {write("s", 1)}}}}}}, {Task{"r", {read("s", 6)}}}};
  program.leftover = Leftover::drop;
  SymbolicPlan const plan = make_symbolic_plan(program, {.symbols = {"N"}});
  EXPECT_EQ(plan.outcome, Outcome::proven) << plan.why;
  EXPECT_EQ(plan.range, "N >= 6");
  EXPECT_THAT(plan.bound, ElementsAre("6"));
}

TEST(SymbolicPlan, BadOptionsAreRefused) {
  Program const program = example("sink_first");
  EXPECT_THROW((void)make_symbolic_plan(program, {}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"M"}}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"N", "N"}}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"N"}, .params = {{"N", 1}}}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"N"}, .degree = 0}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"N"}, .bound = {{"q", "1"}}}), hiway::ConfigError);
  EXPECT_THROW((void)make_symbolic_plan(program, {.symbols = {"N"}, .bound = {{"s", "1 +"}}}), hiway::ConfigError);
}

TEST(SymbolicPlan, WhatIsNotAffineIsSaidWithItsPlace) {
  struct {
    Operation operation;
    char const* says;
  } const cases[] = {{write("s", 1, {"i * i"}), "/body/0/body/0/ops/0/index/0: 'i * i': an index is affine"},
                     {write("s", 1, {"N / (i + 1)"}), "'N / (i + 1)': a symbol is divided by a number above 0 only"}};
  for (auto const& one : cases) {
    Program program;
    program.params = {{"N", 4}};
    program.streams = {{"s", 1, {"N * N + 1"}}};
    program.body = {{For{"i", 0, "N", {{Task{"w", {one.operation}}}}}}};
    try {
      (void)make_symbolic_plan(program, {.symbols = {"N"}});
      ADD_FAILURE() << one.says;
    } catch (hiway::ConfigError const& error) {
      EXPECT_THAT(error.what(), HasSubstr(one.says));
    }
  }
}

// ---- what it is made of

TEST(Polynomials, AreTightenedToTheNextInteger) {
  Polynomial const i = Polynomial::of(0);
  Polynomial const j = Polynomial::of(1);
  // Boost's rationals gave 1 / 2 as 1, where the 2 was no rational.
  EXPECT_EQ(tightened(Polynomial(2) * i - Polynomial(2) * j + 1), i - j);
  EXPECT_EQ(tightened(Polynomial(2) * i - Polynomial(2) * j - 1), i - j - 1);
  EXPECT_EQ(tightened(Polynomial(Rational(3, 2)) * i + Polynomial(Rational(7, 2))), i + 2);
  EXPECT_EQ(tightened(Polynomial(-3)), Polynomial(-3));
}

TEST(Polynomials, AreSummed) {
  Polynomial const i = Polynomial::of(0);
  Polynomial const n = Polynomial::of(1);
  Polynomial const f = i * i * i + Polynomial(Rational(5, 3)) * i * i - Polynomial(2) * i + 7;
  Polynomial const all = sum(f, 0, Polynomial(-2), n).value();
  Rational expected = 0;
  for (int value = -3; value <= 5; ++value) {
    if (value >= -2) expected += f.at([&](Variable) { return Rational(value); });
    EXPECT_EQ(all.at([&](Variable) { return Rational(value); }), expected) << value;
  }
  EXPECT_FALSE(sum(f * i, 0, Polynomial(0), n));
}

TEST(Simplexes, FindAPointOrWhyThereIsNone) {
  Simplex simplex;
  Simplex::Number const x = simplex.add_variable();
  Simplex::Number const y = simplex.add_variable();
  Simplex::Number const sum_of = simplex.add_row({{x, 1}, {y, 1}});
  Simplex::Number const difference = simplex.add_row({{x, 1}, {y, -1}});
  simplex.set_bounds(sum_of, std::nullopt, Rational(3));
  simplex.set_bounds(difference, Rational(2), std::nullopt);
  ASSERT_TRUE(simplex.check());
  EXPECT_LE(simplex.value(x) + simplex.value(y), 3);
  EXPECT_GE(simplex.value(x) - simplex.value(y), 2);
  simplex.set_bounds(y, Rational(1), std::nullopt);
  ASSERT_FALSE(simplex.check());
  // difference - sum + 2 y is 0 everywhere, and at least 2 - 3 + 2 within the bounds.
  Rational least = 0;
  for (auto const& [variable, factor] : simplex.conflict())
    least += factor * (variable == sum_of ? 3 : variable == difference ? 2 : 1);
  EXPECT_EQ(simplex.conflict().size(), 3);
  EXPECT_GT(least, 0);
}

TEST(Proofs, AreFoundOrRefuted) {
  Polynomial const x = Polynomial::of(0);
  Polynomial const y = Polynomial::of(1);
  // 2x >= 3 and y >= x over the integers: x >= 2, y >= 2
  std::vector<Polynomial> const given{tightened(Polynomial(2) * x - 3), y - x};
  EXPECT_TRUE(prove_at_least_0(x + y - 4, given, 1));
  EXPECT_FALSE(prove_at_least_0(x + y - 5, given, 1));
  EXPECT_FALSE(prove_at_least_0(x * y - 4, given, 1));
  EXPECT_TRUE(prove_at_least_0(x * y - 4, given, 2));
  EXPECT_FALSE(prove_at_least_0(x * y - 5, given, 2));
  EXPECT_FALSE(prove_empty(given, 1));
  EXPECT_TRUE(prove_empty({x - 1, -x}, 1));
}

TEST(Models, ThatDisagreeWithTheProgramAreFound) {
  Program const program = example("sink_first");
  Model const model = make_model(program, {}, {{"N"}, 1}, {}, 1);
  Tasks const tasks = expand(program, {{"N", 5}});
  EXPECT_EQ(disagreement(program, model, tasks, {5}), "");
  for (std::size_t s = 0; s < model.statements.size(); ++s) {
    Model other = model;
    other.statements[s].windows[0].first += Polynomial(1);
    EXPECT_THAT(disagreement(program, other, tasks, {5}), HasSubstr("another window in s"));
    other = model;
    other.statements[s].windows[0].count += Polynomial(1);
    other.statements[s].windows[0].reach += Polynomial(1);
    EXPECT_THAT(disagreement(program, other, tasks, {5}), HasSubstr("another window in s"));
    other.statements.erase(other.statements.begin() + static_cast<std::ptrdiff_t>(s));
    EXPECT_THAT(disagreement(program, other, tasks, {5}), HasSubstr("is no point of one statement"));
  }
}

// ---- certificates

TEST(Certificate, AChangedProofIsFound) {
  std::string const certificate = make_symbolic_plan(example("sink_first"), {.symbols = {"N"}}).certificate;
  EXPECT_EQ(fault_of(certificate), "");
  // Every factor of every proof, one at a time.
  int changed = 0;
  for (std::size_t at = certificate.find("\"waits\""); (at = certificate.find("[[\"", at)) != std::string::npos;
       at += 3) {
    std::string other = certificate;
    other.insert(at + 3, 1, '2');  // 1 becomes 21, 1/2 becomes 21/2
    EXPECT_NE(fault_of(other), "") << certificate.substr(at, 40);
    ++changed;
  }
  EXPECT_GT(changed, 10);
}

TEST(Certificate, FactorsBelow0AreNoProof) {
  // -1 = -1 * (1): with such factors everything follows.
  auto const with_factor = [](std::string const& factor) {
    return R"({"symbols": [], "least": 0, "params": [], "bound": {}, "floors": [], "domain": [], "statements": [],
      "rests": [], "waits": [], "facts": [{"what": "f", "given": [], "at_least_0": {"": ")" +
           factor + R"("}, "proof": [[")" + factor + R"(", []]]}]})";
  };
  EXPECT_EQ(fault_of(with_factor("1")), "");
  EXPECT_EQ(fault_of(with_factor("-1")), "fact 0 (f) does not follow");
  EXPECT_THROW((void)fault_of(with_factor("x")), hiway::ConfigError);
  EXPECT_THROW((void)fault_of("{}"), hiway::ConfigError);
}

}  // namespace
