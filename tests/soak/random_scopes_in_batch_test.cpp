// Random pipelines with batch stages and random scopes: trees of items of random shape, with cycles, some scopes
// cancelled, some failed. A serial interpreter says how many results each scope has.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
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
/// A result, and the place of the scope that a batch's body saw, or none.
struct Result {
  std::uint32_t count;
  std::uint32_t place;
};
constexpr std::uint32_t no_place = 0xffffffffU;
constexpr std::uint32_t fails = 0xffffffffU;  ///< a node with this seed fails its scope
constexpr std::uint32_t most_children = 2;
constexpr std::uint32_t most_results = 2;

HIWAY_DEVICE constexpr std::uint32_t mixed(std::uint32_t x) {
  x ^= x >> 16;
  x *= 0x7feb352dU;
  x ^= x >> 15;
  x *= 0x846ca68bU;
  return x ^ x >> 16;
}
/// How many nodes it has below, and how many results of its own.
HIWAY_DEVICE constexpr std::uint32_t children_of(Node const& n) {
  return n.depth == 0 ? 0 : mixed(n.seed) % (most_children + 1);
}
HIWAY_DEVICE constexpr std::uint32_t results_of(Node const& n) {
  return n.seed == fails ? 0 : mixed(n.seed + 1) % (most_results + 1);
}
HIWAY_DEVICE constexpr Node child_of(Node const& n, std::uint32_t i) {
  return {mixed(n.seed * 5 + i) >> 1, n.depth - 1};
}

std::uint64_t count_results(Node const& n) {
  std::uint64_t count = results_of(n);
  for (std::uint32_t i = 0; i < children_of(n); ++i) count += count_results(child_of(n, i));
  return count;
}

// ---- item and value form

struct SameNode {
  HIWAY_DEVICE Node operator()(Node const& n) const {
    if (n.seed == fails) fail_scope("a random node");
    return n;
  }
};
struct Branch {
  HIWAY_DEVICE void operator()(Node const& n, Inlet<Node> again, Inlet<Result> results) const {
    for (std::uint32_t i = 0; i < results_of(n); ++i) results.put(Result{1, no_place});
    for (std::uint32_t i = 0; i < children_of(n); ++i) again.put(child_of(n, i));
  }
};
struct SameResult {
  HIWAY_DEVICE Result operator()(Result const& r) const { return r; }
};

// ---- batches

template <class T>
struct CopyKernel {
  T const* in;
  T* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < count; i += thread_count()) out[i] = in[i];
  }
};
template <class T>
struct CopyBatch {
  void operator()(Batch<T const> in, Batch<T> out, Stream stream) const {
    out.resize(in.size());
    stream.launch(CopyKernel<T>{in.data(), out.data(), in.size()}, 1, 32);
  }
};
/// On the CPU.
struct CopyOrFail {
  void operator()(Batch<Node const> in, Batch<Node> out, Stream) const {
    out.resize(in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      out.span()[i] = in.span()[i];
      if (in.span()[i].seed == fails) fail_scope("a random node");
    }
  }
};
struct BranchKernel {
  Node const* in;
  Node* again;
  Result* results;
  std::uint32_t* counts;  ///< of nodes, of results
  std::size_t count;
  std::uint32_t place;
  HIWAY_DEVICE void operator()() const {
    std::uint32_t nodes = 0;
    std::uint32_t made = 0;
    for (std::size_t k = 0; k < count; ++k) {
      for (std::uint32_t i = 0; i < results_of(in[k]); ++i) results[made++] = {1, place};
      for (std::uint32_t i = 0; i < children_of(in[k]); ++i) again[nodes++] = child_of(in[k], i);
    }
    counts[0] = nodes;
    counts[1] = made;
  }
};
/// Makes as many as the device finds; or, per batch, none of one kind.
struct BranchBatch {
  std::uint32_t* counts;
  void operator()(Batch<Node const> in, Batch<Node> again, Batch<Result> results, Stream stream) const {
    stream.launch(BranchKernel{in.data(), again.data(), results.data(), counts, in.size(), scope_index()}, 1, 1);
    again.resize_on_device(counts);
    results.resize_on_device(counts + 1);
  }
};

/// Roots -> [stage] -> branching stage with a cycle -> [stage] -> the CPU stage that counts. Some of them are batch
/// stages, one at least.
class RandomScopesInBatches : hiway_tests::RandomScopePipeline {
 public:
  explicit RandomScopesInBatches(unsigned seed) : RandomScopePipeline(seed) { build(); }

  void run() {
    run_scopes(20 + random_() % 60, in_, [this] { open_one(); });
  }

 private:
  enum class Kind : std::uint8_t { cpu, gpu, batch, device_batch };

