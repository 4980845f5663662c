#include "pagerank/problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <utility>

#include "cli/bad_input.hpp"
#include "cli/hash.hpp"
#include "cli/text.hpp"

namespace pagerank {
namespace {

using cli::random_at;

/// The numbers of a file, one after another.
class Numbers {
 public:
  explicit Numbers(std::string const& path) : path_(path), text_(cli::read_text(path, std::size_t{1} << 33)) {
    left_ = text_;
  }

  std::uint64_t whole(char const* what, std::uint64_t least, std::uint64_t most) {
    std::string_view const word = next(what);
    std::uint64_t value = 0;
    if (!cli::parse_whole(word, value) || value < least || value > most)
      fail(what, "not a number of " + std::to_string(least) + " to " + std::to_string(most) + ": " + cli::shown(word));
    return value;
  }
  float real(char const* what) {
    std::string_view const word = next(what);
    double value = 0;
    if (!cli::parse_number(word, value) || std::abs(value) > double{std::numeric_limits<float>::max()})
      fail(what, "not a number of a float: " + cli::shown(word));
    return static_cast<float>(value);
  }
  /// Whether so many more may follow: a number and what parts it from the next have two letters at least.
  [[nodiscard]] bool may_have(std::uint64_t more) const { return more <= left_.size() / 2 + 1; }
  void end() {
    skip();
    if (!left_.empty()) fail("the end", "more numbers than entries");
  }

  [[noreturn]] void fail(char const* what, std::string const& wrong) const {
    throw cli::BadInput{path_ + ": number " + std::to_string(number_) + ", " + what + ": " + wrong};
  }

 private:
  static constexpr std::string_view blanks = " \t\r\n";

  void skip() { left_.remove_prefix(std::min(left_.find_first_not_of(blanks), left_.size())); }
  std::string_view next(char const* what) {
    skip();
    ++number_;
    if (left_.empty()) fail(what, "cut short");
    std::string_view const word = left_.substr(0, left_.find_first_of(blanks));
    left_.remove_prefix(word.size());
    return word;
  }
  std::string path_;
  std::string text_;
  std::string_view left_;
  std::uint64_t number_ = 0;
};

}  // namespace

Problem make_problem(std::uint32_t nodes, std::uint32_t connections, std::uint64_t seed) {
  std::vector<std::uint32_t> shuffle(nodes);
  std::iota(shuffle.begin(), shuffle.end(), 0U);
  for (std::uint32_t i = nodes; i > 1; --i) std::swap(shuffle[i - 1], shuffle[random_at(seed, i) % i]);
  Problem problem;
  std::vector<std::uint32_t> references(nodes);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    for (std::uint32_t c = 0; c < connections; ++c) {
      std::uint64_t const place = (std::uint64_t{node} + 1) << 32 | c;
      std::uint32_t const from = c == 0 ? shuffle[node] : static_cast<std::uint32_t>(random_at(seed, place) % nodes);
      problem.entries.push_back({from, 0});
      ++references[from];
    }
    problem.rows.push_back(static_cast<std::uint32_t>(problem.entries.size()));
  }
  for (Entry& entry : problem.entries) entry.value = 1.0F / static_cast<float>(references[entry.column]);
  return problem;
}

Problem read_problem(std::string const& path) {
  Numbers numbers{path};
  Problem problem;
  std::uint64_t const entries = numbers.whole("how many entries", 0, most_entries);
  auto const nodes = static_cast<std::uint32_t>(numbers.whole("how many nodes", 1, most_nodes));
  problem.rows.clear();
  for (std::uint32_t node = 0; node <= nodes; ++node) {
    std::uint64_t const least = node == nodes ? entries : node == 0 ? 0 : problem.rows.back();
    std::uint64_t const most = node == 0 ? 0 : entries;
    problem.rows.push_back(static_cast<std::uint32_t>(numbers.whole("the first entry of a node", least, most)));
  }
  if (!numbers.may_have(2 * entries)) numbers.fail("the columns and values", "cut short");
  problem.entries.resize(entries);
  for (Entry& entry : problem.entries)
    entry.column = static_cast<std::uint32_t>(numbers.whole("a column", 0, nodes - 1));
  for (Entry& entry : problem.entries) entry.value = numbers.real("a value");
  numbers.end();
  return problem;
}

double difference(Ranks const& ranks, std::vector<double> const& oracle) {
  // What is less has left the range of floats, or will: 1e-30 of a rank counts as none.
  constexpr double least = 1e-30;
  double largest = 0;
  for (std::size_t i = 0; i < oracle.size(); ++i) {
    double const d = std::abs(double{ranks[i]} - oracle[i]) / std::max(least, std::abs(oracle[i]));
    if (!(d <= largest)) largest = std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  }
  return largest;
}

}  // namespace pagerank
