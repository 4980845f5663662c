// A mover of numbered items through a queue of another library: writers put their shares item by item, readers get
// until the writers have left and the queue is empty.
#pragma once
#include <atomic>
#include <chrono>
#include <hiway/machine/thread_machine.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/natural.hpp"

namespace bench {

/// Makes of a queue that never waits one that does: as hiway's threads wait. `Queue` has an Item; writer() and
/// reader(), which a thread calls once, and whose try_put(item) and try_get(item) it then calls.
template <class Queue>
class Waiting {
 public:
  using Item = typename Queue::Item;
  explicit Waiting(NaturalWork const& work) : queue_(work), writers_(work.threads) {}

  auto writer() {
    return [to = queue_.writer()](Item const& item) mutable {
      for (unsigned misses = 0; !to.try_put(item); ++misses) hiway::relax_thread(misses);
    };
  }
  auto reader() {
    return [this, from = queue_.reader()](Item& item) mutable {
      for (unsigned misses = 0; !from.try_get(item); ++misses) {
        if (writers_.load(std::memory_order_acquire) == 0) return from.try_get(item);
        hiway::relax_thread(misses);
      }
      return true;
    };
  }
  /// A writer has put its last.
  void leave() { writers_.fetch_sub(1, std::memory_order_release); }

 private:
  Queue queue_;
  std::atomic<unsigned> writers_;
};

/// `Queue` has an Item; writer(), reader() and leave() as Waiting has them. Each move has a new one, made before the
/// time that is measured.
template <class Queue>
class QueueMover final : public Mover {
 public:
  using Item = typename Queue::Item;
  explicit QueueMover(NaturalWork const& work, Json facts = Json::object()) : work_(work), facts_(std::move(facts)) {}

  Moved move(std::uint64_t items) override {
    Order const order = order_of(++runs_, items, work_.plant);
    auto const queue = std::make_unique<Queue>(work_);
    std::vector<Tally> tallies(work_.threads);
    auto const begin = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> threads;
      for (unsigned t = 0; t != work_.threads; ++t) {
        threads.emplace_back([&, t] {
          put_each<Item>(order, share_of(order.items, t, work_.threads), queue->writer());
          queue->leave();
        });
        threads.emplace_back([&, t] {
          Tally mine;
          auto next = queue->reader();
          for (Item item; next(item);) mine.add(item.words[0], item.differences());
          tallies[t] = mine;
        });
      }
    }
    Moved moved{std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count()};
    Tally seen;
    for (Tally const& tally : tallies) seen.add(tally);
    moved.wrong = difference(seen, order);
    return moved;
  }
  [[nodiscard]] Json facts() const override { return facts_; }

 private:
  NaturalWork work_;
  Json facts_;
  unsigned runs_ = 0;
};

/// `make(null pointer to an item of this size)`. *Throws* std::invalid_argument for a size that is not there.
template <class Make>
auto with_natural_items(std::size_t item_bytes, Make&& make) {
  switch (item_bytes) {
    case 4: return make(static_cast<Numbered<4>*>(nullptr));
    case 16: return make(static_cast<Numbered<16>*>(nullptr));
    case 64: return make(static_cast<Numbered<64>*>(nullptr));
    default: throw std::invalid_argument("no items of " + std::to_string(item_bytes) + " bytes");
  }
}

}  // namespace bench
