#include "taxi/reference.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>

#include "taxi/methods.hpp"

namespace taxi {
namespace {

std::vector<std::string_view> split_at(std::string_view text, std::string_view between) {
  std::vector<std::string_view> parts;
  for (std::size_t at = text.find(between); at != text.npos; at = text.find(between)) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + between.size());
  }
  parts.push_back(text);
  return parts;
}

bool are_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Coordinate> read_coordinate(std::string_view text) {
  bool const is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::vector<std::string_view> const parts = split_at(text, ".");
  if (parts.size() > 2 || !std::ranges::all_of(parts, are_digits)) return {};
  std::string_view const degrees = parts.front();
  std::string_view const decimals = parts.size() == 2 ? parts.back() : "";
  if (degrees.size() > 3 || decimals.size() > 6 || (degrees.size() > 1 && degrees.starts_with('0'))) return {};
  auto const digits = static_cast<std::uint32_t>(std::stoul(std::string{degrees} + std::string{decimals}));
  if (std::stod(std::string{text}) > 180) return {};
  return Coordinate{(is_negative ? Coordinate::minus : 0) | static_cast<std::uint32_t>(decimals.size()) << 28 | digits};
}

Trip broken(std::string reason) { return {{}, std::move(reason)}; }

}  // namespace

Fields split_fields(std::string_view line) {
  Fields fields{};
  std::size_t begin = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"') fields.ends_quoted = !fields.ends_quoted;
    if (line[i] != ',' || fields.ends_quoted) continue;
    fields.all.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  fields.all.push_back(line.substr(begin));
  return fields;
}

Trip read_trip(std::string_view line, std::uint32_t number) {
  auto const [fields, ends_quoted] = split_fields(line);
  if (ends_quoted) return broken("a quote is not closed");
  if (fields.size() != 9) return broken("fields must be 9: " + std::to_string(fields.size()));
  std::string_view list = fields.back();
  if (list == "[]" || list == "\"[]\"") return {};
  if (!list.starts_with("\"[[") || !list.ends_with("]]\"")) return broken("POLYLINE is no list of pairs");
  list = list.substr(3, list.size() - 6);
  Trip trip;
  for (std::string_view const text : split_at(list, "],[")) {
    std::string const pair = "pair " + std::to_string(trip.pairs.size() + 1);
    std::vector<std::string_view> const numbers = split_at(text, ",");
    if (numbers.size() != 2) return broken(pair + ": not two numbers");
    std::optional<Coordinate> const longitude = read_coordinate(numbers[0]);
    std::optional<Coordinate> const latitude = read_coordinate(numbers[1]);
    if (!longitude || !latitude)
      return broken(pair + ": the " + (longitude ? "latitude" : "longitude") + " is no coordinate");
    auto const place = static_cast<std::uint32_t>(text.data() - line.data()) - 1;
    trip.pairs.push_back({number, place, *latitude, *longitude});
  }
  return trip;
}

Conversion reference_conversion(Input const& input, unsigned threads) {
  std::vector<Conversion> parts(threads);
  auto const convert = [&](unsigned t) {
    for (std::size_t i = input.lines.size() * t / threads; i < input.lines.size() * (t + 1) / threads; ++i) {
      Line const& line = input.lines[i];
      Trip const trip = read_trip(input.line(line), line.number);
      parts[t].pairs.insert(parts[t].pairs.end(), trip.pairs.begin(), trip.pairs.end());
      if (!trip.broken.empty()) parts[t].broken.push_back(line.number);
    }
  };
  {
    std::vector<std::jthread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(convert, t);
    convert(0);
  }
  Conversion all;
  for (Conversion const& part : parts) {
    all.pairs.insert(all.pairs.end(), part.pairs.begin(), part.pairs.end());
    all.broken.insert(all.broken.end(), part.broken.begin(), part.broken.end());
  }
  return all;
}

std::vector<Measurement> run_reference(Input const& input, Job const& job, Conversion& conversion) {
  return cli::repeated(job, [&] {
    auto const begin = std::chrono::steady_clock::now();
    conversion = reference_conversion(input, 1);
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return Measurement{.seconds = seconds, .items = conversion.pairs.size()};
  });
}

}  // namespace taxi
