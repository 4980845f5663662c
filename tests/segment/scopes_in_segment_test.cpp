// Scopes through segments: each ends after its last task, with all of its results, whatever the nodes are.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "hiway/pipeline.hpp"
#include "hiway/segment/compose.hpp"
#include "hiway/service.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/segment/scoped_nodes.hpp"
#include "tests/segment/shapes.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;
using namespace std::chrono_literals;
using hiway_tests::bounded;
using hiway_tests::from_environment;
using hiway_tests::text_of_error;
using ::testing::HasSubstr;

template <class>
struct ScopesInSegment : testing::Test {};
using Shapes = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::warp, Refill::ensembles>,
                              Of<ReplicaOf::block, Refill::lanes>, Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(ScopesInSegment, Shapes, ShapeNames);

constexpr std::size_t most_open = 24;

/// What came for each scope, at its place.
struct CountOfPlace {
  std::atomic<std::uint64_t> items{0};
  std::atomic<std::uint64_t> sum{0};
  Came take() { return {items.exchange(0), sum.exchange(0)}; }
};

/// open inlet -> segment -> [GPU stage ->] CPU stage. `make(tunnel)` makes the tree.
struct Setting {
  std::size_t capacity = 64;
  bool stage_behind = false;  ///< a GPU stage gets what the segment puts
  SegmentConfig config{.blocks = 2, .threads_per_block = 64};
  PipelineConfig pipe{};
};
struct Same {
  HIWAY_DEVICE Thing operator()(Thing const& t) const { return t; }
};
template <Shape shape, class Make>
class Jobs {
 public:
  explicit Jobs(Make make, Setting const& s = {}) : pipe(s.pipe), came(most_open) {
    scopes = &pipe.create_scopes("jobs", {.most_open = most_open});
    ScopedTunnelConfig const config{.capacity_items = s.capacity, .scopes = scopes};
    auto& there = pipe.create_tunnel<Thing>("there", Direction::cpu_to_gpu, config);
    in = there.open_inlet();
    auto& back = pipe.create_tunnel<Thing>("back", Direction::gpu_to_cpu, config);
    auto& made = s.stage_behind ? pipe.create_tunnel<Thing>("made", Direction::gpu_to_gpu, config) : back;
    tree.emplace(make(made));
    segment = &pipe.add_segment<shape>("segment", from(there), *tree, s.config);
    if (s.stage_behind)
      pipe.add_gpu_stage("same", Same{}, from(made), into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage("sum",
                       [this](Thing const& t) {
                         while (holds.load()) std::this_thread::sleep_for(1ms);
                         if (t.place != scope_index()) fail_h("a result in another's scope");
                         came[scope_index()].items += 1;
                         came[scope_index()].sum += t.x;
                       },
                       from(back), {.threads = 2});
  }
  /// What comes of an item, by a loop on the CPU.
  [[nodiscard]] Came expected(Thing const& t) const {
    CameTo all;
    walk(*tree, {t.x, Thing::none, t.fails_at}, all);
    return all.tunnels;
  }
  void put(Scope& job, std::uint32_t x, std::uint16_t fails_at = Thing::none) {
    in.put_h({x, static_cast<std::uint16_t>(job.index()), fails_at}, job);
  }
  void end() {
    in.close_h();
    pipe.wait();
  }

  Pipeline pipe;
  Scopes* scopes;
  Inlet<Thing> in;
  std::optional<decltype(std::declval<Make>()(std::declval<Tunnel<Scoped<Thing>>&>()))> tree;
  SegmentBase* segment;
  std::vector<CountOfPlace> came;
  std::atomic<bool> holds{false};  ///< the CPU stage waits
};
template <Shape shape, class Make>
Jobs<shape, Make> jobs(Make make, Setting s = {}) {
  s.pipe = bounded();
  return Jobs<shape, Make>(make, s);
}

template <Shape shape, class Make>
void expect_all(Make make, Setting setting = {}) {
  setting.pipe = bounded();
  Jobs<shape, Make> p(make, setting);
  p.pipe.start();
  for (std::uint32_t i = 0; i != 40; ++i) {
    Scope job = p.scopes->open_h();
    Came expected;
    for (std::uint32_t k = 0; k != i * i % 90; ++k) {
      Came const of_one = p.expected({i * 1000 + k});
      expected.items += of_one.items;
      expected.sum += of_one.sum;
      p.put(job, i * 1000 + k);
    }
    job.close_h();
    job.wait();
    ASSERT_EQ(p.came[job.index()].take(), expected) << i;
  }
  p.end();
}

TYPED_TEST(ScopesInSegment, EndWithTheLastItemOfAFilter) {
  HIWAY_NEEDS_DEVICE();
  expect_all<TypeParam::shape>([](auto& back) { return chain(node("a", Drops{1}), node("b", Drops{2}), into(back)); });
}
TYPED_TEST(ScopesInSegment, EndWithTheLastItemOfAnExpander) {
  HIWAY_NEEDS_DEVICE();
  expect_all<TypeParam::shape>([](auto& back) {
    return chain(node("a", Spreads{1, 12}), node("b", Spreads{2, 3}), into(back));
  });
}
TYPED_TEST(ScopesInSegment, EndWithTheLastItemOfAnIndexedExpander) {
  HIWAY_NEEDS_DEVICE();
  expect_all<TypeParam::shape>(
      [](auto& back) { return chain(node("a", Counts{1}), node("b", Counts{2}), into(back)); });
}
TYPED_TEST(ScopesInSegment, EndWithTheLastItemOfATile) {
  HIWAY_NEEDS_DEVICE();
  expect_all<TypeParam::shape>(
      [](auto& back) { return chain(node("a", Tiles<4>{1}), node("b", Tiles<32>{2}), into(back)); });
}

/// Three channels to queues and sinks, of which two give their words back.
auto parts(Tunnel<Scoped<Thing>>& back) {
  return node("parts", Parts{1}, chain(node("a", Spreads{2, 6}), into(back)), segment::count<Thing>("c"),
              node("b", Parts{3}, into(back), into(back), segment::count<Thing>("c")));
}
TYPED_TEST(ScopesInSegment, EndWithTheLastItemOnWhateverChannel) {
  HIWAY_NEEDS_DEVICE();
  expect_all<TypeParam::shape>(parts);
}

// ---- one at a time: replicas of a warp, expanders by lanes

constexpr Shape small{ReplicaOf::warp, Refill::lanes, true};
SegmentConfig one_warp() { return {.blocks = 1, .threads_per_block = 32}; }

struct Head;
TEST(ScopesInSegmentOnce, EndAfterALoop) {
  HIWAY_NEEDS_DEVICE();
  expect_all<small>([](auto& back) {
    return node<Head>("turns", Turns{1}, back_to<Head>(), chain(node("wide", WideDrops{{2}}), into(back)));
  });
}
TEST(ScopesInSegmentOnce, EndAfterAStageBehindTheSegment) {
  HIWAY_NEEDS_DEVICE();
  expect_all<small>(
      [](auto& back) {
        return chain(node("a", Spreads{1, 5}), node("b", Counts{2}), node("c", Tiles<8>{3}), into(back));
      },
      {.stage_behind = true});
}
TEST(ScopesInSegmentOnce, EndWithoutATunnelBehindTheSegment) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& scopes = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<Thing>("there", Direction::cpu_to_gpu, {.scopes = &scopes});
  auto& kept = pipe.create_buffer<Thing>(4096);
  Inlet<Thing> in = there.open_inlet();
  auto tree = node("parts", Parts{1}, chain(node("a", Spreads{2, 6}), store("kept", kept)), segment::count<Thing>("b"),
                   chain(node("c", Tiles<2>{3}), segment::count<Thing>("c")));
  auto& all = pipe.add_segment<small>("segment", from(there), tree, one_warp());
  pipe.start();
  CameTo expected;
  for (std::uint32_t i = 0; i != 100; ++i) {
    Scope job = scopes.open_h();
    walk(tree, {i}, expected);
    in.put_h({i, static_cast<std::uint16_t>(job.index())}, job);
    job.close_h();
    if (i % 10 == 0) job.wait();
  }
  in.close_h();
  pipe.wait();
  EXPECT_EQ(all.items("kept") + all.items("b") + all.items("c"), expected.others.items);
}
TEST(ScopesInSegmentOnce, EndWhenTheTunnelHasNoneAndTheResultsDo) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& scopes = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<Thing>("there", Direction::cpu_to_gpu, {.scopes = &scopes});
  auto& back = pipe.create_tunnel<Thing>("back", Direction::gpu_to_cpu);
  Inlet<Thing> in = there.open_inlet();
  pipe.add_segment<small>("segment", from(there), chain(node("a", Spreads{1, 6}), into(back)), one_warp());
  std::atomic<std::uint64_t> came{0};
  pipe.add_cpu_stage("count", [&](Thing const&) { ++came; }, from(back), {.threads = 1});
  pipe.start();
  std::uint64_t expected = 0;
  Scope job = scopes.open_h();
  for (std::uint32_t i = 0; i != 100; ++i) {
    work_on(Spreads{1, 6}, {i}, [&](unsigned, Thing const&) { ++expected; });
    in.put_h({i, static_cast<std::uint16_t>(job.index())}, job);
  }
  job.close_h();
  job.wait();
  in.close_h();
  pipe.wait();
  EXPECT_EQ(came.load(), expected);
}

