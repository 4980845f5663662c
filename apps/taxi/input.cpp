#include "taxi/input.hpp"

#include <algorithm>
#include <utility>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"
#include "taxi/reference.hpp"

namespace taxi {
namespace {

constexpr std::string_view header =
    R"("TRIP_ID","CALL_TYPE","ORIGIN_CALL","ORIGIN_STAND","TAXI_ID","TIMESTAMP","DAY_TYPE","MISSING_DATA","POLYLINE")";

/// Numbers that look random, one after another.
class Draws {
 public:
  explicit Draws(std::uint64_t stream) : stream_(stream) {}
  std::uint64_t below(std::uint64_t end) { return cli::mixed(stream_ += cli::mixed_step) % end; }

 private:
  std::uint64_t stream_;
};

/// `number` with zeros before it, `digits` in all.
std::string padded(std::uint64_t number, std::size_t digits) {
  std::string const text = std::to_string(number);
  return std::string(digits - text.size(), '0') + text;
}

void append_trip(std::string& text, Draws draws) {
  std::string const begin = std::to_string(1'372'636'800 + draws.below(31'536'000));  // a year from July 2013 on
  std::string const taxi = "20000" + padded(1 + draws.below(999), 3);
  text += "\"" + begin + "6" + taxi + R"(","C","","",")" + taxi + "\",\"" + begin + R"(","A","False","[)";
  std::uint64_t const pairs = 1 + draws.below(most_pairs_a_line);
  for (std::uint64_t i = 0; i < pairs; ++i) {
    text += i == 0 ? "[-8." : ",[-8.";
    text += padded(draws.below(1'000'000), 6);
    text += ",41.";
    text += padded(draws.below(1'000'000), 6);
    text += "]";
  }
  text += "]\"\n";
}

/// From `offset` on, without its end; then `offset` is the next one's.
Line next_line(std::string_view text, std::uint64_t& offset, std::uint32_t number) {
  std::uint64_t const begin = offset;
  std::uint64_t const end = std::min(text.find('\n', begin), text.size());
  offset = end + 1;
  bool const has_return = end > begin && text[end - 1] == '\r';
  return {begin, static_cast<std::uint32_t>(end - begin - (has_return ? 1 : 0)), number};
}

}  // namespace

Input index_lines(std::string text, std::string const& name) {
  Input input{.text = std::move(text)};
  std::uint64_t offset = 0;
  std::string_view const first = input.line(next_line(input.text, offset, 1));
  if (first.find('\r') != first.npos)
    throw cli::BadInput{name + ": line 1: a carriage return alone: lines end with \\n or \\r\\n"};
  std::vector<std::string_view> const fields = split_fields(first).all;
  if (fields.size() != fields_a_line || (fields.back() != "POLYLINE" && fields.back() != "\"POLYLINE\""))
    throw cli::BadInput{name + ": line 1: not a header of 9 fields, the last of them POLYLINE"};
  for (std::uint32_t number = 2; offset < input.text.size(); ++number)
    input.lines.push_back(next_line(input.text, offset, number));
  return input;
}

std::string generated_trips(std::uint64_t lines, std::uint64_t seed) {
  std::string text{header};
  text += '\n';
  text.reserve(text.size() + lines * 1080);
  for (std::uint64_t line = 0; line < lines; ++line)
    append_trip(text, Draws{cli::mixed(line + cli::mixed(seed + cli::mixed_step))});
  return text;
}

Input make_input(InputOptions const& options) {
  if (options.file && options.lines) throw cli::BadInput{"--input and --lines exclude each other"};
  if (options.file) {
    return index_lines(cli::read_text(*options.file, most_bytes), *options.file);
  }
  std::int64_t const lines = options.lines.value_or(default_lines);
  if (lines < 0 || lines > most_lines) throw cli::BadInput{"--lines must be 0 to 3000000: " + std::to_string(lines)};
  return index_lines(generated_trips(static_cast<std::uint64_t>(lines), options.seed), "generated");
}

}  // namespace taxi
