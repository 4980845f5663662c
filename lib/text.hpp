// Texts and numbers as files have them: JSON, Graphviz, Prometheus.
#pragma once
#include <string>
#include <string_view>

namespace hiway {

/// In quotes, as Graphviz and Prometheus read it: quotes, backslashes and line ends are escaped.
[[nodiscard]] std::string quoted_text(std::string_view text);
/// In quotes, as JSON has it.
[[nodiscard]] std::string json_text(std::string_view text);
/// Six digits; what is no number is null.
[[nodiscard]] std::string json_number(double value);

}  // namespace hiway
