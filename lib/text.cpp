#include "text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hiway {
namespace {

constexpr char hex_digits[] = "0123456789abcdef";

/// How many bytes the character has that `text` begins with. 0: it begins with no character, but with a byte out of
/// place, a form that is not the shortest, half of a surrogate pair, or a number that Unicode does not have.
std::size_t character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  unsigned const first = byte(0);
  unsigned const second = byte(1);
  if (first < 0x80) return 1;
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  std::size_t const bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  return bytes;
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
