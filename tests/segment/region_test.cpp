// Regions: what is opened is closed with the values of just its own elements, whatever the context of the nodes
// between, however short queues and arenas are.
#include <algorithm>
#include <cstdint>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/segment/shapes.hpp"
#include "tests/segment/tree_nodes.hpp"

namespace hiway::segment_test {

/// So many numbers, from `first` on.
struct Region {
  std::uint32_t number;
  std::uint32_t first;
  std::uint32_t count;
};
/// What an element is: a hash of its place.
HIWAY_DEVICE inline std::uint32_t element(std::uint32_t place) { return (place ^ place >> 7) * 2654435761u >> 3; }
struct Elements {
  HIWAY_DEVICE unsigned count(Region const& r) const { return r.count; }
  HIWAY_DEVICE std::uint32_t at(Region const& r, unsigned k) const { return element(r.first + k); }
};
/// One of which fails.
struct FailingElements {
  std::uint32_t bad;
  HIWAY_DEVICE unsigned count(Region const& r) const { return r.count; }
  HIWAY_DEVICE std::uint32_t at(Region const& r, unsigned k) const {
    if (r.first + k == bad) fail("a bad element came");
    return element(r.first + k);
  }
};
/// Of them those that are no multiples of 3; four at once.
struct SomeElements {
  static constexpr unsigned items_per_lane = 4;
  HIWAY_DEVICE unsigned count(Region const& r) const { return r.count; }
  HIWAY_DEVICE Maybe<std::uint32_t> at(Region const& r, unsigned k) const {
    std::uint32_t const x = element(r.first + k);
    return x % 3 == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x);
  }
};
/// Drops multiples of 5, adds the region's number; counts what begins and ends, in two words.
struct AddNumber {
  Word<std::uint64_t>* counts;
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(std::uint32_t const& x, Region const& r) const {
    return x % 5 == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x + r.number);
  }
  HIWAY_DEVICE void begin(Region const& r) const {
    anywhere([&](auto m) { m.fetch_add(counts[0], std::uint64_t{r.number} + 1, MemoryOrder::relaxed); });
  }
  HIWAY_DEVICE void end(Region const& r) const {
    anywhere([&](auto m) { m.fetch_add(counts[1], std::uint64_t{r.number} + 1, MemoryOrder::relaxed); });
  }
};
struct TwoOfThree {
  HIWAY_DEVICE Maybe<std::uint32_t> operator()(std::uint32_t const& x) const {
    return x % 3 == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(x);
  }
};
/// None to two items of x, which knows its region.
struct SpreadInRegion {
  struct Cursor {
    std::uint32_t k, n;
  };
  HIWAY_DEVICE Cursor start(std::uint32_t const& x, Region const& r) const { return {0, (x + r.number) % 3}; }
  HIWAY_DEVICE bool more(std::uint32_t const&, Cursor const& c) const { return c.k != c.n; }
  HIWAY_DEVICE std::uint32_t next(std::uint32_t const& x, Cursor& c, Region const& r) const {
    return offspring(x, c.k++) ^ r.number;
  }
};
struct NumberedInRegion {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x, Region const& r) const { return (x + r.number) % 3; }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const& x, unsigned k, Region const& r) const {
    return offspring(x, k) ^ r.number;
  }
};
struct Total {
  std::uint32_t number;
  std::uint32_t items;
  std::uint64_t sum;
  friend bool operator==(Total const& a, Total const& b) {
    return a.number == b.number && a.items == b.items && a.sum == b.sum;
  }
  friend std::ostream& operator<<(std::ostream& out, Total const& t) {
    return out << t.number << ": " << t.items << " items, " << t.sum;
  }
};
struct Sum {
  struct Value {
    std::uint64_t sum;
    std::uint32_t items;
  };
  HIWAY_DEVICE Value identity() const { return {0, 0}; }
  HIWAY_DEVICE Value value(std::uint32_t const& x) const { return {x, 1}; }
  HIWAY_DEVICE Value join(Value const& a, Value const& b) const { return {a.sum + b.sum, a.items + b.items}; }
  HIWAY_DEVICE Total close(Region const& r, Value const& v) const { return {r.number, v.items, v.sum}; }
};
/// Of regions with items alone; each item is weighed by its region.
struct WeighedSum {
  using Value = Sum::Value;
  HIWAY_DEVICE Value identity() const { return {0, 0}; }
  HIWAY_DEVICE Value value(std::uint32_t const& x, Region const& r) const { return {x * std::uint64_t{r.number}, 1}; }
  HIWAY_DEVICE Value join(Value const& a, Value const& b) const { return {a.sum + b.sum, a.items + b.items}; }
  HIWAY_DEVICE Maybe<Total> close(Region const& r, Value const& v) const {
    return v.items == 0 ? Maybe<Total>() : Maybe<Total>(Total{r.number, v.items, v.sum});
  }
};
/// Not every item, to each of two channels.
struct ToBoth {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, Region const& r, Emit<std::uint32_t>& a,
                               Emit<std::uint32_t>& b) const {
    if (x % 2 == 0) a.put(x);
    if ((x + r.number) % 7 != 0) b.put(x);
  }
};