struct Large {
  Thing thing;
  std::uint32_t more[75];
};
struct Enlarge {
  HIWAY_DEVICE Large operator()(Thing const& t) const {
    Large l{t, {}};
    l.more[74] = t.x;
    return l;
  }
};
struct Pass {
  HIWAY_DEVICE Maybe<Large> operator()(Large const& l) const {
    return works_at(1, l.thing) && l.more[74] % 3 != 0 ? Maybe<Large>(l) : Maybe<Large>::none();
  }
};
TEST(ScopesInSegmentOnce, EndAfterItemsThatStayInTheirSlots) {
  HIWAY_NEEDS_DEVICE();
  static_assert(stays_in_slot<Scoped<Large>>);
  Pipeline pipe(bounded());
  Scopes& scopes = pipe.create_scopes("jobs");
  auto& there = pipe.create_tunnel<Thing>("there", Direction::cpu_to_gpu, {.scopes = &scopes});
  auto& large = pipe.create_tunnel<Large>("large", Direction::gpu_to_gpu, {.scopes = &scopes});
  auto& back = pipe.create_tunnel<Large>("back", Direction::gpu_to_cpu, {.capacity_items = 16, .scopes = &scopes});
  Inlet<Thing> in = there.open_inlet();
  std::atomic<std::uint64_t> came{0};
  pipe.add_segment<small>("first", from(there), node("enlarge", Enlarge{}, into(large)), one_warp());
  pipe.add_segment<small>("second", from(large), chain(node("pass", Pass{}), node("again", Pass{}), into(back)),
                          one_warp());
  pipe.add_cpu_stage(
      "count", [&](Large const& l) { came += l.more[74]; }, from(back));
  pipe.start();
  for (std::uint32_t i = 1; i != 30; ++i) {
    Scope job = scopes.open_h();
    for (std::uint32_t k = 0; k != i; ++k) in.put_h({k, static_cast<std::uint16_t>(job.index())}, job);
    job.close_h();
    job.wait();
    std::uint64_t expected = 0;
    for (std::uint32_t k = 0; k != i; ++k) expected += k % 3 != 0 ? k : 0;
    ASSERT_EQ(came.exchange(0), expected);
  }
  in.close_h();
  pipe.wait();
}
TEST(ScopesInSegmentOnce, AnswerRequests) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& scopes = pipe.create_scopes("jobs", {.most_open = 64});
  auto& requests = pipe.create_tunnel<Thing>("requests", Direction::cpu_to_gpu, {.scopes = &scopes});
  auto& replies = pipe.create_tunnel<Thing>("replies", Direction::gpu_to_cpu, {.scopes = &scopes});
  pipe.add_segment<small>("segment", from(requests), chain(node("1", Drops{1}), node("2", Drops{2}), into(replies)),
                          one_warp());
  Service<Thing, Thing> service(pipe, requests, replies);
  pipe.start();
  for (std::uint32_t i = 0; i != 300; ++i) {
    CameTo expected;
    walk(chain(node("1", Drops{1}), node("2", Drops{2}), segment::count<Thing>("c")), {i}, expected);
    if (expected.others.items == 0) {
      EXPECT_THROW((void)service.call({i}), NoReply) << i;
    } else {
      EXPECT_EQ(service.call({i}).x, expected.others.sum) << i;
    }
  }
  service.stop();
  pipe.wait();
}

