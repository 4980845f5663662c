#include "cli/html.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

namespace cli {
namespace {

constexpr std::string_view narrow_blank = "\u202f";
constexpr std::string_view replacement = "\ufffd";  // of what Unicode has, but XML has not

std::string formatted(char const* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Three digits, no exponent; `n` is below 1000.
std::string three_digits(double n) {
  if (n == 0) return "0";
  int const whole = n < 1 ? 0 : static_cast<int>(std::floor(std::log10(n))) + 1;
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", std::clamp(3 - whole, 0, 3), n);
  std::string shown = text;
  if (shown.find('.') != std::string::npos) {
    shown.erase(shown.find_last_not_of('0') + 1);
    if (shown.back() == '.') shown.pop_back();
  }
  return shown;
}

bool starts_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i != text.size(); ++i) {
    if (std::string_view const three = text.substr(i, 3); three == "\uffff" || three == "\ufffe") {
      out += replacement;
      i += 2;
      continue;
    }
    switch (char const c = text[i]) {
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '&': out += "&amp;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string shortened(std::string_view text, std::size_t most) {
  if (characters(text) <= most) return std::string{text};
  std::size_t bytes = 0;
  for (std::size_t seen = 0; bytes < text.size(); ++bytes) {
    if (starts_character(text[bytes]) && seen++ == most - 1) break;
  }
  return std::string{text.substr(0, bytes)} + "\u2026";
}

std::string time_text(double us) {
  if (us < 0) return std::string{"-"} + time_text(-us);
  if (us < 999.5) return three_digits(us) + " \u00b5s";
  if (us < 999.5e3) return three_digits(us / 1e3) + " ms";
  return number_text(us / 1e6) + " s";
}

std::string percent_text(double share) {
  return share < 0 ? "\u2013" : formatted("%.0f", std::clamp(share, 0.0, 1.0) * 100) + std::string{narrow_blank} + "%";
}

std::string count_text(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, narrow_blank);
  return digits;
}

std::string number_text(double n) {
  if (n < 0) return std::string{"-"} + number_text(-n);
  return n < 999.5 ? three_digits(n) : count_text(static_cast<std::uint64_t>(std::llround(n)));
}

std::string bytes_text(double bytes) {
  char const* const units[] = {" B", " kB", " MB", " GB", " TB"};
  std::size_t unit = 0;
  for (; bytes >= 999.5 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return three_digits(bytes) + units[unit];
}

std::string coordinate(double n) {
  double const tenths = std::round(n * 10);
  return tenths == std::floor(tenths / 10) * 10 ? formatted("%.0f", tenths / 10) : formatted("%.1f", tenths / 10);
}

}  // namespace cli
