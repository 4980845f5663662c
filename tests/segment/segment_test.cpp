// Segments in whole pipelines, in every shape: what comes out is what a loop on the CPU makes, whatever the sizes of queues,
// the nodes that suspend and the replicas; the schedule is the one that is promised; and errors end a run and say what.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gmock/gmock.h>

#include "hiway/segment/compose.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/segment/shapes.hpp"
#include "tests/segment/tree_nodes.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

template <class>
struct Segments : testing::Test {};
using Shapes = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::warp, Refill::ensembles>,
                              Of<ReplicaOf::block, Refill::lanes>, Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(Segments, Shapes, ShapeNames);
// Refill is of expanders alone: trees without them get the same code from either, so each is compiled once.
template <class>
struct SegmentsWithoutExpanders : testing::Test {};
using EachReplica = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(SegmentsWithoutExpanders, EachReplica, ShapeNames);

constexpr unsigned threads = 64;  // of a block
template <Shape shape>
constexpr std::uint32_t lanes_of = shape.replica == ReplicaOf::warp ? 32 : threads;

constexpr std::chrono::nanoseconds at_once{0};

/// Two blocks, with guarded queues, that lend as soon as one has nothing left.
SegmentConfig guarded(unsigned blocks = 2) {
  SegmentConfig config;
  config.blocks = blocks;
  config.threads_per_block = threads;
  config.guard_bytes = 64;
  config.lend_after = at_once;
  return config;
}

/// The fewest slots of a queue whose parent puts `gain` items of one between two looks at it, by lanes `v`.
constexpr std::uint32_t least(std::uint32_t gain, std::uint32_t v) { return gain * v + v - 1; }

/// What a node counted in all replicas together.
NodeCounters sum_of(SegmentBase const& segment, std::string_view node) {
  for (CountersOfNode const& c : segment.node_counters()) {
    if (c.node == node) return c.counters;
  }
  return {};
}
NodeCounters sum_of_all(SegmentBase const& segment) {
  NodeCounters sum;
  for (CountersOfNode const& c : segment.node_counters()) sum.add(c.counters);
  return sum;
}

// ---- queens: a chain of expanders of one type

/// Nodes that suspend, and slots beyond the least.
struct QueueChoice {
  std::size_t interruptible = 99;  ///< the first of them
  int spare = -1;                  ///< -1: the library chooses
};
template <std::size_t... Row>
auto rows(std::uint32_t n, QueueChoice choice, std::uint32_t v, std::index_sequence<Row...>) {
  auto const options = [&](std::size_t row) {
    bool const parent_suspends = row == 0 || row - 1 < choice.interruptible;
    std::uint32_t const slots =
        least(parent_suspends ? 1 : Place::max_gain, v) + static_cast<std::uint32_t>(choice.spare);
    return NodeOptions{.interruptible = row < choice.interruptible,
                       .queue_slots = row == 0 || choice.spare < 0 ? 0 : slots};
  };
  return chain(node("row " + std::to_string(Row), Place{n}, options(Row))..., segment::count<Board>("solutions"));
}
template <Shape shape, std::size_t N, class Look>
void place_queens(QueueChoice choice, SegmentConfig config, Look look) {
  Pipeline pipe(bounded());
  Board const first{};
  auto& boards = pipe.create_buffer<Board>(std::span<Board const>(&first, 1));
  auto& queens = pipe.add_segment<shape>("queens", load(boards),
                                         rows(N, choice, lanes_of<shape>, std::make_index_sequence<N>{}), config);
  pipe.run();
  look(queens);
}

TYPED_TEST(Segments, CountTheSolutionsOfTheQueens) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  auto const expect = [](std::uint64_t solutions) {
    return [solutions](SegmentBase const& queens) { EXPECT_EQ(queens.items("solutions"), solutions); };
  };
  place_queens<shape, 8>({}, {}, expect(92));
  place_queens<shape, 10>({}, guarded(), expect(724));
  if (hiway_tests::from_environment("HIWAY_QUEENS", 0) >= 15) place_queens<shape, 15>({}, {}, expect(2279184));
}

TYPED_TEST(Segments, GiveTheSameWithQueuesOfAnySizeSuspendingOrNotInAnyNumberOfReplicas) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  for (std::size_t interruptible : {0, 4, 8}) {
    for (int spare : {0, 1, 17, 300}) {
      for (unsigned blocks : {1, 7, 16}) {
        SCOPED_TRACE(testing::Message() << interruptible << " suspend, " << spare << " spare slots, " << blocks
                                        << " blocks");
        SegmentConfig config = guarded(blocks);
        if (shape.replica == ReplicaOf::warp) config.threads_per_block = 32;
        place_queens<shape, 8>({interruptible, spare}, config, [&](SegmentBase const& queens) {
          EXPECT_EQ(queens.replicas(), blocks);
          EXPECT_EQ(queens.items("solutions"), 92u);
        });
      }
    }
  }
}

/// Boards with 0 to N queens.
template <std::size_t N>
constexpr std::array<std::uint64_t, N + 1> boards{};
template <>
constexpr std::array<std::uint64_t, 9> boards<8>{1, 8, 42, 140, 344, 568, 550, 312, 92};
template <>
constexpr std::array<std::uint64_t, 13> boards<12>{1,      12,     110,    756,    4080,  16852, 52856,
                                                   120104, 195270, 222720, 160964, 68264, 14200};

// 2v-1 slots hold no more than one vector beside the one that is worked on: nodes suspend.
TYPED_TEST(Segments, TakeAsManyItemsAtEachNodeAsThereAreBoards) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t n = TypeParam::shape.replica == ReplicaOf::warp ? 12 : 8;
  place_queens<TypeParam::shape, n>({n, 0}, guarded(), [&](SegmentBase const& queens) {
    for (unsigned row = 0; row != n; ++row) {
      NodeCounters const c = sum_of(queens, "row " + std::to_string(row));
      EXPECT_EQ(c.items, boards<n>[row]) << "row " << row;
      EXPECT_EQ(c.outputs, boards<n>[row + 1]) << "row " << row;
    }
    EXPECT_EQ(queens.items("solutions"), boards<n>[n]);
    EXPECT_GT(sum_of_all(queens).suspensions, 0u);
    // What is flushed shares ensembles with other rows.
    if (TypeParam::shape.refill == Refill::ensembles) {
      EXPECT_GT(sum_of_all(queens).shared, 0u);
    }
  });
}

