#include "bench/node_pipes.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <hiway/pipeline.hpp>
#include <stdexcept>

#include "bench/natural.hpp"
#include "bench/natural_stages.hpp"
#include "cli/app.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
using hiway::Direction;
using hiway::Inlet;
using hiway::Outlet;
using Small = Numbered<16>;

constexpr std::chrono::minutes deadline{10};

hiway::PipelineConfig config_of(NodeWork const& work) {
  return {.device = work.device, .deadline = deadline, .cluster = work.cluster};
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A stage that has seen something wrong: its run fails on all nodes, and they hear of it.
void require_right(Tally const& seen, Order const& order) {
  if (std::string const wrong = difference(seen, order); !wrong.empty()) throw std::runtime_error(wrong);
}

/// Runs it; returns what is wrong, of whatever node.
template <class Run>
std::string wrong_in(Run&& run) {
  try {
    run();
    return {};
  } catch (hiway::Error const& error) {
    return error.what();
  }
}

template <std::size_t Bytes>
class NodeStream final : public Mover {
 public:
  using Item = Numbered<Bytes>;

  NodeStream(NodeWork const& work, int to) : work_(work), pipe_(config_of(work)) {
    auto& tunnel = pipe_.create_tunnel<Item>("tunnel", Direction::cpu_to_cpu, {.capacity_items = work.capacity_items});
    pipe_.add_cpu_stage("writer", [this](Inlet<Item> out) { write(out); }, hiway::into(tunnel), {.node = 0});
    pipe_.add_cpu_stage("reader", [this](Outlet<Item> in) { read(in); }, hiway::from(tunnel), {.node = to});
    pipe_.prepare();
  }

  Moved move(std::uint64_t items) override {
    order_ = order_of(++runs_, items, work_.plant);
    begin_ = Clock::now();
    Moved moved;
    moved.wrong = wrong_in([&] { (void)pipe_.run(); });
    moved.seconds = seconds_since(begin_);
    return moved;
  }

 private:
  void write(Inlet<Item> out) {
    begin_ = Clock::now();  // all nodes have begun
    Share const all{0, order_.items};
    auto const put = [&](Item const& item) { out.put_h(item); };
    if constexpr (Bytes <= 64) {
      put_each<Item>(order_, all, put);
    } else {
      auto const item = std::make_unique<Item>();
      item->write(0);
      auto const put_some = [&](std::uint32_t number, std::uint64_t n) {
        for (std::uint64_t i = 0; i != n; ++i) {
          item->number(number++);
          put(*item);
        }
      };
      put_share<Item>(order_, all, put_some, put);
    }
  }

  void read(Outlet<Item> in) const {
    Tally seen;
    if constexpr (Bytes <= 64) {
      in.for_each_h([&](Item const& item) { seen.add(item.words[0], item.differences()); });
    } else if (work_.looked_at) {
      in.for_each_h([&](Item const& item) { seen.add(check_items(&item, Bytes, 1)); });
    } else {
      in.for_each_h([&](Item const& item) { seen.add(item.words[0], 0); });
    }
    require_right(seen, order_);
  }

  NodeWork work_;
  Order order_;
  unsigned runs_ = 0;
  Clock::time_point begin_;  // written by the writer in a run, read when that is over
  hiway::Pipeline pipe_;     // after what its stages refer to
};

class NodeTraffic final : public Mover {
 public:
  explicit NodeTraffic(NodeWork const& work) : work_(work), pipe_(config_of(work)) {
    auto const sizes = hiway::TunnelConfig{.capacity_items = work.capacity_items};
    auto& there = pipe_.create_tunnel<Small>("there", Direction::cpu_to_gpu, sizes);
    auto& back = pipe_.create_tunnel<Small>("back", Direction::gpu_to_cpu, sizes);
    std::vector<int> first_two{0};
    if (nodes() > 1) first_two.push_back(1);
    pipe_.add_cpu_stage("writers", [this](Inlet<Small> out) { write(out); }, hiway::into(there),
                        {.nodes = hiway::all_nodes});
    add_answer_stage(pipe_, there, back, first_two);
    pipe_.add_cpu_stage("reader", [this](Outlet<Small> in) { read(in); }, hiway::from(back), {.node = 0});
    pipe_.prepare();
  }

  Moved move(std::uint64_t items) override {
    order_ = order_of(++runs_, items, work_.plant);
    auto const begin = Clock::now();
    Moved moved;
    moved.wrong = wrong_in([&] { (void)pipe_.run(); });
    moved.seconds = seconds_since(begin);
    return moved;
  }

 private:
  [[nodiscard]] unsigned nodes() const { return static_cast<unsigned>(work_.cluster->size()); }

  void write(Inlet<Small> out) const {
    Share const own = share_of(order_.items, static_cast<unsigned>(work_.cluster->node()), nodes());
    put_each<Small>(order_, own, [&](Small const& item) { out.put_h(item); });
  }
  void read(Outlet<Small> in) const {
    Tally seen;
    in.for_each_h([&](Small const& item) { seen.add(item.words[0], item.differences()); });
    Order answers = order_;
    answers.first += 1;
    require_right(seen, answers);
  }

  NodeWork work_;
  Order order_;
  unsigned runs_ = 0;
  hiway::Pipeline pipe_;  // after what its stages refer to
};

/// The thread that puts waits for the one that gets: a stage that did both would make a cycle.
class Trips final : public NodeTrips {
 public:
  explicit Trips(NodeWork const& work) : work_(work), pipe_(config_of(work)) {
    auto const sizes = hiway::TunnelConfig{.capacity_items = work.capacity_items};
    auto& there = pipe_.create_tunnel<Small>("there", Direction::cpu_to_cpu, sizes);
    auto& back = pipe_.create_tunnel<Small>("back", Direction::cpu_to_cpu, sizes);
    pipe_.add_cpu_stage("ask", [this](Inlet<Small> out) { ask(out); }, hiway::into(there), {.node = 0});
    pipe_.add_cpu_stage("answer",
                        [](Outlet<Small> in, Inlet<Small> out) {
                          in.for_each_h([&](Small const& item) {
                            Small answer;
                            for (std::uint32_t i = 0; i != Small::count; ++i) answer.words[i] = item.words[i] + 1;
                            out.put_h(answer);
                          });
                        },
                        hiway::from(there), hiway::into(back), {.node = 1});
    pipe_.add_cpu_stage("hear", [this](Outlet<Small> in) { hear(in); }, hiway::from(back), {.node = 0});
    pipe_.prepare();
  }

  RoundTrips run(unsigned trips) override {
    uncounted_ = trips / 10 + 1;
    order_ = order_of(++runs_, uncounted_ + trips, work_.plant);
    came_.store(0, std::memory_order_relaxed);
    made_ = {};
    made_.wrong = wrong_in([&] { (void)pipe_.run(); });
    std::ranges::sort(made_.us);
    return made_;
  }

 private:
  void ask(Inlet<Small> out) {
    for (std::uint64_t trip = 0; trip != order_.items; ++trip) {
      Small item;
      item.write(order_.first + static_cast<std::uint32_t>(trip));
      if (trip == order_.victim()) item = planted_item<Small>(order_);
      auto const begin = Clock::now();
      out.put_h(item);
      wait_for(trip + 1, begin);
      if (trip >= uncounted_) made_.us.push_back(1e6 * seconds_since(begin));
    }
  }
  void wait_for(std::uint64_t came, Clock::time_point begin) const {
    constexpr double patience_seconds = 10;
    for (unsigned misses = 0; came_.load(std::memory_order_acquire) < came; ++misses) {
      hiway::relax_thread(misses);
      if (misses % 1024 == 1023 && seconds_since(begin) > patience_seconds) throw std::runtime_error("no answer");
    }
  }
  void hear(Outlet<Small> in) {
    Tally seen;
    in.for_each_h([&](Small const& item) {
      seen.add(item.words[0], item.differences());
      came_.store(seen.count, std::memory_order_release);
    });
    Order answers = order_;
    answers.first += 1;
    require_right(seen, answers);
  }

  NodeWork work_;
  Order order_;
  unsigned uncounted_ = 0;
  unsigned runs_ = 0;
  RoundTrips made_;
  std::atomic<std::uint64_t> came_{0};
  hiway::Pipeline pipe_;  // after what its stages refer to
};

class OneItemPipe final : public OneItemRuns {
 public:
  explicit OneItemPipe(NodeWork const& work) : work_(work), pipe_(config_of(work)) {
    auto& there = pipe_.create_tunnel<Small>("there", Direction::cpu_to_cpu);
    auto& back = pipe_.create_tunnel<Small>("back", Direction::cpu_to_cpu);
    pipe_.add_cpu_stage("one",
                        [this](Inlet<Small> out) {
                          Small item;
                          item.write(order_.first);
                          out.put_h(item);
                        },
                        hiway::into(there), {.node = 0});
    auto const pass = [](Small const& item) { return item; };
    hiway::CpuStageOptions everywhere;
    if (work.cluster != nullptr) everywhere.nodes = hiway::all_nodes;
    pipe_.add_cpu_stage("pass", pass, hiway::from(there), hiway::into(back), everywhere);
    pipe_.add_cpu_stage("count",
                        [this](Outlet<Small> in) {
                          Tally seen;
                          in.for_each_h([&](Small const& item) { seen.add(item.words[0], item.differences()); });
                          require_right(seen, order_);
                        },
                        hiway::from(back), {.node = 0});
    pipe_.prepare();
  }

  OneItemRun run() override {
    order_ = order_of(++runs_, work_.plant == Plant::none ? 1 : 2, Plant::none);  // planted: one that does not come
    OneItemRun made;
    auto const begin = Clock::now();
    made.wrong = wrong_in([&] { made.end_detection = pipe_.run().end_detection_us; });
    made.all = 1e6 * seconds_since(begin);
    return made;
  }

 private:
  NodeWork work_;
  Order order_;
  unsigned runs_ = 0;
  hiway::Pipeline pipe_;  // after what its stages refer to
};

}  // namespace

std::unique_ptr<Mover> make_node_stream(NodeWork const& work, int to) {
  if (work.item_bytes == largest_item_bytes) return std::make_unique<NodeStream<largest_item_bytes>>(work, to);
  if (work.item_bytes == sizeof(Small)) return std::make_unique<NodeStream<sizeof(Small)>>(work, to);
  throw std::invalid_argument("no items of " + std::to_string(work.item_bytes) + " bytes");
}
std::unique_ptr<Mover> make_node_traffic(NodeWork const& work) { return std::make_unique<NodeTraffic>(work); }
std::unique_ptr<NodeTrips> make_node_trips(NodeWork const& work) { return std::make_unique<Trips>(work); }
std::unique_ptr<OneItemRuns> make_one_item_runs(NodeWork const& work) { return std::make_unique<OneItemPipe>(work); }

OneItemRun OneItemRuns::median_of(unsigned runs) {
  std::vector<double> all;
  std::vector<double> ends;
  for (unsigned i = 0; i != runs; ++i) {
    OneItemRun const made = run();
    if (!made.wrong.empty()) return made;
    all.push_back(made.all);
    ends.push_back(made.end_detection);
  }
  return {cli::median(all), cli::median(ends)};
}

}  // namespace bench
