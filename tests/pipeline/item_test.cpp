// Items of every size, by one lane, a warp, a block or a span, through every road: each exactly once and whole.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/device.hpp"
#include "tests/mix.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::mix;

/// Content number `n`: every fifth all ones, every fifth all zeros, the others random bits.
HIWAY_DEVICE std::uint64_t content(std::uint64_t n) { return n % 5 == 0 ? ~std::uint64_t{0} : n % 5 == 1 ? 0 : mix(n); }

/// An item of `Bytes` whose words all follow from the first.
template <std::size_t Bytes>
struct Payload {
  static constexpr std::size_t count = Bytes / 8;
  alignas(Bytes == 4096 ? 128 : 8) std::uint64_t words[count];

  HIWAY_DEVICE static std::uint64_t word(std::uint64_t first, std::size_t i) {
    return first == 0 || first == ~std::uint64_t{0} || i == 0 ? first : mix(first + i);
  }
  HIWAY_DEVICE void fill(std::uint64_t first, unsigned rank = 0, unsigned size = 1) {
    for (std::size_t i = rank; i < count; i += size) words[i] = word(first, i);
  }
  HIWAY_DEVICE std::uint64_t first() const { return words[0]; }
  /// What an item filled from `first` keeps of it.
  static std::uint64_t kept(std::uint64_t first) { return first; }
  HIWAY_DEVICE bool whole(unsigned rank = 0, unsigned size = 1) const {
    for (std::size_t i = rank; i < count; i += size) {
      if (words[i] != word(words[0], i)) return false;
    }
    return true;
  }
};
template <class Word>
struct SmallPayload {
  Word bits;
  HIWAY_DEVICE void fill(std::uint64_t first, unsigned = 0, unsigned = 1) { bits = static_cast<Word>(first); }
  HIWAY_DEVICE std::uint64_t first() const { return bits; }
  static std::uint64_t kept(std::uint64_t first) { return static_cast<Word>(first); }
  HIWAY_DEVICE bool whole(unsigned = 0, unsigned = 1) const { return true; }
};
template <>
struct Payload<1> : SmallPayload<std::uint8_t> {};
template <>
struct Payload<4> : SmallPayload<std::uint32_t> {};

/// What consumers add up: two independent sums of what they saw.
struct Seen {
  Word<std::uint64_t> items{0};
  Word<std::uint64_t> sum{0};
  Word<std::uint64_t> other_sum{0};
  Word<std::uint64_t> torn{0};

  HIWAY_DEVICE void count(std::uint64_t first) {
    anywhere([&](auto m) {
      m.fetch_add(items, std::uint64_t{1}, MemoryOrder::relaxed);
      m.fetch_add(sum, mix(first), MemoryOrder::relaxed);
      m.fetch_add(other_sum, mix(first ^ 0x5555u), MemoryOrder::relaxed);
    });
  }
  HIWAY_DEVICE void note_torn() {
    anywhere([&](auto m) { m.fetch_add(torn, std::uint64_t{1}, MemoryOrder::relaxed); });
  }
  friend bool operator==(Seen const& a, Seen const& b) {
    return a.items.bits == b.items.bits && a.sum.bits == b.sum.bits && a.other_sum.bits == b.other_sum.bits &&
           a.torn.bits == b.torn.bits;
  }
};
std::ostream& operator<<(std::ostream& out, Seen const& s) {
  return out << s.items.bits << " items, sums " << s.sum.bits << " " << s.other_sum.bits << ", " << s.torn.bits
             << " torn";
}

HIWAY_DEVICE unsigned rank_in_warp() {
  return anywhere([](auto m) { return m.lane(); });
}
HIWAY_DEVICE unsigned lanes_of_warp() {
  return anywhere([](auto m) { return m.count(m.lanes()); });
}

