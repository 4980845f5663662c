// Warp: which of up to 32 lanes wait for which others, and in which operation. A state machine without threads or
// fibers: the lane scheduler makes lanes wait and wakes them.
//
//   a group (one mask):   no lane --join--> some lanes joined --join of the last--> finish: results, group gone
//                                                             --a named lane leaves--> abandon: group gone
//
//   W1  a lane is in one group at most, and is in that group's mask
//   W2  groups have different masks, so each has a joined lane of its own, and there are at most 32 groups
//   W3  a group's mask names live lanes only: join checks, leave abandons
//   W4  no two groups wait for each other: join refuses the lane that would close the cycle. A longer cycle leaves no
//       lane of the block runnable, which the scheduler sees.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "hiway/machine/lane.hpp"

namespace hiway::simt {

/// What one lane brings to an operation and takes from it.
struct Meeting {
  WarpOperation operation = WarpOperation::sync;
  std::uint32_t mask = 0;
  std::uint64_t value = 0;
  unsigned source_lane = 0;
  std::uint64_t result = 0;
  char* order = nullptr;        ///< stated to TSan by sync
  unsigned gone_lane = 0;       ///< when abandoned: the lane that left
  std::uint32_t abandoned = 0;  ///< when abandoned: the lanes that waited
};

/// "ballot (mask 0x0000ffff)".
[[nodiscard]] std::string describe(WarpOperation operation, std::uint32_t mask);
/// "0x0000ffff".
[[nodiscard]] std::string hex(std::uint32_t mask);

class Warp {
 public:
  /// Puts the next lane into the warp.
  void launch_lane(Meeting& meeting) noexcept { meetings_[lanes_++] = &meeting; }
  [[nodiscard]] std::uint32_t live() const noexcept { return launched() & ~left_; }

  /// Why `lane` may not meet like this now; empty if it may.
  [[nodiscard]] std::string why_not(unsigned lane, Meeting const& meeting) const;
  /// Adds the lane to its group. Returns the lanes whose operation this completes, with their results set: 0, or the
  /// whole mask. Call it only when why_not is empty.
  std::uint32_t join(unsigned lane);
  /// The lane leaves the launch. Returns the lanes that waited for it: they are in no group any more.
  std::uint32_t leave(unsigned lane);
  /// Adds the lane to those that converge at `place`; true for the first, which must close the gathering.
  bool gather(unsigned lane, void const* place) noexcept;
  /// Closes the gathering that `lane` has opened; returns the lanes that came.
  std::uint32_t close_gathering(unsigned lane) noexcept;

  /// Empties every group; returns the lanes that were in one.
  std::uint32_t abandon_all() noexcept;

 private:
  struct Group {
    std::uint32_t mask = 0;
    std::uint32_t joined = 0;
    WarpOperation operation = WarpOperation::sync;
    char* order = nullptr;
  };
  /// Lanes that converge at one place, until the first of them closes it.
  struct Gathering {
    void const* place = nullptr;
    std::uint32_t lanes = 0;
    unsigned first = 0;
  };
  [[nodiscard]] std::uint32_t launched() const noexcept {
    return lanes_ == 32 ? ~std::uint32_t{0} : (std::uint32_t{1} << lanes_) - 1;
  }
  [[nodiscard]] Group* find(std::uint32_t mask) noexcept;
  void drop(Group& group) noexcept { group = groups_[--group_count_]; }
  void set_results(Group const& group) noexcept;

  std::array<Meeting*, 32> meetings_{};
  std::array<Group, 32> groups_{};
  std::array<Gathering, 32> gatherings_{};  // each has a lane of its own
  unsigned gathering_count_ = 0;
  // Marks of the orders that syncs state to TSan, by the mask's lowest lane and parity: a fast lane may enter its next
  // sync before a slow one has left this one.
  std::array<std::array<char, 2>, 32> orders_{};
  std::array<std::uint8_t, 32> order_uses_{};
  unsigned group_count_ = 0;
  unsigned lanes_ = 0;
  std::uint32_t left_ = 0;
};

}  // namespace hiway::simt
