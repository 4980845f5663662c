// WaitingStreams: streams of the user's that wait for the end of a run (Pipeline::finished_on).
#pragma once
#include <memory>
#include <mutex>

#include "hiway/backend.hpp"

namespace hiway {

/// *Threads*: any.
class WaitingStreams {
 public:
  void begin_run() {
    std::scoped_lock const lock(mutex_);
    is_over_ = false;
  }
  /// Nothing waits for a run that is over.
  void add(CUstream_st* stream) {
    std::scoped_lock const lock(mutex_);
    if (is_over_) return;
    if (!gate_) gate_ = make_stream_gate();
    if (gate_) gate_->hold(stream);
  }
  void end_run() noexcept {
    std::scoped_lock const lock(mutex_);
    is_over_ = true;
    if (gate_) gate_->open();
  }

 private:
  std::mutex mutex_;
  bool is_over_ = true;
  std::unique_ptr<StreamGate> gate_;  ///< once a stream has waited
};

}  // namespace hiway
