#include "reyes/scene.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "cli/bad_input.hpp"
#include "cli/text.hpp"
#include "reyes/built_in.hpp"

namespace reyes {
namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 28;  ///< of a file
constexpr double most_far = 1e37;                         ///< of a coordinate: differences and sums of two are finite

/// Words of a text, with their lines.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  /// Empty at the end.
  std::string_view next() {
    while (at_ < text_.size() && is_blank(text_[at_])) {
      bool const ends_line = text_[at_] == '\n' || (text_[at_] == '\r' && text_.substr(at_ + 1, 1) != "\n");
      if (ends_line) ++line_;
      ++at_;
    }
    std::size_t const begin = at_;
    while (at_ < text_.size() && !is_blank(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  [[nodiscard]] std::size_t line() const { return line_; }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

template <class Move>
Patches moved(Patches patches, Move const& move) {
  for (Patch& patch : patches) {
    for (int i = 0; i < 16; ++i) {
      Vec3 const p = move(patch.point(i));
      patch.x[i] = p.x;
      patch.y[i] = p.y;
      patch.z[i] = p.z;
    }
  }
  return patches;
}

}  // namespace

Patches parse_patches(std::string const& name, std::string const& text) {
  Words words{text};
  auto const fail = [&](std::string const& what) {
    throw cli::BadInput{name + ": line " + std::to_string(words.line()) + ": " + what};
  };
  if (words.next() != "BBP") fail("begins with the word BBP when it has bicubic patches");
  std::vector<float> numbers;
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
    double number = 0;
    if (!cli::parse_number(word, number)) fail("not a number: " + cli::shown(word));
    if (std::abs(number) > most_far) fail("larger than 1e37: " + cli::shown(word));
    numbers.push_back(static_cast<float>(number));
  }
  constexpr std::size_t of_patch = 16 * 3;
  if (numbers.empty()) fail("no patches");
  if (numbers.size() % of_patch != 0)
    fail("the last patch has " + std::to_string(numbers.size() % of_patch) + " numbers instead of 48");
  Patches patches(numbers.size() / of_patch);
  auto number = numbers.begin();
  for (Patch& patch : patches) {
    for (int i = 0; i < 16; ++i, number += 3) {
      patch.x[i] = number[0];
      patch.y[i] = number[1];
      patch.z[i] = number[2];
    }
  }
  return patches;
}

Patches read_patches(std::string const& path) { return parse_patches(path, cli::read_text(path, most_bytes)); }

Patches teapot() { return parse_patches("the teapot that is built in", teapot_bez); }

Patches placed(Patches patches) {
  constexpr float longest_side = 2.75F;
  Vec3 low = patches.front().point(0);
  Vec3 high = low;
  for (Patch const& patch : patches) {
    for (int i = 0; i < 16; ++i) {
      Vec3 const p = patch.point(i);
      low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
      high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
    }
  }
  Vec3 const sides = high - low;
  float const longest = std::max({sides.x, sides.y, sides.z});
  float const scale = longest >= std::numeric_limits<float>::min() ? longest_side / longest : 1;
  Vec3 const centre = 0.5F * (low + high);
  return moved(std::move(patches), [&](Vec3 p) {
    Vec3 const from_centre = scale * (p - centre);
    return Vec3{from_centre.x, from_centre.z, -from_centre.y};
  });
}

Patches turned(Patches patches, std::uint32_t picture) {
  constexpr float degree = 3.14159265358979F / 180;
  float const turn = static_cast<float>(picture % 30) * 12 * degree;
  float const tilt = 18 * degree;
  float const c = std::cos(turn), s = std::sin(turn), ct = std::cos(tilt), st = std::sin(tilt);
  return moved(std::move(patches), [&](Vec3 p) {
    Vec3 const q{c * p.x + s * p.z, p.y, c * p.z - s * p.x};
    return Vec3{q.x, ct * q.y - st * q.z, st * q.y + ct * q.z};
  });
}

Splits splits_of(View const& view, Patches const& patches) {
  constexpr auto nobody = [](auto&&...) {};
  Splits all;
  for (Patch const& patch : patches) split(view, patch, 0, 0, 0, all, nobody, nobody);
  return all;
}

}  // namespace reyes
