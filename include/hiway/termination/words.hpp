// What tunnels and stages say about their end, in words: written by stages and by the checker (termination.hpp has the
// table of who writes what, and why that is enough).
#pragma once
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {

struct PutBoard;
struct GetBoard;
class Staging;
struct StagedEnd;
struct KeyedRings;

/// Where the items of a tunnel with scopes go, seen from its writers.
enum class ScopeRoad : std::uint8_t { here, to_host, to_device };

/// A unit's state, one copy for each of its tunnels at each home.
struct EndWords {
  alignas(64) Word<std::uint32_t> closed{0};
  Word<std::uint32_t> ended{0};
  Word<std::uint32_t> throttled{0};  ///< of the tunnel, not the unit; at the producers' home
  // The boards of a stencil tunnel (stencil/scoreboard.hpp), each at its home. They are here because in the views they
  // would cost every stage registers.
  PutBoard const* put_board = nullptr;
  GetBoard const* get_board = nullptr;
  // Of a tunnel with scopes (scope/word.hpp); here for the same reason.
  ScopeTable* scopes = nullptr;            ///< at this home
  ScopeRoad scope_road = ScopeRoad::here;  ///< at the producers' home
  Staging* staged = nullptr;  ///< at the readers' home, if that is also the writers' and the host: the first thread's
  KeyedRings const* keyed = nullptr;  ///< of a tunnel with keys (inlet/keyed.hpp), at the host; else null
};

class ThreadTrace;
class Hand;
class Bell;

/// One reader's count of a tunnel, one per thread or block.
struct alignas(64) OutletPort {
  Word<std::uint64_t> got{0};
  Word<std::uint64_t> finished{0};
  std::int64_t idle_since_ns = 0;  ///< CPU threads: when the last run of items ended (steady clock)
  bool busy = false;               ///< CPU threads: the last get found an item
  Word<std::uint32_t> branch{0};   ///< CPU threads: the branch chosen last (branches.hpp)
  ThreadTrace* trace = nullptr;    ///< CPU threads of stages
  Bell* bell = nullptr;            ///< of its CPU stage
  Hand* hand = nullptr;            ///< a CPU thread's that reads the tunnel alone (outlet/hand.hpp)
  StagedEnd* staged = nullptr;     ///< a CPU thread's of a stage (outlet/staged.hpp)
};

/// A part of a CPU threads' inlet, through which some of its threads offer, or put from outside (inlet/admission.hpp).
struct alignas(64) InletStripe {
  Word<std::uint32_t> puts{0};  ///< those under way, and bits
  Staging* staging = nullptr;   ///< where puts of single items go first (inlet/stripe.hpp); or null
  std::uint64_t moved_ns = 0;   ///< when a put moved items from there; guarded by staging_held
};

/// One writer's state of a tunnel, one per thread or block.
struct alignas(64) InletPort {
  Word<std::uint32_t> closed_lanes[32] = {};  ///< a bit for each lane that has closed, one word a warp
  Word<std::uint32_t> closed_count{0};        ///< lanes that have closed
  Word<std::uint32_t> branch{0};              ///< CPU threads: the branch chosen last (branches.hpp)
  ThreadTrace* trace = nullptr;               ///< CPU threads of stages
  Bell* bell = nullptr;                       ///< at the host: of the one stage that reads there, or of the monitors
  Staging* staging = nullptr;                 ///< CPU threads of stages: where puts of single items go first
  InletStripe* stripes = nullptr;             ///< CPU threads: one, of an open inlet several
  std::uint32_t stripe_count = 0;
};

/// One stage's state at its home.
struct alignas(64) StageWords {
  Word<std::uint32_t> ended{0};     ///< every unit that the stage reads has ended
  Word<std::uint32_t> started{0};   ///< blocks that have started
  Word<std::uint32_t> returned{0};  ///< threads or blocks that have returned
};

}  // namespace hiway