TYPED_TEST(Segments, LendWorkToReplicasThatHaveNone) {
  HIWAY_NEEDS_DEVICE();
  for (auto lend_after : {at_once, never}) {
    SegmentConfig config = guarded(7);
    config.lend_after = lend_after;
    std::size_t busy = 0;
    // One board: one replica claims it. On a GPU it is over soon, but not before all have asked.
    place_queens<TypeParam::shape, 10>({10, 0}, config, [&](SegmentBase const& queens) {
      EXPECT_EQ(queens.items("solutions"), 724u);
      EXPECT_EQ(sum_of(queens, "row 9").outputs, 724u);
      for (CountersOf const& c : queens.counters()) busy += c.node == "row 8" && c.counters.items != 0 ? 1u : 0u;
    });
    if (lend_after == never) {
      EXPECT_EQ(busy, 1u);
    } else {
      EXPECT_GT(busy, 1u);
    }
  }
}

// ---- a chain with a node of each kind

struct Kinds {
  Gain steps{}, numbered{}, by_hand{}, together{}, long_steps{}, long_numbered{};
  bool interruptible = true;
  int spare = -1;  ///< slots beyond the least; -1: the library chooses
};
template <class Sink>
auto chain_of(Kinds const& k, std::uint32_t v, DropMultiples drop, Sink sink) {
  auto const options = [&](unsigned gain_of_parent) {
    std::uint32_t const slots = k.spare < 0 ? 0 : least(gain_of_parent, v) + static_cast<std::uint32_t>(k.spare);
    return NodeOptions{.interruptible = k.interruptible, .queue_slots = slots};
  };
  unsigned const few = k.interruptible ? 1 : 16;
  unsigned const many = k.interruptible ? 1 : 300;
  return chain(
      node("drop", drop, NodeOptions{}), node("steps", Steps<16>{k.steps}, options(1)),
      node("numbered", Numbered<16>{k.numbered}, options(few)), node("by hand", ByHand<16>{k.by_hand}, options(few)),
      node("together", Together<2>{k.together}, options(1)), node("long steps", Steps<300>{k.long_steps}, options(2)),
      node("long numbered", Numbered<300>{k.long_numbered}, options(many)), node("last", Together<2>{}, options(many)),
      sink);
}
using Numbers = std::vector<std::uint32_t>;

/// The items that come to each node of the chain, and out of it.
struct Expected {
  std::vector<std::size_t> items;
  Numbers out;
  Expected(Kinds const& k, std::uint64_t n, DropMultiples drop) {
    for (std::uint32_t x = 0; x != n; ++x) out.push_back(x);
    items.push_back(out.size());
    Numbers kept;
    for (std::uint32_t const x : out) {
      if (auto const y = drop(x); y.ok) kept.push_back(y.value);
    }
    out = kept;
    for (Gain const gain : {k.steps, k.numbered, k.by_hand, k.together, k.long_steps, k.long_numbered, Gain{}}) {
      items.push_back(out.size());
      Numbers next;
      for (std::uint32_t const x : out) {
        for (std::uint32_t i = 0; i != gain.of(x); ++i) next.push_back(offspring(x, i));
      }
      out = next;
    }
    std::sort(out.begin(), out.end());
  }
};
Numbers sorted_items(Buffer<std::uint32_t>& buffer, std::uint64_t n) {
  Numbers items(n);
  if (n != 0) buffer.copy_out(std::span(items));
  std::sort(items.begin(), items.end());
  return items;
}

/// FACTS 7, in its words: ensembles are items/v, and a node fires once for each time that it or a child is activated.
void expect_schedule(SegmentBase const& segment, std::vector<unsigned> const& gains) {
  std::uint64_t const v = segment.lanes();
  std::vector<std::vector<NodeCounters>> of(segment.replicas());
  for (CountersOf const& c : segment.counters()) of[c.replica].push_back(c.counters);
  for (std::vector<NodeCounters> const& nodes : of) {
    std::uint64_t below = 0;
    for (std::size_t i = nodes.size(); i-- != 0;) {
      std::string const& name = segment.nodes()[i].name;
      EXPECT_EQ(nodes[i].ensembles, (nodes[i].items + v - 1) / v) << name;
      EXPECT_GE(nodes[i].full + 1, nodes[i].ensembles) << name;
      // A range's root is activated by each of its claims, here of v items.
      std::uint64_t const span = segment.queues()[i].queue_slots - std::uint64_t{gains[i]} * v - v + 2;
      std::uint64_t const activations = i == 0 ? nodes[i].ensembles : nodes[i].items / span + 1;
      if (!hiway_tests::in_short_slices()) {  // these end firings
        EXPECT_LE(nodes[i].firings, activations + below) << name;
      }
      below = activations;
    }
  }
}

template <Shape shape>
void expect_kinds(Kinds const& k, std::uint64_t n, SegmentConfig config, DropMultiples drop = {5, 1}) {
  SCOPED_TRACE(testing::Message() << n << " items, " << k.spare << " spare slots, "
                                  << (k.interruptible ? "interruptible" : "not interruptible"));
  Expected const expected(k, n, drop);
  Pipeline pipe(bounded());
  auto& out = pipe.create_buffer<std::uint32_t>(std::max<std::size_t>(1, expected.out.size()));
  auto& kinds =
      pipe.add_segment<shape>("kinds", indices(n), chain_of(k, lanes_of<shape>, drop, store("out", out)), config);
  pipe.run();
  EXPECT_EQ(kinds.items("out"), expected.out.size());
  EXPECT_TRUE(sorted_items(out, std::min<std::uint64_t>(kinds.items("out"), out.size())) == expected.out);
  for (std::size_t i = 0; i != expected.items.size(); ++i)
    EXPECT_EQ(sum_of(kinds, kinds.nodes()[i].name).items, expected.items[i]) << kinds.nodes()[i].name;
  if (shape.refill == Refill::ensembles && config.lend_after == never) {
    unsigned const few = k.interruptible ? 1 : 16;
    unsigned const many = k.interruptible ? 1 : 300;
    expect_schedule(kinds, {1, 1, few, few, 1, 2, many, many});
  }
}

