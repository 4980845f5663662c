// Turns that may take too long, or for ever.
#pragma once
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>

#include "bench/bench.hpp"

namespace bench {

/// Runs turns, and stops waiting for one when its time is up. That one goes on by itself, and no other is begun until
/// it has ended. Where it never ends the program ends without it. *Threads*: one; each turn runs on a thread of its
/// own.
class TurnLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// What `turn` returns or throws; or at `until` a turn that has not ended.
  [[nodiscard]] Turn run(std::function<Turn()> turn, Clock::time_point until);
  /// Waits for a turn that goes on; once in vain, then no longer.
  void let_it_end(Clock::time_point until);
  /// Whether a turn goes on.
  [[nodiscard]] bool goes_on() const;

 private:
  std::future<Turn> late_;  ///< of the turn that went on; else not valid
  bool given_up_ = false;   ///< it has been waited for
};

/// The same variant, all of its turns within `until`.
[[nodiscard]] Variant within(std::shared_ptr<TurnLimit> const& limit, TurnLimit::Clock::time_point until,
                             Variant variant);

}  // namespace bench
