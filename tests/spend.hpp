// Work that takes time, on any machine.
#pragma once
#include <cstdint>

#include "hiway/machine/on_this_device.hpp"

namespace hiway_tests {

/// On the caller's own kind of thread or lane.
template <class Machine>
HIWAY_DEVICE void spend_on(Machine m, std::uint64_t ns) {
  for (auto const until = m.now_ns() + ns; m.now_ns() < until;) m.relax(0);
}
/// In device code.
HIWAY_DEVICE inline void spend(std::uint64_t ns) {
  hiway::on_this_device([=](auto m) { spend_on(m, ns); });
}

}  // namespace hiway_tests
