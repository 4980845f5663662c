// Ring: bounded multi-producer, multi-consumer queue of equal-sized items over memory it does not own. This file has
// its words and its handle, and what holds for every ring.
//
//   a put   credit from `free`  -> ticket from `claimed` -> write the slot -> hand it over
//   a get   credit from `avail` -> ticket from `taken`   -> read the slot  -> hand it over
//
// A *whole* ring has producers and consumers at one home, which hand each slot to each other by its turn (turns.hpp).
// Across the bus a tunnel is two half-rings. Producers put into the *outbox* at their home, consumers get from the
// *inbox* at theirs, and the monitors do the other half of each (counts.hpp). Where items carry tags, the slots
// themselves say what has come (tags.hpp). Where order is restored, a put has the ticket of the item that its task got,
// and claims none (marks.hpp).
//
// A claim takes credit first, then as many tickets (claim.hpp). Since tickets are granted only against credit, no more
// of them are under way than the ring has slots, and whatever a ticket's holder waits for was granted before it. So
// waits form no circle, whoever stops or is slow, and a ticket belongs to one holder, which alone touches its slot.
//
//   word      written by                       read by
//   free      claims, and givers of credit     producers
//   avail     claims, and givers of credit     consumers
//   claimed   producers                        end check, report, throttles, the outbox's prefix
//   taken     consumers                        report, throttles, the inbox's prefix
//   left      consumers (CAS), in_order only   consumers
//   given     givers of credit                 claims                        half-rings
//   turns[i]  holder of the slot's ticket      next holder of the slot       whole rings
//   done[k]   holders of tickets (fetch-add)   the prefix                    half-rings
// `claimed` and `taken` grow by a fetch-add, or by a compare-exchange where a claim looks at the items (tags.hpp). All
// words lie at the ring's home and are used there only, except that the end check reads `claimed`, and a throttle a
// spill pool's `claimed` and `taken`, from across.
// Hot words lie 1 KB apart: at 128 B they collide in one L2 slice.
//
//   I1  capacity >= credits in `free` + items between put and get. `free` may be negative for a moment, until a claim
//       that was granted less than it asked for has given the rest back
//   I2  tickets are granted only against credits. In a whole ring the put of ticket t waits only for the get of
//       t - slots, which was granted before, because `free` counts gets' *grants*; the get of t waits only for the put
//       of t, which was granted before. So no wait is circular
//   I3  only the holder of a ticket touches its item: in a whole ring between its acquire of one turn and its release
//       of the next; in a half-ring between its claim and its count (I4)
//   Linearizes  at the credit. `full` and `empty` are advisory: a claim in flight may hold credit it will give back.
//   Progress    a claimant that stops between ticket and turn stalls its slot's successor; every such wait polls abort.
//               One that stops before its count holds back the rest of its chunk and all later tickets
//   Wrap        tickets are 64 bit; turns and counts are 32 bit and compared for equality: 2^31 laps before one repeats
// Early credits (given at the grant, not after the copy) and fetch-add tickets were the fastest sound variant measured.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/config.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/tagged_slot.hpp"

namespace hiway {

struct RingWords {
  alignas(1024) Word<std::int32_t> free{0};
  alignas(1024) Word<std::int32_t> avail{0};
  alignas(1024) Word<std::uint64_t> claimed{0};
  alignas(1024) Word<std::uint64_t> taken{0};
  alignas(1024) Word<std::uint64_t> left{0};
  alignas(1024) Word<std::uint64_t> given{0};
  // For the run's report: claims that warps of a block have made together, and what found no room.
  alignas(1024) Word<std::uint64_t> put_groups{0};
  Word<std::uint64_t> get_groups{0};
  Word<std::uint64_t> dropped{0};  ///< items (inlet/no_room.hpp)
  Word<std::uint32_t> passing{0};  ///< whole rings with restored order (marks.hpp K3)
};

/// in_order: a whole ring that gives credit in the order of tickets (I5).
enum class RingPart : std::uint8_t { whole, in_order, outbox, inbox };

/// The handle of a ring: copied into kernels, owns nothing.
struct Ring {
  std::byte* items = nullptr;
  Word<std::uint32_t>* turns = nullptr;  ///< one per slot, 0 at the start; of untagged whole rings
  Word<std::uint32_t>* done = nullptr;   ///< one per chunk of two laps, 0 at the start; of half-rings, or restored
  RingWords* words = nullptr;            ///< at the start free = capacity (in an outbox given, too), the rest 0
  std::uint32_t slots_mask = 0;          ///< slots - 1; slots = capacity rounded up to a power of two
  std::uint32_t lap_shift = 0;           ///< log2(slots)
  std::uint32_t chunk_shift = 0;         ///< log2(slots of a chunk)
  std::uint32_t item_bytes = 0;
  RingPart part = RingPart::whole;
  bool tagged = false;                 ///< slots are TaggedSlot, with tags 0 at the start
  std::uint8_t shards = 1;             ///< how many shards there are, of which this is the first; a power of two
  Grouping grouping = Grouping::warp;  ///< of claims made with this handle
  bool restored = false;               ///< `done` has a bit for each slot (marks.hpp)

