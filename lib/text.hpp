// Texts and numbers as JSON has them.
#pragma once
#include <string>
#include <string_view>

namespace hiway {

/// In quotes.
[[nodiscard]] std::string json_text(std::string_view text);
/// Six digits; what is no number is null.
[[nodiscard]] std::string json_number(double value);

}  // namespace hiway
