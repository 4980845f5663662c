#include "lib/backend/emulated_stream.hpp"

#include <cstring>
#include <utility>

#include "hiway/machine/thread_machine.hpp"

namespace hiway {
namespace {

bool has_ended(RunningKernel& kernel) noexcept {
  try {
    return kernel.done();
  } catch (...) {
    return true;
  }
}

}  // namespace

void EmulatedStream::leave() noexcept {
  for (unsigned misses = 0; running_ && !has_ended(*running_); ++misses) relax_thread(misses);
  running_.reset();
  waiting_.clear();
  coming_.clear();
  done_ = given_;
}

void EmulatedStream::launch(DeviceKernel kernel, simt::Grid grid) {
  device_.prepare(title_, kernel, grid, Neighbours::own);
  give({.kernel = std::move(kernel), .grid = grid});
  advance();
}

void EmulatedStream::give_copy(BusDirection way, void* to, void const* from, std::size_t bytes) {
  Copy const copy{.target = to, .source = from, .bytes = bytes};
  if (way == BusDirection::to_device) {
    coming_.push_back(copy);
  } else {
    give({.copy = copy});
  }
}

void EmulatedStream::make_coming() {
  for (Copy const& copy : coming_) std::memcpy(copy.target, copy.source, copy.bytes);
  coming_.clear();
}

void EmulatedStream::give(Step step) {
  waiting_.push_back(std::move(step));
  ++given_;
}

bool EmulatedStream::has_passed(std::size_t batch) {
  if (done_ < marks_[batch]) advance();
  return done_ >= marks_[batch];
}

void EmulatedStream::advance() {
  while (running_ || !waiting_.empty()) {
    if (running_) {
      if (!running_->done()) return;
      running_.reset();
      ++done_;
      continue;
    }
    Step const next = std::move(waiting_.front());
    waiting_.pop_front();
    if (next.copy.bytes != 0) {
      std::memcpy(next.copy.target, next.copy.source, next.copy.bytes);
      ++done_;
      return;
    }
    running_ = device_.start(title_, next.kernel, next.grid);
  }
}

}  // namespace hiway
