// What CPU threads may use instead of a tunnel: Boost.Lockfree's two queues, and a deque under a mutex.
#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>
#include <utility>

#include "bench/mutex_deque.hpp"
#include "bench/queue_mover.hpp"

namespace bench {
namespace {

/// A writer or a reader that is the queue itself, by the names that both of Boost's have.
template <class Queue>
struct BoostEnd {
  Queue* queue;
  template <class Item>
  [[nodiscard]] bool try_put(Item const& item) const {
    return queue->push(item);
  }
  template <class Item>
  [[nodiscard]] bool try_get(Item& item) const {
    return queue->pop(item);
  }
};

/// One writer, one reader.
template <class T>
class SpscQueue {
 public:
  using Item = T;
  explicit SpscQueue(NaturalWork const& work) : queue_(work.capacity_items) {}
  auto writer() { return BoostEnd<Queue>{&queue_}; }
  auto reader() { return BoostEnd<Queue>{&queue_}; }

 private:
  using Queue = boost::lockfree::spsc_queue<T>;
  Queue queue_;
};

constexpr std::size_t most_of_boost_queue = 65534;  // its links have 16 bits

template <class T>
class FixedQueue {
 public:
  using Item = T;
  explicit FixedQueue(NaturalWork const& work) : queue_(std::min(work.capacity_items, most_of_boost_queue)) {}
  auto writer() { return BoostEnd<Queue>{&queue_}; }
  auto reader() { return BoostEnd<Queue>{&queue_}; }

 private:
  using Queue = boost::lockfree::queue<T, boost::lockfree::fixed_sized<true>>;
  Queue queue_;
};

template <class T>
class LockedQueue {
 public:
  using Item = T;
  explicit LockedQueue(NaturalWork const& work) : queue_(work.capacity_items), writers_(work.threads) {}
  auto writer() {
    return [this](Item const& item) { queue_.put(item); };
  }
  auto reader() {
    return [this](Item& item) { return queue_.next(item); };
  }
  void leave() {
    if (writers_.fetch_sub(1, std::memory_order_acq_rel) == 1) queue_.close();
  }

 private:
  MutexDeque<T> queue_;
  std::atomic<unsigned> writers_;
};

MakePeers& known_peers() {
  static MakePeers more = nullptr;
  return more;
}

}  // namespace

bool register_peers(MakePeers more) noexcept {
  known_peers() = more;
  return true;
}

std::vector<Way> make_peers(NaturalWork const& work) {
  return with_natural_items(work.item_bytes, [&]<class Item>(Item*) {
    std::vector<Way> peers;
    if (work.threads == 1)
      peers.push_back({boost_spsc_queue, std::make_unique<QueueMover<Waiting<SpscQueue<Item>>>>(work)});
    Json const capacity{{"capacity_items", std::min(work.capacity_items, most_of_boost_queue)}};
    peers.push_back({boost_queue, std::make_unique<QueueMover<Waiting<FixedQueue<Item>>>>(work, capacity)});
    if (known_peers() != nullptr) {
      for (Way& peer : known_peers()(work)) peers.push_back(std::move(peer));
    }
    peers.push_back({mutex_and_deque, std::make_unique<QueueMover<LockedQueue<Item>>>(work)});
    return peers;
  });
}

}  // namespace bench
