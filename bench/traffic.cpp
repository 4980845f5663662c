// hiway's mover: a pipeline with a source and a sink for each way; one kernel for each kind of end and item.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <hiway/pipeline.hpp>
#include <mutex>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/device_numbers.hpp"
#include "bench/mover.hpp"

namespace bench {

using hiway::Inlet;
using hiway::Outlet;
using hiway::View;

/// Every lane puts every lane-count-th item; of large ones every warp, its lanes together.
template <std::size_t Bytes>
struct GpuSource {
  using Item = Numbered<Bytes>;
  View<Order> order;

  HIWAY_DEVICE void operator()(Inlet<Item> out) const {
    Order const todo = order[0];
    constexpr unsigned team = hiway::stays_in_slot<Item> ? 32 : 1;
    std::uint64_t const teams = hiway::thread_count() / team;
    for (std::uint64_t i = hiway::thread_index() / team; i < todo.items; i += teams) {
      bool const planted = i == todo.victim();
      if (planted && todo.plant == Plant::lose) continue;
      auto const number =
          static_cast<std::uint32_t>(todo.first + i - (planted && todo.plant == Plant::duplicate ? 1 : 0));
      std::uint32_t const flip = planted && todo.plant == Plant::alter ? 0x100U : 0U;
      put(out, number, flip);
    }
  }

  HIWAY_DEVICE static void put(Inlet<Item> out, std::uint32_t number, std::uint32_t flip) {
    if constexpr (hiway::stays_in_slot<Item>) {
      out.put_in_place_warp_d([&](Item& slot) {
        for_fours_of_lane(slot, hiway::thread_index() % 32, [&](Four& four, std::uint32_t i) {
          Four next = four_of<Item>(number, i);
          if (i + 4 == Item::count) next.words[3] ^= flip;
          four = next;
        });
      });
    } else {
      Item item;
      item.write(number);
      item.words[Item::count - 1] ^= flip;
      out.put_d(item);
    }
  }
};

/// Every lane keeps a tally of its own; of large items a warp's lanes check each a part, the first one counts.
template <std::size_t Bytes>
struct GpuSink {
  using Item = Numbered<Bytes>;
  View<Tally> tallies;  ///< one a lane

  HIWAY_DEVICE void operator()(Outlet<Item> in) const {
    Tally mine;
    if constexpr (hiway::stays_in_slot<Item>) {
      in.for_each_warp_d([&](Item const& item) {
        std::uint32_t const lane = hiway::thread_index() % 32;
        std::uint32_t const number = item.words[0];
        std::uint32_t differ = 0;
        for_fours_of_lane(item, lane, [&](Four const& four, std::uint32_t i) {
          Four const seen = four;
          Four const right = four_of<Item>(number, i);
          for (std::uint32_t k = 0; k != 4; ++k) differ |= seen.words[k] ^ right.words[k];
        });
        if (lane == 0) {
          mine.add(number, differ);
        } else {
          mine.altered |= differ;
        }
      });
    } else {
      in.for_each_d([&](Item const& item) { mine.add(item.words[0], item.differences()); });
    }
    tallies[hiway::thread_index()] = mine;
  }
};

/// Every block puts every block-count-th span, all its lanes together, from shared memory.
template <std::size_t Bytes>
struct GpuSpanSource {
  using Item = Numbered<Bytes>;
  View<Order> order;
  std::uint32_t span_items;

