// moodycamel's ConcurrentQueue, with a token for each thread and without. It has no bound: it allocates when its blocks
// are used up. So a writer looks now and then at how many it holds, and waits while it has room for no more than the
// other queues.
#include <concurrentqueue/concurrentqueue.h>

#include <utility>

#include "bench/queue_mover.hpp"

namespace bench {
namespace {

constexpr unsigned items_a_look = 256;

template <class T>
using Camel = moodycamel::ConcurrentQueue<T>;

/// What both kinds of writer do: try_put(item) by `enqueue(item)`.
template <class T, class Enqueue>
class Bounded {
 public:
  Bounded(Camel<T>& queue, std::size_t capacity, Enqueue enqueue)
      : queue_(&queue), capacity_(capacity), enqueue_(std::move(enqueue)) {}
  [[nodiscard]] bool try_put(T const& item) {
    if (unlooked_ == 0) {
      if (queue_->size_approx() > capacity_ - std::min<std::size_t>(capacity_, items_a_look)) return false;
      unlooked_ = items_a_look;
    }
    if (!enqueue_(item)) return false;
    --unlooked_;
    return true;
  }

 private:
  Camel<T>* queue_;
  std::size_t capacity_;
  Enqueue enqueue_;
  unsigned unlooked_ = 0;  ///< items that may be put before the next look
};

template <class Dequeue>
struct Reads {
  Dequeue dequeue;
  template <class T>
  [[nodiscard]] bool try_get(T& item) {
    return dequeue(item);
  }
};

template <class T>
class WithoutTokens {
 public:
  using Item = T;
  explicit WithoutTokens(NaturalWork const& work)
      : capacity_(work.capacity_items), queue_(capacity_, 0, work.threads) {}
  auto writer() {
    return Bounded(queue_, capacity_, [this](T const& item) { return queue_.enqueue(item); });
  }
  auto reader() {
    return Reads{[this](T& item) { return queue_.try_dequeue(item); }};
  }

 private:
  std::size_t capacity_;
  Camel<T> queue_;
};

template <class T>
class WithTokens {
 public:
  using Item = T;
  explicit WithTokens(NaturalWork const& work) : capacity_(work.capacity_items), queue_(capacity_, work.threads, 0) {}
  auto writer() {
    return Bounded(queue_, capacity_, [this, token = moodycamel::ProducerToken(queue_)](T const& item) {
      return queue_.enqueue(token, item);
    });
  }
  auto reader() {
    return Reads{
        [this, token = moodycamel::ConsumerToken(queue_)](T& item) mutable { return queue_.try_dequeue(token, item); }};
  }

 private:
  std::size_t capacity_;
  Camel<T> queue_;
};

std::vector<Way> make_camels(NaturalWork const& work) {
  return with_natural_items(work.item_bytes, [&]<class Item>(Item*) {
    Json const facts{{"bound", "looked at each 256 items"}};
    std::vector<Way> peers;
    peers.push_back({concurrent_queue, std::make_unique<QueueMover<Waiting<WithoutTokens<Item>>>>(work, facts)});
    peers.push_back(
        {concurrent_queue_with_tokens, std::make_unique<QueueMover<Waiting<WithTokens<Item>>>>(work, facts)});
    return peers;
  });
}

[[maybe_unused]] bool const known = register_peers(&make_camels);

}  // namespace
}  // namespace bench
