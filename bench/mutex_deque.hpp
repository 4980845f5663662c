// A bounded queue as everybody writes it: a deque under a mutex, a condition variable for each kind of waiting thread.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace bench {

/// *Threads*: any number puts and gets at once.
template <class Item>
class MutexDeque {
 public:
  explicit MutexDeque(std::size_t capacity) : capacity_(capacity) {}

  /// *Waits* until there is room.
  void put(Item const& item) {
    {
      std::unique_lock lock(mutex_);
      has_room_.wait(lock, [&] { return items_.size() < capacity_; });
      items_.push_back(item);
    }
    has_item_.notify_one();
  }
  /// *Waits* until there is one; false when there is none and close() was called.
  [[nodiscard]] bool next(Item& item) {
    {
      std::unique_lock lock(mutex_);
      has_item_.wait(lock, [&] { return !items_.empty() || closed_; });
      if (items_.empty()) return false;
      item = items_.front();
      items_.pop_front();
    }
    has_room_.notify_one();
    return true;
  }
  /// After the last put.
  void close() {
    {
      std::scoped_lock const lock(mutex_);
      closed_ = true;
    }
    has_item_.notify_all();
  }

 private:
  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_item_;
  std::deque<Item> items_;
  bool closed_ = false;
};

}  // namespace bench
