#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hiway {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

/// The bytes from one value to another.
struct Bytes {
  unsigned least;
  unsigned most;
  [[nodiscard]] bool hold(unsigned byte) const { return least <= byte && byte <= most; }
};
constexpr Bytes continuation{0x80, 0xbf};
/// How a character of several bytes begins, and how many bytes it has. Bytes after the second are any continuation
/// bytes (The Unicode Standard, table 3-7).
struct Form {
  Bytes first;
  Bytes second;
  std::size_t bytes;
};
constexpr Form forms[] = {
    {{0xc2, 0xdf}, continuation, 2},  // 0xc0 and 0xc1: not the shortest form
    {{0xe0, 0xe0}, {0xa0, 0xbf}, 3},  // a smaller second byte: not the shortest form
    {{0xe1, 0xec}, continuation, 3},
    {{0xed, 0xed}, {0x80, 0x9f}, 3},  // a larger second byte: half of a surrogate pair
    {{0xee, 0xef}, continuation, 3},
    {{0xf0, 0xf0}, {0x90, 0xbf}, 4},  // a smaller second byte: not the shortest form
    {{0xf1, 0xf3}, continuation, 4},
    {{0xf4, 0xf4}, {0x80, 0x8f}, 4},  // a larger second byte: a number that Unicode does not have
};

/// How many bytes the character has that `text` begins with. 0: it begins with a byte that is not part of a character.
std::size_t character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  if (byte(0) < 0x80) return 1;
  auto const form = std::ranges::find_if(forms, [&](Form const& one) { return one.first.hold(byte(0)); });
  if (form == std::ranges::end(forms) || !form->second.hold(byte(1))) return 0;
  for (std::size_t i = 2; i < form->bytes; ++i) {
    if (!continuation.hold(byte(i))) return 0;
  }
  return form->bytes;
}

/// In quotes; `control` gives the text of each control character.
std::string escaped(std::string_view text, auto&& control) {
  std::string all(1, '"');
  while (!text.empty()) {
    std::size_t const bytes = character(text);
    auto const code = static_cast<unsigned char>(text.front());
    if (bytes == 0) {
      all += {'\\', '\\', 'x', hex_digits[code >> 4], hex_digits[code & 15]};
    } else if (code == '"' || code == '\\') {
      all += {'\\', text.front()};
    } else if (code < 0x20 || code == 0x7f) {
      all += control(code);
    } else {
      all += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<std::size_t>(1, bytes));
  }
  return all += '"';
}

}  // namespace

std::string quoted_text(std::string_view text) {
  return escaped(text, [](unsigned char code) -> std::string {
    if (code == '\n') return "\\n";
    return {'\\', '\\', 'x', hex_digits[code >> 4], hex_digits[code & 15]};
  });
}

std::string json_text(std::string_view text) {
  return escaped(text, [](unsigned char code) -> std::string {
    return {'\\', 'u', '0', '0', hex_digits[code >> 4], hex_digits[code & 15]};
  });
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  bool const whole = value == std::floor(value) && std::abs(value) < 0x1p63;
  auto const end = whole ? std::to_chars(digits, digits + sizeof digits, static_cast<std::int64_t>(value)).ptr
                         : std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr;
  return {digits, end};
}

std::string prometheus_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return json_number(value);
}

}  // namespace hiway
