// Spans on the device: every item exactly once, whole and in its putter's order, through rings of any size and every
// road, by lanes whose numbers differ, by warps and by blocks; and what ends them.
#include <chrono>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

/// Who makes a call together.
enum class By { lane, warp, block };

/// Number `number` of putter `putter`, which its rest repeats.
template <std::size_t Bytes>
struct Numbered {
  std::uint32_t putter;
  std::uint32_t number;
  std::uint32_t rest[Bytes / 4 - 2];

  HIWAY_DEVICE void fill(std::uint32_t of, std::uint32_t n) {
    putter = of;
    number = n;
    for (std::uint32_t& word : rest) word = of * 0x9e3779b9u + n;
  }
  HIWAY_DEVICE bool whole() const {
    for (std::uint32_t const& word : rest) {
      if (word != putter * 0x9e3779b9u + number) return false;
    }
    return true;
  }
};

constexpr std::uint32_t longest = 80;   // items of a span
constexpr unsigned block_threads = 48;  // a warp, and half a one

/// The caller among those who call together.
template <By by>
struct Caller {
  unsigned number, rank, size;
  HIWAY_DEVICE Caller() {
    anywhere([this](auto m) {
      unsigned const warp = m.thread_in_block() / 32;
      unsigned const warps = (m.block_threads() + 31) / 32;
      unsigned const block = m.thread_index() / m.block_threads();
      number = by == By::lane ? m.thread_index() : by == By::warp ? block * warps + warp : block;
      rank = by == By::lane ? 0 : by == By::warp ? m.lane() : m.thread_in_block();
      size = by == By::lane ? 1 : by == By::warp ? m.count(m.lanes()) : m.block_threads();
    });
  }
  HIWAY_DEVICE void sync() const {
    anywhere([](auto m) {
      if constexpr (by == By::warp) m.sync_warp(m.lanes());
      if constexpr (by == By::block) m.sync_block();
    });
  }
  /// Where a span lies that all of them reach; `own` is the lane's own place.
  template <class T>
  HIWAY_DEVICE T* room(T* own) const {
    std::byte* const shared = shared_memory();
    if (by == By::lane || shared == nullptr) return own;
    return reinterpret_cast<T*>(shared) +
           (by == By::warp ? anywhere([](auto m) { return m.thread_in_block() / 32; }) : 0) * longest;
  }
};

/// How many items the next span has: 0 to a few for lanes, which differ; up to `longest` for teams.
template <By by>
HIWAY_DEVICE std::uint32_t length(std::uint32_t putter, std::uint32_t done, std::uint32_t items) {
  std::uint32_t const n = (putter * 5 + done * 7 + done / 3) % (by == By::lane ? 6 : longest + 1);
  return n < items - done ? n : items - done;
}

template <By by, std::size_t Bytes>
struct PutSpans {
  std::uint32_t items;  // of each putter
  HIWAY_DEVICE void operator()(Inlet<Numbered<Bytes>> out) const {
    using T = Numbered<Bytes>;
    Caller<by> const me;
    T own[longest];
    T* const span = me.room(own);
    for (std::uint32_t done = 0, calls = 0; done != items; ++calls) {
      std::uint32_t n = length<by>(me.number, done, items);
      if (n == 0 && calls % 2 != 0) n = 1;  // an empty one goes, too, but then it goes on
      for (std::uint32_t i = me.rank; i < n; i += me.size) span[i].fill(me.number, done + i);
      me.sync();
      std::span<T const> const all(span, n);
      if constexpr (by == By::lane) out.put(all);
      if constexpr (by == By::warp) out.put_warp(all);
      if constexpr (by == By::block) out.put_block(all);
      done += n;
    }
  }
};

/// What a getter finds wrong is counted here, and what it got.
struct Got {
  View<Word<std::uint32_t>> times;  // of each putter's each item
  View<Word<std::uint32_t>> wrong;
  std::uint32_t items = 0;  // of each putter
  bool in_order = true;     // within one span

  template <class T>
  HIWAY_DEVICE void account(T const* span, std::size_t n, unsigned rank, unsigned size) const {
    for (std::size_t i = 0; i < n; ++i) {
      T const& x = span[i];
      bool good = x.whole() && x.number < items && std::size_t{x.putter} * items + x.number < times.size;
      for (std::size_t k = 0; in_order && k < i; ++k)
        good = good && (span[k].putter != x.putter || span[k].number < x.number);
      anywhere([&](auto m) {
        if (!good) m.fetch_add(wrong[0], 1u, MemoryOrder::relaxed);
        if (good && i % size == rank)
          m.fetch_add(times[std::size_t{x.putter} * items + x.number], 1u, MemoryOrder::relaxed);
      });
    }
  }
};