  HIWAY_DEVICE bool is_half() const { return part == RingPart::outbox || part == RingPart::inbox; }
  /// Gets look for tags, and puts count nothing.
  HIWAY_DEVICE bool by_tags() const { return tagged && is_half(); }

  HIWAY_DEVICE std::size_t slot(std::uint64_t ticket) const { return static_cast<std::size_t>(ticket & slots_mask); }
  HIWAY_DEVICE std::byte* item(std::uint64_t ticket) const { return items + slot(ticket) * item_bytes; }
  HIWAY_DEVICE Word<std::uint32_t>& turn(std::uint64_t ticket) const { return turns[slot(ticket)]; }
  HIWAY_DEVICE std::uint32_t free_turn(std::uint64_t ticket) const {
    return 2u * static_cast<std::uint32_t>(ticket >> lap_shift);
  }
  HIWAY_DEVICE std::uint32_t full_turn(std::uint64_t ticket) const { return free_turn(ticket) + 1u; }
  HIWAY_DEVICE std::uint32_t next_free_turn(std::uint64_t ticket) const { return free_turn(ticket) + 2u; }

  HIWAY_DEVICE TaggedSlot& tagged_slot(std::uint64_t ticket) const {
    return *reinterpret_cast<TaggedSlot*>(item(ticket));
  }
  HIWAY_DEVICE std::uint32_t tag_of(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket >> lap_shift) + 1u;
  }

  // Half-rings (I6).
  HIWAY_DEVICE std::uint32_t chunk_slots() const { return 1u << chunk_shift; }
  HIWAY_DEVICE std::uint32_t place_in_chunk(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket) & (chunk_slots() - 1u);
  }
  HIWAY_DEVICE Word<std::uint32_t>& done_count(std::uint64_t ticket) const {
    return done[(ticket & (2 * std::uint64_t{slots_mask} + 1)) >> chunk_shift];
  }
  /// The value of the chunk's count when the ticket's lap began.
  HIWAY_DEVICE std::uint32_t done_before(std::uint64_t ticket) const {
    return static_cast<std::uint32_t>(ticket >> (lap_shift + 1)) << chunk_shift;
  }
};

/// log2 of a chunk's slots: large enough that a prefix looks at few counts, small enough that few done slots wait for
/// the rest of their chunk.
constexpr std::uint32_t chunk_shift_of(std::uint32_t lap_shift) {
  std::uint32_t const fine = lap_shift < 6 ? 0 : lap_shift - 6;
  return fine < 12 ? fine : 12;
}

/// The same where a chunk is a word with a bit for each slot (marks.hpp).
constexpr std::uint32_t chunk_shift_of_marks(std::uint32_t lap_shift) { return lap_shift < 5 ? lap_shift : 5; }

/// True for a spill pool that the pipeline has given memory.
HIWAY_DEVICE inline bool has_spill(Ring const* pool) { return pool != nullptr && pool->items != nullptr; }

/// What one lane was granted of its group's claim.
struct Grant {
  bool granted = false;
  std::uint64_t ticket = 0;
  unsigned rank = 0;        ///< among the lanes that were granted one
  std::uint32_t lanes = 0;  ///< the lanes that were granted one; their tickets are consecutive
};

/// Consecutive tickets granted to one lane.
struct Run {
  std::uint64_t first = 0;
  std::uint32_t count = 0;
};

/// The most that one claim asks for, per lane or per team. Credit is a 32-bit word that the claims of a whole grid may
/// overdraw for a moment.
inline constexpr std::uint32_t most_of_lane = 1u << 12;
inline constexpr std::uint32_t most_of_team = 1u << 16;

HIWAY_DEVICE constexpr std::uint32_t at_most(std::uint64_t n, std::uint32_t most) {
  return n < most ? static_cast<std::uint32_t>(n) : most;
}

/// The ring, with its numbers in the lane's own registers. ptxas 13.0 may keep a number that all lanes share in a
/// register of the warp across a YIELD, in a loop that lanes leave one by one; lanes that run meanwhile overwrite that
/// register (docs/adr/0024).
template <class Machine>
HIWAY_DEVICE inline Ring in_own_registers(Machine m, Ring ring) {
  std::uint32_t const zero = m.zero_of_lane();
  ring.items += zero;
  ring.turns += zero;
  ring.done += zero;
  ring.slots_mask += zero;
  ring.lap_shift += zero;
  ring.chunk_shift += zero;
  ring.item_bytes += zero;
  ring.words += zero;
  ring.shards = static_cast<std::uint8_t>(ring.shards + zero);
  return ring;
}

}  // namespace hiway
