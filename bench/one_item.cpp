#include "bench/one_item.hpp"

#include <algorithm>
#include <atomic>
#include <hiway/pipeline.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "bench/mover.hpp"
#include "bench/mutex_deque.hpp"
#include "bench/natural.hpp"
#include "bench/natural_stages.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using Item = Numbered<16>;

constexpr unsigned uncounted = 2;
constexpr std::chrono::hours deadline{1};  // a turn takes as long as the options say

/// When each item was put and got. Written by one writer and one reader, looked at when both have left.
class Stamps {
 public:
  explicit Stamps(OneItemWork const& work) : work_(work) {}

  void begin() {
    order_ = order_of(++runs_, uncounted + work_.items, work_.plant);
    sent_.assign(order_.items, {});
    got_.assign(order_.items, {});
    seen_ = {};
  }
  /// The writer's: `put(item)`, and then it computes; item after item.
  template <class Put>
  void write(Put&& put) {
    for (std::uint64_t i = 0; i != order_.items; ++i) {
      bool const planted = i == order_.victim();
      Item item;
      item.write(order_.first + static_cast<std::uint32_t>(i));
      if (planted && order_.plant != Plant::lose) item = planted_item<Item>(order_);
      sent_[i] = Clock::now();
      if (!planted || order_.plant != Plant::lose) put(item);
      compute_until(sent_[i] + work_.compute);
    }
  }
  /// The reader's, for each item that comes.
  void read(Item const& item) {
    auto const now = Clock::now();
    seen_.add(item.words[0], item.differences());
    std::uint32_t const i = item.words[0] - first_got();
    if (i < got_.size()) got_[i] = now;
  }
  [[nodiscard]] RoundTrips times() const {
    RoundTrips made;
    for (std::uint64_t i = uncounted; i < got_.size(); ++i) {
      if (got_[i] != Clock::time_point{})
        made.us.push_back(std::chrono::duration<double, std::micro>(got_[i] - sent_[i]).count());
    }
    std::ranges::sort(made.us);
    Order expected = order_;
    expected.first = first_got();
    made.wrong = difference(seen_, expected);
    return made;
  }

 private:
  [[nodiscard]] std::uint32_t first_got() const { return order_.first + (work_.through_gpu ? 1 : 0); }

  void compute_until(Clock::time_point end) {
    std::uint64_t state = computed_.load(std::memory_order_relaxed);
    while (Clock::now() < end) {
      for (unsigned k = 0; k != 256; ++k) state = state * 6364136223846793005U + 1442695040888963407U;
    }
    computed_.store(state, std::memory_order_relaxed);
  }

  OneItemWork work_;
  unsigned runs_ = 0;
  Order order_;
  std::vector<Clock::time_point> sent_;
  std::vector<Clock::time_point> got_;
  Tally seen_;
  std::atomic<std::uint64_t> computed_{1};  ///< so that it is computed
};

class TunnelsOneItem final : public OneItem {
 public:
  explicit TunnelsOneItem(OneItemWork const& work)
      : stamps_(work), pipe_(hiway::PipelineConfig{.device = work.device, .deadline = deadline}) {
    using hiway::Direction;
    auto& first = pipe_.create_tunnel<Item>("there", work.through_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu);
    auto* last = &first;
    pipe_.add_cpu_stage(
        "writer", [this](hiway::Inlet<Item> out) { stamps_.write([&](Item const& item) { out.put_h(item); }); },
        hiway::into(first));
    if (work.through_gpu) {
      last = &pipe_.create_tunnel<Item>("back", Direction::gpu_to_cpu);
      add_answer_stage<sizeof(Item)>(pipe_, first, *last);
    }
    pipe_.add_cpu_stage(
        "reader", [this](hiway::Outlet<Item> in) { in.for_each_h([&](Item const& item) { stamps_.read(item); }); },
        hiway::from(*last));
    pipe_.prepare();
  }

  RoundTrips run() override {
    stamps_.begin();
    (void)pipe_.run();
    return stamps_.times();
  }

 private:
  Stamps stamps_;
  hiway::Pipeline pipe_;  // after what its stages refer to
};

class DequesOneItem final : public OneItem {
 public:
  explicit DequesOneItem(OneItemWork const& work) : stamps_(work) {}

  RoundTrips run() override {
    stamps_.begin();
    MutexDeque<Item> queue(1024);
    {
      std::jthread const reader([&] {
        for (Item item; queue.next(item);) stamps_.read(item);
      });
      std::jthread const writer([&] {
        stamps_.write([&](Item const& item) { queue.put(item); });
        queue.close();
      });
    }
    return stamps_.times();
  }

 private:
  Stamps stamps_;
};

}  // namespace

std::unique_ptr<OneItem> make_one_item(OneItemWork const& work) { return std::make_unique<TunnelsOneItem>(work); }
std::unique_ptr<OneItem> make_one_item_of_deque(OneItemWork const& work) {
  return std::make_unique<DequesOneItem>(work);
}

Variant one_item_variant(std::string name, std::shared_ptr<OneItem> one, OneItemWork const& work) {
  auto const highest = std::make_shared<std::vector<double>>();  // of each turn
  auto turn = [one = std::move(one), highest]() -> Turn {
    RoundTrips const made = one->run();
    highest->push_back(made.at(1));
    return {made.at(0.5), made.wrong.empty(), made.wrong};
  };
  bool const emulated = work.through_gpu && work.device == "simt";
  auto facts_of = [highest, emulated, items = work.items] {
    Json facts{{"items", items}};
    auto const counted = highest->begin() + (highest->size() > 1 ? 1 : 0);  // without the uncounted turn
    if (!emulated && counted != highest->end()) facts["highest_us"] = *std::max_element(counted, highest->end());
    return facts;
  };
  return {std::move(name), std::move(turn), std::move(facts_of)};
}

}  // namespace bench