/// Gets with and without waiting in turn.
template <By by, std::size_t Bytes>
struct GetSpans {
  Got got;
  HIWAY_DEVICE void operator()(Outlet<Numbered<Bytes>> in) const {
    using T = Numbered<Bytes>;
    Caller<by> const me;
    T own[longest];
    T* const span = me.room(own);
    for (std::uint32_t calls = 0;; ++calls) {
      std::uint32_t const n = (me.number + calls) % (by == By::lane ? 5 : longest + 1);
      std::span<T> const room(span, n);
      std::size_t some = 0;
      if constexpr (by == By::lane) some = calls % 2 != 0 ? in.get(room) : in.next(room);
      if constexpr (by == By::warp) some = calls % 2 != 0 ? in.get_warp(room) : in.next_warp(room);
      if constexpr (by == By::block) some = calls % 2 != 0 ? in.get_block(room) : in.next_block(room);
      if (some == 0 && n != 0 && calls % 2 == 0) return;
      got.account(span, some, me.rank, me.size);
      me.sync();
      if constexpr (by == By::lane) in.end_task(some);
      if constexpr (by == By::warp) in.end_task_warp(some);
      if constexpr (by == By::block) in.end_task_block(some);
    }
  }
};

struct Road {
  Direction direction = Direction::gpu_to_gpu;
  TunnelConfig config;
  std::uint32_t items = 300;  // of each putter
  unsigned getting_blocks = 2;
};
std::ostream& operator<<(std::ostream& out, Road const& road) {
  return out << "direction " << int(road.direction) << ", movement " << int(road.config.movement) << ", capacity "
             << road.config.capacity_items;
}

/// Putters and getters on whichever side of the tunnel; blocks of a partial warp on a device.
template <By puts, By gets, std::size_t Bytes>
void expect_each_once(Road const& road) {
  SCOPED_TRACE(testing::Message() << road);
  using T = Numbered<Bytes>;
  bool const from_gpu = road.direction == Direction::gpu_to_gpu || road.direction == Direction::gpu_to_cpu;
  bool const to_gpu = road.direction == Direction::gpu_to_gpu || road.direction == Direction::cpu_to_gpu;
  unsigned const putters = !from_gpu ? 3 : puts == By::lane ? 2 * block_threads : puts == By::warp ? 4 : 2;
  Pipeline pipe(bounded());
  auto& tunnel = pipe.create_tunnel<T>("numbers", road.direction, road.config);
  auto& times = pipe.create_buffer<Word<std::uint32_t>>(putters * road.items);
  auto& wrong = pipe.create_buffer<Word<std::uint32_t>>(1);
  std::vector<Word<std::uint32_t>> zeros(times.size(), Word<std::uint32_t>{0});
  times.copy_in(zeros);
  wrong.copy_in(std::span(zeros).first(1));
  std::vector<Word<std::uint32_t>> host_times(zeros), host_wrong(1, Word<std::uint32_t>{0});
  GpuStageOptions const lanes{.blocks = 2, .threads_per_block = block_threads, .shared_bytes = 2 * longest * sizeof(T)};
  PutSpans<puts, Bytes> const put{road.items};
  GetSpans<gets, Bytes> get{{times.view(), wrong.view(), road.items, road.config.when_full != WhenFull::spill}};
  if (!to_gpu) {
    get.got.times = {host_times.data(), host_times.size()};
    get.got.wrong = {host_wrong.data(), host_wrong.size()};
  }
  if (from_gpu) {
    pipe.add_gpu_stage("put", put, into(tunnel), lanes);
  } else {
    pipe.add_cpu_stage("put", put, into(tunnel), {.threads = 3});
  }
  if (to_gpu) {
    GpuStageOptions reading = lanes;
    if (road.getting_blocks == 1) reading.blocks = 1, reading.threads_per_block = 32;
    pipe.add_gpu_stage("get", get, from(tunnel), reading);
  } else {
    pipe.add_cpu_stage("get", get, from(tunnel), {.threads = 2});
  }
  RunReport const report = pipe.run();
  EXPECT_EQ(report.tunnels[0].items, putters * road.items);
  EXPECT_EQ(report.tunnels[0].finished, putters * road.items);
  if (to_gpu) {
    times.copy_out(host_times);
    wrong.copy_out(host_wrong);
  }
  EXPECT_EQ(host_wrong[0].bits, 0u) << "torn, unknown, or not in order";
  std::size_t not_once = 0;
  for (auto const& n : host_times) not_once += n.bits == 1 ? 0u : 1u;
  EXPECT_EQ(not_once, 0u) << "items that did not come exactly once";
}

