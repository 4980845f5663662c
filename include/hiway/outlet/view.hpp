// OutletView: what an outlet points at.
#pragma once
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring/ring.hpp"
#include "hiway/termination/words.hpp"

namespace hiway {

/// Built by the pipeline, one for each stage and tunnel.
struct OutletView {
  Ring ring;
  Ring const* spill = nullptr;  ///< read when the ring is empty; only if producers and consumers share a home
  Relays* relays = nullptr;     ///< an inbox's, at the host
  Control* control = nullptr;
  EndWords* end = nullptr;
  OutletPort* ports = nullptr;                 ///< one per block; or a CPU thread's own; or an open outlet's only one
  OutletView const* branches = nullptr;        ///< a CPU thread's further branches (branches.hpp)
  Word<std::uint32_t>* stage_ended = nullptr;  ///< every tunnel that the stage reads has ended
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  std::uint32_t home = 0;  ///< the shard of block 0, or of this thread
  std::uint32_t further_branches = 0;
  bool open = false;      ///< belongs to the user's own threads or kernels
  bool alone = false;     ///< no other warp, or thread, reads the tunnel
  std::uint8_t rank = 0;  ///< CPU threads: how many priorities of the stage's tunnels are higher
};

namespace detail {

template <class Machine>
HIWAY_DEVICE inline OutletPort& port_of(Machine m, OutletView const& v) {
  return v.open ? *v.ports : v.ports[m.block_index()];
}

}  // namespace detail

}  // namespace hiway
