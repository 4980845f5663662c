#include "deadlines.hpp"

#include <algorithm>

namespace hiway {

Deadlines::~Deadlines() {
  if (!thread_.joinable()) return;
  {
    std::scoped_lock const lock(mutex_);
    ends_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Deadlines::add(Deadline::Clock::time_point at, PlacedWord of) {
  bool is_earliest = false;
  {
    std::scoped_lock const lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    if (heap_.size() >= 2 * most_) drop_those_over();
    heap_.push_back({at, of});
    std::ranges::push_heap(heap_, later);
    is_earliest = heap_.front().of.place == of.place && heap_.front().of.word == of.word;
  }
  if (is_earliest) wake_.notify_one();
}

/// Half of the entries at least, so each add() pays for a few.
void Deadlines::drop_those_over() {
  std::erase_if(heap_, [this](Entry const& e) { return !expiry_.is_waiting(e.of); });
  std::ranges::make_heap(heap_, later);
}

void Deadlines::run() noexcept {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (heap_.empty()) {
      wake_.wait(lock);
      continue;
    }
    auto const at = heap_.front().at;
    if (Deadline::Clock::now() < at) {
      wake_.wait_until(lock, at);
      continue;
    }
    std::ranges::pop_heap(heap_, later);
    PlacedWord const due = heap_.back().of;
    heap_.pop_back();
    lock.unlock();
    expiry_.expire(due);
    lock.lock();
  }
}

}  // namespace hiway
