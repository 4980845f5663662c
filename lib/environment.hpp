// Numbers that the environment says.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace hiway {

/// The number from `least` to `most` that the environment's variable holds; none where it is unset or empty.
/// *Throws* ConfigError, "VARIABLE must be WHAT: 'TEXT'", where it holds anything else.
[[nodiscard]] std::optional<std::int32_t> number_from_environment(
    char const* variable, std::string_view what, std::int32_t least,
    std::int32_t most = std::numeric_limits<std::int32_t>::max());

/// Devices may reach each other's memory where the system allows it (HIWAY_PEERS). *Throws* ConfigError.
[[nodiscard]] bool peers_wanted();

}  // namespace hiway