// ---- errors

TYPED_TEST(ScopesInSegment, FailAloneInANodeOfAnyKind) {
  HIWAY_NEEDS_DEVICE();
  auto p = jobs<TypeParam::shape>([](auto& back) {
    return chain(node("1", Drops{1}), node("2", Spreads{2, 3}), node("3", Counts{3}), node("4", Tiles<4>{4}),
                 node("5", Parts{5}, into(back), segment::count<Thing>("x"), into(back)));
  });
  p.pipe.start();
  for (std::uint16_t at = 1; at != 7; ++at) {  // nothing fails at 6
    Scope job = p.scopes->open_h();
    for (std::uint32_t i = 0; i != 200; ++i) p.put(job, i, i % 3 == 0 ? at : Thing::none);
    job.close_h();
    if (at == 6) {
      job.wait();
    } else {
      EXPECT_THAT(text_of_error<ScopeFailed>([&] { job.wait(); }), HasSubstr("a node has failed it")) << at;
    }
  }
  p.end();
}

/// Gives items for ever, or one for each.
struct ForEver {
  std::uint32_t from;
  struct Cursor {
    std::uint32_t k;
  };
  static constexpr unsigned max_gain = 1;
  HIWAY_DEVICE Cursor start(Thing const&) const { return {0}; }
  HIWAY_DEVICE bool more(Thing const& t, Cursor const& c) const { return t.x >= from || c.k == 0; }
  HIWAY_DEVICE Thing next(Thing const& t, Cursor& c) const { return {++c.k, t.place, t.fails_at}; }
};
TYPED_TEST(ScopesInSegment, EndOnceTheyAreCancelledAlsoInASuspendedNode) {
  HIWAY_NEEDS_DEVICE();
  auto p = jobs<TypeParam::shape>(
      [](auto& back) { return chain(node("for ever", ForEver{1000}), node("drops", Drops{2}), into(back)); });
  p.pipe.start();
  Scope endless = p.scopes->open_h();
  Scope other = p.scopes->open_h();
  for (std::uint32_t i = 0; i != 25; ++i) {  // the tunnel has room for all: a busy segment takes no more
    p.put(endless, i % 2 == 0 ? 1000 + i : 1);
    p.put(other, 1);
  }
  endless.close_h();
  other.close_h();
  while (p.came[endless.index()].items == 0) std::this_thread::sleep_for(1ms);
  EXPECT_FALSE(endless.wait_for(10ms));
  endless.cancel();
  EXPECT_THAT(text_of_error<ScopeCancelled>([&] { endless.wait(); }), HasSubstr("cancelled"));
  other.wait();
  EXPECT_EQ(p.came[other.index()].take().items, 25u);
  p.end();
}
TYPED_TEST(ScopesInSegment, DropWhatWaitsOnceTheyAreCancelled) {
  HIWAY_NEEDS_DEVICE();
  Setting s;
  s.capacity = 8;
  auto p = jobs<TypeParam::shape>(
      [](auto& back) {
        return chain(node("1", Counts{1}), node("2", WideDrops{{2}}), node("3", Tiles<4>{3}), node("4", Spreads{4, 9}),
                     into(back));
      },
      s);
  p.holds = true;
  p.pipe.start();
  Scope job = p.scopes->open_h();
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i != 300; ++i) all += p.expected({i}).items;
  std::thread puts([&] {
    for (std::uint32_t i = 0; i != 300; ++i) p.put(job, i);
    job.close_h();
  });
  std::this_thread::sleep_for(20ms);
  job.cancel();
  std::this_thread::sleep_for(5ms);
  p.holds = false;
  puts.join();
  EXPECT_THAT(text_of_error<ScopeCancelled>([&] { job.wait(); }), HasSubstr("cancelled"));
  EXPECT_LT(p.came[job.index()].take().items, all);
  p.end();
}

