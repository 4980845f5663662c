// Random pipelines with random scopes: trees of items of random shape, through stages on the CPU and on devices, with
// cycles, some of them cancelled, some failed by a task, some with a deadline. A serial interpreter says how many
// results each scope has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"
#include "tests/soak/random_scopes.hpp"

namespace {

using namespace hiway;
using hiway_tests::compared;
using hiway_tests::ScopeFate;

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
class RandomScopes : hiway_tests::RandomScopePipeline {
 public:
  explicit RandomScopes(unsigned seed) : RandomScopePipeline(seed) { build(); }

  void run() {
    run_scopes(20 + random_() % 60, in_, [this] { open_one(); });
  }

 private:
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
    ScopeFate const fate = random_fate();
    std::uint64_t expected = 0;
    unsigned const roots = random_() % 4;
    std::vector<Node> all;
    for (unsigned i = 0; i < roots; ++i) all.push_back({static_cast<std::uint32_t>(random_()) >> 1, 1 + i % 4});
    for (Node const& n : all) expected += count_results(n);
    if (fate == ScopeFate::is_failed) all.push_back({fails, 0});
    put_all(job, fate, in_, all,
            [this, at = job.index(), expected] { return compared(sums_[at].exchange(0), expected); });
  }

  Inlet<Node> in_;
};

TEST(RandomScopes, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  hiway_tests::for_scope_seeds([](unsigned seed) { RandomScopes(seed).run(); });
}

}  // namespace
