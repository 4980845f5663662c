// What a node function returns, and what it puts into (node.hpp).
#pragma once
#include <cstdint>

#include "hiway/config.hpp"

namespace hiway::segment {

/// An item, or none. T is default-constructible.
template <class T>
struct Maybe {
  T value{};
  bool ok = false;
  Maybe() = default;
  HIWAY_DEVICE Maybe(T const& item) : value(item), ok(true) {}
  HIWAY_DEVICE static Maybe none() { return {}; }
};

/// One lane's way to put into a channel during one call: at most one item.
template <class T>
struct Emit {
  T value{};
  bool ok = false;
  HIWAY_DEVICE void put(T const& item) {
    value = item;
    ok = true;
  }
};

/// One lane's way to raise a signal during one call. The signal goes behind the outputs of this item, on all channels.
template <class S>
struct EmitSignal {
  S value{};
  bool ok = false;
  HIWAY_DEVICE void put(S const& signal) {
    value = signal;
    ok = true;
  }
};

/// What a node by hand returns about its ensemble.
enum class Progress : std::uint8_t { finished, suspended };

}  // namespace hiway::segment