struct FailsTheRun {
  HIWAY_DEVICE Thing operator()(Thing const& t) const {
    if (t.x % 64 == 50) fail("a bad item");
    return t;
  }
};
TYPED_TEST(ScopesInSegment, EndWithTheErrorOfTheirRun) {
  HIWAY_NEEDS_DEVICE();
  auto p = jobs<TypeParam::shape>([](auto& back) {
    return chain(node("spreads", Spreads{1, 6}), node("counts", Counts{2}), node("fails", FailsTheRun{}), into(back));
  });
  p.pipe.start();
  Scope failed = p.scopes->open_h();
  for (std::uint32_t i = 0; i != 300; ++i)
    (void)p.in.offer_h(Thing{i, static_cast<std::uint16_t>(failed.index())}, failed, 1s);
  EXPECT_THAT(text_of_error<Aborted>([&] { failed.wait(); }), HasSubstr("a bad item"));
  EXPECT_THAT(text_of_error<Error>([&] { p.pipe.wait(); }), HasSubstr("a bad item"));
  p.pipe.start();  // nothing is left of the first run
  Scope job = p.scopes->open_h();
  (void)p.came[job.index()].take();
  p.put(job, 7);
  job.close_h();
  job.wait();
  EXPECT_EQ(p.came[job.index()].take(), p.expected({7}));
  p.end();
}

TEST(ScopesInSegmentOnce, ATunnelOfOtherScopesIsRefused) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  Scopes& scopes = pipe.create_scopes("jobs");
  Scopes& others = pipe.create_scopes("others");
  auto& there = pipe.create_tunnel<Thing>("there", Direction::cpu_to_gpu, {.scopes = &scopes});
  auto& back = pipe.create_tunnel<Thing>("back", Direction::gpu_to_cpu, {.scopes = &others});
  Inlet<Thing> in = there.open_inlet();
  pipe.add_segment<small>("segment", from(there), node("drops", Drops{1}, into(back)), one_warp());
  pipe.add_cpu_stage(
      "none", [](Thing const&) {}, from(back));
  pipe.start();
  Scope job = scopes.open_h();
  in.put_h({1, static_cast<std::uint16_t>(job.index())}, job);
  EXPECT_THAT(text_of_error<Error>([&] { pipe.wait(); }), HasSubstr("put into a tunnel with scopes"));
}

}  // namespace
}  // namespace hiway::segment_test
