// LineOut: the line's end of a departure. It takes items out of the outlet, directly into places at other nodes where
// it can, and ends their tasks when they have been put there (node_line.hpp L1).
//
//   L4  The next items go to the lane with most places free. First it is one item, and then twice as many each time
//       while there are as many: so a few items are spread over all lanes, and many are moved at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/node_line.hpp"
#include "lib/nodes/line/line_lane.hpp"
#include "lib/nodes/line/line_mail.hpp"

namespace hiway::detail::nodes {

/// The sender's end of a lane. *Threads*: the line's.
class LaneOut {
 public:
  /// `other`: its other end, which `mail` leads to. `own`: room for as many items, for copies; null where none are
  /// needed (LineMail::here). *Lifetime*: `own` outlives the network, which may still read it.
  LaneOut(LineMail& mail, LaneAddress const& other, std::byte* own);
  LaneOut(LaneOut const&) = delete;
  LaneOut& operator=(LaneOut const&) = delete;

  /// What the line hands on of the receiver's word.
  [[nodiscard]] Word<std::uint64_t>& retired() noexcept { return retired_; }

  /// How many places may be written now.
  [[nodiscard]] std::uint64_t room() const noexcept { return mail_.has_room() ? places_ - (sent_ - reusable_) : 0; }
  /// How many of them lie one after another.
  [[nodiscard]] std::uint64_t room_in_a_row() const noexcept;
  /// Takes up to `most` items, at most room_in_a_row(); returns how many.
  std::size_t take(StageThread m, OutletView const& outlet, std::uint64_t most);
  /// Lets the mail tell of what was taken.
  void tell();
  /// How many items have been put since the last call.
  std::uint64_t count_retired();
  /// Lets the mail tell that no more come; false: not in this step.
  bool tell_end();
  /// That has been told, and nothing is left to be sent.
  [[nodiscard]] bool has_told_end() const noexcept { return end_told_ != 0 && mail_.completed() >= end_told_; }
  void reset();

 private:
  struct UnderWay {
    std::uint64_t submission;
    std::uint64_t sent;
  };

  void reuse_completed();

  LineMail& mail_;
  std::uint64_t places_;
  std::size_t item_bytes_;
  std::uint64_t target_;  ///< address of the places at the receiver
  std::uint64_t words_;   ///< address of its words
  bool copies_;           ///< items lie in places here first, and are copied to those there
  std::byte* items_;      ///< where they are written
  Word<std::uint64_t> retired_{0};
  std::uint64_t sent_ = 0;  ///< items taken
  std::uint64_t told_ = 0;  ///< of them
  std::uint64_t ended_tasks_ = 0;
  std::uint64_t reusable_ = 0;      ///< items whose places are free
  std::uint64_t completed_ = 0;     ///< items that no copy needs
  std::deque<UnderWay> under_way_;  ///< copies
  std::uint64_t end_told_ = 0;      ///< number of the submission; 0: not yet
};

/// *Threads*: the line's.
class LineOut {
 public:
  LineOut(Departure departure, std::vector<std::unique_ptr<LaneOut>> lanes);

  /// True if something moved.
  bool step(StageThread m);
  [[nodiscard]] bool is_done() const noexcept;
  void reset();

 private:
  bool end_tasks(StageThread m);
  bool take(StageThread m);
  [[nodiscard]] LaneOut* roomiest();

  Departure departure_;
  std::vector<std::unique_ptr<LaneOut>> lanes_;
  std::size_t next_ = 0;     ///< the lane that comes first of those with as much room
  std::uint64_t batch_ = 1;  ///< L4
  bool ended_ = false;
};

}  // namespace hiway::detail::nodes
