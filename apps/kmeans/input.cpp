#include "kmeans/input.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"

namespace kmeans {
namespace {

constexpr std::uint32_t most_points = 1U << 26;
constexpr std::uint32_t most_features = 1024;
constexpr std::uint32_t most_clusters = 1024;
constexpr std::uint32_t most_iterations = 1U << 20;
constexpr std::size_t most_values = std::size_t{1} << 31;
constexpr std::size_t most_centroid_values = 8192;
constexpr std::size_t most_bytes = std::size_t{1} << 34;
/// Its square, added up over all features, is a float.
constexpr double largest = 1e15;

/// The next word of `line`, which loses it; empty at the end.
std::string_view next_word(std::string_view& line) {
  constexpr std::string_view blanks = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
  std::string_view const word = line.substr(0, line.find_first_of(blanks));
  line.remove_prefix(word.size());
  return word;
}

/// Appends a line's features; returns how many there are.
std::uint32_t read_line(cli::TextLines& lines, std::vector<float>& values) {
  std::string_view line = lines.rest();
  std::uint32_t words = 0;
  for (std::string_view word; !(word = next_word(line)).empty(); ++words) {
    double number = 0;
    if (!cli::parse_number(word, number)) lines.fail("not a number: " + cli::shown(word));
    if (words == 0) continue;  // says which point it is
    if (!(std::abs(number) <= largest)) lines.fail("beyond 1e15: " + cli::shown(word));
    values.push_back(static_cast<float>(number));
  }
  if (words < 2) lines.fail("no features: a point is a number, which is not used, then its features");
  return words - 1;
}

void read_points(Input& input, std::string const& path) {
  cli::TextLines lines{path, most_bytes};
  while (lines.next()) {
    std::uint32_t const features = read_line(lines, input.values);
    if (input.points == 0) input.features = features;
    if (features > most_features) lines.fail("more than " + std::to_string(most_features) + " features");
    if (features != input.features) {
      lines.fail(std::to_string(features) + " features, and the first line has " + std::to_string(input.features));
    }
    if (++input.points > most_points || input.values.size() > most_values) lines.fail("too many points");
  }
  if (input.points == 0) lines.fail_file("empty");
}

void make_points(Input& input, InputOptions const& options) {
  input.points = options.points.value_or(2000);
  input.features = options.features.value_or(34);
  cli::require_in_range("--points", input.points, 1, most_points);
  cli::require_in_range("--features", input.features, 1, most_features);
  input.values.resize(std::size_t{input.points} * input.features);
  std::uint64_t const first = cli::mixed(options.seed + cli::mixed_step);
  for (std::size_t i = 0; i < input.values.size(); ++i)
    input.values[i] = static_cast<float>(cli::mixed(first + i * cli::mixed_step) % 256);
}

}  // namespace

void make_exact(std::span<float> values, std::uint32_t points) {
  double most = 0;
  for (float const value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  int exponent = 0;
  std::frexp(most * points, &exponent);
  double const unit = std::ldexp(1.0, exponent - 53);
  for (float& value : values) value = static_cast<float>(std::nearbyint(static_cast<double>(value) / unit) * unit);
}

Input make_input(InputOptions const& options) {
  if (options.file && options.file->empty()) throw cli::BadInput{"--input: the file's name is empty"};
  if (options.file && options.points) throw cli::BadInput{"--input and --points exclude each other"};
  if (options.file && options.features) throw cli::BadInput{"--input and --features exclude each other"};
  cli::require_in_range("--clusters", options.clusters, 1, most_clusters);
  cli::require_in_range("--iterations", options.iterations, 1, most_iterations);
  Input input{.clusters = options.clusters, .iterations = options.iterations};
  if (std::size_t{options.points.value_or(1)} * options.features.value_or(34) > most_values)
    throw cli::BadInput{"--points times --features must be at most " + std::to_string(most_values)};
  options.file ? read_points(input, *options.file) : make_points(input, options);
  if (input.clusters > input.points) {
    throw cli::BadInput{"--clusters: " + std::to_string(input.clusters) + " are more than the points, " +
                        std::to_string(input.points)};
  }
  if (std::size_t{input.clusters} * input.features > most_centroid_values) {
    throw cli::BadInput{"--clusters times features must be at most " + std::to_string(most_centroid_values) + ": " +
                        std::to_string(std::size_t{input.clusters} * input.features)};
  }
  make_exact(input.values, input.points);
  return input;
}

}  // namespace kmeans
