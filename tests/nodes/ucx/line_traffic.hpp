// Pipelines on several nodes, joined by a line: what writers on some nodes put, readers on some get, each item once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hiway/hiway.hpp"
#include "lib/nodes/node_line.hpp"
#include "tests/nodes/ucx/processes.hpp"

namespace hiway_tests {

/// An item that says whether it is whole.
template <std::size_t size>
struct Parcel {
  std::uint32_t number = 0;
  std::byte rest[size - sizeof(std::uint32_t)];

  explicit Parcel(std::uint32_t n = 0) : number(n) { std::memset(rest, fill(), sizeof rest); }
  [[nodiscard]] bool is_whole() const {
    return std::all_of(std::begin(rest), std::end(rest), [&](std::byte b) { return b == std::byte(fill()); });
  }

 private:
  [[nodiscard]] int fill() const { return static_cast<int>(number * 37 % 251); }
};
template <>
struct Parcel<sizeof(std::uint32_t)> {
  std::uint32_t number = 0;

  explicit Parcel(std::uint32_t n = 0) : number(n) {}
  [[nodiscard]] static bool is_whole() { return true; }
};

/// A tunnel over nodes.
struct Road {
  std::vector<int> writers;
  std::vector<int> readers;
  std::uint32_t items = 0;  ///< of each writer
  std::uint32_t capacity = 256;

  [[nodiscard]] static bool has(std::vector<int> const& nodes, int node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }
  /// Where the items of writer `node` go.
  [[nodiscard]] std::vector<int> to(int node) const { return others(readers, writers, node); }
  /// Where those of reader `node` come from.
  [[nodiscard]] std::vector<int> from(int node) const { return others(writers, readers, node); }

 private:
  static std::vector<int> others(std::vector<int> const& there, std::vector<int> const& here, int node) {
    if (!has(there, node)) return there;
    std::vector<int> some;
    for (int const k : there) {
      if (k == node || !has(here, k)) some.push_back(k);
    }
    return some;
  }
};

/// One run's readers of one road at one node: which items they got, and how often.
class Got {
 public:
  explicit Got(Road const& road) : road_(road), times_(road.items * road.writers.size()), last_(road.writers.size()) {}

  void clear() {
    std::fill(times_.begin(), times_.end(), std::uint8_t{0});
    std::fill(last_.begin(), last_.end(), std::uint32_t{0});
    all_whole_ = in_order_ = true;
  }
  template <class Item>
  void note(Item const& item) {
    all_whole_ = all_whole_ && item.is_whole() && item.number < times_.size();
    if (!all_whole_) return;
    ++times_[item.number];
    std::uint32_t& last = last_[item.number / road_.items];
    in_order_ = in_order_ && last <= item.number % road_.items;
    last = item.number % road_.items + 1;
  }
  [[nodiscard]] std::vector<std::uint8_t> const& times() const { return times_; }
  [[nodiscard]] bool all_whole() const { return all_whole_; }
  /// Of one writer's items each had a greater number than the one before.
  [[nodiscard]] bool in_order() const { return in_order_; }
  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t n = 0;
    for (std::uint8_t const t : times_) n += t;
    return n;
  }

 private:
  Road const& road_;
  std::vector<std::uint8_t> times_;
  std::vector<std::uint32_t> last_;
  bool all_whole_ = true;
  bool in_order_ = true;
};

/// One node's part of a program whose roads all have one stage that writes and one that reads.
class Traffic {
 public:
  /// As MakeNodeLine.
  using MakeLine = std::function<std::unique_ptr<hiway::detail::nodes::NodeLine>(
      hiway::detail::nodes::Meeting&, std::vector<hiway::detail::nodes::Departure>,
      std::vector<hiway::detail::nodes::Arrival>, std::chrono::steady_clock::time_point)>;

  explicit Traffic(Node& node, hiway::PipelineConfig config = {})
      : Traffic(node.meeting, hiway::detail::nodes::ucx_node_line(), config) {}
  Traffic(hiway::detail::nodes::Meeting& meeting, MakeLine make_line, hiway::PipelineConfig config = {})
      : pipe(config), meeting_(meeting), make_line_(std::move(make_line)) {}

  hiway::Pipeline pipe;

  /// Ends of a tunnel on this node, made by the test itself.
  template <class Item>
  void depart(hiway::Tunnel<Item>& tunnel, std::uint32_t number, Road const& road) {
    departures_.push_back({number, tunnel.open_outlet().view(), sizeof(Item), road.capacity, road.to(meeting_.node())});
  }
  template <class Item>
  void arrive(hiway::Tunnel<Item>& tunnel, std::uint32_t number, Road const& road) {
    arrivals_.push_back({number, tunnel.open_inlet().view(), sizeof(Item), road.capacity, road.from(meeting_.node())});
  }