/// Small items by single lanes, large ones by warps.
template <std::size_t Bytes>
struct Source {
  std::uint32_t items;  // of each thread, or warp
  HIWAY_DEVICE void operator()(Inlet<Payload<Bytes>> out) const {
    if constexpr (stays_in_slot<Payload<Bytes>>) {
      std::uint64_t const first = std::uint64_t{thread_index() / lanes_of_warp()} * items;
      for (std::uint32_t i = 0; i < items; ++i) {
        out.put_in_place_warp([&](Payload<Bytes>& p) { p.fill(content(first + i), rank_in_warp(), lanes_of_warp()); });
      }
    } else {
      std::uint64_t const first = std::uint64_t{thread_index()} * items;
      for (std::uint32_t i = 0; i < items; ++i) {
        Payload<Bytes> p;
        p.fill(content(first + i));
        out.put(p);
      }
    }
  }
};
template <std::size_t Bytes>
struct Sink {
  View<Seen> seen;
  HIWAY_DEVICE void operator()(Outlet<Payload<Bytes>> in) const {
    if constexpr (stays_in_slot<Payload<Bytes>>) {
      in.for_each_warp([&](Payload<Bytes> const& p) {
        if (!p.whole(rank_in_warp(), lanes_of_warp())) seen[0].note_torn();
        if (rank_in_warp() == 0) seen[0].count(p.first());
      });
    } else {
      in.for_each([&](Payload<Bytes> const& p) {
        if (!p.whole()) seen[0].note_torn();
        seen[0].count(p.first());
      });
    }
  }
};

constexpr unsigned block_threads = 32;

template <std::size_t Bytes>
void expect_each_item_once(Direction direction, Movement movement, std::size_t capacity, unsigned producers,
                           unsigned consumers, bool low_latency = false) {
  if (capacity * Bytes > std::size_t{16} << 20) return;
  SCOPED_TRACE(testing::Message() << "direction " << int(direction) << " movement " << int(movement) << " capacity "
                                  << capacity << " producers " << producers << " consumers " << consumers << " bytes "
                                  << Bytes);
  bool const from_gpu = direction == Direction::gpu_to_cpu || direction == Direction::gpu_to_gpu;
  bool const to_gpu = direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu;
  std::uint32_t const items = Bytes == 65536 ? 5 : from_gpu && Bytes <= copied_bytes ? 7 : 101;
  unsigned const makers = from_gpu && Bytes <= copied_bytes ? producers * block_threads : producers;

  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<Payload<Bytes>>(
      "payloads", direction, {.capacity_items = capacity, .movement = movement, .low_latency = low_latency});
  std::vector<Seen> seen(1);
  auto& device_seen = pipe.create_buffer<Seen>(std::span<Seen const>(seen));
  if (from_gpu) {
    pipe.add_gpu_stage("source", Source<Bytes>{items}, into(tunnel),
                       {.blocks = producers, .threads_per_block = block_threads});
  } else {
    pipe.add_cpu_stage("source", Source<Bytes>{items}, into(tunnel), {.threads = producers});
  }
  if (to_gpu) {
    pipe.add_gpu_stage("sink", Sink<Bytes>{device_seen.view()}, from(tunnel),
                       {.blocks = consumers, .threads_per_block = block_threads});
  } else {
    pipe.add_cpu_stage("sink", Sink<Bytes>{View<Seen>{seen.data(), 1}}, from(tunnel), {.threads = consumers});
  }
  pipe.run();
  if (to_gpu) device_seen.copy_out(seen);
  Seen expected;
  for (std::uint64_t n = 0; n < std::uint64_t{makers} * items; ++n) expected.count(Payload<Bytes>::kept(content(n)));
  EXPECT_EQ(seen[0], expected);
}

struct Road {
  Direction direction;
  Movement movement;
};
constexpr Road roads[] = {{Direction::cpu_to_cpu, Movement::automatic}, {Direction::gpu_to_gpu, Movement::automatic},
                          {Direction::cpu_to_gpu, Movement::direct},    {Direction::gpu_to_cpu, Movement::direct},
                          {Direction::cpu_to_gpu, Movement::dma},       {Direction::gpu_to_cpu, Movement::dma},
                          {Direction::cpu_to_gpu, Movement::managed},   {Direction::gpu_to_cpu, Movement::managed}};

