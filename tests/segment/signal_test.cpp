// Signals between the items of a segment: each arrives between just the items that it was put between, whatever nodes
// give and however short the queues are. One replica's stream is compared with a list that a loop on the CPU makes.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/segment/shapes.hpp"
#include "tests/segment/tree_nodes.hpp"

namespace hiway::segment_test {

/// A signal: who raised it, and at which item.
struct Tick {
  std::uint32_t by;
  std::uint32_t at;
};
/// What lay between two signals: the first items' number, their sum, and the signal behind them.
struct Between {
  std::uint32_t items;
  std::uint32_t sum;
  Tick tick;
  friend bool operator==(Between const& a, Between const& b) {
    return a.items == b.items && a.sum == b.sum && a.tick.by == b.tick.by && a.tick.at == b.tick.at;
  }
};

/// Drops every third item; raises a signal behind one of `each`, dropped or not.
struct Raise {
  std::uint32_t by, each;
  HIWAY_DEVICE static std::uint32_t mixed(std::uint32_t x) { return (x ^ x >> 13) * 0x9e3779b1u >> 7; }
  HIWAY_DEVICE bool raises(std::uint32_t x) const { return mixed(x + by) % each == 0; }
  HIWAY_DEVICE static bool keeps(std::uint32_t x) { return mixed(x) % 3 != 0; }
  HIWAY_DEVICE void operator()(std::uint32_t const& x, segment::Emit<std::uint32_t>& out,
                               segment::EmitSignal<Tick>& signal) const {
    if (keeps(x)) out.put(x);
    if (raises(x)) signal.put({by, x});
  }
};
/// Passes on items; of the signals those at even items, with another sender, and for those at multiples of 8 an item
/// more.
struct Change {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, segment::Emit<std::uint32_t>& out) const { out.put(x); }
  HIWAY_DEVICE segment::Maybe<Tick> on(Tick const& tick, segment::Emit<std::uint32_t>& out) const {
    if (tick.at % 8 == 0) out.put(tick.at);
    return tick.at % 2 == 0 ? segment::Maybe<Tick>({tick.by + 10, tick.at}) : segment::Maybe<Tick>::none();
  }
};
/// Says at each signal what lay before it; and at the end what lay behind the last.
struct Count {
  using Input = std::uint32_t;
  using Output = Between;
  static constexpr unsigned max_gain = 1;
  struct State {
    std::uint32_t items, sum;
  };
  Word<std::uint64_t>* rest;  ///< items, sum
  HIWAY_DEVICE void init(State& state) const { state = {}; }
  HIWAY_DEVICE void finish(State& state) const {
    anywhere([&](auto m) {
      m.fetch_add(rest[0], std::uint64_t{state.items}, MemoryOrder::relaxed);
      m.fetch_add(rest[1], std::uint64_t{state.sum}, MemoryOrder::relaxed);
    });
  }
  template <class Lanes, class Push>
  HIWAY_DEVICE void operator()(Lanes lanes, std::uint32_t const& x, bool valid, Push, State& state) const {
    std::uint32_t sum = 0;
    (void)lanes.sum_before(valid ? x : 0, sum);
    std::uint32_t const items = lanes.tally(valid).all;
    if (lanes.rank() == 0) {
      state.items += items;
      state.sum += sum;
    }
  }
  HIWAY_DEVICE bool on(Tick const& tick, State& state, segment::Emit<Between>& out) const {
    out.put({state.items, state.sum, tick});
    state = {};
    return false;
  }
};
/// To both channels.
struct Twice {
  HIWAY_DEVICE void operator()(std::uint32_t const& x, segment::Emit<std::uint32_t>& a,
                               segment::Emit<std::uint32_t>& b) const {
    a.put(x);
    b.put(x);
  }
};

