// RunOverNodes: what a pipeline does together with the other nodes that declared it: it begins and ends its runs at the
// same time as they, fails when one of them fails, and carries items by the line (lib/nodes/node_line.hpp).
//
//   duty        of the thread of the line
//   step_line   moves items
//   step_news   tells the others that this node's part is over or has failed, and hears of theirs (run_news.hpp);
//               passes SIGUSR1 on from node 0 to all
//
//   word           written by           read by
//   settled_       begin(), step_news   the thread of the line; who waits for the run
//   texts_         any thread           step_news
//   times_asked_   step_news            who observes
//
//   S1  A run begins when all nodes have reset their words. If it fails on one node before that, it begins on none, or
//       fails on those where it has begun.
//   S2  It has ended well when that is so on every node, and it has failed on every node if it has on one. The first
//       failure, as node 0 saw it, is what wait() throws on all of them.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hiway/log.hpp"
#include "layout.hpp"
#include "lib/nodes/run_news.hpp"
#include "lib/nodes/run_parts.hpp"
#include "run_errors.hpp"
#include "run_state.hpp"

namespace hiway {

/// *Threads*: the caller's between runs, in a run the line's.
class RunOverNodes {
 public:
  RunOverNodes(Layout& layout, RunState const& state, RunErrors& errors);
  ~RunOverNodes() { abandon_line(); }
  RunOverNodes(RunOverNodes const&) = delete;
  RunOverNodes& operator=(RunOverNodes const&) = delete;

  [[nodiscard]] bool has_others() const { return layout_.over_nodes.count > 1; }
  [[nodiscard]] bool has_line() const { return !layout_.over_nodes.opened.empty(); }

  /// Does `work`; all nodes do theirs. If it fails on one, it fails on all. *Waits*: for all nodes.
  void together(std::function<void()> const& work);
  /// Checks that all nodes have declared the same, and makes the line, after the layout was prepared. *Waits*: for all
  /// nodes. *Throws* ConfigError, Error.
  void connect();
  /// Begins a run with `work`. *Waits*: for all nodes. *Throws* likewise, on all nodes (S1).
  void begin(std::function<void()> const& work);

  bool step_line();
  bool step_news();
  /// See Nap (monitors/host_monitor.hpp); also until something comes from the network.
  bool nap(std::atomic<bool> const& over, std::chrono::microseconds time, bool heeds) noexcept;
  /// See Pauses. A near line is a reader as others are, whose writers stop when their stagings are full; another makes
  /// fewer and larger messages of what comes meanwhile.
  void rest() const noexcept;
  /// Logs what happens in the run, with the node's name, on node 0. *Threads*: any.
  void log_at_node_0(LogLevel level, std::string text);
  /// How often node 0 has asked this one what it is doing. *Threads*: any.
  [[nodiscard]] unsigned times_asked() const { return times_asked_.load(std::memory_order_relaxed); }
  /// This node knows how the run has ended on all nodes. *Threads*: any.
  [[nodiscard]] bool is_settled() const { return !has_others() || settled_.load(std::memory_order_acquire); }
  /// The run that is over.
  [[nodiscard]] detail::nodes::RunOfNodes run() const;
  /// The node that is gone, or -1. Once the run is over.
  [[nodiscard]] int lost() const;
  /// What another node has told, if that failed first; else this node's error, or null. Once the run is over.
  [[nodiscard]] std::exception_ptr first_error() const;

 private:
  void learn_what_node_0_asks();
  void look() const;
  void abandon_line() noexcept;
  void tell_failure(std::exception_ptr const& error) noexcept;
  void pass_texts_on();
  void answer();

  Layout& layout_;
  RunState const& state_;
  RunErrors& errors_;
  mutable std::optional<detail::nodes::RunNews> news_;
  std::unique_ptr<detail::nodes::NodeLine> line_;
  std::uint64_t run_ = 0;      ///< its number
  bool told_ = false;          ///< how this node's part of the run ended
  bool told_failure_ = false;  ///< perhaps after it had ended well: while others work, it may still be aborted
  std::atomic<bool> settled_{false};
  std::mutex mutex_;
  std::vector<std::string> texts_;  ///< for node 0's log, under the mutex; the first byte is the level
  unsigned signals_seen_ = 0;       ///< at node 0
  std::atomic<unsigned> times_asked_{0};
};

}  // namespace hiway