  HIWAY_DEVICE void operator()(Inlet<Item> out) const {
    Order const todo = order[0];
    std::span<Item> const room{reinterpret_cast<Item*>(hiway::shared_memory()), span_items};
    unsigned const lanes = hiway::thread_count() / hiway::block_count();
    std::uint64_t const all = hiway::block_count() * std::uint64_t{span_items};
    for (std::uint64_t begin = hiway::block_index() * std::uint64_t{span_items}; begin < todo.items; begin += all) {
      std::uint64_t const left = todo.items - begin;
      std::uint64_t const n = left < span_items ? left : span_items;
      for (std::uint64_t i = hiway::thread_index() % lanes; i < n; i += lanes) {
        bool const planted = begin + i == todo.victim();
        std::uint64_t const number = todo.first + begin + i - (planted && todo.plant == Plant::duplicate ? 1 : 0);
        room[i].write(static_cast<std::uint32_t>(number));
        room[i].words[Item::count - 1] ^= planted && todo.plant == Plant::alter ? 0x100U : 0U;
      }
      hiway::sync_block();
      bool const loses = todo.plant == Plant::lose && todo.victim() >= begin && todo.victim() - begin < n;
      std::uint64_t const kept = loses ? todo.victim() - begin : n;
      out.put_block_d(std::span<Item const>(room.first(kept)));
      if (loses) out.put_block_d(std::span<Item const>(room.subspan(kept + 1, n - kept - 1)));
      hiway::sync_block();
    }
  }
};

/// Every block gets spans into shared memory; every lane keeps a tally of its own.
template <std::size_t Bytes>
struct GpuSpanSink {
  using Item = Numbered<Bytes>;
  View<Tally> tallies;  ///< one a lane
  std::uint32_t span_items;

  HIWAY_DEVICE void operator()(Outlet<Item> in) const {
    std::span<Item> const room{reinterpret_cast<Item*>(hiway::shared_memory()), span_items};
    unsigned const lanes = hiway::thread_count() / hiway::block_count();
    Tally mine;
    while (std::size_t const n = in.next_block_d(room)) {
      for (std::size_t i = hiway::thread_index() % lanes; i < n; i += lanes)
        mine.add(room[i].words[0], room[i].differences());
      in.end_task_block_d(n);
    }
    tallies[hiway::thread_index()] = mine;
  }
};

/// Hands every item on.
template <std::size_t Bytes>
struct GpuPass {
  using Item = Numbered<Bytes>;

  HIWAY_DEVICE void operator()(Outlet<Item> in, Inlet<Item> out) const {
    if constexpr (hiway::stays_in_slot<Item>) {
      in.for_each_warp_d([&](Item const& item) {
        out.put_in_place_warp_d([&](Item& slot) {
          for_fours_of_lane(slot, hiway::thread_index() % 32,
                            [&](Four& four, std::uint32_t i) { four = reinterpret_cast<Four const&>(item.words[i]); });
        });
      });
    } else {
      in.for_each_d([&](Item const& item) { out.put_d(item); });
    }
  }
};

/// Copies a batch.
template <std::size_t Bytes>
struct CopyItems {
  Numbered<Bytes> const* from;
  Numbered<Bytes>* to;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) to[i] = from[i];
  }
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t span_bytes = 16 * 1024;  ///< of a CPU thread's own span: in its first cache
constexpr std::size_t tunnel_bytes = 8 << 20;  ///< of items in a tunnel, where the user chose no capacity
/// Between devices: with half of it spans are a fifth slower, by dma half as fast.
constexpr std::size_t tunnel_bytes_between_devices = 16 << 20;
/// Between CPU threads and a batch stage, whose batches are an eighth of it.
constexpr std::size_t tunnel_bytes_of_batches = 32 << 20;
constexpr std::size_t least_items = 1024;
/// Likewise: a slot for each warp of 128 blocks that fills one, and for each that reads one.
constexpr std::size_t least_items_between_devices = 2048;
constexpr std::size_t small_capacity = 256;  ///< on the emulated device: full now and then

/// The CPU's end of a way that goes to the GPU.
template <std::size_t Bytes>
struct CpuSource {
  using Item = Numbered<Bytes>;
  Order const& order;
  Calls calls;

  void operator()(Inlet<Item> out) const {
    Share const all = share_of(order.items, hiway::thread_index(), hiway::thread_count());
    std::uint64_t const victim = std::clamp(order.victim(), all.begin, all.end);
    put(out, {all.begin, victim});
    if (victim == all.end) return;
    put_planted(out, victim);
    put(out, {victim + 1, all.end});
  }