/// Of a region its parts are regions: as many as `count`, of 0 to 4 elements.
struct Part {
  std::uint32_t number, first, count, whole;
};
struct Parts {
  HIWAY_DEVICE static std::uint32_t size(std::uint32_t place) { return element(place) % 5; }
  HIWAY_DEVICE unsigned count(Region const& r) const { return r.count; }
  HIWAY_DEVICE Part at(Region const& r, unsigned k) const {
    return {k, 4 * (r.first + k), size(r.first + k), r.number};
  }
};
struct PartElements {
  HIWAY_DEVICE unsigned count(Part const& p) const { return p.count; }
  HIWAY_DEVICE std::uint32_t at(Part const& p, unsigned k) const { return element(p.first + k); }
};
/// Fails where a part is in another region than its own; adds both numbers.
struct AddBoth {
  Word<std::uint64_t>* counts;  ///< parts that begin, and end
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x, Part const& p, Region const& r) const {
    if (p.whole != r.number) fail("a part is in another region");
    return x + p.number + r.number;
  }
  HIWAY_DEVICE void begin(Part const& p) const {
    anywhere([&](auto m) { m.fetch_add(counts[0], std::uint64_t{p.number} + 1, MemoryOrder::relaxed); });
  }
  HIWAY_DEVICE void end(Part const& p) const {
    anywhere([&](auto m) { m.fetch_add(counts[1], std::uint64_t{p.number} + 1, MemoryOrder::relaxed); });
  }
};
/// The sum of a part's items, where it is not 0.
struct SumOfPart {
  HIWAY_DEVICE std::uint32_t identity() const { return 0; }
  HIWAY_DEVICE std::uint32_t value(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint32_t join(std::uint32_t const& a, std::uint32_t const& b) const { return a + b; }
  HIWAY_DEVICE Maybe<std::uint32_t> close(Part const&, std::uint32_t const& v) const {
    return v == 0 ? Maybe<std::uint32_t>() : Maybe<std::uint32_t>(v);
  }
};

/// Several regions with their elements, or parts of regions, as they come through a tunnel.
struct Piece {
  static constexpr std::uint32_t most_parts = 9;
  static constexpr std::uint32_t most_elements = 101;
  struct Range {
    std::uint32_t number, first, count;
  };
  std::uint32_t parts;
  Range part[most_parts];
  std::uint32_t elements[most_elements];
};
static_assert(sizeof(Piece) > copied_bytes);
struct PassPiece {
  HIWAY_DEVICE Piece operator()(Piece const& piece) const { return piece; }
};
struct PartsOfPiece {
  HIWAY_DEVICE unsigned count(Piece const& piece) const { return piece.parts; }
  HIWAY_DEVICE Region at(Piece const& piece, unsigned k) const {
    return {piece.part[k].number, piece.part[k].first, piece.part[k].count};
  }
};
/// Elements lie in the piece that the part is of.
struct ElementsInPiece {
  static constexpr unsigned items_per_lane = 2;
  HIWAY_DEVICE unsigned count(Region const& r, Piece const&) const { return r.count; }
  HIWAY_DEVICE std::uint32_t at(Region const& r, unsigned k, Piece const& piece) const {
    return piece.elements[r.first + k];
  }
};

namespace {

using namespace segment;
using hiway_tests::bounded;
using hiway_tests::from_environment;

template <class>
struct Regions : testing::Test {};
using Shapes = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::block, Refill::lanes>,
                              Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(Regions, Shapes, ShapeNames);
// Refill is of expanders alone: trees without them get the same code from either.
template <class>
struct RegionsWithoutExpanders : testing::Test {};
using EachReplica = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(RegionsWithoutExpanders, EachReplica, ShapeNames);

std::vector<Region> regions_of(std::vector<std::uint32_t> const& counts) {
  std::vector<Region> all;
  std::uint32_t first = 0;
  for (std::uint32_t n : counts) {
    all.push_back({static_cast<std::uint32_t>(all.size()), first, n});
    first += n;
  }
  return all;
}
std::vector<std::uint32_t> random_counts(std::size_t n, std::uint32_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint32_t> counts(n);
  for (auto& c : counts) c = static_cast<std::uint32_t>(random() % (most + 1));
  return counts;
}
void add(Total& t, std::uint64_t x) {
  t.sum += x;
  ++t.items;
}
/// What `of(region, x, total)` makes of all elements.
template <class OfElement>
std::vector<Total> totals(std::vector<Region> const& regions, OfElement&& of) {
  std::vector<Total> all;
  for (Region const& r : regions) {
    Total t{r.number, 0, 0};
    for (std::uint32_t k = 0; k != r.count; ++k) of(r, element(r.first + k), t);
    all.push_back(t);
  }
  return all;
}
std::vector<Total> sorted(Buffer<Total>& buffer, std::uint64_t n) {
  std::vector<Total> got(n);
  buffer.copy_out(std::span(got));
  std::ranges::sort(got, {}, &Total::number);
  return got;
}

struct Setting {
  Context context;
  unsigned region_slots;
  unsigned signal_slots;
  int spare;  ///< slots of queues above the least; -1: as the library chooses
  unsigned blocks = 1;
};
std::ostream& operator<<(std::ostream& out, Setting const& s) {
  return out << "context " << static_cast<int>(s.context) << ", " << s.region_slots << " parents, " << s.signal_slots
             << " marks, " << s.spare << " spare slots, " << s.blocks << " blocks";
}
std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (Context const context : {Context::sparse, Context::lane, Context::dense}) {
    for (unsigned const slots : {0u, 1u, 2u, 128u}) {
      all.push_back({context, slots, 0, -1});
      all.push_back({context, slots, 3, 1});
    }
    all.push_back({context, 0, 1, 0});
    all.push_back({context, 0, 0, -1, 3});
  }
  return all;
}
SegmentConfig config_of(Setting const& s, unsigned lanes) {
  SegmentConfig config;
  config.blocks = s.blocks;
  config.threads_per_block = lanes;
  config.guard_bytes = 64;
  config.context = s.context;
  config.region_slots = s.region_slots;
  config.signal_slots = s.signal_slots;
  return config;
}
template <Shape shape>
inline constexpr unsigned lanes_of = shape.replica == ReplicaOf::warp ? 32 : 64;

NodeOptions slots_of(Setting const& s, std::uint32_t least) {
  return {.queue_slots = s.spare < 0 ? 0 : least + static_cast<std::uint32_t>(s.spare)};
}

template <Shape shape>
void expect_sums(std::vector<std::uint32_t> const& counts, Setting const& s) {
  SCOPED_TRACE(testing::Message() << counts.size() << " regions, the first of " << (counts.empty() ? 0 : counts[0])
                                  << ", " << s);
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(counts);
  Pipeline pipe(bounded());
  auto& in = pipe.create_buffer<Region>(regions.size() + 1);
  in.copy_in(regions);
  auto& out = pipe.create_buffer<Total>(regions.size() + 1);
  auto& segment = pipe.add_segment<shape>(
      "sums", load(in, regions.size()),
      chain(enumerate("open", Elements{}), aggregate("sum", Sum{}, slots_of(s, 2 * v - 1)), store("out", out)),
      config_of(s, v));
  auto const expected = totals(regions, [](Region const&, std::uint32_t x, Total& t) { add(t, x); });
  for (unsigned run = 0; run != s.blocks; ++run) {
    pipe.run();
    EXPECT_THAT(sorted(out, segment.items("out")), testing::ElementsAreArray(expected));
  }
}

TYPED_TEST(RegionsWithoutExpanders, SumsAreExact) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  for (Setting const& s : settings()) {
    for (std::uint32_t const n : {0u, 1u, 31u, 32u, 33u, 127u, 128u, 129u, 2048u})
      expect_sums<shape>(std::vector<std::uint32_t>(n > 1000 ? 2 : 35, n), s);
    expect_sums<shape>(random_counts(200, 1, 1), s);
    expect_sums<shape>(random_counts(150, 5, 2), s);
    expect_sums<shape>(random_counts(40, 300, 3), s);
    expect_sums<shape>({}, s);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(RegionsWithoutExpanders, EndTheRunWhereAnElementFails) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(random_counts(100, 40, 5));
  for (Context const context : {Context::sparse, Context::lane, Context::dense}) {
    for (std::uint32_t const bad : {0u, 1u, 31u, 32u, 700u, regions.back().first}) {
      SCOPED_TRACE(testing::Message() << "context " << static_cast<int>(context) << ", element " << bad);
      Pipeline pipe(bounded());
      auto& in = pipe.create_buffer<Region>(regions.size());
      in.copy_in(regions);
      auto& out = pipe.create_buffer<Total>(regions.size());
      pipe.add_segment<shape>("sums", load(in, regions.size()),
                              chain(enumerate("open", FailingElements{bad}),
                                    aggregate("sum", Sum{}, NodeOptions{.queue_slots = 2 * v - 1}), store("out", out)),
                              config_of({context, 0, 0, -1, 3}, v));
      EXPECT_EQ(hiway_tests::text_of_error<StageError>([&] { pipe.run(); }), "stage 'sums': a bad element came");
    }
  }
}

/// Between opening and closing: functions that know their regions, and hear where they begin and end.
template <Shape shape, class Spread>
void expect_chain(std::vector<std::uint32_t> const& counts, Spread spread, Setting const& s) {
  SCOPED_TRACE(testing::Message() << counts.size() << " regions, the first of " << (counts.empty() ? 0 : counts[0])
                                  << ", " << s);
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(counts);
  Pipeline pipe(bounded());
  auto& in = pipe.create_buffer<Region>(regions.size() + 1);
  in.copy_in(regions);
  auto& out = pipe.create_buffer<Total>(regions.size() + 1);
  auto& heard = pipe.create_buffer<Word<std::uint64_t>>(2);
  heard.copy_in(std::vector<Word<std::uint64_t>>(2));
  auto& segment = pipe.add_segment<shape>(
      "chain", load(in, regions.size()),
      chain(enumerate("open", SomeElements{}), node("add", AddNumber{heard.view().data}, slots_of(s, 5 * v - 1)),
            node("spread", spread, slots_of(s, 2 * v - 1)), node("drop", DropMultiples{}, slots_of(s, 2 * v - 1)),
            aggregate("sum", WeighedSum{}, slots_of(s, 2 * v - 1)), store("out", out)),
      config_of(s, v));
  auto expected = totals(regions, [&](Region const& r, std::uint32_t x, Total& t) {
    if (x % 3 == 0 || x % 5 == 0) return;
    x += r.number;
    for (std::uint32_t k = 0; k != (x + r.number) % 3; ++k) {
      std::uint32_t const y = offspring(x, k) ^ r.number;
      if (y % 3 != 0) add(t, y * std::uint64_t{r.number});
    }
  });
  std::erase_if(expected, [](Total const& t) { return t.items == 0; });
  pipe.run();
  EXPECT_THAT(sorted(out, segment.items("out")), testing::ElementsAreArray(expected));
  std::uint64_t const all = std::uint64_t{regions.size()} * (regions.size() + 1) / 2;
  std::vector<Word<std::uint64_t>> got(2);
  heard.copy_out(std::span(got));
  EXPECT_EQ(got[0].bits, all);
  EXPECT_EQ(got[1].bits, all);
}

TYPED_TEST(Regions, NodesInsideKnowTheirRegion) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  for (Setting const& s : settings()) {
    for (std::uint32_t const n : {0u, 33u, 129u}) {
      expect_chain<shape>(std::vector<std::uint32_t>(25, n), SpreadInRegion{}, s);
      expect_chain<shape>(std::vector<std::uint32_t>(25, n), NumberedInRegion{}, s);
    }
    expect_chain<shape>(random_counts(100, 1, 1), SpreadInRegion{}, s);
    expect_chain<shape>(random_counts(100, 40, 2), SpreadInRegion{}, s);
    expect_chain<shape>(random_counts(100, 40, 3), NumberedInRegion{}, s);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(Regions, EndOnEachChannelOfATree) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(random_counts(80, 60, 4));
  for (Setting const& s : settings()) {
    SCOPED_TRACE(testing::Message() << s);
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer(std::span(regions));
    auto& a = pipe.create_buffer<Total>(regions.size());
    auto& b = pipe.create_buffer<Total>(regions.size());
    auto& segment = pipe.add_segment<shape>(
        "tree", load(in),
        chain(enumerate("open", Elements{}),
              node("both", ToBoth{}, slots_of(s, 2 * v - 1),
                   node("again", ToBoth{}, slots_of(s, 2 * v - 1),
                        aggregate("evens", Sum{}, slots_of(s, 2 * v - 1), store("a", a)), count<std::uint32_t>("rest")),
                   chain(node("spread", SpreadInRegion{}, slots_of(s, 2 * v - 1)),
                         aggregate("sevens", WeighedSum{}, slots_of(s, 2 * v - 1)), store("b", b)))),
        config_of(s, v));
    std::uint64_t rest = 0;
    auto const evens = totals(regions, [&](Region const& r, std::uint32_t x, Total& t) {
      if (x % 2 != 0) return;
      add(t, x);
      if ((x + r.number) % 7 != 0) ++rest;
    });
    auto sevens = totals(regions, [](Region const& r, std::uint32_t x, Total& t) {
      for (std::uint32_t k = 0; (x + r.number) % 7 != 0 && k != (x + r.number) % 3; ++k)
        add(t, (offspring(x, k) ^ r.number) * std::uint64_t{r.number});
    });
    std::erase_if(sevens, [](Total const& t) { return t.items == 0; });
    pipe.run();
    EXPECT_THAT(sorted(a, segment.items("a")), testing::ElementsAreArray(evens));
    EXPECT_THAT(sorted(b, segment.items("b")), testing::ElementsAreArray(sevens));
    EXPECT_EQ(segment.items("rest"), rest);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(RegionsWithoutExpanders, Nest) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<std::uint32_t> counts = random_counts(80, 40, 5);
  for (std::size_t i = 0; i < counts.size(); i += 2) counts[i] = 0;  // half of them empty
  std::vector<Region> const regions = regions_of(counts);
  for (Setting const& s : settings()) {
    SCOPED_TRACE(testing::Message() << s);
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer(std::span(regions));
    auto& out = pipe.create_buffer<Total>(regions.size());
    auto& heard = pipe.create_buffer<Word<std::uint64_t>>(4);
    heard.copy_in(std::vector<Word<std::uint64_t>>(4));
    auto* const words = heard.view().data;
    auto& segment = pipe.add_segment<shape>(
        "nested", load(in),
        chain(enumerate("open", Parts{}), enumerate("open part", PartElements{}, slots_of(s, 2 * v - 1)),
              node("add", AddBoth{words}, slots_of(s, 2 * v - 1)),
              aggregate("sum of part", SumOfPart{}, slots_of(s, 2 * v - 1)),
              node("add number", AddNumber{words + 2}, slots_of(s, 2 * v - 1)),
              aggregate("sum", Sum{}, slots_of(s, 2 * v - 1)), store("out", out)),
        config_of(s, v));
    std::uint64_t parts = 0;
    std::uint64_t all = 0;
    std::vector<Total> expected;
    for (Region const& r : regions) {
      Total t{r.number, 0, 0};
      all += r.number + 1;
      for (std::uint32_t k = 0; k != r.count; ++k) {
        Part const p = Parts{}.at(r, k);
        parts += k + 1;
        std::uint32_t sum = 0;
        for (std::uint32_t e = 0; e != p.count; ++e) sum += element(p.first + e) + k + r.number;
        if (sum != 0 && sum % 5 != 0) add(t, sum + r.number);
      }
      expected.push_back(t);
    }
    pipe.run();
    EXPECT_THAT(sorted(out, segment.items("out")), testing::ElementsAreArray(expected));
    std::vector<Word<std::uint64_t>> got(4);
    heard.copy_out(std::span(got));
    EXPECT_EQ(got[0].bits, parts);
    EXPECT_EQ(got[1].bits, parts);
    EXPECT_EQ(got[2].bits, all);
    EXPECT_EQ(got[3].bits, all);
    if (testing::Test::HasFailure()) return;
  }
}

TYPED_TEST(RegionsWithoutExpanders, ComeByTunnelsAndLeaveByThem) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  std::vector<Region> const regions = regions_of(random_counts(700, 90, 6));
  auto const expected = totals(regions, [](Region const&, std::uint32_t x, Total& t) { add(t, x); });
  for (Context const context : {Context::sparse, Context::lane, Context::dense}) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_tunnel<Region>("in", Direction::cpu_to_gpu, {.capacity_items = 64});
    auto& out = pipe.create_tunnel<Total>("out", Direction::gpu_to_cpu, {.capacity_items = 64});
    pipe.add_cpu_stage(
        "send",
        [&](Inlet<Region> inlet) {
          for (Region const& r : regions) inlet.put_h(r);
        },
        into(in));
    SegmentConfig config;
    config.blocks = 2;
    config.threads_per_block = lanes_of<shape>;
    config.context = context;
    pipe.add_segment<shape>("sums", from(in), chain(enumerate("open", Elements{}), aggregate("sum", Sum{}), into(out)),
                            config);
    std::vector<Total> got;
    pipe.add_cpu_stage(
        "keep", [&](Outlet<Total> outlet) { outlet.for_each_h([&](Total const& t) { got.push_back(t); }); }, from(out));
    pipe.run();
    std::ranges::sort(got, {}, &Total::number);
    EXPECT_THAT(got, testing::ElementsAreArray(expected));
  }
}