template <std::size_t Bytes>
void expect_each_item_once() {
  if constexpr (Bytes <= 12) {
    for (std::size_t capacity : {1u, 2u, 64u, 4096u}) {
      for (unsigned many : {1u, 4u}) {
        expect_each_item_once<Bytes>(Direction::cpu_to_gpu, Movement::direct, capacity, many, 1, true);
        expect_each_item_once<Bytes>(Direction::gpu_to_cpu, Movement::direct, capacity, many, many, true);
        expect_each_item_once<Bytes>(Direction::gpu_to_gpu, Movement::automatic, capacity, many, many, true);
      }
    }
  }
  for (Road const& road : roads) {
    for (std::size_t capacity : {1u, 2u, 64u, 4096u}) {
      for (unsigned producers : {1u, 4u}) {
        for (unsigned consumers : {1u, 4u})
          expect_each_item_once<Bytes>(road.direction, road.movement, capacity, producers, consumers);
      }
    }
  }
}

TEST(Items, AreCopiedAsWideAsTheirSizeAllows) {
  struct Twelve {
    std::uint32_t words[3];
  };
  static_assert(slot_alignment<std::uint8_t> == 1 && slot_alignment<Twelve> == 4 && slot_alignment<Payload<24>> == 8);
  static_assert(slot_alignment<Payload<16>> == 16 && alignof(Payload<16>) == 8);
  alignas(16) std::byte slot[16];
  Payload<16> put{};
  put.fill(7);
  WriteItem<Payload<16>>{put}(slot);
  Payload<16> got{};
  ReadItem<Payload<16>>{got}(slot);
  EXPECT_TRUE(got.first() == 7 && got.whole());
}
TEST(Items, Of1ByteTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<1>();
}
TEST(Items, Of4BytesTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<4>();
}
TEST(Items, Of16BytesTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<16>();
}
TEST(Items, Of24BytesTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<24>();
}
TEST(Items, Of4KiBTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<4096>();
}
TEST(Items, Of64KiBTakeEveryRoad) {
  HIWAY_NEEDS_DEVICE();
  expect_each_item_once<65536>();
}

// ---- a loop of single lanes over large items, in every form -----------------------------------------------

using Big = Payload<4096>;

struct NextOfBig {  // value form: argument and result stay in their slots
  HIWAY_DEVICE Big operator()(Big const& item) const {
    Big next;
    next.fill(item.whole() ? item.first() + 1 : 0);
    return next;
  }
};
struct FirstOfBig {  // item form
  HIWAY_DEVICE void operator()(Big const& item, Inlet<std::uint64_t> out) const {
    out.put(item.whole() ? item.first() : 0);
  }
};

TEST(Items, LargeOnesGoThroughValueAndItemForms) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 3u, 64u}) {
    Pipeline pipe(bounded());
    auto& to = pipe.create_tunnel<Big>("to", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& inside = pipe.create_tunnel<Big>("inside", Direction::gpu_to_gpu, {.capacity_items = capacity});
    auto& back = pipe.create_tunnel<std::uint64_t>("back", Direction::gpu_to_cpu, {.capacity_items = capacity});
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<Big> out) {
          for (std::uint64_t k = 1; k <= 300; ++k) out.put_in_place_h([&](Big& item) { item.fill(k); });
        },
        into(to));
    pipe.add_gpu_stage("next", NextOfBig{}, from(to), into(inside), {.blocks = 2, .threads_per_block = 64});
    pipe.add_gpu_stage("first", FirstOfBig{}, from(inside), into(back), {.blocks = 2, .threads_per_block = 64});
    std::uint64_t sum = 0;
    pipe.add_cpu_stage(
        "sum", [&](std::uint64_t const& x) { sum += x; }, from(back));
    pipe.run();
    EXPECT_EQ(sum, 300u * 301 / 2 + 300) << "capacity " << capacity;
  }
}

