#include "cli/bytes.hpp"

#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "cli/bad_input.hpp"

namespace cli {

std::int64_t parse_bytes(std::string const& option, std::string const& text) {
  std::int64_t value = 0;
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit{stop, static_cast<std::size_t>(text.data() + text.size() - stop)};
  std::int64_t factor = 0;
  for (auto const& [name, bytes] : {std::pair{"", 1LL},
                                    {"B", 1LL},
                                    {"kB", 1000LL},
                                    {"KB", 1000LL},
                                    {"MB", 1000'000LL},
                                    {"GB", 1000'000'000LL},
                                    {"KiB", 1LL << 10},
                                    {"MiB", 1LL << 20},
                                    {"GiB", 1LL << 30},
                                    {"TiB", 1LL << 40}}) {
    if (unit == name) factor = bytes;
  }
  std::int64_t bytes = 0;
  if (error != std::errc{} || value < 0 || factor == 0 || __builtin_mul_overflow(value, std::int64_t{factor}, &bytes))
    throw BadInput{option + " must be bytes, or a number with B, kB, MB, GB, KiB, MiB, GiB or TiB: " + text};
  return bytes;
}

}  // namespace cli
