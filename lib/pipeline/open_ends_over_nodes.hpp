// Open ends at the CPU, of pipelines on several nodes (docs/adr/0052).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "layout.hpp"

namespace hiway {

/// Where the calls of an open end lead.
struct OpenEndPlace {
  std::uint32_t tunnel = no_id;  ///< whose open end it is
  std::string elsewhere{};       ///< of one that is not at this node: why its calls are refused; else empty
};

/// Of an end of `tunnel` that is asked for on `nodes`. On several nodes it belongs to a tunnel of its own, which is
/// made here, once for the same nodes. *Throws* ConfigError.
[[nodiscard]] OpenEndPlace place_open_end(Layout& layout, TunnelBase& tunnel, EndOf end, std::vector<int> const& nodes);

}  // namespace hiway
