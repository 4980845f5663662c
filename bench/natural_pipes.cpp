// hiway's movers of bench natural: pipelines whose CPU stages put and get one item at a time, and the same by spans.
#include <chrono>
#include <hiway/pipeline.hpp>
#include <mutex>
#include <span>
#include <stdexcept>
#include <utility>

#include "bench/natural.hpp"
#include "bench/natural_stages.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using hiway::Direction;
using hiway::Inlet;
using hiway::Outlet;

constexpr std::chrono::seconds deadline{60};

/// The CPU's end that puts.
template <class Item>
struct CpuWriter {
  Order const& order;
  NaturalCalls calls;

  void operator()(Inlet<Item> out) const {
    Share const share = share_of(order.items, hiway::thread_index(), hiway::thread_count());
    auto const put = [&](Item const& item) { out.put_h(item); };
    if (calls != NaturalCalls::spans) return put_each<Item>(order, share, put);
    std::vector<Item> items(span_items);
    auto const put_spans = [&](std::uint32_t number, std::uint64_t n) {
      for (std::uint64_t left = n; left != 0;) {
        std::size_t const now = std::min<std::uint64_t>(items.size(), left);
        renumber_items(items.data(), sizeof(Item), number, now);
        out.put_h(std::span<Item const>(items).first(now));
        number += static_cast<std::uint32_t>(now);
        left -= now;
      }
    };
    put_share<Item>(order, share, put_spans, put);
  }
};

/// The CPU's end that gets.
template <class Item>
struct CpuReader {
  std::mutex& mutex;
  Tally& tally;
  NaturalCalls calls;

  void operator()(Outlet<Item> in) const {
    Tally const mine = seen_by(in);
    std::scoped_lock const lock(mutex);
    tally.add(mine);
  }

 private:
  [[nodiscard]] Tally seen_by(Outlet<Item> in) const {
    Tally mine;
    if (calls == NaturalCalls::items) {
      in.for_each_h([&](Item const& item) { mine.add(item.words[0], item.differences()); });
    } else if (calls == NaturalCalls::gets) {
      for (Item item; in.next_h(item);) {
        mine.add(item.words[0], item.differences());
        in.end_task_h();
      }
    } else {
      std::vector<Item> items(span_items);
      while (std::size_t const n = in.next_h(std::span<Item>(items))) {
        mine.add(check_items(items.data(), sizeof(Item), n));
        in.end_task_h(n);
      }
    }
    return mine;
  }
};

template <std::size_t Bytes>
class NaturalPipe final : public Mover {
 public:
  using Item = Numbered<Bytes>;

  NaturalPipe(NaturalWork const& work, NaturalCalls calls)
      : work_(work), calls_(calls), pipe_(hiway::PipelineConfig{.device = work.device, .deadline = deadline}) {
    switch (work.course) {
      case Course::cpu_to_cpu: {
        auto& tunnel = tunnel_of("tunnel", Direction::cpu_to_cpu);
        add_writer(tunnel);
        add_reader(tunnel);
        break;
      }
      case Course::cpu_to_gpu: {
        auto& there = tunnel_of("there", Direction::cpu_to_gpu);
        tallies_on_device_ = &pipe_.create_buffer<Tally>(most_gpu_threads(work.device));
        add_writer(there);
        add_check_stage<Bytes>(pipe_, there, tallies_on_device_->view());
        break;
      }
      case Course::gpu_to_cpu: {
        auto& back = tunnel_of("back", Direction::gpu_to_cpu);
        order_on_device_ = &pipe_.create_buffer<Order>(1);
        add_source_stage<Bytes>(pipe_, back, order_on_device_->view());
        add_reader(back);
        break;
      }
      case Course::cpu_to_gpu_to_cpu: {
        auto& there = tunnel_of("there", Direction::cpu_to_gpu);
        auto& back = tunnel_of("back", Direction::gpu_to_cpu);
        add_writer(there);
        add_answer_stage<Bytes>(pipe_, there, back);
        add_reader(back);
        break;
      }
    }
  }

  Moved move(std::uint64_t items) override {
    if (runs_ == 0) pipe_.prepare();
    order_ = order_of(++runs_, items, work_.plant);
    seen_ = {};
    if (order_on_device_ != nullptr) order_on_device_->copy_in(std::span<Order const>(&order_, 1));
    std::vector<Tally> tallies(tallies_on_device_ != nullptr ? tallies_on_device_->size() : 0);
    if (tallies_on_device_ != nullptr) tallies_on_device_->copy_in(tallies);
    auto const begin = Clock::now();
    report_ = pipe_.run();
    Moved moved{std::chrono::duration<double>(Clock::now() - begin).count()};
    if (tallies_on_device_ != nullptr) tallies_on_device_->copy_out(tallies);
    for (Tally const& tally : tallies) seen_.add(tally);
    moved.wrong = wrong_in_run();
    return moved;
  }

  Json facts() const override {
    Json facts = Json::object();
    for (hiway::TunnelReport const& tunnel : report_.tunnels) facts[tunnel.name] = tunnel.movement;
    return facts;
  }

 private:
  auto& tunnel_of(char const* name, Direction direction) {
    return pipe_.create_tunnel<Item>(name, direction, {.capacity_items = work_.capacity_items});
  }
  void add_writer(hiway::Tunnel<Item>& tunnel) {
    pipe_.add_cpu_stage("writer", CpuWriter<Item>{order_, calls_}, hiway::into(tunnel), {.threads = work_.threads});
  }
  void add_reader(hiway::Tunnel<Item>& tunnel) {
    pipe_.add_cpu_stage("reader", CpuReader<Item>{mutex_, seen_, calls_}, hiway::from(tunnel),
                        {.threads = work_.threads});
  }
  [[nodiscard]] std::string wrong_in_run() const {
    Order expected = order_;
    if (work_.course == Course::cpu_to_gpu_to_cpu) expected.first += 1;
    if (std::string wrong = difference(seen_, expected); !wrong.empty()) return wrong;
    for (hiway::TunnelReport const& tunnel : report_.tunnels) {
      if (tunnel.items != order_.items || tunnel.finished != order_.items)
        return "tunnel '" + tunnel.name + "' says created " + std::to_string(tunnel.items) + ", finished " +
               std::to_string(tunnel.finished) + " of " + std::to_string(order_.items);
    }
    return {};
  }

  NaturalWork work_;
  NaturalCalls calls_;
  Order order_;
  std::mutex mutex_;
  Tally seen_;
  unsigned runs_ = 0;
  hiway::RunReport report_;
  hiway::Pipeline pipe_;  // after what its stages refer to
  hiway::Buffer<Order>* order_on_device_ = nullptr;
  hiway::Buffer<Tally>* tallies_on_device_ = nullptr;
};

}  // namespace

std::unique_ptr<Mover> make_natural(NaturalWork const& work, NaturalCalls calls) {
  switch (work.item_bytes) {
    case 4: return std::make_unique<NaturalPipe<4>>(work, calls);
    case 16: return std::make_unique<NaturalPipe<16>>(work, calls);
    case 64: return std::make_unique<NaturalPipe<64>>(work, calls);
    default: throw std::invalid_argument("no items of " + std::to_string(work.item_bytes) + " bytes");
  }
}

}  // namespace bench
