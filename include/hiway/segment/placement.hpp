// Placement: what a segment's kernel must know of its data, whatever the types of its nodes are. The host fills it in
// (lib/segment), and each replica reads it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/fault.hpp"
#include "hiway/launch/slice.hpp"
#include "hiway/segment/lending.hpp"
#include "hiway/segment/queue.hpp"

namespace hiway::segment {

/// In Placement::look_after: nobody lends, and it does not yield.
inline constexpr std::uint32_t never_late = ~0u;

struct Placement {
  NodeRow const* rows = nullptr;
  std::uint32_t nodes = 0;
  std::uint32_t openers = 0;  ///< bits of the nodes that open regions
  std::uint32_t replicas = 0;
  std::uint32_t states_at = 0;  ///< in the near room, as are the next four
  std::uint32_t sinks_at = 0;
  std::uint32_t marks_at = 0;
  std::uint32_t sums_at = 0;
  std::uint32_t scratch_at = 0;
  std::uint32_t block_bytes = 0;  ///< of a block's shared memory before the near rooms
  std::uint32_t near_bytes = 0;
  std::uint64_t far_bytes = 0;
  std::byte* far_rooms = nullptr;
  std::uint64_t least_claim = 1;
  std::uint64_t most_claim = 1;
  SharedWords* words = nullptr;
  SinkWords* sink_words = nullptr;
  RegionWords* region_words = nullptr;  ///< one for each node
  NodeCounters* counters = nullptr;
  std::uint32_t* made = nullptr;  ///< if the shape counts: one for each node and lane of each replica
  ReplicaTimes* times = nullptr;
  Slice slice;
  std::byte* parked = nullptr;            ///< if it yields: for each replica a Parked and a near room (parking.hpp)
  std::uint32_t look_after = never_late;  ///< cycles after which a replica looks around (letters.hpp)
  Lending lending;
  std::uint64_t lend_after_ns = 0;  ///< after the lender's start
  Control* control = nullptr;
  std::uint32_t stage = no_id;
};

}  // namespace hiway::segment