  [[nodiscard]] Kind kind() { return static_cast<Kind>(random_() % 4); }
  static bool is_batch(Kind k) { return k == Kind::batch || k == Kind::device_batch; }
  static bool is_on_gpu(Kind k) { return k == Kind::gpu || k == Kind::device_batch; }
  [[nodiscard]] ScopedTunnelConfig tunnel() {
    constexpr std::size_t capacities[] = {2, 7, 64, 300};
    return {.capacity_items = capacities[random_() % 4], .spill_items = 1 << 16, .scopes = jobs_};
  }
  [[nodiscard]] CpuStageOptions threads() { return {.threads = 1 + static_cast<unsigned>(random_() % 3)}; }
  /// `most`: items of a batch, at most.
  [[nodiscard]] BatchOptions batches(Kind k, std::size_t most, bool one_to_one) {
    std::size_t const max_items = 1 + random_() % most;
    return {.max_items = max_items,
            .min_items = coin() ? 1 : 1 + random_() % max_items,
            .max_wait = std::chrono::microseconds(random_() % 300),
            .in_flight = 1 + static_cast<unsigned>(random_() % 3),
            .device = k == Kind::device_batch ? 0 : -1,
            .one_to_one = one_to_one};
  }
  Tunnel<Scoped<Node>>& nodes(char const* name, bool from_gpu, bool to_gpu) {
    return pipe_.create_tunnel<Node>(name, between(from_gpu, to_gpu), tunnel());
  }
  Tunnel<Scoped<Result>>& results(char const* name, bool from_gpu, bool to_gpu) {
    return pipe_.create_tunnel<Result>(name, between(from_gpu, to_gpu), tunnel());
  }
  static std::size_t least(TunnelBase const& a, TunnelBase const& b) {
    return std::min(a.config().capacity_items, b.config().capacity_items);
  }

  void build() {
    Kind const first = kind();
    Kind const last = kind();
    Kind branch = kind();
    while (!is_batch(first) && !is_batch(last) && !is_batch(branch)) branch = kind();
    auto& roots = nodes("roots", false, is_on_gpu(first));
    auto& inner = nodes("inner", is_on_gpu(first), is_on_gpu(branch));
    auto& again = nodes("again", is_on_gpu(branch), is_on_gpu(branch));
    auto& made = results("made", is_on_gpu(branch), is_on_gpu(last));
    auto& counted = results("counted", is_on_gpu(last), false);
    add_first(first, roots, inner);
    add_branch(branch, inner, again, made);
    add_last(last, made, counted);
    pipe_.add_cpu_stage(
        "count",
        [this](Result const& r) {
          if (r.place != no_place && r.place != scope_index()) ++wrong_;
          sums_[scope_index()].fetch_add(r.count, std::memory_order_relaxed);
        },
        from(counted), threads());
    in_ = roots.open_inlet();
  }
  /// Batches on a device cannot fail their scopes: a further stage does it.
  void add_first(Kind k, Tunnel<Scoped<Node>>& roots, Tunnel<Scoped<Node>>& inner) {
    if (k == Kind::cpu) pipe_.add_cpu_stage("first", SameNode{}, from(roots), into(inner), threads());
    if (k == Kind::gpu) pipe_.add_gpu_stage("first", SameNode{}, from(roots), into(inner), grid());
    if (k == Kind::batch) {
      pipe_.add_batch_stage("first", CopyOrFail{}, from(roots), into(inner), batches(k, least(roots, inner), false));
    }
    if (k == Kind::device_batch) {
      may_fail_ = false;
      pipe_.add_batch_stage("first", CopyBatch<Node>{}, from(roots), into(inner),
                            batches(k, least(roots, inner), coin()));
    }
  }
  /// A stage that gets batches gets from one tunnel: the cycle is closed by the stage that enters it.
  void add_branch(Kind k, Tunnel<Scoped<Node>>& inner, Tunnel<Scoped<Node>>& again, Tunnel<Scoped<Result>>& made) {
    if (k == Kind::cpu) pipe_.add_cpu_stage("branch", Branch{}, from(inner, again), into(again, made), threads());
    if (k == Kind::gpu) pipe_.add_gpu_stage("branch", Branch{}, from(inner, again), into(again, made), grid());
    if (!is_batch(k)) return;
    pipe_.add_batch_stage("enter", CopyBatch<Node>{}, from(inner), into(again),
                          batches(k, least(inner, again), coin()));
    std::size_t const most = std::max(std::size_t{1}, least(again, made) / std::max(most_children, most_results));
    std::uint32_t* counts = counts_;
    if (k == Kind::device_batch) counts = pipe_.create_buffer<std::uint32_t>(2).view().data;
    pipe_.add_batch_stage("branch", BranchBatch{counts}, from(again), into(again, made), batches(k, most, false));
  }
  void add_last(Kind k, Tunnel<Scoped<Result>>& made, Tunnel<Scoped<Result>>& counted) {
    if (k == Kind::cpu) pipe_.add_cpu_stage("last", SameResult{}, from(made), into(counted), threads());
    if (k == Kind::gpu) pipe_.add_gpu_stage("last", SameResult{}, from(made), into(counted), grid());
    if (is_batch(k)) {
      pipe_.add_batch_stage("last", CopyBatch<Result>{}, from(made), into(counted),
                            batches(k, least(made, counted), coin()));
    }
  }

  void open_one() {
    Scope job = jobs_->open_h();
    ScopeFate fate = random_fate();
    if (fate == ScopeFate::is_failed && !may_fail_) fate = ScopeFate::ends_well;
    std::uint64_t expected = 0;
    unsigned const roots = random_() % 4;
    std::vector<Node> all;
    for (unsigned i = 0; i < roots; ++i) all.push_back({static_cast<std::uint32_t>(random_()) >> 1, 1 + i % 5});
    for (Node const& n : all) expected += count_results(n);
    if (fate == ScopeFate::is_failed) all.push_back({fails, 0});
    put_all(job, fate, in_, all,
            [this, at = job.index(), expected] { return compared(sums_[at].exchange(0), expected); });
  }

  bool may_fail_ = true;
  std::uint32_t counts_[2] = {};
  Inlet<Node> in_;
};

TEST(RandomScopesInBatches, EndWithAllOfTheirResults) {
  HIWAY_NEEDS_DEVICE();
  hiway_tests::for_scope_seeds([](unsigned seed) { RandomScopesInBatches(seed).run(); });
}

}  // namespace
