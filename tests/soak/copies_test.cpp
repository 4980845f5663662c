// Items that copies bring to a running kernel, and those that they take from it, come whole, each once, whichever
// operation of the stream published them. HIWAY_ITEMS: how many.
#include <vector>

#include "tests/device.hpp"
#include "tests/soak/random_pipeline.hpp"

namespace {

using namespace hiway;
using namespace hiway_tests;

/// Four words that follow from the first, which is never 0.
struct Numbered {
  std::uint64_t words[4];

  HIWAY_DEVICE static Numbered of(std::uint64_t number) {
    return {{number, mix(number), mix(number + 1), ~mix(number)}};
  }
  HIWAY_DEVICE unsigned torn_words() const {
    Numbered const whole = of(words[0]);
    unsigned torn = 0;
    for (unsigned i = 1; i < 4; ++i) torn += words[i] != whole.words[i] ? 1 : 0;
    return torn;
  }
};

/// Two independent sums say that each number came once.
struct Tally {
  Word<std::uint64_t> items{0};
  Word<std::uint64_t> sum{0};
  Word<std::uint64_t> other_sum{0};
  Word<std::uint64_t> torn{0};

  template <class Machine>
  HIWAY_DEVICE void count(Machine m, Numbered const& item) {
    m.fetch_add(items, std::uint64_t{1}, MemoryOrder::relaxed);
    m.fetch_add(sum, item.words[0], MemoryOrder::relaxed);
    m.fetch_add(other_sum, item.words[1], MemoryOrder::relaxed);
    if (unsigned const n = item.torn_words(); n != 0) m.fetch_add(torn, std::uint64_t{n}, MemoryOrder::relaxed);
  }
};

struct CheckAndPass {
  Tally* seen;
  HIWAY_DEVICE Numbered operator()(Numbered const& item) const {
    anywhere([&](auto m) { seen->count(m, item); });
    return item;
  }
};

void expect_all(Tally const& seen, Tally const& expected) {
  EXPECT_EQ(seen.items.bits, expected.items.bits);
  EXPECT_EQ(seen.sum.bits, expected.sum.bits);
  EXPECT_EQ(seen.other_sum.bits, expected.other_sum.bits);
  EXPECT_EQ(seen.torn.bits, 0u);
}

TEST(Copies, BringEveryWordOfEveryItem) {
  HIWAY_NEEDS_DEVICE();
#if defined(HIWAY_TEST_ON_GPU)
  std::uint64_t const items = from_environment("HIWAY_ITEMS", 5'000'000);
#else
  std::uint64_t const items = from_environment("HIWAY_ITEMS", 50'000);
#endif
  Pipeline pipe(bounded(std::chrono::minutes(5)));
  TunnelConfig const by_copies{.capacity_items = 1u << 14, .movement = Movement::dma};
  auto& to = pipe.create_tunnel<Numbered>("to", Direction::cpu_to_gpu, by_copies);
  auto& back = pipe.create_tunnel<Numbered>("back", Direction::gpu_to_cpu, by_copies);
  auto& on_device = pipe.create_buffer<Tally>(1);
  std::vector<Tally> seen(1);
  on_device.copy_in(seen);
  Tally put;
  Tally came_back;
  std::size_t constexpr span = 512;
  pipe.add_cpu_stage(
      "source",
      [&, items](Inlet<Numbered> out) {
        std::vector<Numbered> some;
        for (std::uint64_t number = 1; number <= items; number += some.size()) {
          some.clear();
          for (std::uint64_t n = number; n <= items && some.size() < span; ++n) some.push_back(Numbered::of(n));
          for (Numbered const& item : some) put.count(ThreadMachine{}, item);
          out.put_h(std::span<Numbered const>(some));
        }
      },
      into(to));
  pipe.add_gpu_stage("check", CheckAndPass{on_device.view().data}, from(to), into(back));
  pipe.add_cpu_stage(
      "sink",
      [&](Outlet<Numbered> in) {
        std::vector<Numbered> some(span);
        while (std::size_t const n = in.next_h(std::span<Numbered>(some))) {
          for (std::size_t i = 0; i < n; ++i) came_back.count(ThreadMachine{}, some[i]);
          in.end_task_h(n);
        }
      },
      from(back));
  pipe.run();
  on_device.copy_out(seen);
  expect_all(seen[0], put);
  expect_all(came_back, put);
  EXPECT_EQ(put.items.bits, items);
}

}  // namespace