TEST(Spans, OfLanesGoThroughRingsOfAnySize) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 3u, 64u, 4096u}) {
    expect_each_once<By::lane, By::lane, 16>({.config = {.capacity_items = capacity}});
    expect_each_once<By::lane, By::lane, 24>({.config = {.capacity_items = capacity}, .items = 50});
  }
}
TEST(Spans, OfWarpsGoThroughRingsOfAnySize) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 3u, 64u, 4096u})
    expect_each_once<By::warp, By::warp, 16>({.config = {.capacity_items = capacity}});
}
TEST(Spans, OfBlocksGoThroughRingsOfAnySize) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 3u, 64u, 4096u}) {
    expect_each_once<By::block, By::block, 16>({.config = {.capacity_items = capacity}});
    expect_each_once<By::block, By::lane, 16>({.config = {.capacity_items = capacity}});
    expect_each_once<By::lane, By::block, 24>({.config = {.capacity_items = capacity}, .items = 50});
  }
}
TEST(Spans, CrossTheBusBothWays) {
  HIWAY_NEEDS_DEVICE();
  for (Movement movement : {Movement::direct, Movement::dma}) {
    for (std::size_t capacity : {1u, 64u, 1024u}) {
      TunnelConfig const config{.capacity_items = capacity, .movement = movement};
      Road const there{Direction::cpu_to_gpu, config, 200};
      expect_each_once<By::lane, By::lane, 16>(there);
      expect_each_once<By::lane, By::warp, 16>(there);
      expect_each_once<By::lane, By::block, 16>(there);
      Road const back{Direction::gpu_to_cpu, config, 60};
      expect_each_once<By::lane, By::lane, 16>(back);
      expect_each_once<By::warp, By::lane, 16>(back);
      expect_each_once<By::block, By::lane, 24>(back);
    }
  }
}
TEST(Spans, GoWithTagsToo) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t capacity : {1u, 64u}) {
    TunnelConfig config{.capacity_items = capacity, .low_latency = true};
    Road const there{Direction::cpu_to_gpu, config, 100, 1};
    expect_each_once<By::lane, By::lane, 12>(there);
    expect_each_once<By::lane, By::warp, 12>(there);
    expect_each_once<By::lane, By::block, 12>(there);
    Road back{Direction::gpu_to_cpu, config, 60};
    expect_each_once<By::lane, By::lane, 12>(back);
    expect_each_once<By::warp, By::lane, 12>(back);
    expect_each_once<By::block, By::lane, 12>(back);
    back.config.when_full = WhenFull::spill;
    expect_each_once<By::lane, By::lane, 12>(back);
    Road inside{.config = config};
    expect_each_once<By::lane, By::lane, 12>(inside);
    expect_each_once<By::warp, By::warp, 12>(inside);
    expect_each_once<By::block, By::block, 12>(inside);
    expect_each_once<By::lane, By::block, 12>(inside);
    inside.config.when_full = WhenFull::spill;
    expect_each_once<By::lane, By::lane, 12>(inside);
  }
}
TEST(Spans, GoPartlyIntoThePool) {
  HIWAY_NEEDS_DEVICE();
  TunnelConfig const config{.capacity_items = 16, .when_full = WhenFull::spill};
  for (Direction direction : {Direction::gpu_to_gpu, Direction::gpu_to_cpu}) {
    expect_each_once<By::lane, By::lane, 16>({direction, config, 100});
    expect_each_once<By::block, By::block, 16>({direction, config, 300});
  }
}
TEST(Spans, ShareAClaimInEveryGrouping) {
  HIWAY_NEEDS_DEVICE();
  for (Grouping grouping : {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan})
    expect_each_once<By::lane, By::lane, 16>({.config = {.capacity_items = 100, .grouping = grouping}, .items = 100});
}
TEST(Spans, TheSameBodiesRunOnCpuThreads) {
  HIWAY_NEEDS_DEVICE();
  Road const road{Direction::cpu_to_cpu, {.capacity_items = 7}, 500};
  expect_each_once<By::lane, By::lane, 16>(road);
  expect_each_once<By::warp, By::block, 16>(road);
}

