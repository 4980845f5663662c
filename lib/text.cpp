#include "text.hpp"

#include <charconv>
#include <cmath>

namespace hiway {

std::string quoted_text(std::string_view text) {
  std::string all(1, '"');
  for (char const c : text) {
    if (c == '"' || c == '\\') all += '\\';
    if (c == '\n') {
      all += "\\n";
    } else {
      all += c;
    }
  }
  all += '"';
  return all;
}

std::string json_text(std::string_view text) {
  constexpr char digits[] = "0123456789abcdef";
  std::string all = "\"";
  for (char const c : text) {
    auto const code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      all += {'\\', c};
    } else if (code < 0x20) {
      all += {'\\', 'u', '0', '0', digits[code >> 4], digits[code & 15]};
    } else {
      all += c;
    }
  }
  return all + "\"";
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  char digits[32];
  auto const end = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 6).ptr;
  return {digits, end};
}

}  // namespace hiway
