// Random pipelines with random scopes whose stages are warps and blocks, and single lanes between them: trees of items
// of random shape, put in all ways that a team can, on devices and on CPU threads, some cancelled, some failed by a
// lane. A serial interpreter says how many results each scope has.
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "hiway/pipeline.hpp"
#include "tests/device.hpp"
#include "tests/mix.hpp"
#include "tests/soak/random_scopes.hpp"
#include "tests/teams.hpp"

namespace {

using namespace hiway;
using hiway_tests::By;
using hiway_tests::compared;
using hiway_tests::mix;
using hiway_tests::put_by;
using hiway_tests::Puts;
using hiway_tests::ScopeFate;
using hiway_tests::Team;
using hiway_tests::ways_to_put;

struct Node {
  std::uint64_t seed;
  std::uint64_t depth;  ///< how many levels may be below
};
constexpr std::uint64_t fails = ~std::uint64_t{0};  ///< a node with this seed fails its scope

/// How many nodes it has below, and how many results of its own.
HIWAY_DEVICE unsigned children_of(Node const& n) { return n.depth == 0 ? 0 : mix(n.seed) % 4; }
HIWAY_DEVICE unsigned results_of(Node const& n) { return mix(n.seed + 1) % 4; }
HIWAY_DEVICE Node child_of(Node const& n, unsigned i) { return {mix(n.seed + 3 + i) >> 1, n.depth - 1}; }
HIWAY_DEVICE Puts way_of(Node const& n, unsigned ways) { return static_cast<Puts>(mix(n.seed + 2) % ways); }

std::uint64_t count_results(Node const& n) {
  std::uint64_t count = results_of(n);
  for (unsigned i = 0; i < children_of(n); ++i) count += count_results(child_of(n, i));
  return count;
}

/// Works on a node by a team. A last put comes after all others.
template <By by>
struct Branch {
  HIWAY_DEVICE void operator()(Outlet<Node> nodes, Outlet<Node> below, Inlet<Node> again,
                               Inlet<std::uint64_t> results) const {
    auto const team = Team<by>::here();
    for (Node n{};;) {
      bool any = false;
      for (Outlet<Node> const& in : {below, nodes}) {
        if (!team.get(in, n)) continue;
        any = true;
        work(team, n, again, results);
        team.end_task(in);
      }
      if (!any && team.agree(nodes.is_terminate())) return;
    }
  }
  HIWAY_DEVICE static void work(Team<by> team, Node const& n, Inlet<Node> again, Inlet<std::uint64_t> results) {
    if (n.seed == fails) {
      if (team.rank == team.size / 2) fail_scope("a random node");
      return;
    }
    put_by(team, results, way_of(n, ways_to_put - 1), results_of(n), [](unsigned) { return std::uint64_t{1}; });
    put_by(team, again, way_of(n, ways_to_put), children_of(n), [&](unsigned i) { return child_of(n, i); });
  }
};
/// The same by single lanes.
struct BranchAlone {
  HIWAY_DEVICE void operator()(Node const& n, Inlet<Node> again, Inlet<std::uint64_t> results) const {
    if (n.seed == fails) return fail_scope("a random node");
    for (unsigned i = 0; i < results_of(n); ++i) results.put(1);
    for (unsigned i = 0; i < children_of(n); ++i) again.put(child_of(n, i));
  }
};
/// Hands items on, one of each.
template <By by>
struct HandOn {
  template <class T>
  HIWAY_DEVICE static void all(Outlet<T> in, Inlet<T> out) {
    auto const team = Team<by>::here();
    unsigned items = 0;
    team.for_each(in, [&](T const& item) {
      put_by(team, out, static_cast<Puts>(items++ % ways_to_put), 1, [&](unsigned) { return item; });
    });
  }
  HIWAY_DEVICE void operator()(Outlet<Node> in, Inlet<Node> out) const { all(in, out); }
};
template <By by>
struct HandResultsOn {
  HIWAY_DEVICE void operator()(Outlet<std::uint64_t> in, Inlet<std::uint64_t> out) const { HandOn<by>::all(in, out); }
};
struct Same {
  HIWAY_DEVICE Node operator()(Node const& n) const { return n; }
};
struct SameResult {
  HIWAY_DEVICE std::uint64_t operator()(std::uint64_t const& x) const { return x; }
};

/// Roots -> a stage that hands on -> a stage that branches, with a cycle -> a stage that hands on -> the CPU stage that
/// counts; each of the first three by warps, blocks or lanes, on the CPU or on a device.
class RandomTeamScopes : hiway_tests::RandomScopePipeline {
 public:
  explicit RandomTeamScopes(unsigned seed) : RandomScopePipeline(seed) { build(); }

