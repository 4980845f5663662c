#include "lib/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hiway/error.hpp"

namespace hiway {

std::optional<std::int64_t> number_from_environment(char const* variable, std::string_view what, std::int64_t least,
                                                    std::int64_t most) {
  char const* const asked = std::getenv(variable);
  if (asked == nullptr || *asked == '\0') return std::nullopt;
  std::int64_t number = 0;
  char const* const end = asked + std::strlen(asked);
  auto const parsed = std::from_chars(asked, end, number);
  if (parsed.ec == std::errc::result_out_of_range) number = std::numeric_limits<std::int64_t>::max();
  if (parsed.ec != std::errc::invalid_argument && *asked != '-' && parsed.ptr == end && number >= least &&
      number <= most)
    return number;
  throw ConfigError(std::string(variable).append(" must be ").append(what) + ": '" + asked + "'");
}

bool peers_wanted() { return number_from_environment("HIWAY_PEERS", "0 or 1", 0, 1).value_or(1) == 1; }

bool managed_advice_wanted() {
  return number_from_environment("HIWAY_MANAGED_ADVICE", "0 or 1", 0, 1).value_or(1) == 1;
}

}  // namespace hiway
