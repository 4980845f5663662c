// bench nodes: what goes from one node to another, in a process of each: `hiway launch -n 2 -- hiway bench nodes`.
// Large items and small ones one way, one item there and back, the end of a run, every item counted; and a cluster of
// one node beside none. Where ucx_perftest is installed on both nodes, it measures the same in the same run.
//
// All nodes make the same rows; what node 0 has measured is printed. UCX_TLS says by what items go.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <hiway/pipeline.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/node_pipes.hpp"
#include "bench/perftest.hpp"
#include "bench/quantiles.hpp"
#include "bench/timed_mover.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

constexpr char const* parts[] = {"one-node", "large", "small", "round-trip", "end", "once"};
constexpr char const* perftest = "ucx_perftest";
constexpr std::size_t small_bytes = 16;
constexpr std::size_t large_capacity = 64;  // 4 MiB

using Host = std::array<char, 248>;

Host this_host() {
  Host host{};
  gethostname(host.data(), host.size() - 1);
  return host;
}

/// How node 1 tells node 0 where its server listens. Of two nodes; all call the same. *Threads*: one.
class Appointment {
 public:
  explicit Appointment(hiway::Cluster& nodes) : pipe_({.device = "simt", .cluster = &nodes}) {
    using hiway::Direction;
    auto& there = pipe_.create_tunnel<Said>("asked", Direction::cpu_to_cpu, {.capacity_items = 2});
    auto& back = pipe_.create_tunnel<Said>("answered", Direction::cpu_to_cpu, {.capacity_items = 2});
    pipe_.add_cpu_stage("ask", [this](hiway::Inlet<Said> out) { out.put_h(asked_); }, hiway::into(there), {.node = 0});
    pipe_.add_cpu_stage("answer", [this](Said const& asked) { return answer(asked); }, hiway::from(there),
                        hiway::into(back), {.node = 1});
    pipe_.add_cpu_stage("hear", [this](Said const& answer) { heard_ = answer; }, hiway::from(back), {.node = 0});
    pipe_.prepare();
  }

  /// Whether both have ucx_perftest.
  bool both_have_it() {
    asked_ = {.has = has_perftest()};
    heard_ = {};
    (void)pipe_.run();
    return heard_.has;
  }
  /// Node 1 has a server and waits until it has been asked; node 0 asks it.
  PerftestFigures measure(PerftestRequest const& request) {
    asked_ = {.has = true, .start = true};
    heard_ = {};
    (void)pipe_.run();
    if (server_) {
      server_.reset();
      return {};
    }
    return ask_perftest(heard_.host == this_host() ? "localhost" : heard_.host.data(), heard_.port, request);
  }

 private:
  struct Said {
    bool has = false;
    bool start = false;
    std::uint16_t port = 0;
    Host host{};
  };

  Said answer(Said const& asked) {
    Said own{.has = asked.has && has_perftest()};
    if (own.has) heard_ = own;
    if (!own.has || !asked.start) return own;
    server_ = std::make_unique<PerftestServer>();
    own.port = server_->port();
    own.host = this_host();
    return own;
  }

  Said asked_;
  Said heard_;
  std::unique_ptr<PerftestServer> server_;
  hiway::Pipeline pipe_;  // after what its stages refer to
};

/// A cluster of this process alone, whatever a launcher says.
std::unique_ptr<hiway::Cluster> cluster_of_one() {
  std::vector<std::pair<char const*, std::optional<std::string>>> before;
  for (auto const& [name, value] : {std::pair{"HIWAY_NODES", "1"}, std::pair{"HIWAY_NODE", "0"}}) {
    char const* const had = std::getenv(name);
    before.emplace_back(name, had == nullptr ? std::nullopt : std::optional<std::string>(had));
    setenv(name, value, 1);
  }
  auto one = std::make_unique<hiway::Cluster>();
  for (auto const& [name, had] : before) {
    if (had) {
      setenv(name, had->c_str(), 1);
    } else {
      unsetenv(name);
    }
  }
  return one;
}

class NodesBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "nodes"; }
  [[nodiscard]] std::string summary() const override {
    return "from one node to another, as `hiway launch -n 2 -- hiway bench nodes`: streams, one item, the end";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--only", only_, "only this: one-node, large, small, round-trip, end, once").type_name("PART");
    command.add_option("--items", items_, "that are counted to the last; 0: 1000000").type_name("N");
    command.add_option("--small-items", small_items_, "of a turn of 16-byte items; 0: 10000000").type_name("N");
    command.add_option("--large-items", large_items_, "of a turn of 64 KiB items; 0: 10000").type_name("N");
    command.add_option("--capacity-items", capacity_items_, "of a stream's tunnel; 0: 65536, of 64 KiB items 64")
        .type_name("N");
    command.add_option("--trips", trips_, "of a turn; 0: 10000").type_name("N");
    command.add_option("--runs", runs_, "of a turn that looks for the end; 0: 50").type_name("N");
    command.add_flag("--plant", plant_, "an error, which must be found");
  }
  void check_options() const override {
#if !defined(HIWAY_HAS_NODES)
    throw cli::BadInput{"this hiway was built without UCX and has no nodes (docs/install.md)"};
#endif
    if (!only_.empty() && std::ranges::find(parts, only_) == std::end(parts))
      throw cli::BadInput{"--only: one-node, large, small, round-trip, end or once, not " + only_};
    if (std::max({items_, small_items_, large_items_}) > most_items)
      throw cli::BadInput{"--items, --small-items, --large-items: at most " + std::to_string(most_items)};
    if (capacity_items_ > (std::size_t{1} << 24)) throw cli::BadInput{"--capacity-items: at most 16777216"};
    if (trips_ > 500'000) throw cli::BadInput{"--trips: at most 500000"};
    if (runs_ > 100'000) throw cli::BadInput{"--runs: at most 100000"};
  }
  [[nodiscard]] bool tells() const override { return !nodes_ || nodes_->node() == 0; }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    check_options();
    auto const alone = cluster_of_one();
    nodes_.emplace();
    std::vector<Row> rows;
    if (nodes_->size() == 2) {
      appointment_.emplace(*nodes_);
      if (!appointment_->both_have_it()) appointment_.reset();
    }
    auto const is_asked = [&](char const* part) { return only_.empty() || only_ == part; };
    if (is_asked("one-node")) rows.push_back(one_node(*alone, request));
    if (nodes_->size() > 1) {
      if (is_asked("large")) rows.push_back(large(request));
      if (is_asked("small")) rows.push_back(small(request));
      if (is_asked("round-trip")) rows.push_back(round_trip(request));
      if (is_asked("end")) {
        rows.push_back(end(request));
        rows.push_back(run_of_one_item(request));
      }
    }
    if (is_asked("once")) rows.push_back(once(request));
    if (rows.empty())
      throw cli::BadInput{"--only " + only_ + " needs two nodes: hiway launch -n 2 -- hiway bench nodes"};
    appointment_.reset();
    return rows;
  }

 private:
  [[nodiscard]] Json what(char const* of) const {
    Json what{{"measures", of}, {"nodes", nodes_->size()}};
    char const* const transport = std::getenv("UCX_TLS");
    what["UCX_TLS"] = transport == nullptr ? "not set" : transport;
    return what;
  }
  [[nodiscard]] NodeWork work(std::size_t item_bytes) const {
    NodeWork work{&*nodes_, "simt", item_bytes};
    work.capacity_items = capacity_items_ != 0 ? capacity_items_ : item_bytes == small_bytes ? 65536 : large_capacity;
    work.plant = plant_ ? Plant::alter : Plant::none;
    return work;
  }
  /// Of a row without a device each time counts, and it has an uncounted turn.
  [[nodiscard]] static Row measure_cpu(Json what, char const* unit, Better better, std::string beside,
                                       std::vector<Variant> const& variants, Request const& request) {
    Request asked = request;
    asked.small = false;
    Row row = measure(std::move(what), unit, better, std::move(beside), variants, asked);
    row.only_cpu = true;
    return row;
  }

  /// `unit_bytes`: what an item counts.
  [[nodiscard]] static Variant stream(std::string name, std::unique_ptr<Mover> mover, std::uint64_t items,
                                      std::size_t unit_bytes) {
    std::shared_ptr<Mover> const shared = std::move(mover);
    auto turn = [shared, items, unit_bytes]() -> Turn {
      Moved const moved = shared->move(items);
      double const rate = static_cast<double>(items * unit_bytes) / std::max(moved.seconds, 1e-9);
      return {rate, moved.wrong.empty(), moved.wrong};
    };
    return {std::move(name), std::move(turn), [items] { return Json{{"items", items}}; }};
  }

  /// Adds ucx_perftest's variant, whose value `value` makes of its figures.
  template <class Value>
  void add_perftest(std::string name, std::vector<Variant>& variants, Json& what, PerftestRequest request,
                    Value value) {
    if (!appointment_) {
      what["beside"] = nodes_->size() == 2 ? "none: no ucx_perftest on both nodes" : "none: not of two nodes";
      return;
    }
    auto turn = [this, request, value]() -> Turn {
      PerftestFigures const figures = appointment_->measure(request);
      return {value(figures), figures.wrong.empty(), figures.wrong};
    };
    Json const facts{{"test", request.test}, {"bytes", request.bytes}, {"iterations", request.iterations}};
    variants.push_back({std::move(name), std::move(turn), [facts] { return facts; }});
  }

  /// On node 0 alone; the others wait for it in what comes next.
  [[nodiscard]] Row one_node(hiway::Cluster& alone, Request const& request) const {
    std::uint64_t const items = small_items_ != 0 ? small_items_ : 10'000'000;
    std::vector<Variant> variants;
    for (auto const& [name, cluster] :
         {std::pair{"no cluster", static_cast<hiway::Cluster*>(nullptr)}, std::pair{"a cluster of one node", &alone}}) {
      if (nodes_->node() != 0) continue;
      NodeWork one = work(small_bytes);
      one.cluster = cluster;
      variants.push_back(stream(name, make_node_stream(one, 0), items, 1));
    }
    Json row{{"measures", "items within one process"}, {"item_bytes", small_bytes}};
    return measure_cpu(std::move(row), "items/s", Better::more, "no cluster", variants, request);
  }

  [[nodiscard]] Row large(Request const& request) {
    std::uint64_t const items = large_items_ != 0 ? large_items_ : 10'000;
    Json row = what("large items from node 0 to node 1");
    row["item_bytes"] = largest_item_bytes;
    std::vector<Variant> variants;
    auto const bytes_per_second = [](PerftestFigures const& f) {
      return f.per_second * static_cast<double>(largest_item_bytes);
    };
    add_perftest(perftest, variants, row, {"ucp_put_bw", largest_item_bytes, items}, bytes_per_second);
    add_perftest("ucx_perftest, received", variants, row, {"tag_bw", largest_item_bytes, items}, bytes_per_second);
    NodeWork one = work(largest_item_bytes);
    variants.push_back(stream("hiway", make_node_stream(one, 1), items, largest_item_bytes));
    one.looked_at = false;
    variants.push_back(stream("hiway, first word read", make_node_stream(one, 1), items, largest_item_bytes));
    return measure_cpu(std::move(row), "bytes/s", Better::more, perftest, variants, request);
  }

  [[nodiscard]] Row small(Request const& request) const {
    std::uint64_t const items = small_items_ != 0 ? small_items_ : 10'000'000;
    Json row = what("small items one by one from node 0 to node 1");
    row["item_bytes"] = small_bytes;
    std::vector<Variant> const variants{stream("hiway", make_node_stream(work(small_bytes), 1), items, 1)};
    return measure_cpu(std::move(row), "items/s", Better::more, "", variants, request);
  }

  [[nodiscard]] Row round_trip(Request const& request) {
    unsigned const trips = trips_ != 0 ? trips_ : 10'000;
    Json row = what("one item from node 0 to node 1 and back, p50");
    row["item_bytes"] = small_bytes;
    std::vector<Variant> variants;
    // It prints half of what there and back takes.
    add_perftest(perftest, variants, row, {"ucp_put_lat", small_bytes, trips},
                 [](PerftestFigures const& f) { return 2 * f.p50_us; });
    std::shared_ptr<NodeTrips> const made = make_node_trips(work(small_bytes));
    auto const quantiles = std::make_shared<Quantiles>();
    auto turn = [made, quantiles, trips]() -> Turn {
      RoundTrips const run = made->run(trips);
      quantiles->take(run);
      return {run.at(0.5), run.wrong.empty(), run.wrong};
    };
    variants.push_back({"hiway", std::move(turn), [quantiles] { return quantiles->facts(false); }});
    return measure_cpu(std::move(row), "us", Better::less, perftest, variants, request);
  }

  [[nodiscard]] unsigned runs() const { return runs_ != 0 ? runs_ : 50; }

  [[nodiscard]] Row end(Request const& request) const {
    Json row = what("until the end of a run with one item is found: node 0, all nodes, node 0");
    row["runs"] = runs();
    std::vector<Variant> const variants{one_item("hiway", work(small_bytes), &OneItemRun::end_detection)};
    return measure_cpu(std::move(row), "us", Better::less, "", variants, request);
  }
  [[nodiscard]] Row run_of_one_item(Request const& request) const {
    Json row = what("run() with one item: node 0, all nodes, node 0");
    row["runs"] = runs();
    std::vector<Variant> variants;
    NodeWork alone = work(small_bytes);
    alone.cluster = nullptr;
    if (nodes_->node() == 0) variants.push_back(one_item("one process", alone, &OneItemRun::all));
    variants.push_back(one_item("nodes", work(small_bytes), &OneItemRun::all));
    return measure_cpu(std::move(row), "us", Better::less, "one process", variants, request);
  }
  [[nodiscard]] Variant one_item(std::string name, NodeWork const& work, double OneItemRun::*value) const {
    std::shared_ptr<OneItemRuns> const made = make_one_item_runs(work);
    auto turn = [made, value, n = runs()]() -> Turn {
      OneItemRun const run = made->median_of(n);
      return {run.*value, run.wrong.empty(), run.wrong};
    };
    return {std::move(name), std::move(turn)};
  }

  [[nodiscard]] Row once(Request const& request) const {
    std::uint64_t const items = items_ != 0 ? items_ : 1'000'000;
    Json row = what("every item once: CPUs of all nodes, GPUs of two, node 0");
    row["item_bytes"] = small_bytes;
    NodeWork todo = work(small_bytes);
    todo.device = request.device;
    std::vector<Variant> const variants{stream("hiway", make_node_traffic(todo), items, 1)};
    return measure(std::move(row), "items/s", Better::more, "", variants, request);
  }

  std::string only_;
  std::uint64_t items_ = 0;
  std::uint64_t small_items_ = 0;
  std::uint64_t large_items_ = 0;
  std::size_t capacity_items_ = 0;
  unsigned trips_ = 0;
  unsigned runs_ = 0;
  bool plant_ = false;
  mutable std::optional<hiway::Cluster> nodes_;
  std::optional<Appointment> appointment_;  // where both nodes have ucx_perftest
};

}  // namespace

std::unique_ptr<Bench> make_nodes() { return std::make_unique<NodesBench>(); }

}  // namespace bench
