// Input: a file of trips as it is, and where its lines lie.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "taxi/stages.hpp"

namespace taxi {

struct Input {
  std::string text;
  std::vector<Line> lines;  ///< all but the header

  /// *Lifetime*: the input's.
  [[nodiscard]] std::string_view line(Line const& line) const {
    return std::string_view{text}.substr(line.offset, line.length);
  }
};

/// What the user gave; an empty optional is an option that was not given.
struct InputOptions {
  std::optional<std::string> file{};
  std::optional<std::int64_t> lines{};
  std::uint64_t seed = 1;
};

inline constexpr std::int64_t default_lines = 1000;
inline constexpr std::int64_t most_lines = 3'000'000;
inline constexpr std::size_t most_bytes = 4'000'000'000;  ///< a place in a line has 32 bits
inline constexpr std::uint32_t most_pairs_a_line = 89;    ///< of generated ones

/// The file's lines behind the header; they end with \n or \r\n, the last one also with the file. Empty lines are lines.
/// *Throws* cli::BadInput with `name` when the header is none.
Input index_lines(std::string text, std::string const& name);

/// A header and `lines` trips of 1 to 89 pairs, each as likely, as in the data of Porto's taxis.
std::string generated_trips(std::uint64_t lines, std::uint64_t seed);

/// *Throws* cli::BadInput in one line: options that exclude each other, values out of range, a bad file.
Input make_input(InputOptions const& options);

}  // namespace taxi
