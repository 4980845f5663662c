// Place: where the nodes of a cluster meet. An address of the network, or a name on this host.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hiway::detail::nodes {

struct Place {
  std::string host;        ///< a name or an address; empty: the place is a name on this host
  std::uint16_t port = 0;  ///< of `host`; 0: any free one, which only a listener can use
  std::string name;        ///< an abstract Unix socket

  [[nodiscard]] bool is_local() const { return host.empty(); }
  /// As it is written: HOST:PORT, [ADDRESS]:PORT, or local:NAME.
  [[nodiscard]] std::string text() const;
};

/// HOST:PORT or [ADDRESS]:PORT with a port from 1 to 65535; none if the text is neither.
[[nodiscard]] std::optional<Place> address_of(std::string_view text);
/// An address, or local:NAME.
[[nodiscard]] std::optional<Place> place_of(std::string_view text);
/// The place with this name on this host. A name that is too long for a socket is shortened to a hash.
[[nodiscard]] Place local_place(std::string const& name);

}  // namespace hiway::detail::nodes
