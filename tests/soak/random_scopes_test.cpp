// Random pipelines with random scopes: trees of items of random shape, through stages on the CPU and on devices, with
// cycles, some of them cancelled, some failed by a task, some with a deadline. A serial interpreter says how many
// results each scope has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::from_environment;

struct Node {
  std::uint32_t seed;
  std::uint32_t depth;  ///< how many levels may be below
};

constexpr std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}
constexpr std::uint32_t fails = 0xffffffffU;  ///< a node with this seed fails its scope

/// How many nodes it has below, and how many results of its own.
HIWAY_DEVICE constexpr std::uint32_t children_of(Node const& n) { return n.depth == 0 ? 0 : mixed(n.seed) % 4; }
HIWAY_DEVICE constexpr std::uint32_t results_of(Node const& n) { return mixed(n.seed + 1) % 3; }
HIWAY_DEVICE constexpr Node child_of(Node const& n, std::uint32_t i) { return {mixed(n.seed * 5 + i), n.depth - 1}; }

std::uint64_t count_results(Node const& n) {
  std::uint64_t count = results_of(n);
  for (std::uint32_t i = 0; i < children_of(n); ++i) count += count_results(child_of(n, i));
  return count;
}

/// Item form, on any machine.
struct Branch {
  HIWAY_DEVICE void operator()(Node const& n, Inlet<Node> again, Inlet<std::uint32_t> results) const {
    if (n.seed == fails) return fail_scope("a random node");
    for (std::uint32_t i = 0; i < results_of(n); ++i) results.put(1u);
    for (std::uint32_t i = 0; i < children_of(n); ++i) again.put(child_of(n, i));
  }
};
struct Same {
  HIWAY_DEVICE Node operator()(Node const& n) const { return n; }
};
struct One {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x; }
};

/// Roots -> [value stage] -> branching stage with a cycle -> [value stage] -> the CPU stage that counts.
class RandomScopes {
 public:
  explicit RandomScopes(unsigned seed) : random_(seed), pipe_(config()) {
    most_open_ = 1 + random_() % 24;
    jobs_ = &pipe_.create_scopes("jobs", {.most_open = most_open_});
    sums_ = std::vector<std::atomic<std::uint64_t>>(most_open_);
    build();
  }

  void run() {
    pipe_.start();
    unsigned const scopes = 20 + random_() % 60;
    for (unsigned i = 0; i < scopes; ++i) open_one();
    in_.close_h();
    pipe_.wait();
    EXPECT_EQ(ended_, scopes);
    EXPECT_EQ(wrong_, 0);
  }

 private:
  static PipelineConfig config() {
    PipelineConfig c = bounded();
    c.warn_of_cycles = false;
    return c;
  }
  enum class Fate : std::uint8_t { ends_well, is_cancelled, is_failed, may_be_late };
  [[nodiscard]] Fate random_fate() {
    unsigned const n = random_() % 10;
    return n < 3 ? static_cast<Fate>(n + 1) : Fate::ends_well;
  }
  static bool is_right(Fate fate, bool has_error, std::uint64_t came, std::uint64_t expected) {
    switch (fate) {
      case Fate::ends_well: return !has_error && came == expected;
      case Fate::is_cancelled: return has_error && came <= expected;
      case Fate::is_failed: return has_error && came == expected;
      case Fate::may_be_late: return has_error ? came <= expected : came == expected;
    }
    return false;
  }
  [[nodiscard]] bool coin() { return random_() % 2 != 0; }
  [[nodiscard]] ScopedTunnelConfig tunnel() {
    constexpr std::size_t capacities[] = {1, 2, 7, 64, 300};
    Movement const movements[] = {Movement::automatic, Movement::direct, Movement::dma};
    return {.capacity_items = capacities[random_() % 5],
            .movement = movements[random_() % 3],
            .spill_items = 1 << 16,
            .scopes = jobs_};
  }
  [[nodiscard]] GpuStageOptions grid() {
    return {.blocks = 1 + static_cast<unsigned>(random_() % 3), .threads_per_block = 32u << random_() % 2};
  }
  static Direction between(bool from_gpu, bool to_gpu) {
    if (from_gpu) return to_gpu ? Direction::gpu_to_gpu : Direction::gpu_to_cpu;
    return to_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu;
  }
  template <class Body, class... Ends>
  void add(char const* name, bool on_gpu, Body body, Ends... ends) {
    if (on_gpu) {
      pipe_.add_gpu_stage(name, body, ends..., grid());
    } else {
      pipe_.add_cpu_stage(name, body, ends..., {.threads = 1 + static_cast<unsigned>(random_() % 3)});
    }
  }