/// Feeds itself: of each number n it puts n - 1 twice, all that a span brought in one span.
template <By by>
struct Halve {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> start, Outlet<std::uint32_t> again, Inlet<std::uint32_t> more,
                               Inlet<std::uint32_t> leaves) const {
    loop(start, more, leaves);
    loop(again, more, leaves);
  }
  HIWAY_DEVICE void loop(Outlet<std::uint32_t> in, Inlet<std::uint32_t> more, Inlet<std::uint32_t> leaves) const {
    constexpr std::uint32_t most = by == By::lane ? 3 : 24;
    Caller<by> const me;
    std::uint32_t own[longest];
    std::uint32_t* const got = me.room(own);
    std::uint32_t* const next = got + most;
    for (;;) {
      std::span<std::uint32_t> const room(got, most);
      std::size_t n = 0;
      if constexpr (by == By::lane) n = in.next(room);
      if constexpr (by == By::block) n = in.next_block(room);
      if (n == 0) return;
      if (me.rank == 0) {
        for (std::size_t i = 0; i < n; ++i) {
          if (got[i] == 0) leaves.put(0);
          next[2 * i] = next[2 * i + 1] = got[i] - 1;
        }
      }
      me.sync();
      // The numbers of one span are of one depth or of two; 0 has no children.
      std::size_t kept = 0;
      for (std::size_t i = 0; i < 2 * n; ++i) kept += next[i] != ~std::uint32_t{0} ? 1u : 0u;
      me.sync();
      if (me.rank == 0) {
        std::size_t to = 0;
        for (std::size_t i = 0; i < 2 * n; ++i) {
          if (next[i] != ~std::uint32_t{0}) next[to++] = next[i];
        }
      }
      me.sync();
      std::span<std::uint32_t const> const children(next, kept);
      if constexpr (by == By::lane) {
        more.put(children);
        in.end_task(n);
      } else {
        more.put_block(children);
        in.end_task_block(n);
      }
    }
  }
};
template <By by>
void expect_leaves(std::uint32_t depth) {
  Pipeline pipe(bounded());
  auto& start = pipe.create_tunnel<std::uint32_t>("start", Direction::cpu_to_gpu);
  auto& again = pipe.create_tunnel<std::uint32_t>("again", Direction::gpu_to_gpu, {.capacity_items = 8});
  auto& leaves = pipe.create_tunnel<std::uint32_t>("leaves", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "start", [depth](Inlet<std::uint32_t> out) { out.put_h(depth); }, into(start));
  pipe.add_gpu_stage(
      "halve", Halve<by>{}, from(start, again), into(again, leaves),
      {.blocks = 2, .threads_per_block = block_threads, .shared_bytes = 4 * longest * sizeof(std::uint32_t)});
  std::uint32_t sum = 0;
  pipe.add_cpu_stage(
      "count", [&](std::uint32_t const&) { ++sum; }, from(leaves));
  pipe.run();
  EXPECT_EQ(sum, 1u << depth);
}
TEST(Spans, OfACycleSpillAndEnd) {
  HIWAY_NEEDS_DEVICE();
  expect_leaves<By::lane>(10);
  expect_leaves<By::block>(10);
}

// ---- what ends them

