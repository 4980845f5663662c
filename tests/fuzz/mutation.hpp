// Mutation: files and arguments that are nearly right. Of one seed always the same.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hiway_tests {

/// Numbers at which readers go wrong, and some that are none.
inline constexpr std::array numbers{"0",
                                    "-1",
                                    "1",
                                    "2",
                                    "7",
                                    "255",
                                    "256",
                                    "65535",
                                    "65536",
                                    "2147483647",
                                    "2147483648",
                                    "4294967296",
                                    "9007199254740993",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551616",
                                    "99999999999999999999999999999999",
                                    "1e9",
                                    "1e308",
                                    "1e999",
                                    "1e-400",
                                    "-0",
                                    "007",
                                    "+5",
                                    "0x10",
                                    "1.",
                                    ".5",
                                    "1e",
                                    "nan",
                                    "-inf",
                                    "",
                                    "3,5"};

class Mutation {
 public:
  explicit Mutation(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
  template <class Things>
  auto const& one_of(Things const& things) {
    return things[below(std::size(things))];
  }

  /// One of `seeds` with a change or a few, of at most 256 KiB.
  std::string of(std::vector<std::string> const& seeds) {
    std::string text = one_of(seeds);
    do change(text, seeds);
    while (below(2) == 0);
    constexpr std::size_t most = std::size_t{1} << 18;
    if (text.size() > most) text.resize(most);
    return text;
  }

  /// A run of digits becomes another number.
  void change_number(std::string& text) {
    constexpr std::string_view digits = "0123456789";
    std::size_t begin = text.find_first_of(digits, below(text.size()));
    if (begin == text.npos) begin = text.find_first_of(digits);
    if (begin == text.npos) return;
    std::size_t const end = std::min(text.find_first_not_of(digits, begin), text.size());
    text.replace(begin, end - begin, one_of(numbers));
  }

 private:
  void change(std::string& text, std::vector<std::string> const& seeds) {
    using namespace std::string_literals;
    static std::array const bytes{"\0"s,       "\xff"s,
                                  "\x80"s,     "\n"s,
                                  "\r"s,       "\r\n"s,
                                  "\t"s,       " "s,
                                  "\""s,       "'"s,
                                  "#"s,        "\\"s,
                                  "/"s,        "<"s,
                                  ">"s,        ","s,
                                  "["s,        "{"s,
                                  "-"s,        "!"s,
                                  "@"s,        "\x1b"s,
                                  "&"s,        "\xef\xbb\xbf"s,
                                  "\xff\xfe"s, "\xed\xa0\x80"s,
                                  "\\n"s,      "\\u0000"s,
                                  "&#10;"s};
    std::size_t const at = below(text.size() + 1);
    std::size_t const length = below(std::min<std::size_t>(text.size() - at, 64) + 1);
    switch (below(18)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        return;
      case 1:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        return;
      case 2: text.resize(at); return;
      case 3: text.erase(at, length); return;
      case 4:
      case 12:
      case 13: {  // one thing, in one place or in several
        std::string const piece = below(4) == 0 ? "\n" : one_of(bytes);
        for (std::size_t times = 1 + (below(4) == 0 ? below(16) : 0); times > 0; --times)
          text.insert(below(text.size() + 1), piece);
        return;
      }
      case 5: text.insert(0, "\xef\xbb\xbf"); return;
      case 6: {
        std::string const& other = one_of(seeds);
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        return;
      }
      case 7: {  // a piece, again and again
        std::string const piece = text.substr(at, length);
        for (std::size_t times = below(below(8) == 0 ? 1000 : 8); times > 0; --times) text.insert(at, piece);
        return;
      }
      case 8: {  // a line, again
        std::size_t const begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
        std::size_t const end = std::min(text.find('\n', at), text.size());
        std::string const line = text.substr(begin, end - begin) + "\n";
        for (std::size_t times = 1 + below(3); times > 0; --times) text.insert(begin, line);
        return;
      }
      case 9: {  // other ends of lines
        std::string const other = one_of(std::array{"\r\n"s, "\r"s, " \n"s, "\n\n"s, "\\\n"s, ""s});
        std::string all;
        for (char const c : text) all += c == '\n' ? other : std::string{c};
        text = all;
        return;
      }
      case 10:
      case 14: {  // within quoted texts, or elements: what a complaint may repeat
        std::string const piece = below(4) == 0 ? "\\n" : one_of(bytes);
        for (std::size_t times = 1 + below(3); times > 0; --times) {
          std::size_t const mark = text.find_first_of("\">", below(text.size() + 1));
          if (mark != text.npos) text.insert(mark + 1, piece);
        }
        return;
      }
      case 11: {  // a quoted text in the place of another
        auto const [begin, end] = quoted(text);
        auto const [other_begin, other_end] = quoted(text);
        std::string const other = text.substr(other_begin, other_end - other_begin);
        text.replace(begin, end - begin, other);
        return;
      }
      default: change_number(text);
    }
  }

  /// Where a text in quotes begins and ends.
  std::pair<std::size_t, std::size_t> quoted(std::string const& text) {
    std::size_t const begin = std::min(text.find('"', below(text.size())), text.size());
    std::size_t const end = begin == text.size() ? begin : std::min(text.find('"', begin + 1), text.size() - 1) + 1;
    return {begin, end};
  }

  std::mt19937_64 random_;
};

}  // namespace hiway_tests
