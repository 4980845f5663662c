// Numbers from environment variables.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace hiway {

/// The number from `least` to `most` that the environment variable holds; none if it is unset or empty. A number of
/// more than 63 bits counts as the largest one. *Throws* ConfigError, "VARIABLE must be WHAT: 'TEXT'", if it holds
/// anything else.
[[nodiscard]] std::optional<std::int64_t> number_from_environment(
    char const* variable, std::string_view what, std::int64_t least,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// True if devices may reach each other's memory where the system allows it (HIWAY_PEERS). *Throws* ConfigError.
[[nodiscard]] bool peers_wanted();

/// True if the driver gets advice on where managed memory should lie (HIWAY_MANAGED_ADVICE). *Throws* ConfigError.
[[nodiscard]] bool managed_advice_wanted();

}  // namespace hiway