/// Puts back into the tunnel that it gets from, while the item lies in its slot.
struct CountDown {
  HIWAY_DEVICE void operator()(Big const& item, Inlet<Big> again, Inlet<std::uint64_t> out) const {
    std::uint64_t const left = item.first();
    out.put(item.whole() ? left : 0);
    if (left > 1) again.put_in_place([&](Big& next) { next.fill(left - 1); });
  }
};
TEST(Items, ALargeOneMayBePutWhereItWasGot) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& start = pipe.create_tunnel<Big>("start", Direction::cpu_to_gpu, {.capacity_items = 1});
  auto& loop = pipe.create_tunnel<Big>("loop", Direction::gpu_to_gpu, {.capacity_items = 1});
  auto& out = pipe.create_tunnel<std::uint64_t>("out", Direction::gpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<Big> put) {
        for (std::uint64_t k = 1; k <= 20; ++k) put.put_in_place_h([&](Big& item) { item.fill(k); });
      },
      into(start));
  pipe.add_gpu_stage("down", CountDown{}, from(start, loop), into(loop, out), {.blocks = 2, .threads_per_block = 32});
  std::uint64_t sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](std::uint64_t const& x) { sum += x; }, from(out));
  pipe.run();
  std::uint64_t expected = 0;
  for (std::uint64_t k = 1; k <= 20; ++k) expected += k * (k + 1) / 2;
  EXPECT_EQ(sum, expected);
}

/// Two tasks of a cycle at once: the older puts when the younger has left its slot. The credit of that slot once
/// granted the put the older's own, for which it then waited for ever.
template <class T, bool by_warp>
void expect_the_older_task_puts() {
  Pipeline pipe(bounded(std::chrono::seconds(10)));
  auto& start = pipe.create_tunnel<T>("start", Direction::cpu_to_cpu);
  auto& loop = pipe.create_tunnel<T>("loop", Direction::cpu_to_cpu, {.capacity_items = 2});
  pipe.add_cpu_stage(
      "feed", [](Inlet<T> put) { put.put_in_place_h([](T& item) { item.fill(9); }); }, into(start));
  std::atomic<bool> older_works = false;
  std::atomic<bool> younger_is_done = false;
  std::atomic<int> seen = 0;
  pipe.add_cpu_stage("work",
                     [&](Outlet<T> first, Outlet<T> again, Inlet<T> more) {
                       auto const put = [&](std::uint64_t k) { more.put_in_place_h([&](T& item) { item.fill(k); }); };
                       first.for_each_h([&](T const&) {
                         put(1);
                         put(2);
                       });
                       auto const work = [&](T const& item) {
                         ++seen;
                         if (item.first() == 1) {
                           older_works = true;
                           while (!younger_is_done) std::this_thread::yield();
                           std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it leaves its slot
                           put(3);
                         } else if (item.first() == 2) {
                           while (!older_works) std::this_thread::yield();
                           younger_is_done = true;
                         }
                       };
                       if constexpr (by_warp) {
                         again.for_each_warp(work);
                       } else {
                         again.for_each_h(work);
                       }
                     },
                     from(start, loop), into(loop), {.threads = 2});
  pipe.run();
  EXPECT_EQ(seen, 3);
}
TEST(Items, ATaskOfACycleNeverWaitsForItsOwnSlot) {
  HIWAY_NEEDS_DEVICE();
  expect_the_older_task_puts<Payload<24>, false>();
  expect_the_older_task_puts<Big, false>();
}
TEST(Items, AWarpsTaskOfACycleNeverWaitsForItsOwnSlot) {
  HIWAY_NEEDS_DEVICE();
  expect_the_older_task_puts<Payload<24>, true>();
  expect_the_older_task_puts<Big, true>();
}