  void put(Inlet<Item> out, Share share) const {
    std::uint32_t number = order.first + static_cast<std::uint32_t>(share.begin);
    if (calls == Calls::item) {
      Item item;
      item.write(0);
      for (std::uint64_t i = share.begin; i < share.end; ++i) {
        item.number(number++);
        out.put_h(item);
      }
      return;
    }
    std::vector<Item> items(std::max<std::size_t>(1, span_bytes / Bytes));
    for (Item& item : items) item.write(0);
    for (std::uint64_t i = share.begin; i < share.end;) {
      std::size_t const n = std::min<std::uint64_t>(items.size(), share.end - i);
      renumber_items(items.data(), Bytes, number, n);
      out.put_h(std::span<Item const>(items).first(n));
      number += static_cast<std::uint32_t>(n);
      i += n;
    }
  }

  void put_planted(Inlet<Item> out, std::uint64_t at) const {
    if (order.plant == Plant::lose) return;
    Item item;
    item.write(order.first + static_cast<std::uint32_t>(at) - (order.plant == Plant::duplicate ? 1 : 0));
    if (order.plant == Plant::alter) item.words[Item::count - 1] ^= 0x100U;
    out.put_h(item);
  }
};

/// The CPU's end of a way that comes from the GPU.
template <std::size_t Bytes>
struct CpuSink {
  using Item = Numbered<Bytes>;
  std::mutex& mutex;
  Tally& tally;
  Calls calls;

  void operator()(Outlet<Item> in) const {
    Tally mine;
    if (calls == Calls::item) {
      for (Item item;;) {
        if (in.get_h(item)) {
          mine.add(item.words[0], item.differences());
          in.end_task_h();
        } else if (in.has_ended_h()) {
          break;
        }
      }
    } else {
      std::vector<Item> items(std::max<std::size_t>(1, span_bytes / Bytes));
      while (std::size_t const n = in.next_h(std::span<Item>(items))) {
        mine.add(check_items(items.data(), Bytes, n));
        in.end_task_h(n);
      }
    }
    std::scoped_lock const lock(mutex);
    tally.add(mine);
  }
};

/// A GPU stage's grid: enough lanes to fill the bus many times over, and room for the other way's.
hiway::GpuStageOptions grid_of(Traffic const& traffic, bool small) {
  return {.blocks = traffic.blocks != 0 ? traffic.blocks
                    : small             ? 2
                                        : 128,
          .threads_per_block = traffic.threads_per_block != 0 ? traffic.threads_per_block
                               : small                        ? 32
                                                              : 256};
}

