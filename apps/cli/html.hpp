// Text and numbers as a page has them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace cli {

/// For text and for attributes in double quotes; control characters become blanks.
[[nodiscard]] std::string escaped(std::string_view text);

/// At most `most` characters of UTF-8 text, the last of them an ellipsis where some are left out. Not escaped.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);
[[nodiscard]] std::size_t characters(std::string_view text);

/// "1.25 ms"; three digits.
[[nodiscard]] std::string time_text(double us);
/// "97 %"; a dash where it is below 0, which means not known.
[[nodiscard]] std::string percent_text(double share);
/// "1 234 567", with narrow blanks.
[[nodiscard]] std::string count_text(std::uint64_t n);
/// Three digits; "0.0123", "12.3", "12 300".
[[nodiscard]] std::string number_text(double n);
/// "1.5 MB"
[[nodiscard]] std::string bytes_text(double bytes);
/// For coordinates: whole, or one digit behind the point.
[[nodiscard]] std::string coordinate(double n);

}  // namespace cli