  void run() {
    run_scopes(10 + random_() % 30, in_, [this] { open_one(); });
  }

 private:
  template <class Body, class In, class Out>
  void add(char const* name, bool on_gpu, Body body, In in, Out out) {
    auto const blocks = 1 + static_cast<unsigned>(random_() % 2);
    if (on_gpu) {
      constexpr unsigned sizes[] = {32, 48, 64};
      pipe_.add_gpu_stage(name, body, in, out,
                          {.blocks = blocks, .threads_per_block = sizes[random_() % 3], .shared_bytes = 4096});
    } else {
      pipe_.add_cpu_stage(name, body, in, out, {.threads = blocks});
    }
  }
  /// One of three bodies.
  template <class Warp, class Block, class Lane, class In, class Out>
  void add_one(char const* name, bool on_gpu, In in, Out out) {
    switch (random_() % 5) {
      case 0:
      case 1: return add(name, on_gpu, Warp{}, in, out);
      case 2:
      case 3: return add(name, on_gpu, Block{}, in, out);
      default: return add(name, on_gpu, Lane{}, in, out);
    }
  }

  void build() {
    bool const first_on_gpu = coin();
    bool const branch_on_gpu = random_() % 4 != 0;
    bool const last_on_gpu = coin();
    auto& roots = pipe_.create_tunnel<Node>("roots", between(false, first_on_gpu), tunnel());
    in_ = roots.open_inlet();
    auto& nodes = pipe_.create_tunnel<Node>("nodes", between(first_on_gpu, branch_on_gpu), tunnel());
    add_one<HandOn<By::warp>, HandOn<By::block>, Same>("same", first_on_gpu, from(roots), into(nodes));
    auto& again = pipe_.create_tunnel<Node>("again", between(branch_on_gpu, branch_on_gpu), tunnel());
    auto& results = pipe_.create_tunnel<std::uint64_t>("results", between(branch_on_gpu, last_on_gpu), tunnel());
    add_one<Branch<By::warp>, Branch<By::block>, BranchAlone>("branch", branch_on_gpu, from(nodes, again),
                                                              into(again, results));
    auto& counted = pipe_.create_tunnel<std::uint64_t>("counted", between(last_on_gpu, false), tunnel());
    add_one<HandResultsOn<By::warp>, HandResultsOn<By::block>, SameResult>("one", last_on_gpu, from(results),
                                                                           into(counted));
    pipe_.add_cpu_stage(
        "count", [this](std::uint64_t const& x) { sums_[scope_index()].fetch_add(x, std::memory_order_relaxed); },
        from(counted), {.threads = 1 + static_cast<unsigned>(random_() % 2)});
  }

  void open_one() {
    Scope job = jobs_->open_h();
    ScopeFate const fate = random_fate();
    std::uint64_t expected = 0;
    std::vector<Node> all;
    for (unsigned i = 0, roots = random_() % 4; i < roots; ++i) all.push_back({random_() >> 1, 1 + i % 3});
    for (Node const& n : all) expected += count_results(n);
    if (fate == ScopeFate::is_failed) all.push_back({fails, 0});
    put_all(job, fate, in_, all,
            [this, at = job.index(), expected] { return compared(sums_[at].exchange(0), expected); });
  }

  Inlet<Node> in_;
};

TEST(RandomTeamScopes, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  hiway_tests::for_scope_seeds([](unsigned seed) { RandomTeamScopes(seed).run(); });
}

}  // namespace