template <std::size_t Bytes>
class PipelineMover final : public Mover {
 public:
  PipelineMover(Work const& work, Traffic const& traffic)
      : work_(work),
        pipe_(hiway::PipelineConfig{.device = work.device, .deadline = std::chrono::seconds(60)}),
        grid_(grid_of(traffic, work.device == "simt")),
        order_on_device_(pipe_.create_buffer<Order>(1)),
        tallies_(pipe_.create_buffer<Tally>(std::size_t{grid_.blocks} * grid_.threads_per_block, work.to_device)) {
    bool const small = work.device == "simt";
    bool const between = work.to_device >= 0;
    std::size_t const bytes = between              ? tunnel_bytes_between_devices
                              : traffic.by_batches ? tunnel_bytes_of_batches
                                                   : tunnel_bytes;
    std::size_t const chosen =
        small ? small_capacity : std::max(between ? least_items_between_devices : least_items, bytes / Bytes);
    hiway::TunnelConfig const config{.capacity_items = traffic.capacity_items != 0 ? traffic.capacity_items : chosen,
                                     .batch_items = traffic.batch_items,
                                     // A size that was asked for is not cut short by its age.
                                     .flush_after = std::chrono::microseconds(traffic.batch_items != 0 ? 10'000 : 50),
                                     .movement = traffic.movement,
                                     .low_latency = traffic.low_latency};
    bool const there = (work.flow == Flow::cpu_to_gpu || work.flow == Flow::both) && !traffic.by_batches;
    bool const back = (work.flow == Flow::gpu_to_cpu || work.flow == Flow::both) && !traffic.by_batches;
    hiway::CpuStageOptions const threads{.threads = work.cpu_threads};
    if (traffic.by_batches) move_batches(config, threads, traffic.calls);
    if (there) {
      auto& tunnel = pipe_.create_tunnel<Numbered<Bytes>>("there", hiway::Direction::cpu_to_gpu, config);
      pipe_.add_cpu_stage("cpu source", CpuSource<Bytes>{order_, traffic.calls}, hiway::into(tunnel), threads);
      pipe_.add_gpu_stage("gpu sink", GpuSink<Bytes>{tallies_.view()}, hiway::from(tunnel), grid_);
    }
    if (back) {
      hiway::TunnelConfig config_back = config;
      config_back.movement = traffic.movement_back.value_or(traffic.movement);
      auto& tunnel = pipe_.create_tunnel<Numbered<Bytes>>("back", hiway::Direction::gpu_to_cpu, config_back);
      pipe_.add_gpu_stage("gpu source", GpuSource<Bytes>{order_on_device_.view()}, hiway::into(tunnel), grid_);
      pipe_.add_cpu_stage("cpu sink", CpuSink<Bytes>{mutex_, cpu_tally_, traffic.calls}, hiway::from(tunnel), threads);
    }
    if (work.flow == Flow::gpu_to_gpu && traffic.block_spans) {
      if constexpr (!hiway::stays_in_slot<Numbered<Bytes>>) move_spans(config, small ? 64 : 2048);
    } else if (work.flow == Flow::gpu_to_gpu) {
      auto* along = &pipe_.create_tunnel<Numbered<Bytes>>("along", hiway::Direction::gpu_to_gpu, config);
      pipe_.add_gpu_stage("gpu source", GpuSource<Bytes>{order_on_device_.view()}, hiway::into(*along), grid_);
      for (std::size_t i = 0; i != work.through.size(); ++i) {
        std::string const number = std::to_string(i + 1);
        auto& next = pipe_.create_tunnel<Numbered<Bytes>>(std::string("along ").append(number),
                                                          hiway::Direction::gpu_to_gpu, config);
        pipe_.add_gpu_stage(std::string("gpu pass ").append(number), GpuPass<Bytes>{}, hiway::from(*along),
                            hiway::into(next), reads_on(work.through[i], traffic));
        along = &next;
      }
      pipe_.add_gpu_stage("gpu sink", GpuSink<Bytes>{tallies_.view()}, hiway::from(*along),
                          reads_on(work.to_device, traffic));
    }
    capacity_items_ = config.capacity_items;
    to_gpu_ = there || work.flow == Flow::gpu_to_gpu;
    to_cpu_ = back || traffic.by_batches;
  }

  Moved move(std::uint64_t items) override {
    if (runs_ == 0) pipe_.prepare();
    order_ = order_of(++runs_, items, work_.plant);
    order_on_device_.copy_in(std::span<Order const>(&order_, 1));
    std::vector<Tally> tallies(tallies_.size());
    tallies_.copy_in(tallies);
    cpu_tally_ = {};
    auto const begin = Clock::now();
    report_ = pipe_.run();
    Moved moved{std::chrono::duration<double>(Clock::now() - begin).count()};
    if (to_gpu_) {
      tallies_.copy_out(tallies);
      Tally all;
      for (Tally const& tally : tallies) all.add(tally);
      moved.wrong = difference(all, order_);
    }
    if (to_cpu_ && moved.wrong.empty()) moved.wrong = difference(cpu_tally_, order_);
    for (hiway::TunnelReport const& tunnel : report_.tunnels) {
      if (moved.wrong.empty() && (tunnel.items != items || tunnel.finished != items))
        moved.wrong = "tunnel '" + tunnel.name + "' says created " + std::to_string(tunnel.items) + ", finished " +
                      std::to_string(tunnel.finished) + " of " + std::to_string(items);
    }
    return moved;
  }

  Json facts() const override {
    Json facts = Json::object();
    facts["capacity_items"] = capacity_items_;
    facts["blocks"] = grid_.blocks;
    facts["threads_per_block"] = grid_.threads_per_block;
    Json tunnels = Json::array();
    for (hiway::TunnelReport const& tunnel : report_.tunnels)
      tunnels.push_back({{"name", tunnel.name},
                         {"movement", tunnel.movement},
                         {"why", tunnel.why},
                         {"created", tunnel.items},
                         {"finished", tunnel.finished},
                         {"batches", tunnel.batches}});
    facts["tunnels"] = std::move(tunnels);
    return facts;
  }

 private:
  /// Items go to a batch stage, whose kernel copies them, and come back.
  void move_batches(hiway::TunnelConfig const& config, hiway::CpuStageOptions const& threads, Calls calls) {
    using Item = Numbered<Bytes>;
    auto& there = pipe_.create_tunnel<Item>("there", hiway::Direction::cpu_to_gpu, config);
    auto& back = pipe_.create_tunnel<Item>("back", hiway::Direction::gpu_to_cpu, config);
    auto const copy = [grid = grid_](hiway::Batch<Item const> in, hiway::Batch<Item> out, hiway::Stream stream) {
      out.resize(in.size());
      stream.launch(CopyItems<Bytes>{in.data(), out.data(), in.size()}, grid.blocks, grid.threads_per_block);
    };
    std::size_t const batch = config.batch_items != 0 ? config.batch_items : config.capacity_items / 8;
    pipe_.add_cpu_stage("cpu source", CpuSource<Bytes>{order_, calls}, hiway::into(there), threads);
    pipe_.add_batch_stage("copy", copy, hiway::from(there), hiway::into(back),
                          {.max_items = batch, .in_flight = 6, .device = number_of(work_.device)});
    pipe_.add_cpu_stage("cpu sink", CpuSink<Bytes>{mutex_, cpu_tally_, calls}, hiway::from(back), threads);
  }

  void move_spans(hiway::TunnelConfig const& config, std::uint32_t span_items) {
    auto& along = pipe_.create_tunnel<Numbered<Bytes>>("along", hiway::Direction::gpu_to_gpu, config);
    hiway::GpuStageOptions grid = grid_;
    grid.shared_bytes = span_items * Bytes;
    pipe_.add_gpu_stage("gpu source", GpuSpanSource<Bytes>{order_on_device_.view(), span_items}, hiway::into(along),
                        grid);
    grid.device = work_.to_device;
    pipe_.add_gpu_stage("gpu sink", GpuSpanSink<Bytes>{tallies_.view(), span_items}, hiway::from(along), grid);
  }
  /// A stage on `device` that reads a tunnel from another one.
  [[nodiscard]] hiway::GpuStageOptions reads_on(int device, Traffic const& traffic) const {
    hiway::GpuStageOptions options = grid_;
    if (traffic.low_latency) {
      options.blocks = 1;
      options.threads_per_block = 32;
    }
    options.device = device;
    return options;
  }

  Work work_;
  Order order_;
  std::mutex mutex_;
  Tally cpu_tally_;
  unsigned runs_ = 0;
  hiway::RunReport report_;
  std::size_t capacity_items_ = 0;
  bool to_gpu_ = false;
  bool to_cpu_ = false;
  hiway::Pipeline pipe_;  // after what its stages refer to
  hiway::GpuStageOptions grid_;
  hiway::Buffer<Order>& order_on_device_;
  hiway::Buffer<Tally>& tallies_;
};

}  // namespace

std::unique_ptr<Mover> make_traffic(Work const& work, Traffic const& traffic) {
  switch (work.item_bytes) {
    case 4: return std::make_unique<PipelineMover<4>>(work, traffic);
    case 12: return std::make_unique<PipelineMover<12>>(work, traffic);
    case 16: return std::make_unique<PipelineMover<16>>(work, traffic);
    case 64: return std::make_unique<PipelineMover<64>>(work, traffic);
    case 4096: return std::make_unique<PipelineMover<4096>>(work, traffic);
    case largest_item_bytes: return std::make_unique<PipelineMover<largest_item_bytes>>(work, traffic);
    default: throw std::invalid_argument("no items of " + std::to_string(work.item_bytes) + " bytes");
  }
}

}  // namespace bench