TYPED_TEST(Segments, TakeAnyNumberOfItems) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t v = lanes_of<TypeParam::shape>;
  for (std::uint64_t n : {0u, 1u, v - 1, v, v + 1, 1009u}) {
    expect_kinds<TypeParam::shape>({}, n, guarded());
    expect_kinds<TypeParam::shape>({.spare = 0}, n, guarded(1));
    expect_kinds<TypeParam::shape>({.steps = {0, 16}, .by_hand = {0, 3}}, n, guarded(3));
  }
}

TYPED_TEST(Segments, OfGainsUpTo300GiveEveryItemOnce) {
  HIWAY_NEEDS_DEVICE();
  for (bool interruptible : {true, false}) {
    for (auto lend_after : {at_once, never}) {
      for (int spare : {0, 700}) {
        if (lend_after == at_once && spare != 0) continue;
        SegmentConfig config = guarded();
        config.lend_after = lend_after;
        config.least_claim = config.most_claim = lanes_of<TypeParam::shape>;
        Kinds const any{.interruptible = interruptible, .spare = spare};
        Kinds of_each[5] = {any, any, any, any, any};
        of_each[0].steps = {16, 16};  // the worst of all lanes
        of_each[0].numbered = {0, 16};
        of_each[1].numbered = {16, 16};
        of_each[1].by_hand = {0, 16};
        of_each[2].by_hand = {16, 16};
        of_each[2].together = {2, 2};
        of_each[3].long_steps = {300, 300};
        of_each[4].long_numbered = {300, 300};
        for (Kinds const& k : of_each) expect_kinds<TypeParam::shape>(k, 41, config);
      }
    }
  }
}

// One ensemble leaves v items in the next queue, one slot too few for the worst of the next ensemble, which is just that.
TYPED_TEST(Segments, DoNotFireWhereOneSlotIsMissing) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr std::uint32_t v = lanes_of<shape>;
  SegmentConfig config = guarded(1);
  config.threads_per_block = v;
  config.least_claim = config.most_claim = v;
  // The numbers from 1 on. Lanes take the last of the first 2v-1 first.
  std::uint32_t const first = shape.refill == Refill::lanes ? v : 1;
  for (bool interruptible : {true, false}) {
    Kinds const k{.steps = {1, 16, first, first + v}, .interruptible = interruptible, .spare = 0};
    expect_kinds<shape>(k, 2 * v + 1, config, DropMultiples{~0u});
  }
}

// ---- ensembles of another width than lanes, and tables of a block

TYPED_TEST(SegmentsWithoutExpanders, TakeSeveralItemsALaneAndSeveralLanesAnItem) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr std::uint32_t v = lanes_of<shape>;
  for (std::uint32_t n : {0u, 1u, v, 4 * v - 1, 4 * v, 4 * v + 1, 2003u}) {
    for (int spare : {0, 50}) {
      SCOPED_TRACE(testing::Message() << n << " items, " << spare << " spare slots");
      std::vector<std::uint64_t> items;
      Numbers out;
      for (std::uint32_t x = 0; x != n; ++x) out.push_back(x);
      auto const keep = [&](std::uint32_t of) {
        items.push_back(out.size());
        std::erase_if(out, [&](std::uint32_t x) { return x % of == 0; });
      };
      keep(7);
      items.push_back(out.size());
      Numbers of_bits;
      for (std::uint32_t const x : out) {
        for (unsigned bit = 0; bit != 8; ++bit) {
          if (LowBits<8>::has(x, bit)) of_bits.push_back(offspring(x, bit));
        }
      }
      out = of_bits;
      keep(3);
      items.push_back(out.size());
      std::sort(out.begin(), out.end());

      SegmentConfig config = guarded(1);
      config.threads_per_block = v;
      config.lend_after = never;
      auto const slots = [&](std::uint32_t least) {
        return NodeOptions{.queue_slots = least + static_cast<unsigned>(spare)};
      };
      Pipeline pipe(bounded());
      auto& kept = pipe.create_buffer<std::uint32_t>(out.size() + 1);
      auto& wide =
          pipe.add_segment<shape>("wide", indices(n),
                                  chain(node("four", Wide<4>{7}), node("bits", LowBits<8>{}, slots(4 * v + v / 8 - 1)),
                                        node("two", Wide<2>{3}, slots(v + 2 * v - 1)),
                                        node("one", DropMultiples{~0u}, slots(2 * v + v - 1)), store("out", kept)),
                                  config);
      pipe.run();
      EXPECT_TRUE(sorted_items(kept, wide.items("out")) == out);
      std::uint32_t const widths[4] = {4 * v, v / 8, 2 * v, v};
      for (std::size_t i = 0; i != 4; ++i) {
        std::string const& name = wide.nodes()[i].name;
        NodeCounters const c = sum_of(wide, name);
        EXPECT_EQ(c.items, items[i]) << name;
        EXPECT_EQ(c.ensembles, (items[i] + widths[i] - 1) / widths[i]) << name;
        EXPECT_LE(c.most_outputs.bits, i == 1 ? 8u : 1u) << name;
        EXPECT_EQ(wide.queues()[i].queue_slots, i == 0 ? 0 : wide.queues()[i].least + static_cast<unsigned>(spare))
            << name;
      }
    }
  }
}

