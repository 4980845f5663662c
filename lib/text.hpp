// Texts and numbers as files have them: JSON, Graphviz, Prometheus; and names with a number.
#pragma once
#include <concepts>
#include <string>
#include <string_view>

namespace hiway {

/// In quotes, as Graphviz and Prometheus read it: quotes, backslashes and line ends are escaped.
[[nodiscard]] std::string quoted_text(std::string_view text);
/// In quotes, as JSON has it.
[[nodiscard]] std::string json_text(std::string_view text);
/// Six digits; what is no number is null.
[[nodiscard]] std::string json_number(double value);
/// "stage 3" of "stage " and 3. gcc 12 gives a false alarm (-Wrestrict, with -O3) for `"stage " + std::to_string(3)`.
template <std::integral Number>
[[nodiscard]] std::string numbered(std::string_view what, Number number) {
  return std::string(what).append(std::to_string(number));
}

}  // namespace hiway
