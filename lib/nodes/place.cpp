#include "lib/nodes/place.hpp"

#include <charconv>
#include <cstddef>

namespace hiway::detail::nodes {
namespace {

constexpr std::string_view local_prefix = "local:";
constexpr std::size_t longest_name = 100;  // a Unix socket's name has 107 bytes

std::optional<std::uint16_t> port_of(std::string_view text) {
  std::uint16_t port = 0;
  auto const parsed = std::from_chars(text.data(), text.data() + text.size(), port);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

/// FNV-1a, in 16 digits.
std::string hash_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) hex += digits[(hash >> shift) & 15];
  return hex;
}

}  // namespace

std::string Place::text() const {
  if (is_local()) return std::string(local_prefix) + name;
  bool const in_brackets = host.find(':') != std::string::npos;
  std::string const written = in_brackets ? "[" + host + "]" : host;
  return written + ":" + std::to_string(port);
}

std::optional<Place> address_of(std::string_view text) {
  std::size_t const colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  auto const port = port_of(text.substr(colon + 1));
  bool const in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  bool const is_host = !host.empty() && host.find_first_of("[] \t/,") == std::string_view::npos &&
                       (in_brackets || host.find(':') == std::string_view::npos);
  if (!port || !is_host) return std::nullopt;
  return Place{std::string(host), *port, {}};
}

std::optional<Place> place_of(std::string_view text) {
  if (!text.starts_with(local_prefix)) return address_of(text);
  text.remove_prefix(local_prefix.size());
  if (text.empty()) return std::nullopt;
  return local_place(std::string(text));
}

Place local_place(std::string const& name) {
  return Place{{}, 0, name.size() <= longest_name ? name : "hiway-" + hash_of(name)};
}

}  // namespace hiway::detail::nodes
