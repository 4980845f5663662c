// LaunchRecord: the state of a running launch, shared by its Launch (all copies together) and by its blocks.
//
//   word         written by                           read by
//   error        the first lane that fails (L1)       wait, after done
//   blocks_left  workers, under mutex                 workers, under mutex
//   start_failed the first worker without memory for a block, after `error`   everyone
//   done         the worker of the last block         everyone
//   in_sync_block  workers, by adding or subtracting    everyone; orders nothing
//   holders      the Launch and the last block, once each
//   waiting, nodes  the dispatcher, under its mutex
//
//   L1  the lane that sets `failed` writes `error`, once. After that its worker ends the lane's block (mutex), before
//       the last block sets done
//   L2  the second of the two holders to let go deletes the record; blocks use it by pointer until the last has ended.
//       (No shared_ptr: the code of its counter may come from any translation unit, and TSan sees only some of them.)
//   Orders   start   launch -> each lane                exit           each lane -> wait, done
//            holder  first holder's last use -> delete  start_failure  a worker -> start_failure, wait
//            (these four are stated to TSan; `orders_` has an address for each)
//            R1 the last block stores done -> A1 done() loads it: every lane's effects are there
//            R2 a worker stores start_failed -> A2 start_failure() loads it: `error` is there
#pragma once
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "hiway/launch/simt.hpp"
#include "sanitizers.hpp"

namespace hiway::simt {

class LaunchRecord;

/// A block that has been placed.
struct PlacedBlock {
  LaunchRecord* launch = nullptr;  ///< lives until this block has ended
  unsigned index = 0;              ///< in the grid
  std::size_t processor = 0;
  std::size_t worker = 0;
};

/// A queue of blocks, first in, first out. It uses the nodes that the launches bring, so it allocates nothing.
class BlockQueue {
 public:
  struct Node {
    PlacedBlock block;
    Node* next = nullptr;
  };
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }
  inline void push(PlacedBlock const& block) noexcept;
  PlacedBlock pop() noexcept {
    Node const& node = *std::exchange(first_, first_->next);
    if (first_ == nullptr) last_ = nullptr;
    return node.block;
  }

 private:
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

class LaunchRecord {
 public:
  LaunchRecord(std::string name, Grid grid, std::function<void()> body)
      : name_(std::move(name)), grid_(grid), body_(std::move(body)), nodes_(grid.blocks), blocks_left_(grid.blocks) {
    sanitizer::release(&orders_.start);
  }
  LaunchRecord(LaunchRecord const&) = delete;
  LaunchRecord& operator=(LaunchRecord const&) = delete;

  /// One holder lets go (L2). The body is freed with the record; a worker may do so shortly after wait has returned.
  void let_go() noexcept {
    sanitizer::release(&orders_.holder);
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    sanitizer::acquire(&orders_.holder);
    sanitizer::acquire(&orders_.exit);  // lanes have read the body
    delete this;
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] Grid const& grid() const noexcept { return grid_; }

  /// For the dispatcher: this launch among those that have blocks without a place.
  struct Waiting {
    LaunchRecord* next = nullptr;
    unsigned first_block = 0;  ///< the first that has no place yet
  };
  Waiting waiting;
  /// The queue node for a block of this launch.
  [[nodiscard]] BlockQueue::Node& node(unsigned block) noexcept { return nodes_[block]; }

  /// Runs the body. *Threads*: once on each lane; takes no mutex.
  void run_lane() noexcept {
    sanitizer::acquire(&orders_.start);
    try {
      body_();
    } catch (...) {
      keep(std::current_exception());
    }
    sanitizer::release(&orders_.exit);
  }
  /// Keeps the first exception.
  void keep(std::exception_ptr error) noexcept {
    if (!failed_.test_and_set(std::memory_order_relaxed)) error_ = std::move(error);  // L1
  }
  /// Keeps the error because of which a block could not start. *Threads*: a worker, not on a lane.
  void keep_start_failure(std::exception_ptr error) noexcept {
    if (failed_.test_and_set(std::memory_order_relaxed)) return;
    error_ = std::move(error);
    sanitizer::release(&orders_.start_failure);
    start_failed_.store(true, std::memory_order_release);  // R2
  }
  /// The error because of which a block could not start; null if there is none. Other blocks may be running.
  [[nodiscard]] std::exception_ptr start_failure() const noexcept {
    if (!start_failed_.load(std::memory_order_acquire)) return nullptr;  // A2
    sanitizer::acquire(&orders_.start_failure);
    return error_;
  }
  /// All lanes of one block have left; the caller does not use the record again. *Threads*: a worker, not on a lane.
  void block_ended() {
    {
      std::lock_guard const lock(mutex_);
      if (--blocks_left_ != 0) return;
      done_.store(true, std::memory_order_release);  // R1
      ended_.notify_all();
    }
    let_go();
  }

  /// A lane begins to wait in sync_block, or goes on. *Threads*: on a lane.
  void stands_in_sync_block() noexcept { in_sync_block_.fetch_add(1, std::memory_order_relaxed); }
  void goes_on() noexcept { in_sync_block_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] unsigned lanes_in_sync_block() const noexcept { return in_sync_block_.load(std::memory_order_relaxed); }

  [[nodiscard]] bool done() noexcept {
    bool const ended = done_.load(std::memory_order_acquire);  // A1
    if (ended) sanitizer::acquire(&orders_.exit);
    return ended;
  }
  /// *Waits* for the last block. *Throws* the first exception that left a lane.
  void wait() {
    {
      std::unique_lock lock(mutex_);
      ended_.wait(lock, [this] { return done_.load(std::memory_order_acquire); });
    }
    sanitizer::acquire(&orders_.exit);
    sanitizer::acquire(&orders_.start_failure);
    if (error_) std::rethrow_exception(error_);
  }

 private:
  friend struct std::default_delete<LaunchRecord>;
  ~LaunchRecord() = default;

  /// TSan knows each order by an address.
  struct Orders {
    char start = 0;
    char exit = 0;
    char holder = 0;
    char start_failure = 0;
  };

  std::string const name_;
  Grid const grid_;
  std::function<void()> const body_;
  std::vector<BlockQueue::Node> nodes_;  ///< one for each block
  std::atomic_flag failed_;
  std::exception_ptr error_;
  std::mutex mutex_;
  std::condition_variable ended_;
  unsigned blocks_left_;
  std::atomic<bool> start_failed_{false};
  std::atomic<bool> done_{false};
  std::atomic<int> holders_{2};
  std::atomic<unsigned> in_sync_block_{0};
  mutable Orders orders_;
};

inline void BlockQueue::push(PlacedBlock const& block) noexcept {
  Node& node = block.launch->node(block.index);
  node = {.block = block, .next = nullptr};
  (last_ != nullptr ? last_->next : first_) = &node;
  last_ = &node;
}

}  // namespace hiway::simt