  void build() {
    bool const first_on_gpu = coin();
    bool const branch_on_gpu = coin();
    bool const last_on_gpu = coin();
    auto* roots = &pipe_.create_tunnel<Node>("roots", between(false, first_on_gpu), tunnel());
    in_ = roots->open_inlet();
    auto& nodes = pipe_.create_tunnel<Node>("nodes", between(first_on_gpu, branch_on_gpu), tunnel());
    add("same", first_on_gpu, Same{}, from(*roots), into(nodes));
    auto& again = pipe_.create_tunnel<Node>("again", between(branch_on_gpu, branch_on_gpu), tunnel());
    auto& results = pipe_.create_tunnel<std::uint32_t>("results", between(branch_on_gpu, last_on_gpu), tunnel());
    add("branch", branch_on_gpu, Branch{}, from(nodes, again), into(again, results));
    auto& counted = pipe_.create_tunnel<std::uint32_t>("counted", between(last_on_gpu, false), tunnel());
    add("one", last_on_gpu, One{}, from(results), into(counted));
    pipe_.add_cpu_stage(
        "count", [this](std::uint32_t const& x) { sums_[scope_index()].fetch_add(x, std::memory_order_relaxed); },
        from(counted), {.threads = 1 + static_cast<unsigned>(random_() % 2)});
  }

  void open_one() {
    Scope job = jobs_->open_h();
    Fate const fate = random_fate();
    std::uint64_t expected = 0;
    unsigned const roots = random_() % 4;
    std::vector<Node> all;
    for (unsigned i = 0; i < roots; ++i) all.push_back({static_cast<std::uint32_t>(random_()) >> 1, 1 + i % 4});
    for (Node const& n : all) expected += count_results(n);
    if (fate == Fate::is_failed) all.push_back({fails, 0});
    if (fate == Fate::may_be_late) job.set_deadline(std::chrono::microseconds(random_() % 2000));
    job.then([this, at = job.index(), expected, fate](std::exception_ptr const& error) {
      if (!is_right(fate, error != nullptr, sums_[at].exchange(0), expected)) ++wrong_;
      ++ended_;
    });
    for (Node const& n : all) in_.put_h(n, job);
    if (fate == Fate::is_cancelled) job.cancel();
    if (coin()) job.close_h();
    if (random_() % 8 == 0) (void)job.wait_for(std::chrono::microseconds(200));
  }

  std::mt19937 random_;
  Pipeline pipe_;
  std::size_t most_open_ = 1;
  Scopes* jobs_ = nullptr;
  Inlet<Node> in_;
  std::vector<std::atomic<std::uint64_t>> sums_;
  std::atomic<unsigned> ended_{0};
  std::atomic<int> wrong_{0};
};

// HIWAY_SCOPE_SEEDS: how many pipelines; HIWAY_SCOPE_SEED: the first one's seed.
TEST(RandomScopes, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  auto const first = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEED", 1));
  auto const seeds = static_cast<unsigned>(from_environment("HIWAY_SCOPE_SEEDS", 20));
  for (unsigned seed = first; seed < first + seeds; ++seed) {
    SCOPED_TRACE("HIWAY_SCOPE_SEED=" + std::to_string(seed));
    RandomScopes(seed).run();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
