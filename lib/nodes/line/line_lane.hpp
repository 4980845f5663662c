// Lanes of a line: each leads from a departure to an arrival of the same tunnel, on another node or on the same one.
//
//   word      lies at    written by   counts
//   arrived   receiver   sender       items in the receiver's places
//   ended     receiver   sender       1: no more come
//   retired   sender     receiver     items that the receiver has put into its inlet
//
// Item n lies in place n mod `places`. The sender writes item n when `retired` is above n - places. All numbers begin
// at 0 in each run (line.hpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/machine/machine.hpp"

namespace hiway::detail::nodes {

/// A lane's words at the receiver.
struct alignas(64) LaneInWords {
  Word<std::uint64_t> arrived{0};
  Word<std::uint64_t> ended{0};
};
/// A lane's word at the sender.
struct alignas(64) LaneOutWords {
  Word<std::uint64_t> retired{0};
};

enum class LaneEnd : std::uint32_t { out, in };

/// What a node tells the others of one end of a lane. All bytes of it are members'.
struct LaneAddress {
  std::uint32_t tunnel = 0;
  std::uint32_t node = 0;  ///< to which, or from which, the lane leads
  LaneEnd end = LaneEnd::out;
  std::uint32_t item_bytes = 0;
  std::uint64_t places = 0;
  std::uint64_t words = 0;  ///< where they are: LaneOutWords, LaneInWords
  std::uint64_t items = 0;  ///< where the places are: at the receiver
};

/// The other end of a lane whose end at `node` is `own`, among the ends at own.node. *Throws* Error if there is none,
/// or it has other items.
[[nodiscard]] LaneAddress other_end_of(LaneAddress const& own, int node, std::vector<LaneAddress> const& there);

/// How many places a lane has: as many as the tunnel's capacity, if they do not take much memory, which shared memory
/// is often short of, and which the caches do not hold.
[[nodiscard]] constexpr std::uint64_t places_of_lane(std::uint64_t capacity_items, std::size_t item_bytes) {
  constexpr std::uint64_t limit = std::uint64_t{2} << 20;  // 32 of the largest items
  return capacity_items * item_bytes <= limit ? capacity_items : limit / item_bytes;
}
/// At most so many bytes are moved for a tunnel in one step, or one item: the other side then has something to do soon,
/// and they are still in a cache when they are read.
constexpr std::size_t most_bytes_of_step = std::size_t{256} << 10;
[[nodiscard]] constexpr std::size_t most_items_of_step(std::size_t item_bytes) {
  return item_bytes < most_bytes_of_step ? most_bytes_of_step / item_bytes : 1;
}

}  // namespace hiway::detail::nodes