namespace {

using namespace segment;
using hiway_tests::bounded;
using hiway_tests::from_environment;

template <class>
struct Signals : testing::Test {};
using Shapes = testing::Types<Of<ReplicaOf::warp, Refill::lanes>, Of<ReplicaOf::block, Refill::lanes>,
                              Of<ReplicaOf::block, Refill::ensembles>>;
TYPED_TEST_SUITE(Signals, Shapes, ShapeNames);

/// An item, or a signal.
struct Token {
  bool is_signal;
  std::uint32_t item;
  Tick tick;
};
using Tokens = std::vector<Token>;

template <class OfItem, class OfSignal>
Tokens through(Tokens const& tokens, OfItem of_item, OfSignal of_signal) {
  Tokens out;
  for (Token const& t : tokens) t.is_signal ? of_signal(out, t.tick) : of_item(out, t.item);
  return out;
}
void pass(Tokens& out, Tick const& tick) { out.push_back({true, 0, tick}); }
Tokens raised(Tokens const& tokens, Raise const& f) {
  return through(
      tokens,
      [&](Tokens& out, std::uint32_t x) {
        if (Raise::keeps(x)) out.push_back({false, x, {}});
        if (f.raises(x)) out.push_back({true, 0, {f.by, x}});
      },
      pass);
}
template <class Gain>
Tokens spread(Tokens const& tokens, Gain gain) {
  return through(
      tokens,
      [&](Tokens& out, std::uint32_t x) {
        for (std::uint32_t k = 0; k != gain.of(x); ++k) out.push_back({false, offspring(x, k), {}});
      },
      pass);
}
Tokens changed(Tokens const& tokens) {
  return through(
      tokens,
      [](Tokens& out, std::uint32_t x) {
        out.push_back({false, x, {}});
      },
      [](Tokens& out, Tick tick) {
        if (tick.at % 8 == 0) out.push_back({false, tick.at, {}});
        if (tick.at % 2 == 0) out.push_back({true, 0, {tick.by + 10, tick.at}});
      });
}
/// What Count gives, and behind it what is left.
std::vector<Between> counted(Tokens const& tokens) {
  std::vector<Between> out;
  Between now{};
  for (Token const& t : tokens) {
    if (t.is_signal) {
      now.tick = t.tick;
      out.push_back(now);
      now = {};
    } else {
      ++now.items;
      now.sum += t.item;
    }
  }
  out.push_back(now);
  return out;
}

std::uint64_t signals_of(SegmentBase const& segment, std::string_view node) {
  for (CountersOfNode const& c : segment.node_counters()) {
    if (c.node == node) return c.counters.signals_heard;
  }
  return 0;
}

struct Stream {
  std::uint32_t n;
  std::uint32_t each, each_later;
  Gain numbered, steps;
  bool interruptible;
  unsigned signal_slots;
  int spare;
};

template <Shape shape>
void expect_stream(Stream const& s) {
  SCOPED_TRACE(testing::Message() << s.n << " items, a signal of " << s.each << " and " << s.each_later << ", gains to "
                                  << s.numbered.most << " and " << s.steps.most << ", " << s.signal_slots
                                  << " signals in a queue, " << s.spare << " spare slots, "
                                  << (s.interruptible ? "interruptible" : "not interruptible"));
  Raise const first{1, s.each};
  Raise const later{2, s.each_later};
  Tokens tokens;
  for (std::uint32_t x = 0; x != s.n; ++x) tokens.push_back({false, x, {}});
  std::vector<std::uint64_t> heard;
  auto const count_signals = [&] {
    heard.push_back(
        static_cast<std::uint64_t>(std::ranges::count_if(tokens, [](Token const& t) { return t.is_signal; })));
  };
  tokens = raised(tokens, first);
  count_signals();
  std::erase_if(tokens, [](Token const& t) { return !t.is_signal && t.item % 5 == 0; });
  tokens = spread(tokens, s.numbered);
  tokens = raised(tokens, later);
  count_signals();
  tokens = spread(tokens, s.steps);
  std::vector<Between> const unchanged = counted(tokens);
  tokens = changed(tokens);
  count_signals();
  std::vector<Between> const expected = counted(tokens);

  constexpr std::uint32_t v = shape.replica == ReplicaOf::warp ? 32 : 64;
  SegmentConfig config;
  config.blocks = 1;
  config.threads_per_block = v;
  config.guard_bytes = 64;
  config.signal_slots = s.signal_slots;
  auto const slots = [&](std::uint32_t least) {
    return NodeOptions{.interruptible = s.interruptible,
                       .queue_slots = s.spare < 0 ? 0 : least + static_cast<std::uint32_t>(s.spare)};
  };
  std::uint32_t const of_steps = (s.interruptible ? 1 : 4) * v;
  std::uint32_t const of_numbered = (s.interruptible ? 1 : 3) * v;
  Pipeline pipe(bounded());
  auto& a = pipe.create_buffer<Between>(unchanged.size());
  auto& b = pipe.create_buffer<Between>(expected.size());
  auto& rests = pipe.create_buffer<Word<std::uint64_t>>(4);
  rests.copy_in(std::vector<Word<std::uint64_t>>(4));
  auto* const rest = rests.view().data;
  auto& stream = pipe.add_segment<shape>(
      "stream", indices(s.n),
      chain(node("raise", first), node("wide", Wide<4>{5}, slots(v + 4 * v - 1)),
            node("numbered", Numbered<3>{s.numbered}, slots(4 * v + v - 1)),
            node("raise later", later, slots(of_numbered + v - 1)), node("steps", Steps<4>{s.steps}, slots(2 * v - 1)),
            node("twice", Twice{}, slots(of_steps + v - 1), node("count", Count{rest}, slots(2 * v - 1), store("a", a)),
                 node("change", Change{}, slots(2 * v - 1),
                      node("count changed", Count{rest + 2}, slots(2 * v - 1), store("b", b))))),
      config);
  pipe.run();
  auto const expect = [&](Buffer<Between>& buffer, std::string const& sink, std::vector<Between> all, unsigned at) {
    std::vector<Between> got(stream.items(sink));
    buffer.copy_out(std::span(got));
    std::vector<Word<std::uint64_t>> left(4);
    rests.copy_out(std::span(left));
    EXPECT_EQ(left[at].bits, all.back().items) << sink;
    EXPECT_EQ(left[at + 1].bits, all.back().sum) << sink;
    all.pop_back();
    ASSERT_EQ(got.size(), all.size()) << sink;
    for (std::size_t i = 0; i != all.size(); ++i) {
      ASSERT_TRUE(got[i] == all[i]) << sink << ", signal " << i << ": behind " << got[i].items << " items, of "
                                    << all[i].items;
    }
  };
  expect(a, "a", unchanged, 0);
  expect(b, "b", expected, 2);
  EXPECT_EQ(signals_of(stream, "wide"), heard[0]);
  EXPECT_EQ(signals_of(stream, "steps"), heard[1]);
  EXPECT_EQ(signals_of(stream, "twice"), heard[1]);
  EXPECT_EQ(signals_of(stream, "change"), heard[1]);
  EXPECT_EQ(signals_of(stream, "count changed"), heard[2]);
}

TYPED_TEST(Signals, StandBetweenTheItemsTheyWerePutBetween) {
  HIWAY_NEEDS_DEVICE();
  for (unsigned signal_slots : {1u, 4u, 0u}) {
    for (std::uint32_t each : {1u, 5u, 300u, 1u << 30}) {
      for (int spare : {0, -1}) {
        bool const interruptible = spare == 0;
        expect_stream<TypeParam::shape>({2003, each, 7, {0, 3}, {0, 4}, interruptible, signal_slots, spare});
        expect_stream<TypeParam::shape>({331, each, 1, {1, 1}, {0, 1}, !interruptible, signal_slots, spare});
      }
    }
  }
  for (std::uint32_t n : {0u, 1u, 31u, 32u, 33u})
    expect_stream<TypeParam::shape>({n, 2, 2, {1, 2}, {1, 2}, true, 4, 0});
}

// HIWAY_TOKENS: how many items and signals in all; HIWAY_SEED: where to begin.
TYPED_TEST(Signals, RandomStreamsAreLikeAList) {
  HIWAY_NEEDS_DEVICE();
  std::uint64_t const tokens = from_environment("HIWAY_TOKENS", 60000);
  std::mt19937 random(static_cast<unsigned>(from_environment("HIWAY_SEED", 1)));
  auto const below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (std::uint64_t done = 0; done < tokens;) {
    Stream s{};
    s.n = 1 + below(4000);
    s.each = 1 + below(1u << below(12));
    s.each_later = 1 + below(1u << below(12));
    s.numbered.most = 1 + below(3);
    s.numbered.least = below(s.numbered.most + 1);
    s.steps.most = 1 + below(4);
    s.steps.least = below(s.steps.most + 1);
    s.interruptible = below(2) != 0;
    s.signal_slots = 1 + below(1u << below(8));
    s.spare = static_cast<int>(below(300)) - 1;
    expect_stream<TypeParam::shape>(s);
    if (testing::Test::HasFatalFailure()) return;
    done += s.n;
  }
}

TYPED_TEST(Signals, OfEachReplicaStayInIt) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::uint32_t n = 20011;
  Raise const raise{1, 9};
  std::uint64_t items = 0;
  std::uint64_t sum = 0;
  std::uint64_t signals = 0;
  for (std::uint32_t x = 0; x != n; ++x) {
    items += Raise::keeps(x) ? 1 : 0;
    sum += Raise::keeps(x) ? x : 0;
    signals += raise.raises(x) ? 1 : 0;
  }
  Pipeline pipe(bounded());
  auto& out = pipe.create_buffer<Between>(signals);
  auto& rests = pipe.create_buffer<Word<std::uint64_t>>(2);
  SegmentConfig config;
  config.blocks = 5;
  config.threads_per_block = 64;
  auto& stream = pipe.add_segment<TypeParam::shape>(
      "stream", indices(n), chain(node("raise", raise), node("count", Count{rests.view().data}), store("out", out)),
      config);
  for (int run = 0; run != 2; ++run) {
    rests.copy_in(std::vector<Word<std::uint64_t>>(2));
    pipe.run();
    ASSERT_EQ(stream.items("out"), signals);
    std::vector<Between> got(signals);
    out.copy_out(std::span(got));
    std::vector<Word<std::uint64_t>> left(2);
    rests.copy_out(std::span(left));
    std::uint64_t got_items = left[0].bits;
    std::uint64_t got_sum = left[1].bits;
    for (Between const& b : got) {
      got_items += b.items;
      got_sum += b.sum;
    }
    EXPECT_EQ(got_items, items);
    EXPECT_EQ(got_sum % (std::uint64_t{1} << 32), sum % (std::uint64_t{1} << 32));
  }
}

}  // namespace
}  // namespace hiway::segment_test
