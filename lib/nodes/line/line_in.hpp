// LineIn: the line's end of an arrival. It puts what has come by its lanes into the inlet, a piece of each in turn, and
// closes the inlet when all have ended (node_line.hpp L2).
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/line/line_lane.hpp"
#include "lib/nodes/line/line_mail.hpp"
#include "lib/nodes/node_line.hpp"

namespace hiway::detail::nodes {

/// The receiver's end of a lane. *Threads*: the line's.
class LaneIn {
 public:
  /// `own`: this end; `other`: its other end, which `mail` leads to.
  LaneIn(LineMail& mail, LaneAddress const& own, LaneAddress const& other);
  LaneIn(LaneIn const&) = delete;
  LaneIn& operator=(LaneIn const&) = delete;

  /// What the line hands on of the sender's words.
  [[nodiscard]] LaneInWords& words() noexcept { return words_; }

  /// Puts up to `most` of the items that have come; returns how many.
  std::size_t put(StageThread m, InletView const& inlet, std::uint64_t most);
  /// Lets the mail tell of what was put.
  void tell();
  /// No more come. All that came have been put, since the sender says it after it has seen that (node_line.hpp L1).
  [[nodiscard]] bool has_ended(StageThread m) { return m.load(words_.ended, MemoryOrder::acquire) != 0; }
  void reset();

 private:
  LineMail& mail_;
  std::uint64_t places_;
  std::size_t item_bytes_;
  std::byte const* items_;
  std::uint64_t retired_;  ///< address of the sender's word
  LaneInWords words_;
  std::uint64_t put_ = 0;
  std::uint64_t told_ = 0;  ///< of them
};

/// *Threads*: the line's.
class LineIn {
 public:
  LineIn(Arrival arrival, std::vector<std::unique_ptr<LaneIn>> lanes);

  /// True if something moved.
  bool step(StageThread m);
  [[nodiscard]] bool is_done() const noexcept { return closed_; }
  void reset();

 private:
  void wait_a_step(StageThread m);

  Arrival arrival_;
  std::vector<std::unique_ptr<LaneIn>> lanes_;
  std::size_t first_ = 0;  ///< the lane whose turn it is
  bool closed_ = false;
};

}  // namespace hiway::detail::nodes
