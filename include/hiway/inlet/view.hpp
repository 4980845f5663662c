// InletView: what an inlet points at.
#pragma once
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/relay.hpp"
#include "hiway/ring/ring.hpp"
#include "hiway/termination/words.hpp"

namespace hiway {

/// Built by the pipeline, one for each stage and tunnel.
struct InletView {
  Ring ring;
  Ring const* spill = nullptr;  ///< where a put into a full ring goes; null: it waits
  Relays* relays = nullptr;     ///< an outbox's, at the host
  Control* control = nullptr;
  EndWords* end = nullptr;
  Word<std::uint32_t>* throttled = nullptr;  ///< of puts that enter a cycle that may spill (docs/adr/0013); or null
  InletPort* ports = nullptr;                ///< one per block; or a CPU thread's own; or an open inlet's only one
  InletView const* branches = nullptr;       ///< a CPU thread's further branches (branches.hpp)
  Word<std::uint32_t>* closed_executors = nullptr;
  std::uint32_t stage = no_id;
  std::uint32_t tunnel = no_id;
  std::uint32_t home = 0;  ///< the shard of block 0, or of this thread
  std::uint32_t further_branches = 0;
  bool open = false;                         ///< belongs to the user's own threads or kernels, which close it once
  bool past_caches = false;                  ///< a CPU thread's spans are written past its caches
  WhenFull when_full = WhenFull::automatic;  ///< as the tunnel's configuration says
};

}  // namespace hiway