TYPED_TEST(Segments, KeepTablesInEachBlock) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 1009;
  Numbers numbers(LookUp::size);
  for (std::uint32_t i = 0; i != numbers.size(); ++i) numbers[i] = offspring(i, 0) % 1000;
  Pipeline pipe(bounded());
  auto& in_memory = pipe.create_buffer<std::uint32_t>(std::span<std::uint32_t const>(numbers));
  LookUp const add{in_memory.view().data};
  LookUpMany const many{{in_memory.view().data}};
  auto& out = pipe.create_buffer<std::uint32_t>(20 * n);
  auto& tables = pipe.add_segment<TypeParam::shape>("tables", indices(n),
                                                    chain(node("add", add), node("many", many), node("again", add),
                                                          node("merged", merge(many, add)), store("out", out)),
                                                    guarded());
  auto const expected = [&] {
    auto const number = [&](std::uint32_t x) { return numbers[x % LookUp::size] + 1; };
    Numbers all;
    for (std::uint32_t x = 0; x != n; ++x) {
      std::uint32_t const first = x + number(x);
      for (std::uint32_t k = 0; k != number(first) % 4; ++k) {
        std::uint32_t const second = offspring(first, k) + number(offspring(first, k));
        for (std::uint32_t j = 0; j != number(second) % 4; ++j)
          all.push_back(offspring(second, j) + number(offspring(second, j)));
      }
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  pipe.run();
  EXPECT_TRUE(sorted_items(out, tables.items("out")) == expected());
  for (std::uint32_t& x : numbers) x += 5;  // each run fills them anew
  in_memory.copy_in(numbers);
  pipe.run();
  EXPECT_TRUE(sorted_items(out, tables.items("out")) == expected());
}

// ---- several channels

template <class... Sinks>
auto branches(DropMultiples even, DropMultiples odd, Sinks... sinks) {
  static_assert(sizeof...(sinks) == 4);
  auto const all = std::make_tuple(sinks...);
  return node("split", Split{}, node("even", even, std::get<0>(all)), node("odd", odd, std::get<1>(all)),
              std::get<2>(all), node("none", DropMultiples{}, std::get<3>(all)));
}
TYPED_TEST(SegmentsWithoutExpanders, PutOnSeveralChannels) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 1009;
  Pipeline pipe(bounded());
  auto& even = pipe.create_buffer<std::uint32_t>(n);
  auto& odd = pipe.create_buffer<std::uint32_t>(n);
  auto& all = pipe.create_buffer<std::uint64_t>(n);
  SegmentConfig config = guarded();
  config.lend_after = never;
  auto& split =
      pipe.add_segment<TypeParam::shape>("split", indices(n),
                                         node("split", Split{}, node("even", DropMultiples{4}, store("even", even)),
                                              node("odd", DropMultiples{3, 7}, store("odd", odd)), store("all", all),
                                              node("none", DropMultiples{}, segment::count<std::uint32_t>("none"))),
                                         config);
  pipe.run();
  Numbers even_ones, odd_ones;
  for (std::uint32_t x = 0; x != n; ++x) {
    if (x % 2 == 0 && x % 4 != 0) even_ones.push_back(x);
    if (x % 2 != 0 && x % 3 != 0) odd_ones.push_back(x + 7);
  }
  EXPECT_EQ(sorted_items(even, split.items("even")), even_ones);
  EXPECT_EQ(sorted_items(odd, split.items("odd")), odd_ones);
  ASSERT_EQ(split.items("all"), n);
  std::vector<std::uint64_t> every(n);
  all.copy_out(std::span(every));
  std::sort(every.begin(), every.end());
  for (std::uint32_t x = 0; x != n; ++x) EXPECT_EQ(every[x], x);
  EXPECT_EQ(split.items("none"), 0u);
  // What is left of the even ones and of the odd ones makes one ensemble. Both are counted there.
  EXPECT_GE(sum_of(split, "even").shared, 1u);
  EXPECT_EQ(sum_of(split, "even").shared, sum_of(split, "odd").shared);
  EXPECT_EQ(sum_of(split, "split").shared, 0u);
  // A gain is that of the channel.
  EXPECT_DOUBLE_EQ(split.measured_nodes()[1].gain, 505. / n);
  EXPECT_DOUBLE_EQ(split.measured_nodes()[2].gain, 504. / n);
}

// ---- what a node keeps

TYPED_TEST(SegmentsWithoutExpanders, KeepAStateForEachNodeAndReplica) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 1009;
  Pipeline pipe(bounded());
  auto& totals = pipe.create_buffer<Word<std::uint64_t>>(4);
  auto* const at = totals.view().data;
  auto& sums = pipe.add_segment<TypeParam::shape>(
      "sums", indices(n),
      chain(node("all", AddUp{at}), node("some", DropMultiples{3}), node("those", AddUp{at + 2, 1000000}),
            segment::count<std::uint32_t>("out")),
      guarded());
  for (int run = 0; run != 2; ++run) {
    totals.copy_in(std::vector<Word<std::uint64_t>>(4));
    pipe.run();
    std::vector<Word<std::uint64_t>> got(4);
    totals.copy_out(std::span(got));
    EXPECT_EQ(got[0].bits, n * (n - 1) / 2);
    EXPECT_EQ(got[1].bits, n);
    std::uint64_t those = 0;
    for (std::uint32_t x = 0; x != n; ++x) those += x % 3 == 0 ? 0 : x;
    EXPECT_EQ(got[2].bits, those + 1000000ull * sums.replicas());
    EXPECT_EQ(got[3].bits, sums.items("out"));
  }
}

// ---- loops

