#include "knn/input.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"

namespace knn {
namespace {

constexpr std::uint32_t most_places = 1U << 28;
constexpr std::uint32_t most_k = 256;
constexpr std::size_t most_bytes = std::size_t{1} << 34;
constexpr double most_degrees = 360;

// A record is a line of so many characters; these are at fixed columns.
constexpr std::size_t record_length = 48;
constexpr std::size_t latitude_at = 28;
constexpr std::size_t longitude_at = 33;
constexpr std::size_t number_length = 5;

float read_degrees(cli::TextLines const& lines, std::string_view record, std::size_t at, std::string const& what) {
  std::string_view const field = record.substr(at, number_length);
  std::string_view text = field;
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  double degrees = 0;
  if (!cli::parse_number(text, degrees)) lines.fail(what + " is not a number: " + cli::shown(field));
  if (!(std::abs(degrees) <= most_degrees)) lines.fail(what + " is beyond 360 degrees: " + cli::shown(field));
  return static_cast<float>(degrees);
}

void read_records(std::string const& path, std::vector<Place>& places) {
  cli::TextLines lines{path, most_bytes};
  while (lines.next()) {
    std::string_view const record = lines.rest();
    if (record.size() != record_length) {
      lines.fail("a record has " + std::to_string(record_length) + " characters, not " + std::to_string(record.size()));
    }
    if (places.size() == most_places) lines.fail("more than " + std::to_string(most_places) + " places");
    places.push_back(
        {read_degrees(lines, record, latitude_at, "latitude"), read_degrees(lines, record, longitude_at, "longitude")});
  }
  if (lines.number() == 0) lines.fail_file("empty");
}

void read_places(std::string const& list, std::vector<Place>& places) {
  constexpr std::size_t most_list_bytes = std::size_t{1} << 20;
  constexpr std::string_view blanks = " \t\r\n";
  std::string const text = cli::read_text(list, most_list_bytes);
  for (std::size_t at = text.find_first_not_of(blanks); at < text.size();) {
    std::size_t const end = std::min(text.find_first_of(blanks, at), text.size());
    read_records(text.substr(at, end - at), places);
    at = text.find_first_not_of(blanks, end);
  }
  if (places.empty()) throw cli::BadInput{list + ": names no file"};
}

/// Tenths of degrees, as records have them: some places lie as far away as others.
std::vector<Place> made_places(std::uint32_t count, std::uint64_t seed) {
  std::vector<Place> places(count);
  std::uint64_t const first = cli::mixed(seed + cli::mixed_step);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint64_t const bits = cli::mixed(first + i * cli::mixed_step);
    auto const tenths = [](std::uint64_t number, int most) {
      return static_cast<float>(static_cast<int>(number % (2U * static_cast<unsigned>(most) + 1)) - most) / 10.0F;
    };
    places[i] = {tenths(bits & 0xffffffffU, 900), tenths(bits >> 32, 1800)};
  }
  return places;
}

float degrees(std::string const& option, double value) {
  if (!(std::abs(value) <= most_degrees))
    throw cli::BadInput{option + " must be -360 to 360: " + std::to_string(value)};
  return static_cast<float>(value);
}

}  // namespace

Input make_input(InputOptions const& options) {
  if (options.file && options.file->empty()) throw cli::BadInput{"--input: the file's name is empty"};
  if (options.file && options.places) throw cli::BadInput{"--input and --places exclude each other"};
  if (options.k < 1 || options.k > most_k)
    throw cli::BadInput{"--k must be 1 to " + std::to_string(most_k) + ": " + std::to_string(options.k)};
  std::uint32_t const places = options.places.value_or(42'764);
  if (places < 1 || places > most_places)
    throw cli::BadInput{"--places must be 1 to " + std::to_string(most_places) + ": " + std::to_string(places)};
  Input input;
  input.from = {degrees("--lat", options.latitude), degrees("--lng", options.longitude)};
  if (options.file) {
    read_places(*options.file, input.places);
  } else {
    input.places = made_places(places, options.seed);
  }
  input.k = std::min(options.k, static_cast<std::uint32_t>(input.places.size()));
  return input;
}

}  // namespace knn
