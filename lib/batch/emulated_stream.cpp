#include "lib/batch/emulated_stream.hpp"

#include <utility>

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

EmulatedStream::~EmulatedStream() {
  for (unsigned misses = 0; running_ && !has_ended(*running_); ++misses) relax_thread(misses);
}

void EmulatedStream::launch(DeviceKernel kernel, simt::Grid grid) {
  device_.prepare(title_, kernel, grid);
  waiting_.push_back({std::move(kernel), grid});
  ++launched_;
  static_cast<void>(ended());
}

std::uint64_t EmulatedStream::ended() {
  while (running_ || !waiting_.empty()) {
    if (!running_) {
      running_ = device_.start(title_, waiting_.front().kernel, waiting_.front().grid);
      waiting_.pop_front();
    }
    if (!running_->done()) break;
    running_.reset();
    ++ended_;
  }
  return ended_;
}

}  // namespace hiway
