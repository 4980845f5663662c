// Items moved by the calls that a user writes first: one put for each item, one get for each. For bench natural;
// hiway's movers are pipelines (natural_pipes.cpp), the others queues of other libraries (natural_peers.cpp).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/mover.hpp"
#include "bench/numbered.hpp"

namespace bench {

/// Where the items go. There and back: a stage on the GPU answers each item.
enum class Course : std::uint8_t { cpu_to_cpu, cpu_to_gpu, gpu_to_cpu, cpu_to_gpu_to_cpu };

/// How CPU threads call hiway.
enum class NaturalCalls : std::uint8_t {
  items,  ///< put_h(item), for_each_h
  gets,   ///< put_h(item), next_h(item) and end_task_h
  spans,  ///< put_h(span), next_h(span) and end_task_h of `span_items`
};
inline constexpr std::size_t span_items = 256;

struct NaturalWork {
  std::string device;
  Course course = Course::cpu_to_cpu;
  std::size_t item_bytes = 16;  ///< 4, 16 or 64
  unsigned threads = 1;         ///< of each CPU end
  std::size_t capacity_items = 65536;
  Plant plant = Plant::none;
};

/// hiway's. *Throws* std::invalid_argument for a size that is not there.
[[nodiscard]] std::unique_ptr<Mover> make_natural(NaturalWork const& work, NaturalCalls calls);

/// A mover by the name that its variant has.
struct Way {
  std::string name;
  std::unique_ptr<Mover> mover;
};
/// What CPU threads may use instead, for `work` of course cpu_to_cpu. *Throws* as make_natural.
[[nodiscard]] std::vector<Way> make_peers(NaturalWork const& work);
inline constexpr char const* boost_spsc_queue = "boost spsc_queue";
inline constexpr char const* boost_queue = "boost queue";
inline constexpr char const* concurrent_queue = "moodycamel";
inline constexpr char const* concurrent_queue_with_tokens = "moodycamel tokens";
inline constexpr char const* mutex_and_deque = "mutex and deque";

/// Those of a file that is part of the program only where its header was found: it makes itself known before main.
using MakePeers = std::vector<Way> (*)(NaturalWork const& work);
/// *Threads*: before main. Returns true.
bool register_peers(MakePeers more) noexcept;

/// The item in which `order`'s error is planted, as it is put; not for Plant::lose, which puts none.
template <class Item>
[[nodiscard]] Item planted_item(Order const& order) {
  Item item;
  item.write(order.first + static_cast<std::uint32_t>(order.victim()) - (order.plant == Plant::duplicate ? 1 : 0));
  if (order.plant == Plant::alter) item.words[Item::count - 1] ^= 0x100U;
  return item;
}

/// Hands over the items of `share`: `put_some(number of the first, how many)`, and `put_one(item)` where the error is.
template <class Item, class PutSome, class PutOne>
void put_share(Order const& order, Share share, PutSome&& put_some, PutOne&& put_one) {
  auto const number = [&](std::uint64_t i) { return order.first + static_cast<std::uint32_t>(i); };
  std::uint64_t const victim = std::clamp(order.victim(), share.begin, share.end);
  put_some(number(share.begin), victim - share.begin);
  if (victim == share.end) return;
  if (order.plant != Plant::lose) put_one(planted_item<Item>(order));
  put_some(number(victim + 1), share.end - victim - 1);
}

/// The same by one `put(item)` for each.
template <class Item, class Put>
void put_each(Order const& order, Share share, Put&& put) {
  auto const put_some = [&](std::uint32_t number, std::uint64_t n) {
    Item item;
    for (std::uint64_t i = 0; i != n; ++i) {
      item.number(number++);
      put(item);
    }
  };
  put_share<Item>(order, share, put_some, put);
}

}  // namespace bench
