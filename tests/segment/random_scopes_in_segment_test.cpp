// Random segments with random scopes, some of them cancelled, some failed by a node. A loop on the CPU says what comes
// of each scope.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/segment/segment.hpp"
#include "tests/device.hpp"
#include "tests/segment/scoped_nodes.hpp"
#include "tests/soak/random_scopes.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;
using hiway_tests::ScopeFate;

struct Same {
  HIWAY_DEVICE Thing operator()(Thing const& t) const { return t; }
};
struct OneHead;

/// inlet -> segment -> [GPU stage ->] the CPU stage that counts.
class RandomScopes : hiway_tests::RandomScopePipeline {
 public:
  explicit RandomScopes(unsigned seed) : RandomScopePipeline(seed, config(seed)), counts_(most_open_) { build(); }

  void run() {
    run_scopes(5 + random_() % 15, in_, [this] { open_one(); });
  }

 private:
  struct Count {
    std::atomic<std::uint64_t> items{0};
    std::atomic<std::uint64_t> sum{0};
  };
  using Expected = std::function<void(Thing const&, CameTo&)>;

  static PipelineConfig config(unsigned seed) {
    PipelineConfig c = quiet();
    if (seed % 3 == 0) c.slice = std::chrono::nanoseconds(1);
    return c;
  }
  [[nodiscard]] ScopedTunnelConfig tunnel() {
    constexpr std::size_t capacities[] = {1, 2, 7, 64, 300};
    return {.capacity_items = capacities[random_() % 5], .scopes = jobs_};
  }
  /// Queues of the least length, or longer; nodes that suspend, or not.
  [[nodiscard]] NodeOptions options() { return {.interruptible = random_() % 4 != 0}; }
  [[nodiscard]] SegmentConfig segment_config() {
    SegmentConfig c;
    c.blocks = 1 + static_cast<unsigned>(random_() % 3);
    c.threads_per_block = 32u << random_() % 2;
    c.queue_target_bytes = coin() ? 1 : 0;
    c.guard_bytes = 64;
    if (yields_) c.residency = Residency::yielding;
    return c;
  }
  template <class Tree>
  void add(Tunnel<Scoped<Thing>>& there, Tree const& tree) {
    expected_ = [tree](Thing const& t, CameTo& came) { walk(tree, t, came); };
    SegmentConfig const c = segment_config();
    if (coin()) {
      pipe_.add_segment<Shape{ReplicaOf::warp, Refill::lanes}>("segment", from(there), tree, c);
    } else {
      pipe_.add_segment<Shape{ReplicaOf::block, Refill::ensembles}>("segment", from(there), tree, c);
    }
  }

  void build() {
    auto& there = pipe_.create_tunnel<Thing>("there", Direction::cpu_to_gpu, tunnel());
    in_ = there.open_inlet();
    auto& back = pipe_.create_tunnel<Thing>("back", Direction::gpu_to_cpu, tunnel());
    bool const stage_behind = coin();
    auto& made = stage_behind ? pipe_.create_tunnel<Thing>("made", Direction::gpu_to_gpu, tunnel()) : back;
    if (coin()) {
      add(there, node("parts", Parts{1}, options(),
                      chain(node("spreads", Spreads{2, 9}, options()), node("counts", Counts{3}, options()),
                            node("tiles", Tiles<4>{4}), node("spreads again", Spreads{5, 3}, options()), into(made)),
                      segment::count<Thing>("counted"), chain(node("wide", WideDrops{{6}}), into(made))));
    } else {
      add(there, chain(node("counts", Counts{1}, options()), node("wide", WideDrops{{2}}),
                       node<OneHead>(
                           "turns", Turns{3}, back_to<OneHead>(),
                           chain(node("spreads", Spreads{4, 4}, options()), node("tiles", Tiles<16>{5}),
                                 node("parts", Parts{6}, into(made), segment::count<Thing>("counted"), into(made))))));
    }
    if (stage_behind)
      pipe_.add_gpu_stage("same", Same{}, from(made), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe_.add_cpu_stage("count",
                        [this](Thing const& t) {
                          if (t.place != scope_index()) fail_h("a result in another's scope");
                          counts_[scope_index()].items += 1;
                          counts_[scope_index()].sum += t.x;
                        },
                        from(back), {.threads = 1 + static_cast<unsigned>(random_() % 2)});
  }

  void open_one() {
    Scope job = jobs_->open_h();
    auto const place = static_cast<std::uint16_t>(job.index());
    ScopeFate const fate = random_fate();
    std::vector<Thing> all;
    CameTo expected;
    for (unsigned n = random_() % 4 * 5; n != 0; --n) {
      Thing const t{static_cast<std::uint32_t>(random_())};
      expected_(t, expected);
      all.push_back({t.x, place});
    }
    if (fate == ScopeFate::is_failed) all.push_back({1, place, 1});
    put_all(job, fate, in_, all, [this, place, came = expected.tunnels] {
      Came const is{counts_[place].items.exchange(0), counts_[place].sum.exchange(0)};
      return is == came              ? hiway_tests::Came::all
             : is.items < came.items ? hiway_tests::Came::fewer
                                     : hiway_tests::Came::wrong;
    });
  }

  bool yields_ = coin();
  Inlet<Thing> in_;
  Expected expected_;
  std::vector<Count> counts_;
};

TEST(RandomScopesInSegment, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  hiway_tests::for_scope_seeds([](unsigned seed) { RandomScopes(seed).run(); });
}

}  // namespace
}  // namespace hiway::segment_test