struct Head;
/// One node is the loop, behind another.
template <class Sink>
auto own_loop(NodeOptions options, Sink sink) {
  return chain(node("pass", Pass{}), node<Head>("turn", Turn{}, options, back_to<Head>(), sink));
}
/// Two nodes, at the root.
template <class Sink>
auto loop_of_two(NodeOptions options, Sink sink) {
  return node<Head>("pass", Pass{}, options, node("turn", Turn{}, options, back_to<Head>(), sink));
}
/// Three, the last of which has the lowest number of all.
template <class Sink>
auto loop_of_three(NodeOptions options, Sink sink) {
  return node<Head>("pass", Pass{}, options,
                    node("turn", Turn{}, options, node("pass again", Pass{}, options, back_to<Head>()), sink));
}

std::vector<Traveller> travellers(std::uint32_t n, std::uint32_t turns) {
  std::vector<Traveller> all;
  for (std::uint32_t i = 0; i != n; ++i) all.push_back({i, turns != 0 ? turns : i % 13 == 0 ? 40 : i % 5});
  return all;
}
template <Shape shape, class Loop>
void expect_all_back(Loop loop, std::uint32_t n, std::uint32_t turns, NodeOptions options) {
  SCOPED_TRACE(testing::Message() << n << " items, " << turns << " turns");
  Pipeline pipe(bounded());
  std::vector<Traveller> const all = travellers(n, turns);
  auto& in = pipe.create_buffer<Traveller>(n + 1);
  if (n != 0) in.copy_in(std::span(all));
  auto& out = pipe.create_buffer<Traveller>(n + 1);
  auto& segment = pipe.add_segment<shape>("loop", load(in, n), loop(options, store("out", out)), guarded());
  pipe.run();
  ASSERT_EQ(segment.items("out"), n);
  std::vector<Traveller> back(n);
  if (n != 0) out.copy_out(std::span(back));
  std::vector<bool> seen(n);
  for (Traveller const& t : back) {
    EXPECT_EQ(t.turns, 0u);
    ASSERT_LT(t.item, n);
    EXPECT_FALSE(seen[t.item]) << t.item;
    seen[t.item] = true;
  }
  std::uint64_t rounds = n;
  for (Traveller const& t : all) rounds += t.turns;
  EXPECT_EQ(sum_of(segment, "turn").items, rounds);
}
auto const one_node = [](NodeOptions options, auto sink) { return own_loop(options, sink); };
auto const two_nodes = [](NodeOptions options, auto sink) { return loop_of_two(options, sink); };
auto const three_nodes = [](NodeOptions options, auto sink) { return loop_of_three(options, sink); };

TYPED_TEST(SegmentsWithoutExpanders, GoRoundLoopsAsOftenAsItemsSay) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t v = lanes_of<TypeParam::shape>;
  for (std::uint32_t n : {0u, 1u, v - 1, v, v + 1, 1009u}) {
    expect_all_back<TypeParam::shape>(one_node, n, 0, {});
    expect_all_back<TypeParam::shape>(two_nodes, n, 0, {});
    expect_all_back<TypeParam::shape>(three_nodes, n, 0, {});
  }
  expect_all_back<TypeParam::shape>(one_node, 3 * v + 1, 1000, {});
  expect_all_back<TypeParam::shape>(two_nodes, 3 * v + 1, 1000, {});
  expect_all_back<TypeParam::shape>(three_nodes, 8 * v + 5, 20, {});
  expect_all_back<TypeParam::shape>(two_nodes, 200, 30, {.queue_slots = 3 * v});
}

// ---- tunnels

template <Shape shape>
constexpr Shape plain{shape.replica, shape.refill};  // nothing is counted

/// From a tunnel into another: drop, and what comes of the others.
template <Shape shape>
auto& add_between(Pipeline& pipe, std::string_view name, Tunnel<std::uint32_t>& in, Tunnel<std::uint32_t>& out,
                  DropMultiples drop, Gain gain, SegmentConfig config, NodeOptions options = {}) {
  return pipe.add_segment<plain<shape>>(
      name, from(in), chain(node("drop", drop), node("steps", Steps<16>{gain}, options), into(out)), config);
}
auto numbers_to(std::uint32_t n) {
  return [n](Inlet<std::uint32_t> put) {
    for (std::uint32_t i = 0; i != n; ++i) put.put_h(i);
  };
}
void grow(Numbers& to, std::uint32_t x, DropMultiples drop, Gain gain) {
  auto const y = drop(x);
  for (std::uint32_t i = 0; y.ok && i != gain.of(y.value); ++i) to.push_back(offspring(y.value, i));
}

template <Shape shape>
void expect_between(TunnelConfig in, TunnelConfig out, std::uint32_t n, Gain gain, bool interruptible = true,
                    int runs = 1) {
  SCOPED_TRACE(testing::Message() << n << " items, capacities " << in.capacity_items << " and " << out.capacity_items);
  DropMultiples const drop{5, 1};
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_gpu, in);
  auto& results = pipe.create_tunnel<std::uint32_t>("results", Direction::gpu_to_cpu, out);
  pipe.add_cpu_stage("feed", numbers_to(n), into(numbers));
  auto& segment =
      add_between<shape>(pipe, "between", numbers, results, drop, gain, guarded(), {.interruptible = interruptible});
  Numbers got, expected;
  pipe.add_cpu_stage(
      "collect", [&](std::uint32_t const& x) { got.push_back(x); }, from(results));
  for (std::uint32_t x = 0; x != n; ++x) grow(expected, x, drop, gain);
  std::sort(expected.begin(), expected.end());
  for (int run = 0; run != runs; ++run) {
    got.clear();
    RunReport const report = pipe.run();
    std::sort(got.begin(), got.end());
    EXPECT_TRUE(got == expected) << "run " << run;
    EXPECT_EQ(segment.items("results"), expected.size());
    EXPECT_EQ(report.tunnels[0].finished, n);
    EXPECT_TRUE(segment.counters().empty());
  }
}
TYPED_TEST(Segments, TakeFromATunnelAndPutIntoOneRunAfterRun) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr std::uint32_t v = lanes_of<shape>;
  expect_between<shape>({}, {}, 257, {}, true, 3);
  expect_between<shape>({.capacity_items = 3}, {.capacity_items = 1}, 101, {0, 16});
  expect_between<shape>({.capacity_items = 64}, {.capacity_items = 8}, 151, {0, 16}, false);
  for (std::uint32_t n : {0u, 1u, v - 1, v, v + 1}) expect_between<shape>({}, {}, n, {0, 5});
}