// HIWAY_REGIONS: how many in all; HIWAY_SEED: where to begin.
/// The regions cut into pieces, wherever one is full.
std::vector<Piece> pieces_of(std::vector<Region> const& regions) {
  std::vector<Piece> all;
  std::uint32_t used = 0;
  auto const begin = [&] {
    all.push_back({});
    used = 0;
  };
  begin();
  for (Region const& r : regions) {
    std::uint32_t done = 0;
    do {
      if (all.back().parts == Piece::most_parts || used == Piece::most_elements) begin();
      Piece& piece = all.back();
      std::uint32_t const n = std::min(r.count - done, Piece::most_elements - used);
      piece.part[piece.parts++] = {r.number, used, n};
      for (std::uint32_t k = 0; k != n; ++k) piece.elements[used + k] = element(r.first + done + k);
      used += n;
      done += n;
    } while (done != r.count);
  }
  return all;
}

/// Adds up what came of a region in several parts.
std::vector<Total> joined(std::vector<Total> parts) {
  std::ranges::sort(parts, {}, &Total::number);
  std::vector<Total> all;
  for (Total const& t : parts) {
    if (all.empty() || all.back().number != t.number) all.push_back({t.number, 0, 0});
    all.back().items += t.items;
    all.back().sum += t.sum;
  }
  return all;
}

