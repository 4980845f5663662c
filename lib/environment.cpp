#include "lib/environment.hpp"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hiway/error.hpp"

namespace hiway {

std::optional<std::int32_t> number_from_environment(char const* variable, std::string_view what, std::int32_t least,
                                                    std::int32_t most) {
  char const* const asked = std::getenv(variable);
  if (asked == nullptr || *asked == '\0') return std::nullopt;
  std::int32_t number = 0;
  char const* const end = asked + std::strlen(asked);
  auto const parsed = std::from_chars(asked, end, number);
  if (parsed.ec == std::errc{} && parsed.ptr == end && number >= least && number <= most) return number;
  throw ConfigError(std::string(variable).append(" must be ").append(what) + ": '" + asked + "'");
}

bool peers_wanted() { return number_from_environment("HIWAY_PEERS", "0 or 1", 0, 1).value_or(1) == 1; }

}  // namespace hiway
