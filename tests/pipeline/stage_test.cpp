// Forms of stages, words of stage code, buffers and ordinary launches.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;

/// Reverses each block's numbers through shared memory.
struct Reverse {
  View<int> data;
  HIWAY_DEVICE void operator()() const {
    int* const shared = reinterpret_cast<int*>(shared_memory());
    unsigned const threads = thread_count() / block_count();
    unsigned const me = thread_index() - block_index() * threads;
    shared[me] = data[thread_index()];
    sync_block();
    data[thread_index()] = shared[threads - 1 - me];
  }
};

TEST(Stage, AnOrdinaryLaunchUsesBuffersAndSharedMemory) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  std::vector<int> numbers(256);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto& buffer = pipe.create_buffer<int>(std::span<int const>(numbers));
  pipe.launch("reverse", Reverse{buffer.view()},
              {.blocks = 4, .threads_per_block = 64, .shared_bytes = 64 * sizeof(int)});
  pipe.synchronize();
  std::vector<int> got(256);
  buffer.copy_out(got);
  for (int block = 0; block < 4; ++block)
    std::reverse(numbers.begin() + block * 64, numbers.begin() + (block + 1) * 64);
  EXPECT_EQ(got, numbers);
  EXPECT_THROW(buffer.copy_in(numbers, 1), ConfigError);
}

TEST(Stage, HostBuffersAreCopiedToBuffersAndBack) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& buffer = pipe.create_buffer<int>(1000);
  std::span<int> const there = pipe.create_host_buffer<int>(1000);
  std::span<int> const back = pipe.create_host_buffer<int>(1000);
  std::iota(there.begin(), there.end(), 7);
  buffer.copy_in(there);
  buffer.copy_out(back);
  EXPECT_TRUE(std::ranges::equal(there, back));
}

/// What the order of launches cannot be changed in without a trace: every other one is slow, and the next would
/// overtake it. Gives each lane what its neighbour in the warp has.
struct TakeNeighbours {
  View<float> floats;
  View<double> doubles;
  HIWAY_DEVICE void operator()() const {
    anywhere([&](auto m) {
      unsigned const me = m.thread_index();
      floats[me] = m.shuffle(m.lanes(), floats[me], (m.lane() + 1) % 32);
      doubles[me] = m.shuffle(m.lanes(), doubles[me], (m.lane() + 1) % 32);
    });
  }
};

TEST(Stage, LanesGiveEachOtherNumbersWithFractions) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  std::vector<float> floats;
  std::vector<double> doubles;
  for (int i = 0; i < 32; ++i) {
    floats.push_back(-0.25F * static_cast<float>(i));
    doubles.push_back(1e-300 * i);
  }
  auto& f = pipe.create_buffer<float>(std::span<float const>(floats));
  auto& d = pipe.create_buffer<double>(std::span<double const>(doubles));
  pipe.launch("neighbours", TakeNeighbours{f.view(), d.view()}, {.blocks = 1, .threads_per_block = 32});
  pipe.synchronize();
  std::vector<float> got_floats(32);
  std::vector<double> got_doubles(32);
  f.copy_out(got_floats);
  d.copy_out(got_doubles);
  std::ranges::rotate(floats, floats.begin() + 1);
  std::ranges::rotate(doubles, doubles.begin() + 1);
  EXPECT_EQ(got_floats, floats);
  EXPECT_EQ(got_doubles, doubles);
}

struct TripleAndAdd {
  View<unsigned> numbers;
  unsigned more;
  HIWAY_DEVICE void operator()() const {
    for (unsigned wait = 0; more % 2 == 0 && wait < 100; ++wait) sync_block();
    // The last launch's number of another thread, too: all of its blocks have left.
    unsigned const opposite = numbers.size - 1 - thread_index();
    if (thread_index() <= opposite) {
      unsigned const mine = numbers[thread_index()];
      numbers[thread_index()] = numbers[opposite] * 3 + more;
      if (thread_index() != opposite) numbers[opposite] = mine * 3 + more;
    }
  }
};