TYPED_TEST(RegionsWithoutExpanders, LieInLargeParentsThatWhoOpensThemReads) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(random_counts(100, 150, 7));
  std::vector<Piece> const pieces = pieces_of(regions);
  auto const expected = totals(regions, [](Region const&, std::uint32_t x, Total& t) { add(t, x); });
  for (Setting const& s : settings()) {
    SCOPED_TRACE(testing::Message() << s);
    for (bool const by_tunnel : {true, false}) {
      SCOPED_TRACE(by_tunnel ? "by a tunnel" : "from a buffer");
      Pipeline pipe(bounded());
      auto& out = pipe.create_buffer<Total>(regions.size() + pieces.size());
      auto const tree = chain(enumerate("pieces", PartsOfPiece{}, slots_of(s, 1)), enumerate("open", ElementsInPiece{}),
                              aggregate("sum", Sum{}, slots_of(s, 3 * v - 1)), store("out", out));
      SegmentBase* segment = nullptr;
      if (by_tunnel) {
        auto& in = pipe.create_tunnel<Piece>("in", Direction::cpu_to_gpu, {.capacity_items = 16});
        pipe.add_cpu_stage(
            "send", [&](Inlet<Piece> inlet) { inlet.put_h(std::span(pieces)); }, into(in));
        segment = &pipe.add_segment<shape>("sums", from(in), tree, config_of(s, v));
      } else {
        auto& in = pipe.create_buffer(std::span(pieces));
        segment = &pipe.add_segment<shape>("sums", load(in), tree, config_of(s, v));
      }
      pipe.run();
      EXPECT_THAT(joined(sorted(out, segment->items("out"))), testing::ElementsAreArray(expected));
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// Not the root: several of them are opened at once.
TYPED_TEST(RegionsWithoutExpanders, LieInLargeParentsThatANodeHasPassedOn) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(random_counts(100, 150, 8));
  std::vector<Piece> const pieces = pieces_of(regions);
  auto const expected = totals(regions, [](Region const&, std::uint32_t x, Total& t) { add(t, x); });
  for (unsigned const slots : {0u, 1u, 7u}) {
    SCOPED_TRACE(slots);
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer(std::span(pieces));
    auto& out = pipe.create_buffer<Total>(regions.size() + pieces.size());
    Setting const s{Context::lane, slots, 0, -1};
    auto& segment =
        pipe.add_segment<shape>("sums", load(in),
                                chain(node("pass", PassPiece{}), enumerate("pieces", PartsOfPiece{}),
                                      enumerate("open", ElementsInPiece{}), aggregate("sum", Sum{}), store("out", out)),
                                config_of(s, v));
    pipe.run();
    EXPECT_THAT(joined(sorted(out, segment.items("out"))), testing::ElementsAreArray(expected));
  }
}

TYPED_TEST(Regions, RandomOnesAreLikeLoops) {
  HIWAY_NEEDS_DEVICE();
  std::uint64_t const regions = from_environment("HIWAY_REGIONS", 3000);
  std::mt19937 random(static_cast<unsigned>(from_environment("HIWAY_SEED", 1)));
  auto const below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (std::uint64_t done = 0; done < regions;) {
    Setting s{};
    s.context = static_cast<Context>(below(4));
    s.region_slots = below(1u << below(8));
    s.signal_slots = below(1u << below(7));
    s.spare = static_cast<int>(below(200)) - 1;
    s.blocks = 1 + below(3);
    auto const counts = random_counts(1 + below(300), 1 + below(1u << below(9)), static_cast<unsigned>(random()));
    below(2) == 0 ? expect_chain<TypeParam::shape>(counts, SpreadInRegion{}, s)
                  : expect_chain<TypeParam::shape>(counts, NumberedInRegion{}, s);
    if (testing::Test::HasFailure()) return;
    done += counts.size();
  }
}

TYPED_TEST(RegionsWithoutExpanders, ShorterThanTheLanesFillThem) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr unsigned v = lanes_of<shape>;
  std::vector<Region> const regions = regions_of(std::vector<std::uint32_t>(3000, 20));
  std::uint64_t left = 0;
  for (std::uint32_t place = 0; place != 60000; ++place) left += element(place) % 3 != 0 ? 1 : 0;
  for (Context const context : {Context::lane, Context::dense, Context::sparse}) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer(std::span(regions));
    auto& out = pipe.create_buffer<Total>(regions.size());
    SegmentConfig config;
    config.blocks = 1;
    config.threads_per_block = v;
    config.context = context;
    auto& segment = pipe.add_segment<shape>(
        "full", load(in), chain(enumerate("open", SomeElements{}), aggregate("sum", Sum{}), store("out", out)), config);
    pipe.run();
    NodeCounters const c = segment.node_counters()[1].counters;
    EXPECT_EQ(c.items, left);
    EXPECT_EQ(c.outputs, 3000u);
    double const full = static_cast<double>(c.full) / static_cast<double>(c.ensembles);
    EXPECT_GE(full, context == Context::sparse ? 0 : 0.99);
    EXPECT_LE(full, context == Context::sparse ? 0 : 1);
  }
}