/// A number goes round through a CPU stage until it is a multiple of 5, or comes out of the segment even.
TYPED_TEST(Segments, FeedThemselvesThroughACpuStage) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 100;
  DropMultiples const drop{5, 1};
  Numbers expected;
  for (std::uint32_t x = 0; x != n; ++x) grow(expected, x, drop, {1, 2});
  for (std::size_t i = 0; i != expected.size(); ++i) {
    if (expected[i] % 2 != 0) grow(expected, expected[i], drop, {1, 2});
  }
  for (std::size_t capacity : {1u, 256u}) {
    Pipeline pipe(bounded());
    auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& results = pipe.create_tunnel<std::uint32_t>("results", Direction::gpu_to_cpu, {.capacity_items = capacity});
    pipe.add_cpu_stage("feed", numbers_to(n), into(numbers));
    auto& segment = add_between<TypeParam::shape>(pipe, "round", numbers, results, drop, {1, 2}, guarded());
    std::uint64_t seen = 0;
    pipe.add_cpu_stage(
        "again",
        [&](Outlet<std::uint32_t> in, Inlet<std::uint32_t> put) {
          in.for_each_h([&](std::uint32_t x) {
            ++seen;
            if (x % 2 != 0) put.put_h(x);
          });
        },
        from(results), into(numbers));
    for (int run = 0; run != 2; ++run) {
      seen = 0;
      pipe.run();
      EXPECT_EQ(seen, expected.size());
      EXPECT_EQ(segment.items("results"), expected.size());
    }
  }
}

TYPED_TEST(Segments, FeedEachOther) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 503;
  DropMultiples const drop{5, 1};
  Numbers first, expected;
  for (std::uint32_t x = 0; x != n; ++x) grow(first, x, drop, {0, 3});
  for (std::uint32_t const x : first) grow(expected, x, DropMultiples{7}, {});
  std::sort(expected.begin(), expected.end());
  for (std::size_t capacity : {1u, 300u}) {
    Pipeline pipe(bounded());
    auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_gpu);
    auto& middle = pipe.create_tunnel<std::uint32_t>("middle", Direction::gpu_to_gpu, {.capacity_items = capacity});
    auto& results = pipe.create_tunnel<std::uint32_t>("results", Direction::gpu_to_cpu);
    pipe.add_cpu_stage("feed", numbers_to(n), into(numbers));
    add_between<TypeParam::shape>(pipe, "first", numbers, middle, drop, {0, 3}, guarded());
    add_between<TypeParam::shape>(pipe, "second", middle, results, {7}, {}, guarded());
    Numbers got;
    pipe.add_cpu_stage(
        "collect", [&](std::uint32_t const& x) { got.push_back(x); }, from(results));
    pipe.run();
    std::sort(got.begin(), got.end());
    EXPECT_TRUE(got == expected);
  }
}

// ---- run after run, what ends one with an error, and what is refused

/// Numbers 0 to 1008, of which 807 are kept.
template <Shape shape>
struct Sample {
  Pipeline pipe{bounded()};
  Buffer<std::uint32_t>& out;
  Segment<decltype(chain_of({}, 0, {}, StoreSink<std::uint32_t>{})), decltype(indices(0)), shape>& kinds;

  explicit Sample(std::size_t places, DropMultiples drop = {5, 1}, SegmentConfig config = guarded(), Kinds k = {})
      : out(pipe.create_buffer<std::uint32_t>(places)),
        kinds(pipe.add_segment<shape>("kinds", indices(1009), chain_of(k, lanes_of<shape>, drop, store("out", out)),
                                      config)) {}
};

TEST(NodeCounters, KeepTheMostOfAllReplicas) {
  NodeCounters few, many;
  few.most_outputs.bits = 2;
  many.most_outputs.bits = 3;
  NodeCounters sum = many;
  sum.add(few);
  EXPECT_EQ(sum.most_outputs.bits, 3u);
  few.add(many);
  EXPECT_EQ(few.most_outputs.bits, 3u);
}
TYPED_TEST(Segments, SumWhatReplicasCountAtANode) {
  HIWAY_NEEDS_DEVICE();
  Sample<TypeParam::shape> sample(1009);
  EXPECT_TRUE(sample.kinds.node_counters().empty()) << "nothing has run";
  sample.pipe.run();
  std::vector<CountersOf> const all = sample.kinds.counters();
  std::vector<CountersOfNode> const sums = sample.kinds.node_counters();
  ASSERT_EQ(sums.size(), sample.kinds.nodes().size());
  for (std::size_t i = 0; i != sums.size(); ++i) {
    std::string const& name = sums[i].node;
    EXPECT_EQ(name, sample.kinds.nodes()[i].name);
    for (auto const field : {&NodeCounters::firings, &NodeCounters::ensembles, &NodeCounters::full,
                             &NodeCounters::items, &NodeCounters::suspensions, &NodeCounters::shared,
                             &NodeCounters::steps, &NodeCounters::outputs, &NodeCounters::cycles}) {
      std::uint64_t expected = 0;
      for (CountersOf const& c : all) expected += c.node == name ? c.counters.*field : 0;
      EXPECT_EQ(sums[i].counters.*field, expected) << name;
    }
    std::uint32_t most = 0;
    for (CountersOf const& c : all) most = c.node == name ? std::max(most, c.counters.most_outputs.bits) : most;
    EXPECT_EQ(sums[i].counters.most_outputs.bits, most) << name;
  }
}