/// The credit of a slot that an open outlet left was once given twice, by it and by the stage's next get: the open
/// end's handle did not know that the ring gives credit in order. A put beyond the capacity then waited for ever.
TEST(Items, AnOpenOutletGivesEachSlotsCreditOnce) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded(std::chrono::seconds(10)));
  auto& big = pipe.create_tunnel<Big>("big", Direction::cpu_to_cpu, {.capacity_items = 2});
  Inlet<Big> const inlet = big.open_inlet();
  Outlet<Big> const outlet = big.open_outlet();
  std::atomic<int> may_get = 0;
  std::atomic<int> seen = 0;
  auto const item = std::make_unique<Big>();
  pipe.add_cpu_stage(
      "work",
      [&, room = std::make_shared<Big>()](Outlet<Big> get,
                                          Inlet<Big>) {  // it could put: the ring gives credit in order
        while (!get.is_terminate_h()) {
          if (seen == may_get || !get.get_h(*room)) continue;
          get.end_task_h();
          ++seen;
        }
      },
      from(big), into(big));
  auto const puts_that_fit = [&] {
    int n = 0;
    while (inlet.try_put_h(*item)) ++n;
    return n;
  };
  pipe.start();
  EXPECT_EQ(puts_that_fit(), 2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(outlet.next_h(*item));
    outlet.end_task_h();
  }
  EXPECT_EQ(puts_that_fit(), 2);
  may_get = 1;
  while (seen != 1) std::this_thread::yield();
  EXPECT_EQ(puts_that_fit(), 1);
  may_get = 4;
  inlet.close_h();
  pipe.wait();
  EXPECT_EQ(seen, 3);
}

// ---- one item for a warp or a block -----------------------------------------------------------------------

enum class Team { warp, block };

/// Gets in every way that a team can, adds up over its lanes, and puts one item for all.
template <Team team, class T>
struct SumByTeam {
  HIWAY_DEVICE void operator()(Outlet<T> in, Inlet<T> out) const {
    if constexpr (team == Team::warp) {
      T own;
      while (in.next_warp_d(own)) {
        pass_on(own, [&](auto const& fill) { out.put_in_place_warp_d(fill); });
        in.end_task_warp_d();
      }
    } else if constexpr (stays_in_slot<T>) {  // the block's own room, in shared memory
      T& shared = *reinterpret_cast<T*>(shared_memory());
      while (in.next_block_d(shared)) {
        pass_on(shared, [&](auto const& fill) { out.put_in_place_block_d(fill); });
        in.end_task_block_d();
      }
    } else {
      in.for_each_block_d([&](T const& item) {
        T next;
        next.fill(item.whole() ? item.first() + 1 : 0);
        out.put_block_d(next);
      });
    }
  }
  template <class Put>
  HIWAY_DEVICE void pass_on(T const& item, Put&& put) const {
    std::uint64_t const first = item.whole() ? item.first() + 1 : 0;
    unsigned const rank = team == Team::warp ? rank_in_warp() : thread_index() % 96;
    unsigned const size = team == Team::warp ? lanes_of_warp() : 96;
    put([&](T& next) {
      for (unsigned i = 0; i < rank % 5 * 8; ++i) anywhere([](auto m) { m.relax(1); });  // some lanes are late
      next.fill(first, rank, size);
    });
  }
};

template <Team team, class T>
void expect_teams_pass_on() {
  for (std::size_t capacity : {1u, 64u}) {
    Pipeline pipe(bounded());
    auto& to = pipe.create_tunnel<T>("to", Direction::cpu_to_gpu, {.capacity_items = capacity});
    auto& back =
        pipe.create_tunnel<T>("back", Direction::gpu_to_cpu, {.capacity_items = capacity, .movement = Movement::dma});
    pipe.add_cpu_stage(
        "feed",
        [](Inlet<T> out) {
          T item;
          for (std::uint64_t k = 1; k <= 200; ++k) {
            item.fill(k);
            out.put_h(item);
          }
        },
        into(to));
    pipe.add_gpu_stage("pass on", SumByTeam<team, T>{}, from(to), into(back),
                       {.blocks = 3, .threads_per_block = 96, .shared_bytes = sizeof(T)});
    std::uint64_t sum = 0;
    std::uint64_t torn = 0;
    pipe.add_cpu_stage(
        "sum",
        [&](T const& x) {
          sum += x.first();
          torn += x.whole() ? 0 : 1;
        },
        from(back));
    pipe.run();
    EXPECT_EQ(sum, 200u * 201 / 2 + 200) << "capacity " << capacity;
    EXPECT_EQ(torn, 0u);
  }
}