struct Pass {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x; }
};

// An item's slot has its own bytes alone, but for a tag where the context is dense.
TEST(RegionContexts, AreChosenByKindAndLength) {
  HIWAY_NEEDS_DEVICE();
  auto const queues = [](SegmentConfig config, double elements, NodeOptions filter) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer<Region>(1);
    auto& out = pipe.create_buffer<Total>(1);
    config.blocks = 1;
    config.threads_per_block = 32;
    auto& segment = pipe.add_segment<Shape{ReplicaOf::warp}>(
        "contexts", load(in),
        chain(enumerate("open", Elements{}, NodeOptions{.gain = elements}), node("filter", Pass{}, filter),
              node("spread", SpreadInRegion{}), node("wide", Wide<2>{3}), aggregate("sum", Sum{}), store("out", out)),
        config);
    pipe.prepare();
    return segment.queues();
  };
  auto const contexts = [&](SegmentConfig const& config, double elements, NodeOptions filter = {}) {
    std::vector<Context> all;
    for (QueueSize const& q : queues(config, elements, filter)) all.push_back(q.context);
    return all;
  };
  using enum Context;
  using All = std::vector<Context>;
  // What mixes regions would need a tag behind it, and what takes two items a lane knows none.
  EXPECT_EQ(contexts({}, 1), (All{sparse, lane, sparse, sparse, lane}));
  EXPECT_EQ(contexts({.context = dense}, 1), (All{sparse, dense, sparse, sparse, dense}));
  EXPECT_EQ(contexts({.context = lane}, 1, {.context = sparse}), (All{sparse, sparse, sparse, sparse, lane}));
  QueueSize const without = queues({.context = lane}, 1, {.queue_slots = 100})[1];
  QueueSize const with = queues({.context = dense}, 1, {.queue_slots = 100})[1];
  EXPECT_EQ(with.bytes - without.bytes, 2u * 100);
  std::size_t const marks = (64 * sizeof(Mark<Boundary>) + 15) / 16 * 16;
  EXPECT_EQ(without.bytes, 100 * sizeof(std::uint32_t) + marks);
}
TEST(RegionContexts, OfAnExpanderAreDenseWhereRegionsAreShort) {
  HIWAY_NEEDS_DEVICE();
  for (double const elements : {31.0, 32.0}) {
    Pipeline pipe(bounded());
    auto& in = pipe.create_buffer<Region>(1);
    auto& out = pipe.create_buffer<Total>(1);
    SegmentConfig config;
    config.blocks = 1;
    config.threads_per_block = 32;
    auto& segment = pipe.add_segment<Shape{ReplicaOf::warp}>(
        "contexts", load(in),
        chain(enumerate("open", Elements{}, NodeOptions{.gain = elements}), node("spread", SpreadInRegion{}),
              aggregate("sum", Sum{}), store("out", out)),
        config);
    pipe.prepare();
    EXPECT_EQ(segment.queues()[1].context, elements < 32 ? Context::dense : Context::sparse);
    EXPECT_EQ(segment.queues()[2].context, elements < 32 ? Context::dense : Context::lane);
  }
}
TEST(RegionContexts, OfAnExpanderAreByTheLengthsOfTheRunBefore) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto const of_length = [](std::uint32_t n) { return regions_of(std::vector<std::uint32_t>(60, n)); };
  auto& in = pipe.create_buffer<Region>(60);
  auto& out = pipe.create_buffer<Total>(60);
  SegmentConfig config;
  config.blocks = 2;
  config.threads_per_block = 32;
  config.guard_bytes = 64;
  auto& segment = pipe.add_segment<Shape{ReplicaOf::warp}>(
      "contexts", load(in),
      chain(enumerate("open", Elements{}, NodeOptions{.gain = 1000}), node("some", TwoOfThree{}),
            node("spread", SpreadInRegion{}), aggregate("sum", Sum{}), store("out", out)),
      config);
  struct Run {
    std::uint32_t length;
    bool is_dense;
  };
  // One element of three is dropped: of 60 some 40 come to the expander, of 40 some 27.
  for (Run const& run :
       {Run{3, false}, Run{3, true}, Run{60, true}, Run{40, false}, Run{0, true}, Run{60, true}, Run{60, false}}) {
    std::vector<Region> const regions = of_length(run.length);
    in.copy_in(regions);
    pipe.run();
    EXPECT_EQ(segment.queues()[1].context, Context::lane);
    EXPECT_EQ(segment.queues()[2].context, run.is_dense ? Context::dense : Context::sparse) << run.length;
    EXPECT_EQ(segment.queues()[3].context, run.is_dense ? Context::dense : Context::lane) << run.length;
    auto const expected = totals(regions, [](Region const& r, std::uint32_t x, Total& t) {
      if (Maybe<std::uint32_t> const passed = TwoOfThree{}(x); passed.ok) {
        for (std::uint32_t k = 0; k != (passed.value + r.number) % 3; ++k)
          add(t, offspring(passed.value, k) ^ r.number);
      }
    });
    EXPECT_THAT(sorted(out, segment.items("out")), testing::ElementsAreArray(expected));
  }
}
TEST(RegionContexts, ArenasHaveAMostSize) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_buffer<Region>(1);
  EXPECT_THAT(
      [&] {
        pipe.add_segment<Shape{}>("large", load(in),
                                  chain(enumerate("open", Elements{}), count<std::uint32_t>("elements")),
                                  SegmentConfig{.region_slots = 65535});
      },
      testing::ThrowsMessage<ConfigError>(
          testing::HasSubstr("segment 'large': region_slots must be 0 to 65534: 65535")));
}

}  // namespace
}  // namespace hiway::segment_test
