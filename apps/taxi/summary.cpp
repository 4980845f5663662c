#include "taxi/summary.hpp"

#include <algorithm>

namespace taxi {

void put_in_order(Conversion& conversion) {
  std::ranges::sort(conversion.broken);
  conversion.broken.erase(std::ranges::unique(conversion.broken).begin(), conversion.broken.end());
  std::erase_if(conversion.pairs,
                [&](Pair const& pair) { return std::ranges::binary_search(conversion.broken, pair.line); });
  std::ranges::sort(conversion.pairs);
}

Summary summarize(Conversion const& conversion, std::uint64_t lines) {
  Summary summary{.lines = lines, .pairs = conversion.pairs.size(), .broken_lines = conversion.broken.size()};
  for (Pair const& pair : conversion.pairs) {
    for (std::uint32_t const word : {pair.line, pair.latitude.bits, pair.longitude.bits})
      summary.checksum = cli::hash_on(summary.checksum, word);
  }
  return summary;
}

std::string to_text(Coordinate coordinate) {
  std::string const digits = std::to_string(coordinate.digits());
  std::size_t const decimals = coordinate.decimals();
  std::string text{coordinate.is_negative() ? "-" : ""};
  text += digits.size() > decimals ? digits.substr(0, digits.size() - decimals) : "0";
  if (decimals == 0) return text;
  text += '.';
  if (digits.size() < decimals) text.append(decimals - digits.size(), '0');
  return text += digits.substr(digits.size() > decimals ? digits.size() - decimals : 0);
}

std::string to_csv(std::vector<Pair> const& pairs) {
  std::string text;
  for (Pair const& pair : pairs) {
    text += std::to_string(pair.line);
    text += ',';
    text += to_text(pair.latitude);
    text += ',';
    text += to_text(pair.longitude);
    text += '\n';
  }
  return text;
}

}  // namespace taxi
