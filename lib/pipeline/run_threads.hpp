// RunThreads: what the CPU threads of stages do in a run. Each leaves by the end of its stage's code, by an exception,
// or by pthread_exit; all are counted.
#pragma once
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "kept_threads.hpp"
#include "layout.hpp"
#include "run_errors.hpp"
#include "run_state.hpp"

namespace hiway {

class RunThreads {
 public:
  /// `last_left` is called by the last thread of a run, after it has counted itself out.
  RunThreads(Layout& layout, RunState& state, RunErrors& errors, std::function<void()> last_left)
      : layout_(layout), state_(state), errors_(errors), last_left_(std::move(last_left)) {}

  /// How many threads the stages have.
  [[nodiscard]] unsigned count() const;
  /// Adds a post for each. *Throws* std::bad_alloc.
  void add_posts(std::vector<KeptThreads::Post>& posts);
  /// Before a run. Threads note how they wait if the run is traced.
  void begin(bool traced);

 private:
  void run(std::size_t stage, unsigned thread);
  void run_body(std::size_t stage, unsigned thread);
  void await_kernels() const;
  void reset_ends(std::size_t stage);
  void reset_stripes(StagedPuts const& staged, PlacedTunnel const& tunnel);

  Layout& layout_;
  RunState& state_;
  RunErrors& errors_;
  std::function<void()> last_left_;
  bool traced_ = false;
};

}  // namespace hiway
