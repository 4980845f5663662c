// Names and numbers in the files that hiway writes: JSON, Prometheus' text, Graphviz' language and traces are valid whatever a
// name's bytes are and whatever locale the program has set.
#include "lib/text.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <clocale>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <locale>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "hiway/plan/plan.hpp"
#include "hiway/plan/symbolic.hpp"
#include "lib/json.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Latin-1, a byte alone, too long a form, a surrogate, beyond Unicode, cut off; controls; markup; quotes.
std::vector<std::string> odd_names() {
  return {"caf\xe9",
          "\x80",
          "\xc0\xaf",
          "\xed\xa0\x80",
          "\xf4\x90\x80\x80",
          "cut \xe2\x82",
          std::string("a\0b", 3),
          "bell \a, escape \x1b, delete \x7f",
          "line\nline\r\ttab",
          "</script><b>&amp;]]>",
          "\"quoted\" \\ {label=\"x\"}",
          "\u00e9 \u20ac \U0001f600 \uffff",
          std::string(65'536, 'n') + "\xe9"};
}

bool is_valid_utf8(std::string_view text) {
  std::size_t follow = 0;
  std::uint32_t code = 0;
  std::size_t bytes = 0;
  for (char const c : text) {
    auto const byte = static_cast<unsigned char>(c);
    if (follow == 0) {
      bytes = byte < 0x80 ? 1 : byte >= 0xf0 && byte < 0xf8 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 0;
      if (bytes == 0 || byte >= 0xf8) return false;
      follow = bytes - 1;
      code = bytes == 1 ? byte : byte & (0x7fU >> bytes);
    } else {
      if (byte >> 6 != 2) return false;
      code = code << 6 | (byte & 0x3fU);
      --follow;
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (follow == 0 && (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))) return false;
  }
  return follow == 0;
}

bool has_controls_but_line_ends(std::string_view text) {
  return std::ranges::any_of(text,
                             [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; });
}

std::size_t items_of(Json const& object, std::string_view key) {
  auto const found = std::ranges::find(object.members, key, &JsonMember::key);
  return found == object.members.end() ? 0 : found->value.items.size();
}

/// A run of two stages whose names, and whose tunnel's, are `name`.
RunReport run_named(std::string const& name, std::string const& trace = {}, std::string* graph = nullptr) {
  PipelineConfig config = bounded();
  config.trace = trace;
  Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>(name, Direction::cpu_to_cpu);
  pipe.add_cpu_stage(name + " feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers));
  pipe.add_cpu_stage(name + " sink", [](int const&) {}, from(numbers));
  RunReport report = pipe.run();
  if (graph != nullptr) *graph = pipe.graph();
  return report;
}

TEST(Text, KeepsWhatIsUtf8) {
  for (std::string const text : {"plain", "\u00e9\u20ac\ud7ff\ue000\U0001f600\U0010ffff"}) {
    EXPECT_EQ(json_text(text), "\"" + text + "\"");
    EXPECT_EQ(quoted_text(text), "\"" + text + "\"");
  }
}

TEST(Text, ShowsTheBytesThatAreNoUtf8) {
  EXPECT_EQ(json_text("caf\xe9!"), R"("caf\\xe9!")");
  EXPECT_EQ(quoted_text("caf\xe9!"), R"("caf\\xe9!")");
  EXPECT_EQ(json_text("\xed\xa0\x80"), R"("\\xed\\xa0\\x80")");
  EXPECT_EQ(json_text("\xc0\xaf\xf5"), R"("\\xc0\\xaf\\xf5")");
  EXPECT_EQ(json_text("\xe2\x82"), R"("\\xe2\\x82")");
  EXPECT_EQ(json_text(std::string_view("\0\n\x7f", 3)), R"("\u0000\u000a\u007f")");
  EXPECT_EQ(quoted_text(std::string_view("\0\n\x7f", 3)), R"("\\x00\n\\x7f")");
  EXPECT_EQ(quoted_text("a \"b\" \\"), R"("a \"b\" \\")");
}

TEST(Text, NamesOfAnyBytesLeaveTheFilesValid) {
  HIWAY_NEEDS_DEVICE();
  for (std::string const& name : odd_names()) {
    std::string graph;
    RunReport const report = run_named(name, {}, &graph);
    std::string const json = to_json(report);
    Json const parsed = parse_json(json);
    EXPECT_EQ(items_of(parsed, "tunnels"), 1U);
    EXPECT_TRUE(is_valid_utf8(json)) << json;
    for (std::string const& text : {to_prometheus(report), graph}) {
      EXPECT_TRUE(is_valid_utf8(text)) << text;
      EXPECT_FALSE(has_controls_but_line_ends(text)) << text;
    }
  }
}

// Two names that differ in such a byte alone are two names in the file, too: a reader finds each once.
TEST(Text, NamesStayDifferent) {
  EXPECT_NE(json_text("a\xe8"), json_text("a\xe9"));
  EXPECT_NE(quoted_text("a\x01"), quoted_text("a\x02"));
}

TEST(Text, TracesOfNamesOfAnyBytesAreJson) {
  HIWAY_NEEDS_DEVICE();
  std::string const path = testing::TempDir() + "odd_names.json";
  for (std::string const& name : odd_names()) {
    run_named(name, path);
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    EXPECT_TRUE(is_valid_utf8(text.str()));
    EXPECT_GT(items_of(parse_json(text.str()), "traceEvents"), 3U);
  }
  std::filesystem::remove(path);
}

TEST(Text, PlansOfNamesOfAnyBytesAreValid) {
  for (std::string const name : {"caf\xe9", "\xed\xa0\x80"}) {
    plan::Program const program = plan::read_program(
        R"({"params": {"N": 2}, "streams": [{"name": ")" + name + R"(", "elem_bytes": 4}], "body": [
          {"for": "i", "from": 0, "to": "N", "body": [
            {"task": "write", "ops": [{"stream": ")" +
        name + R"(", "write": 1}]}, {"task": "read", "ops": [{"stream": ")" + name + R"(", "read": 1}]}]}]})");
    std::string const dot = plan::make_plan(program).dot;
    EXPECT_THAT(dot, HasSubstr("xe"));
    EXPECT_TRUE(is_valid_utf8(dot)) << dot;
    std::string const certificate = plan::make_symbolic_plan(program, {.symbols = {"N"}}).certificate;
    EXPECT_EQ(parse_json(certificate).kind, Json::Kind::object);
    EXPECT_TRUE(is_valid_utf8(certificate)) << certificate;
  }
}

TEST(Text, NumbersOfCountsHaveAllTheirDigits) {
  EXPECT_EQ(json_number(4'294'967'297.0), "4294967297");
  EXPECT_EQ(json_number(12'345'678.0), "12345678");
  EXPECT_EQ(json_number(0x1p62), "4611686018427387904");
  EXPECT_EQ(json_number(-1), "-1");
  EXPECT_EQ(json_number(0.123456789), "0.123457");
  EXPECT_EQ(json_number(1e300), "1e+300");
  EXPECT_EQ(json_number(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(prometheus_number(-std::numeric_limits<double>::infinity()), "-Inf");
  EXPECT_EQ(prometheus_number(std::numeric_limits<double>::quiet_NaN()), "NaN");
  RunReport report;
  report.items = std::numeric_limits<std::uint64_t>::max();
  report.tunnels.push_back({});
  report.tunnels[0].name = "t";
  report.tunnels[0].items = (std::uint64_t{1} << 53) + 1;
  report.tunnels[0].most_items = 4'294'967'299.0;
  EXPECT_THAT(to_json(report), AllOf(HasSubstr("\"items\":18446744073709551615"),
                                     HasSubstr("\"items\":9007199254740993"), HasSubstr("\"most_items\":4294967299,")));
  EXPECT_THAT(to_prometheus(report), AllOf(HasSubstr("tunnel_items_total{tunnel=\"t\"} 9007199254740993\n"),
                                           HasSubstr("tunnel_most_items{tunnel=\"t\"} 4294967299\n")));
}

/// As German has it: 1.234,5
struct Commas : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
  char do_thousands_sep() const override { return '.'; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(Text, NumbersAreTheSameInEveryLocale) {
  HIWAY_NEEDS_DEVICE();
  RunReport report;
  report.seconds = 1234.5;
  report.items = 1'234'567;
  report.end_detection_us = 0.25;
  report.tunnels.push_back({});
  report.tunnels[0].items = 1'234'567;
  report.tunnels[0].mean_items = 2.5;
  report.tunnels[0].full = 0.125;
  auto const all = [&] { return to_json(report) + to_prometheus(report) + to_text(report); };
  std::string const expected = all();
  std::string const path = testing::TempDir() + "commas.json";
  std::locale const before = std::locale::global(std::locale(std::locale::classic(), new Commas));
  std::string const c_before = std::setlocale(LC_ALL, nullptr);
  for (char const* const name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_ALL, name) != nullptr) break;  // none may be installed
  }
  std::string graph;
  run_named("numbers", path, &graph);
  std::string const in_commas = all();
  std::ifstream file(path);
  std::string const trace{std::istreambuf_iterator<char>(file), {}};
  std::setlocale(LC_ALL, c_before.c_str());
  std::locale::global(before);
  EXPECT_EQ(in_commas, expected);
  EXPECT_GT(items_of(parse_json(trace), "traceEvents"), 3U);
  EXPECT_THAT(graph, AllOf(HasSubstr("1 items, "), Not(testing::ContainsRegex("[0-9],[0-9]"))));
  std::filesystem::remove(path);
}

}  // namespace