template <By by>
struct PutForEver {
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out) const {
    Caller<by> const me;
    std::uint32_t own[longest] = {};
    std::uint32_t* const span = me.room(own);
    for (;;) {
      std::span<std::uint32_t const> const all(span, longest);
      if constexpr (by == By::lane) out.put(all);
      if constexpr (by == By::warp) out.put_warp(all);
      if constexpr (by == By::block) out.put_block(all);
    }
  }
};
template <By by>
struct GetForEver {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in) const {
    Caller<by> const me;
    std::uint32_t own[longest];
    std::span<std::uint32_t> const room(me.room(own), longest);
    for (;;) {
      std::size_t n = 0;
      if constexpr (by == By::lane) n = in.next(room);
      if constexpr (by == By::warp) n = in.get_warp(room);
      if constexpr (by == By::block) n = in.next_block(room);
      if constexpr (by == By::lane) in.end_task(n);
      if constexpr (by == By::warp) in.end_task_warp(n);
      if constexpr (by == By::block) in.end_task_block(n);
    }
  }
};
template <By by>
void expect_abort(Direction direction, std::size_t capacity) {
  for (int i = 0; i < 5; ++i) {
    Pipeline pipe(bounded());
    auto& tunnel = pipe.create_tunnel<std::uint32_t>("numbers", direction, {.capacity_items = capacity});
    GpuStageOptions const lanes{
        .blocks = 2, .threads_per_block = block_threads, .shared_bytes = 2 * longest * sizeof(std::uint32_t)};
    if (direction == Direction::cpu_to_gpu) {
      pipe.add_cpu_stage("put", PutForEver<by>{}, into(tunnel));
    } else {
      pipe.add_gpu_stage("put", PutForEver<by>{}, into(tunnel), lanes);
    }
    if (direction == Direction::gpu_to_cpu) {
      pipe.add_cpu_stage("get", GetForEver<by>{}, from(tunnel));
    } else {
      pipe.add_gpu_stage("get", GetForEver<by>{}, from(tunnel), lanes);
    }
    pipe.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(3 + 4 * i));
    pipe.abort();
    EXPECT_THROW(pipe.wait(), Aborted);
  }
}
TEST(Spans, AnAbortEndsThemInTheMiddle) {
  HIWAY_NEEDS_DEVICE();
  for (Direction direction : {Direction::gpu_to_gpu, Direction::gpu_to_cpu, Direction::cpu_to_gpu}) {
    expect_abort<By::lane>(direction, 64);
    expect_abort<By::warp>(direction, 64);
    expect_abort<By::block>(direction, 5);
  }
}

/// One lane of a warp has closed; all put.
template <By by>
struct PutSpanAfterClose {
  HIWAY_DEVICE void operator()(Inlet<std::uint32_t> out) const {
    std::uint32_t own[2] = {1, 1};
    if (thread_index() == 0) out.close();
    std::span<std::uint32_t const> const all(own);
    if constexpr (by == By::lane) out.put(all);
    if constexpr (by == By::warp) out.put_warp(all);
  }
};
template <By by>
void expect_put_after_close() {
  for (Direction direction : {Direction::gpu_to_gpu, Direction::gpu_to_cpu}) {
    Pipeline pipe(bounded());
    auto& tunnel = pipe.create_tunnel<std::uint32_t>("numbers", direction);
    pipe.add_gpu_stage("put", PutSpanAfterClose<by>{}, into(tunnel), {.blocks = 1, .threads_per_block = 32});
    if (direction == Direction::gpu_to_gpu) {
      pipe.add_gpu_stage("get", GetForEver<By::lane>{}, from(tunnel), {.blocks = 1, .threads_per_block = 32});
    } else {
      pipe.add_cpu_stage("get", GetForEver<By::lane>{}, from(tunnel));
    }
    std::string const text = text_of_error<MisuseError>([&] { pipe.run(); });
    EXPECT_NE(text.find("stage 'put': put after close: tunnel 'numbers'"), std::string::npos) << text;
  }
}
TEST(Spans, AreNotPutAfterClose) {
  HIWAY_NEEDS_DEVICE();
  expect_put_after_close<By::lane>();
  expect_put_after_close<By::warp>();
}

/// Ends one task more than it got, at once with the others.
template <By by>
struct OneTaskTooMany {
  HIWAY_DEVICE void operator()(Outlet<std::uint32_t> in) const {
    Caller<by> const me;
    std::uint32_t own[longest];
    std::span<std::uint32_t> const room(me.room(own), longest);
    if constexpr (by == By::lane) {
      while (std::size_t const n = in.next(room)) in.end_task(n + 1);
    } else {
      while (std::size_t const n = in.next_block(room)) in.end_task_block(n + 1);
    }
  }
};
template <By by>
void expect_too_many() {
  Pipeline pipe(bounded());
  auto& to = pipe.create_tunnel<std::uint32_t>("to", Direction::cpu_to_gpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<std::uint32_t> out) { out.put_h(1); }, into(to));
  pipe.add_gpu_stage(
      "get", OneTaskTooMany<by>{}, from(to),
      {.blocks = 1, .threads_per_block = block_threads, .shared_bytes = longest * sizeof(std::uint32_t)});
  std::string const text = text_of_error<MisuseError>([&] { pipe.run(); });
  EXPECT_NE(text.find("stage 'get': one end_task too many: tunnel 'to'"), std::string::npos) << text;
}
TEST(Spans, OneEndTaskTooManyIsNamed) {
  HIWAY_NEEDS_DEVICE();
  expect_too_many<By::lane>();
  expect_too_many<By::block>();
}

}  // namespace
