// StagingOwner: what a put into a staging (staging.hpp) asks besides the staging's room, in as few words as possible:
// is it the right thread's, and must the thread do more than put? Most puts need not.
#pragma once
#include <cstdint>

#include "hiway/machine/bell.hpp"
#include "hiway/machine/stage_thread.hpp"

namespace hiway {

/// The thread whose puts a staging is for, and which of them it follows with more than the put. *Threads*: that one,
/// but for what says otherwise.
class StagingOwner {
 public:
  /// Before a run, while no thread of it is there.
  void reset(bool crosses) {
    thread_.bits = nullptr;
    look_ = stop_ = crosses ? 1 : never;
  }
  /// Puts are followed from the first on, by whichever thread puts. `traced`: its trace is told of each.
  void follow(Bell const* bell, bool traced = false) {
    bell_ = bell;
    traced_ = traced;
    follow_from(0);
  }
  /// From here on the calling thread's puts are staged.
  void begin(Bell const* bell, bool traced) {
    follow(bell, traced);
    StageThread{}.store(thread_, static_cast<ThreadContext const*>(&this_thread_context()), MemoryOrder::relaxed);
  }
  /// No more: the inlet is closed, or the thread has ended. *Threads*: any.
  template <class Machine>
  void end(Machine m) {
    m.store(thread_, static_cast<ThreadContext const*>(nullptr), MemoryOrder::relaxed);
  }
  /// Between the calling thread's begin() and end(). *Threads*: any.
  template <class Machine>
  [[nodiscard]] bool is_this_thread(Machine m) {
    return m.load(thread_, MemoryOrder::relaxed) == &this_thread_context();
  }

  /// After put number `put`: whether there is more to do (detail::follow_put).
  [[nodiscard]] bool must_follow(std::uint64_t put) const { return put == stop_ || has_nappers(); }
  [[nodiscard]] bool has_nappers() const { return bell_ != nullptr && bell_->has_nappers(); }
  [[nodiscard]] bool is_traced() const { return traced_; }
  /// Whether the thread looks at the other end now. Never between CPU threads.
  [[nodiscard]] bool is_look_due(std::uint64_t put) const { return put == look_; }
  /// The next look is when twice as many as `staged` have gathered.
  void look_later(std::uint64_t put, std::uint64_t staged) {
    if (look_ == never) return;
    look_ = put + (staged != 0 ? staged : 1);
    follow_from(put);
  }
  /// Chooses the next put after `put` that is followed.
  void follow_from(std::uint64_t put) { stop_ = traced_ ? put + 1 : look_; }

 private:
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  Word<ThreadContext const*> thread_{nullptr};
  std::uint64_t stop_ = 1;  ///< the put that is followed
  Bell const* bell_ = nullptr;
  std::uint64_t look_ = 1;  ///< the put after which a look is due
  bool traced_ = false;
};

}  // namespace hiway
