// Texts and numbers in the form that files need: JSON, Graphviz, Prometheus. Also names with a number.
#pragma once
#include <concepts>
#include <string>
#include <string_view>

namespace hiway {

// Names and messages are a user's bytes, and files are UTF-8. A byte that is not part of a character becomes four
// characters: a backslash, x and its two digits (\xe9). So names that differ by such a byte still differ.

/// In quotes, as Graphviz and Prometheus read it. Control characters are written like bytes that are not part of a
/// character.
[[nodiscard]] std::string quoted_text(std::string_view text);
/// In quotes, as JSON needs it.
[[nodiscard]] std::string json_text(std::string_view text);
/// All digits of a whole number, six digits of others, in every locale. Infinity and NaN are null.
[[nodiscard]] std::string json_number(double value);
/// The same for Prometheus, which has names for infinity and NaN.
[[nodiscard]] std::string prometheus_number(double value);
/// "stage 3" of "stage " and 3. gcc 12 gives a false alarm (-Wrestrict, with -O3) for `"stage " + std::to_string(3)`.
template <std::integral Number>
[[nodiscard]] std::string numbered(std::string_view what, Number number) {
  return std::string(what).append(std::to_string(number));
}

}  // namespace hiway
