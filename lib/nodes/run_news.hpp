// RunNews: what the nodes tell each other while a run is under way: that they are there, that their part is over, that
// it has failed. It goes by the connections of the Meeting, with node 0 in the middle.
//
//   node k                                 node 0
//   beat, again and again             ->
//                                     <-   beat
//   said: a text for node 0's log     ->
//                                     <-   asked: what it is doing, which it says
//   over; or failed, with why         ->
//                                     <-   the verdict: over, when all are; or failed or gone, with the node and why
//
//   N1  A run has one verdict. Node 0 gives it, by what it sees first, and tells all. So all have the same, also if two
//       nodes fail at once. Only a node that has lost node 0 judges by itself: node 0 is gone then, or silent.
//   N2  A node says nothing of a run once it has the verdict. What others said before they had it may come later: each
//       message has its run's number, which the Meeting counts over all pipelines, and what is of an earlier run is
//       dropped, here and by the Meeting's calls.
//   N3  What is of a later run, of a call or of the run's parts (run_parts.hpp) stays in its channel. Its sender has
//       the verdict of this run, which it has from this node or has sent before: nothing of this run comes after it.
//
// A node that has gone, or that says nothing, does not come back: no call of the Meeting works any more. A node that
// has not begun the run yet may be silent for as long as it likes.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/nodes/meeting.hpp"
#include "lib/nodes/silence.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one at a time.
class RunNews {
 public:
  using Time = Silence::Time;

  /// `patience`: a node that says nothing for so long has failed. *Lifetime*: the Meeting outlives it.
  explicit RunNews(Meeting& meeting, std::chrono::milliseconds patience = std::chrono::seconds(1));

  /// Of a run. No other run of the Meeting goes on; all nodes begin the same runs in the same order. *Throws* Error if
  /// a node is gone since an earlier one.
  void begin();
  /// Sends and receives what can be; true if something was heard. Never waits. Cheap to call often: it looks at the
  /// connections every 0.2 ms at most. *Throws* Error if the system cannot do it.
  bool step() { return step(std::chrono::steady_clock::now()); }
  /// The same at that time, by any clock.
  bool step(Time now);
  /// Of the run, on all nodes.
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  /// This node's part of the run has ended well.
  void say_over();
  /// This node's part has failed. The first call counts.
  void say_failed(std::string_view why);
  /// Not at node 0, which has the text by take_said() then, if it comes before the run is over there.
  void say(std::string_view text);
  /// At node 0: the others hear it by take_asked(), if it comes before the run is over there.
  void ask();
  [[nodiscard]] bool take_asked() { return std::exchange(run_.asked, false); }

  struct Said {
    int node = 0;
    std::string text;
  };
  [[nodiscard]] std::vector<Said> take_said() { return std::exchange(run_.said, {}); }

  struct Failure {
    int node = 0;
    std::string why;    ///< as the node gave it, or a message of its own if the node is gone
    bool gone = false;  ///< or silent
  };
  /// The verdict: all nodes are over.
  [[nodiscard]] bool is_over() const noexcept { return run_.is_over; }
  /// The verdict: the run's first failure, this node's own or another's. Null until it has come.
  [[nodiscard]] Failure const* failure() const noexcept { return run_.failure ? &*run_.failure : nullptr; }
  /// The verdict is there, and this node owes nothing to the others: it has sent all, or has tried for the patience.
  [[nodiscard]] bool is_settled() const noexcept { return run_.is_settled; }

 private:
  struct Run {
    bool is_over = false;
    std::optional<Failure> failure;
    bool is_settled = false;
    Time settled_by = Time::max();
    std::optional<std::string> own_failure;  // without a verdict yet
    std::vector<bool> over;                  // at node 0: by number
    std::vector<Said> said;                  // at node 0
    bool asked = false;                      // elsewhere
    Time next_beat{};
  };

  [[nodiscard]] bool has_verdict() const noexcept { return run_.is_over || run_.failure; }
  void tell(Kind kind, int node, std::string_view why = {});
  bool listen_to(std::size_t node, Time now);
  void hear(std::size_t from, Message const& message);
  void hear_over(std::size_t node);
  void look_for_lost(Time now);
  void decide(Failure failure);
  void settle(Time now);

  Meeting& meeting_;
  std::chrono::milliseconds patience_;
  std::uint32_t number_ = 0;  // of the run
  Run run_;
  Silence silence_;
  Time next_look_{};
};

}  // namespace hiway::detail::nodes