  /// Adds a road: CPU stages that put and get its items one by one. `after_each` is called by the reader, `before_each`
  /// by the writer.
  template <class Item>
  Got& add(
      Road const& road, std::function<void(std::uint32_t)> after_each = [](std::uint32_t) {},
      std::function<void(std::uint32_t)> before_each = [](std::uint32_t) {}) {
    auto const number = static_cast<std::uint32_t>(roads_.size());
    roads_.push_back(std::make_unique<Road>(road));
    Road const& own = *roads_.back();
    got_.push_back(std::make_unique<Got>(own));
    Got& got = *got_.back();
    std::string const name = std::to_string(number);
    if (Road::has(road.writers, meeting_.node())) {
      auto& out =
          pipe.create_tunnel<Item>("out" + name, hiway::Direction::cpu_to_cpu, {.capacity_items = road.capacity});
      depart(out, number, road);
      pipe.add_cpu_stage("write" + name, writer<Item>(own, before_each), hiway::into(out));
    }
    if (Road::has(road.readers, meeting_.node())) {
      auto& in = pipe.create_tunnel<Item>("in" + name, hiway::Direction::cpu_to_cpu, {.capacity_items = road.capacity});
      arrive(in, number, road);
      pipe.add_cpu_stage(
          "read" + name,
          [&got, after_each](hiway::Outlet<Item> from) {
            from.for_each_h([&](Item const& item) {
              got.note(item);
              after_each(item.number);
            });
          },
          hiway::from(in));
    }
    return got;
  }
  /// The body of a stage that puts this node's items.
  template <class Item>
  auto writer(
      Road const& road, std::function<void(std::uint32_t)> before_each = [](std::uint32_t) {}) const {
    auto const at = std::find(road.writers.begin(), road.writers.end(), meeting_.node()) - road.writers.begin();
    std::uint32_t const first = static_cast<std::uint32_t>(at) * road.items;
    return [first, items = road.items, before_each](hiway::Inlet<Item> into) {
      for (std::uint32_t i = 0; i != items; ++i) {
        before_each(first + i);
        into.put_h(Item(first + i));
      }
    };
  }

  /// All nodes call it once, after all ends are there.
  void connect() { line_ = make_line_(meeting_, departures_, arrivals_, Node::soon()); }
  /// A run, until all nodes' are over.
  void run() {
    begin();
    pipe.start();
    finish();
  }
  void finish() {
    step_until([&] { return line_->is_done(); });
    all_are_done();
    pipe.wait();
  }
  /// A run that a stage at node `where` ends by an exception; the others abort it when they hear of that. What their
  /// pipelines throw.
  [[nodiscard]] std::string run_that_fails(int where) {
    begin();
    pipe.start();
    if (meeting_.node() == where) {
      (void)error_of([&] { step_until([] { return false; }); });
      (void)meeting_.exchange({});
    } else {
      all_are_done();
      pipe.abort();
    }
    return error_of([&] { pipe.wait(); });
  }
  /// A run that node `where` does not begin; the others give up when they have waited for a while.
  void begin_without(int where) {
    ++run_;
    if (meeting_.node() != where) {
      auto const until = steady_clock::now() + std::chrono::milliseconds(50);
      (void)error_of([&] { line_->begin(run_, [&] { expect(steady_clock::now() < until, "a node fails"); }); });
    }
    (void)meeting_.exchange({});
  }
  void begin() {
    for (auto const& got : got_) got->clear();
    auto const until = Node::soon();
    line_->begin(++run_, [&] { expect(steady_clock::now() < until, "all begin in time"); });
  }
  template <class Done>
  void step_until(Done done) {
    auto const until = steady_clock::now() + patience * std::chrono::seconds(40);
    for (unsigned n = 1; !done(); ++n) {
      if (!line_->step() && n % 64 == 0) usleep(20);
      if (n % 4096 == 0) expect(steady_clock::now() < until, "the run ends in time");
    }
  }
  /// Others may need this one's steps until then (Line U2).
  void all_are_done() {
    std::atomic<bool> all{false};
    std::thread waits([&] {
      (void)error_of([&] { (void)meeting_.exchange({}); });
      all = true;
    });
    step_until([&] { return all.load(); });
    waits.join();
  }

  /// How many items each node got of a road, by node, if every item of it came once, and whole.
  std::vector<std::uint64_t> shares(Got const& got) {
    expect(got.all_whole(), "all items are whole");
    std::vector<std::uint64_t> counts;
    std::vector<std::uint32_t> times(got.times().size());
    for (auto const& of_node : meeting_.exchange(std::as_bytes(std::span(got.times())))) {
      std::uint64_t& count = counts.emplace_back();
      for (std::size_t i = 0; i != times.size(); ++i) {
        auto const n = static_cast<std::uint32_t>(of_node[i]);
        times[i] += n;
        count += n;
      }
    }
    for (std::size_t i = 0; i != times.size(); ++i)
      expect(times[i] == 1, "item " + std::to_string(i) + " came once, but " + std::to_string(times[i]) + " times");
    return counts;
  }

  [[nodiscard]] hiway::detail::nodes::NodeLine& line() { return *line_; }

 private:
  hiway::detail::nodes::Meeting& meeting_;
  MakeLine make_line_;
  std::vector<std::unique_ptr<Road>> roads_;
  std::vector<std::unique_ptr<Got>> got_;
  std::vector<hiway::detail::nodes::Departure> departures_;
  std::vector<hiway::detail::nodes::Arrival> arrivals_;
  std::unique_ptr<hiway::detail::nodes::NodeLine> line_;
  std::uint64_t run_ = 0;
};

}  // namespace hiway_tests