TYPED_TEST(Segments, AdviseByWhatWasMeasured) {
  HIWAY_NEEDS_DEVICE();
  Sample<TypeParam::shape> sample(1009);
  sample.pipe.run();
  SizedNodes const measured = sample.kinds.measured_nodes();
  ASSERT_EQ(measured.size(), sample.kinds.nodes().size());
  for (std::size_t i = 0; i != measured.size(); ++i) {
    NodeCounters const c = sum_of(sample.kinds, measured[i].name);
    EXPECT_GT(measured[i].service_ns, 0) << measured[i].name;
    for (std::size_t child = i + 1; child != measured.size(); ++child) {
      if (measured[child].parent != static_cast<std::int32_t>(i) || c.outputs == 0) continue;
      EXPECT_DOUBLE_EQ(measured[child].gain, static_cast<double>(c.outputs) / static_cast<double>(c.items));
      EXPECT_GE(measured[child].max_gain, c.most_outputs.bits);
    }
  }
  Advice const much = sample.kinds.advice(std::uint64_t{1} << 30);
  EXPECT_TRUE(much.interrupt.empty()) << "there is room for all";
  EXPECT_EQ(sample.kinds.asked_bytes(), sample.kinds.queue_bytes());
  SegmentConfig config = guarded();
  config.queue_bytes = 1 << 20;
  EXPECT_EQ(Sample<TypeParam::shape>(1009, {5, 1}, config).kinds.asked_bytes(), std::uint64_t{1} << 20);
  config.queue_target_bytes = 1 << 19;
  EXPECT_EQ(Sample<TypeParam::shape>(1009, {5, 1}, config).kinds.asked_bytes(), std::uint64_t{1} << 19);
}

TYPED_TEST(Segments, RunAgainWithAnotherSourceAndOtherFunctions) {
  HIWAY_NEEDS_DEVICE();
  Sample<TypeParam::shape> sample(1009);
  auto const expect = [&](std::uint64_t taken, std::uint64_t kept) {
    sample.pipe.run();
    EXPECT_EQ(sample.kinds.items("out"), kept);
    EXPECT_EQ(sum_of(sample.kinds, "drop").items, taken);
  };
  for (int run = 0; run != 3; ++run) expect(1009, 807);
  sample.kinds.set_source(indices(100));
  expect(100, 80);
  sample.kinds.set("drop", DropMultiples{2});
  sample.kinds.set("by hand", ByHand<16>{{3, 3}});
  expect(100, 150);
  sample.kinds.set_all(DropMultiples{4});
  expect(100, 225);
  sample.kinds.set("drop", DropMultiples{2});
  EXPECT_THAT(text_of_error<ConfigError>([&] { sample.kinds.set("dorp", DropMultiples{}); }),
              HasSubstr("'kinds' has no node 'dorp'"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { sample.kinds.set("drop", Steps<16>{}); }),
              HasSubstr("node 'drop' has another function"));
  expect(100, 150);
}

TYPED_TEST(Segments, NameTheBufferThatIsFull) {
  HIWAY_NEEDS_DEVICE();
  Sample<TypeParam::shape> enough(807);
  enough.pipe.run();
  EXPECT_EQ(enough.kinds.items("out"), 807u);
  for (std::size_t places : {806u, 10u, 1u}) {
    Sample<TypeParam::shape> few(places);
    EXPECT_EQ(text_of_error<StageError>([&] { few.pipe.run(); }),
              "stage 'kinds': 'out' is full: it holds " + std::to_string(places));
  }
}

TYPED_TEST(Segments, EndTheRunWhereANodeFails) {
  HIWAY_NEEDS_DEVICE();
  for (std::uint32_t bad : {0u, 500u, 1008u}) {
    Sample<TypeParam::shape> failing(1009, {5, 1, bad}, guarded(7));
    EXPECT_EQ(text_of_error<StageError>([&] { failing.pipe.run(); }), "stage 'kinds': a bad number came");
    failing.kinds.set("drop", DropMultiples{5, 1});
    failing.pipe.run();
    EXPECT_EQ(failing.kinds.items("out"), 807u);
  }
}

// Lanes that were left went round for ever: they waited for all to have nothing, and the one that had failed never says so.
template <Shape shape, class Tree>
void expect_end_where_it_fails(Tree tree) {
  Pipeline pipe(bounded());
  pipe.add_segment<shape>("kinds", indices(1009), tree, guarded(7));
  EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), "stage 'kinds': a bad number came");
}
TYPED_TEST(Segments, EndTheRunWhereAnExpanderFails) {
  HIWAY_NEEDS_DEVICE();
  for (std::uint32_t bad : {1u, 6u, 33u, 64u, 501u, 1001u, 1008u}) {
    SCOPED_TRACE(bad);
    auto const drop = node("drop", DropMultiples{5});
    auto const out = segment::count<std::uint32_t>("out");
    expect_end_where_it_fails<TypeParam::shape>(chain(drop, node("failing", FailingSteps{bad}), out));
    expect_end_where_it_fails<TypeParam::shape>(
        chain(drop, node("failing", FailingByHand{bad}), node("after", Steps<3>{{0, 3}}), out));
  }
}

TYPED_TEST(Segments, EndTheRunWhereANodeFailsBetweenTunnels) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& numbers = pipe.create_tunnel<std::uint32_t>("numbers", Direction::cpu_to_gpu, {.capacity_items = 8});
  auto& results = pipe.create_tunnel<std::uint32_t>("results", Direction::gpu_to_cpu, {.capacity_items = 8});
  pipe.add_cpu_stage(
      "endless",
      [](Inlet<std::uint32_t> put) {
        for (std::uint32_t i = 0;; ++i) put.put_h(i);
      },
      into(numbers));
  add_between<TypeParam::shape>(pipe, "kinds", numbers, results, {5, 1, 1000}, {}, guarded(4));
  pipe.add_cpu_stage(
      "collect", [](std::uint32_t const&) {}, from(results));
  EXPECT_EQ(text_of_error<StageError>([&] { pipe.run(); }), "stage 'kinds': a bad number came");
}

