// Numbers that the environment says.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace hiway {

/// The number from `least` to `most` that the environment's variable holds, one of more than 63 bits as the largest; none
/// where it is unset or empty.
/// *Throws* ConfigError, "VARIABLE must be WHAT: 'TEXT'", where it holds anything else.
[[nodiscard]] std::optional<std::int64_t> number_from_environment(
    char const* variable, std::string_view what, std::int64_t least,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());

/// Devices may reach each other's memory where the system allows it (HIWAY_PEERS). *Throws* ConfigError.
[[nodiscard]] bool peers_wanted();

}  // namespace hiway