TEST(Items, AWarpGetsAndPutsTogether) {
  HIWAY_NEEDS_DEVICE();
  expect_teams_pass_on<Team::warp, Payload<24>>();
  expect_teams_pass_on<Team::warp, Big>();
}
TEST(Items, ABlockGetsAndPutsTogether) {
  HIWAY_NEEDS_DEVICE();
  expect_teams_pass_on<Team::block, Payload<24>>();
  expect_teams_pass_on<Team::block, Big>();
}

/// The paper's loop by blocks: get that does not wait.
struct TryByBlock {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in, Inlet<std::uint32_t> out) const {
    std::uint32_t item = 0;
    for (unsigned got = 0; got != 100;) {
      if (!in.get_block_d(item)) continue;
      ++got;
      if (thread_index() % 64 == 63) out.put_d(item * 2);
      in.end_task_block_d();
    }
  }
};
TEST(Items, GetOfABlockDoesNotWait) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& to = pipe.create_tunnel<std::uint32_t>("to", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<std::uint32_t>("back", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<std::uint32_t> out) {
        for (std::uint32_t k = 0; k < 100; ++k) out.put_h(k);
      },
      into(to));
  pipe.add_gpu_stage("twice", TryByBlock{}, from(to), into(back), {.blocks = 1, .threads_per_block = 64});
  std::uint32_t sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](std::uint32_t const& x) { sum += x; }, from(back));
  pipe.run();
  EXPECT_EQ(sum, 2u * 99 * 100 / 2);
}

struct OneTaskTooMany {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in) const {
    std::uint32_t item = 0;
    while (in.next_block_d(item)) {
      in.end_task_block_d();
      in.end_task_block_d();
    }
  }
};
TEST(Items, ABlockThatEndsATaskTwiceIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& to = pipe.create_tunnel<std::uint32_t>("to", Direction::cpu_to_gpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(to));
  pipe.add_gpu_stage("twice", OneTaskTooMany{}, from(to), {.blocks = 1, .threads_per_block = 64});
  std::string const text = hiway_tests::text_of_error<MisuseError>([&] { pipe.run(); });
  EXPECT_NE(text.find("stage 'twice': one end_task too many: tunnel 'to'"), std::string::npos) << text;
}

// ---- spans ------------------------------------------------------------------------------------------------

TEST(Items, SpansArePutAndGotInOrder) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 7u, 1024u}) {
    for (WhenFull when_full : {WhenFull::wait, WhenFull::spill}) {
      Pipeline pipe(bounded());
      auto& tunnel = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu,
                                             {.capacity_items = capacity, .when_full = when_full});
      pipe.add_cpu_stage(
          "feed",
          [](Inlet<int> out) {
            std::vector<int> numbers(5000);
            std::iota(numbers.begin(), numbers.end(), 0);
            out.put_h(std::span<int const>(numbers).first(3000));
            out.put_h(std::span<int const>());
            out.put_h(std::span<int const>(numbers).subspan(3000));
          },
          into(tunnel));
      std::vector<int> seen;
      pipe.add_cpu_stage(
          "collect",
          [&](Outlet<int> in) {
            std::vector<int> some(64);
            EXPECT_EQ(in.next_h(std::span<int>()), 0u);
            while (std::size_t const n = in.next_h(std::span<int>(some))) {
              seen.insert(seen.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
              in.end_task_h(n);
            }
            EXPECT_EQ(in.get_h(std::span<int>(some)), 0u);
          },
          from(tunnel));
      pipe.run();
      if (when_full == WhenFull::spill) std::sort(seen.begin(), seen.end());  // spilled items lose their order
      std::vector<int> expected(5000);
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(seen, expected) << "capacity " << capacity;
    }
  }
}

TEST(Items, ASpanIsNotPutAfterClose) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        out.close_h();
        int const one[] = {1};
        out.put_h(std::span<int const>(one));
      },
      into(tunnel));
  pipe.add_cpu_stage(
      "sum", [](int const&) {}, from(tunnel));
  std::string const text = hiway_tests::text_of_error<MisuseError>([&] { pipe.run(); });
  EXPECT_NE(text.find("stage 'feed': put after close: tunnel 'numbers'"), std::string::npos) << text;
}

}  // namespace