TEST(Stage, LaunchesRunOneAfterAnotherWithoutSynchronize) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  std::vector<unsigned> numbers(64);
  std::iota(numbers.begin(), numbers.end(), 0);
  auto& buffer = pipe.create_buffer<unsigned>(std::span<unsigned const>(numbers));
  for (unsigned i = 0; i < 100; ++i) {
    pipe.launch("step", TripleAndAdd{buffer.view(), i}, {.blocks = 2, .threads_per_block = 32});
    std::ranges::reverse(numbers);
    for (unsigned& n : numbers) n = n * 3 + i;
  }
  pipe.synchronize();
  std::vector<unsigned> got(numbers.size());
  buffer.copy_out(got);
  EXPECT_EQ(got, numbers);
}

/// One outlet of each kind, told apart by the item's type; two inlets.
struct Sort {
  HIWAY_DEVICE void operator()(int const& x, Inlet<int> even, Inlet<int> odd) const {
    (x % 2 == 0 ? even : odd).put(x);
  }
};
struct Negate {
  HIWAY_DEVICE int operator()(int const& x) const { return -x; }
};

TEST(Stage, ItemAndValueFormsRunOnBothSides) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_gpu, {.capacity_items = 7});
  auto& even = pipe.create_tunnel<int>("even", Direction::gpu_to_gpu, {.capacity_items = 7});
  auto& odd = pipe.create_tunnel<int>("odd", Direction::gpu_to_cpu, {.capacity_items = 7});
  auto& negated = pipe.create_tunnel<int>("negated", Direction::gpu_to_cpu, {.capacity_items = 7});
  auto& all = pipe.create_tunnel<int>("all", Direction::cpu_to_cpu, {.capacity_items = 7});
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 1; i <= 500; ++i) out.put_h(i);
      },
      into(in));
  pipe.add_gpu_stage("sort", Sort{}, from(in), into(even, odd), {.blocks = 3, .threads_per_block = 48});
  pipe.add_gpu_stage("negate", Negate{}, from(even), into(negated), {.blocks = 1, .threads_per_block = 40});
  pipe.add_cpu_stage("negate back", Negate{}, from(negated, odd), into(all), {.threads = 2});
  long sum = 0;
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, from(all));
  pipe.run();
  EXPECT_EQ(sum, 250 * 251 - 250 * 250);  // the even ones, less the odd ones
}

TEST(Stage, ThreadsOfACpuStageHaveNumbers) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<unsigned>("t", Direction::cpu_to_cpu);
  pipe.add_cpu_stage("source", [](Inlet<unsigned> out) { out.put_h(thread_index() * 100 + thread_count()); }, into(t),
                     {.threads = 3});
  std::vector<unsigned> got;
  pipe.add_cpu_stage(
      "sink", [&](unsigned const& x) { got.push_back(x); }, from(t));
  pipe.run();
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, (std::vector<unsigned>{3, 103, 203}));
}

TEST(Stage, OptionsMayBeEmptyBraces) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu, {});
  pipe.add_cpu_stage("feed", [](Inlet<int>) {}, into(t), {});
  auto& u = pipe.create_tunnel<int>("u", Direction::gpu_to_cpu, {});
  pipe.add_gpu_stage("negate", Negate{}, from(t), into(u), {});
  pipe.add_cpu_stage("sink", [](int const&) {}, from(u), {});
  EXPECT_EQ(pipe.run().items, 0u);
}

TEST(Stage, TheGraphNamesStagesAndTunnels) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& t = pipe.create_tunnel<int>("t", Direction::cpu_to_gpu, {.capacity_items = 5});
  auto& u = pipe.create_tunnel<int>("u", Direction::gpu_to_cpu);
  pipe.add_cpu_stage(
      "feed", [](Inlet<int>) {}, into(t));
  pipe.add_gpu_stage("negate", Negate{}, from(t), into(u));
  pipe.add_cpu_stage("sink", [](int const&) {}, from(u), {.threads = 2});
  std::string const dot = pipe.graph();
  EXPECT_NE(dot.find("\"feed\" -> \"negate\" [label=\"t (5)\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("\"sink\" [shape=box, label=\"sink\\nCPU, 2 threads\"]"), std::string::npos) << dot;
}

}  // namespace
