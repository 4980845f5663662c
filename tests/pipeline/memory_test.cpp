// Where a pipeline's memory comes from.
#include "hiway/memory.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <map>
#include <memory_resource>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;

/// Counts what is taken from it, and fails at the `fails_at`-th.
class Counting final : public MemoryResource {
 public:
  ~Counting() override { EXPECT_TRUE(taken.empty()) << taken.size() << " not given back"; }
  void* allocate(Memory kind, std::size_t bytes, int device) override {
    if (++asked == fails_at) throw std::runtime_error("no more");
    void* const address = ::operator new(bytes, std::align_val_t(memory_alignment));
    taken[address] = {kind, bytes, device};
    kinds.insert(kind);
    return address;
  }
  void deallocate(Memory kind, void* address, std::size_t bytes, int device) noexcept override {
    EXPECT_EQ(taken.at(address), std::tuple(kind, bytes, device));
    taken.erase(address);
    ::operator delete(address, std::align_val_t(memory_alignment));
  }

  std::map<void*, std::tuple<Memory, std::size_t, int>> taken;
  std::set<Memory> kinds;
  int asked = 0;
  int fails_at = 0;
};

PipelineConfig from(MemoryResource& memory) {
  PipelineConfig config = bounded();
  config.device = "simt";  // memory of `new` is no GPU's
  config.memory = &memory;
  return config;
}

struct Double {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};

/// Numbers to the device and back by dma, and a buffer; what came back.
long sum_of(Pipeline& pipe) {
  TunnelConfig const dma{.movement = Movement::dma};
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, dma);
  auto& back = pipe.create_tunnel<int>("back", Direction::gpu_to_cpu, dma);
  static_cast<void>(pipe.create_buffer<int>(100));
  static_cast<void>(pipe.create_host_buffer<int>(100));
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](Inlet<int> out) {
        for (int i = 1; i <= 1000; ++i) out.put_h(i);
      },
      into(there));
  pipe.add_gpu_stage("double", Double{}, hiway::from(there), into(back));
  pipe.add_cpu_stage(
      "sum", [&](int const& x) { sum += x; }, hiway::from(back));
  pipe.run();
  return sum;
}

TEST(Memory, ComesFromTheUsersResourceAndGoesBack) {
  Counting memory;
  {
    Pipeline pipe(from(memory));
    EXPECT_EQ(sum_of(pipe), 1001000);
    EXPECT_THAT(memory.kinds, testing::UnorderedElementsAre(Memory::pinned, Memory::device));
    int const before = memory.asked;
    pipe.run();
    EXPECT_EQ(memory.asked, before) << "a run takes none";
    static_cast<void>(pipe.create_buffer<int>(10, 1));
  }
  EXPECT_GT(memory.asked, 5);
}

TEST(Memory, ThatCannotBeHadIsNamed) {
  int asked = 0;
  {
    Counting memory;
    Pipeline pipe(from(memory));
    EXPECT_EQ(sum_of(pipe), 1001000);
    asked = memory.asked;
  }
  for (int n = 1; n <= asked; ++n) {
    SCOPED_TRACE(n);
    Counting memory;
    memory.fails_at = n;
    EXPECT_THAT(
        text_of_error<ConfigError>([&] {
          Pipeline pipe(from(memory));
          static_cast<void>(sum_of(pipe));
        }),
        testing::MatchesRegex(".*: PipelineConfig::memory has no [0-9]+ bytes of (device|pinned) memory: no more"));
  }
}

TEST(Memory, OfTheStandardsResources) {
  std::pmr::unsynchronized_pool_resource pool;
  std::pmr::monotonic_buffer_resource pinned;
  MemoryFrom memory(pool, pinned);
  Pipeline pipe(from(memory));
  EXPECT_EQ(sum_of(pipe), 1001000);
}

struct CountUp {
  View<int> out;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = thread_index(); i < out.size; i += thread_count()) out[i] = static_cast<int>(i);
  }
};

// On an emulated device any memory is the device's.
TEST(Memory, ABufferMayLieInTheUsersOwn) {
  std::vector<int> own(1000, -1);
  {
    Pipeline pipe({.device = "simt"});
    Buffer<int>& buffer = pipe.create_buffer(View<int>{own.data(), own.size()});
    EXPECT_EQ(buffer.view().data, own.data());
    pipe.launch("count", CountUp{buffer.view()}, {.blocks = 1, .threads_per_block = 32});
    pipe.synchronize();
    std::vector<int> out(1000);
    buffer.copy_out(out);
    EXPECT_EQ(out, own);
    int const two[] = {7, 8};
    buffer.copy_in(two, 1);
  }
  EXPECT_THAT(std::vector<int>(own.begin(), own.begin() + 4), testing::ElementsAre(0, 7, 8, 3));
}

}  // namespace