/// Items that never leave their loop.
template <Shape shape>
struct Endless {
  Pipeline pipe;
  explicit Endless(PipelineConfig config) : pipe(config) {
    std::vector<Traveller> const all = travellers(100, ~0u);
    auto& in = pipe.create_buffer<Traveller>(std::span<Traveller const>(all));
    auto& out = pipe.create_buffer<Traveller>(all.size());
    pipe.add_segment<shape>("loop", load(in), own_loop({}, store("out", out)), guarded(4));
  }
};
TYPED_TEST(SegmentsWithoutExpanders, AnAbortOrTheDeadlineEndsThem) {
  HIWAY_NEEDS_DEVICE();
  Endless<TypeParam::shape> endless(bounded());
  for (int i = 0; i != 3; ++i) {
    endless.pipe.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(10 * i));
    endless.pipe.abort();
    EXPECT_THROW(endless.pipe.wait(), Aborted);
  }
  Endless<TypeParam::shape> late(bounded(std::chrono::milliseconds(100)));
  EXPECT_THAT(text_of_error<Aborted>([&] { late.pipe.run(); }),
              testing::StartsWith("the deadline of 100 ms has passed"));
}

TYPED_TEST(Segments, NeverTakeMoreBytesForQueuesThanTheyAreGiven) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  SegmentConfig tight = guarded();
  tight.queue_bytes = 1 << 20;
  Sample<shape> least(1009, {5, 1}, tight);
  least.pipe.run();
  std::uint64_t needed = 0;
  for (QueueSize const& q : least.kinds.queues())
    needed += q.bytes - std::uint64_t{q.queue_slots - q.least} * q.item_bytes;
  needed *= least.kinds.replicas();
  for (std::uint64_t budget : {needed, needed + 1, needed + 4099, 3 * needed}) {
    SegmentConfig config = guarded();
    config.queue_bytes = budget;
    Sample<shape> given(1009, {5, 1}, config);
    given.pipe.run();
    EXPECT_EQ(given.kinds.items("out"), 807u);
    EXPECT_LE(given.kinds.queue_bytes(), budget);
    EXPECT_GE(given.kinds.queue_bytes(), needed);
    std::uint64_t sum = 0;
    for (QueueSize const& q : given.kinds.queues()) {
      EXPECT_GE(q.queue_slots, q.least) << q.node;
      sum += q.bytes;
    }
    EXPECT_EQ(sum * given.kinds.replicas(), given.kinds.queue_bytes());
  }
  SegmentConfig config = guarded();
  config.queue_bytes = needed - 1;
  Sample<shape> too_few(1009, {5, 1}, config);
  EXPECT_THAT(
      text_of_error<ConfigError>([&] { too_few.pipe.run(); }),
      testing::AllOf(HasSubstr("segment 'kinds'"), HasSubstr(std::to_string(least.kinds.replicas()) + " replicas"),
                     HasSubstr(std::to_string(needed) + " bytes"),
                     HasSubstr("enough for " + std::to_string(least.kinds.replicas() - 1) + " replicas")));
}

TYPED_TEST(SegmentsWithoutExpanders, HaveOneSinkOfAName) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& one = pipe.create_buffer<std::uint32_t>(100);
  auto& other = pipe.create_buffer<std::uint32_t>(100);
  auto const splits = [&](Buffer<std::uint32_t>& even, std::string_view name) {
    return node("split", Split{}, node("even", DropMultiples{1000, 1}, store("kept", one)),
                node("odd", DropMultiples{1000, 1}, store(name, even)), segment::count<std::uint64_t>("all"),
                segment::count<std::uint32_t>("none"));
  };
  EXPECT_THAT(text_of_error<ConfigError>(
                  [&] { (void)pipe.add_segment<TypeParam::shape>("two", indices(100), splits(other, "kept")); }),
              HasSubstr("are called 'kept'"));
  auto& both = pipe.add_segment<TypeParam::shape>("one", indices(100), splits(one, "kept"), guarded());
  pipe.run();
  Numbers all;
  for (std::uint32_t x = 1; x != 100; ++x) all.push_back(x + 1);
  EXPECT_EQ(sorted_items(one, both.items("kept")), all);
}

TYPED_TEST(Segments, RefuseWhatCannotRun) {
  HIWAY_NEEDS_DEVICE();
  constexpr Shape shape = TypeParam::shape;
  constexpr std::uint32_t v = lanes_of<shape>;
  for (bool interruptible : {true, false}) {
    std::uint32_t const needed = least(interruptible ? 1 : Place::max_gain, v);
    auto const with = [&](std::uint32_t given) {
      Pipeline pipe(bounded());
      Board const first{};
      auto& boards = pipe.create_buffer<Board>(std::span<Board const>(&first, 1));
      pipe.add_segment<shape>(
          "queens", load(boards),
          chain(node("first", Place{4}, NodeOptions{.interruptible = interruptible}),
                node("second", Place{4}, NodeOptions{.queue_slots = given}), segment::count<Board>("boards")),
          guarded());
      pipe.run();
    };
    with(needed);
    EXPECT_THAT(text_of_error<ConfigError>([&] { with(needed - 1); }),
                HasSubstr("the queue of node 'second' needs at least " + std::to_string(needed) + " slots, " +
                          std::to_string(needed - 1) + " are given"));
  }
  SegmentConfig half_a_warp = guarded();
  half_a_warp.threads_per_block = 48;
  EXPECT_THAT(text_of_error<ConfigError>([&] { Sample<shape>(1, {}, half_a_warp).pipe.run(); }),
              HasSubstr("whole warps of 32: 48"));
  Sample<shape> good(1009);
  good.pipe.run();
  EXPECT_THAT(text_of_error<ConfigError>([&] { (void)good.kinds.items("ouch"); }),
              HasSubstr("'kinds' has no sink 'ouch'"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { (void)indices<std::uint8_t>(257); }), HasSubstr("does not hold 256"));
}

}  // namespace
}  // namespace hiway::segment_test
