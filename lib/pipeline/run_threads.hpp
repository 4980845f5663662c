// RunThreads: the CPU threads of a run's stages. Each leaves by the end of its stage's code, by an exception, or by
// pthread_exit; all are counted.
#pragma once
#include <cstddef>
#include <thread>
#include <vector>

#include "layout.hpp"
#include "run_errors.hpp"
#include "run_state.hpp"

namespace hiway {

class RunThreads {
 public:
  RunThreads(Layout& layout, RunState& state, RunErrors& errors) : layout_(layout), state_(state), errors_(errors) {}

  /// How many threads the stages have.
  [[nodiscard]] unsigned count() const;
  /// Before a run: makes room for all. Threads note how they wait if the run is traced. *Throws* std::bad_alloc.
  void begin(bool traced);
  /// Starts all. A thread that cannot be started is the run's error.
  void start();
  /// *Waits* until all have left.
  void join() { threads_.clear(); }

 private:
  void start_one(std::size_t stage, unsigned thread);
  void run(std::size_t stage, unsigned thread);
  void run_body(std::size_t stage, unsigned thread);
  void reset_staged(std::size_t stage);

  Layout& layout_;
  RunState& state_;
  RunErrors& errors_;
  bool traced_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace hiway
