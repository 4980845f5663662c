// Stencil tunnels by number: figure 8's stencil functions, in every direction.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

constexpr int width = 37;
constexpr int height = 23;

struct Sum {
  std::int32_t x, y;
  std::int64_t sum;
};

struct OnDevice {
  HIWAY_DEVICE bool is_over() const { return isTerminate_d(); }
  HIWAY_DEVICE void set(int id, int x, int y, std::int64_t value) const { set_d<std::int64_t>(id, x, y, value); }
  HIWAY_DEVICE void end(int id) const { put_d<std::int64_t>(endFlag_d, id); }
  HIWAY_DEVICE bool get(StencilReference& task, int id) const { return get_d<StencilReference>(&task, id); }
  HIWAY_DEVICE bool is_ready(int id, int x, int y) const { return isStencilReady_d(id, x, y); }
  HIWAY_DEVICE std::int64_t fetch(int id, int x, int y) const {
    std::int64_t value = 0;
    fetch_d<std::int64_t>(id, x, y, &value);
    return value;
  }
  HIWAY_DEVICE void put(Sum const& sum, int id) const { put_d(sum, id); }
  HIWAY_DEVICE void end_task(int id) const { endTask_d(id); }
};
struct OnHost {
  bool is_over() const { return isTerminate_h(); }
  void set(int id, int x, int y, std::int64_t value) const { set_h<std::int64_t>(id, x, y, value); }
  void end(int id) const { put_h<std::int64_t>(endFlag_h, id); }
  bool get(StencilReference& task, int id) const { return get_h<StencilReference>(&task, id); }
  bool is_ready(int id, int x, int y) const { return isStencilReady_h(id, x, y); }
  std::int64_t fetch(int id, int x, int y) const {
    std::int64_t value = 0;
    fetch_h<std::int64_t>(id, x, y, &value);
    return value;
  }
  void put(Sum const& sum, int id) const { put_h(sum, id); }
  void end_task(int id) const { endTask_h(id); }
};

HIWAY_DEVICE std::int64_t value_at(int x, int y) { return 1000 * y + x; }

/// Sets all values, in an order that is not theirs.
HIWAY_NO_SPACE_CHECK template <class Calls>
HIWAY_DEVICE void produce(Calls calls, int matrix) {
  constexpr int values = width * height;
  for (int i = 0; i < values; ++i) {
    int const at = i * 10 % values;  // they have no common divisor
    calls.set(matrix, at % width, at / width, value_at(at % width, at / width));
  }
  calls.end(matrix);
}
/// The paper's loop: a task's stencil begins at its reference, and its middle is ready.
HIWAY_NO_SPACE_CHECK template <class Calls>
HIWAY_DEVICE void consume(Calls calls, int matrix, int sums, int stencil_width, int stencil_height) {
  StencilReference task{};
  while (!calls.is_over()) {
    if (!calls.get(task, matrix)) continue;
    std::int64_t sum = calls.is_ready(matrix, task.x + stencil_width / 2, task.y + stencil_height / 2) ? 0 : 1000000000;
    for (int y = 0; y < stencil_height; ++y)
      for (int x = 0; x < stencil_width; ++x) sum += calls.fetch(matrix, task.x + x, task.y + y);
    calls.put(Sum{task.x, task.y, sum}, sums);
    calls.end_task(matrix);
  }
}

struct ProduceKernel {
  int matrix;
  HIWAY_DEVICE void operator()() const {
    if (hiway::thread_index() == 0) produce(OnDevice{}, matrix);
  }
};
struct ConsumeKernel {
  int matrix, sums, stencil_width, stencil_height;
  HIWAY_DEVICE void operator()() const { consume(OnDevice{}, matrix, sums, stencil_width, stencil_height); }
};
/// Both in one launch, as launches run one after another.
struct BothKernels {
  ProduceKernel producer;
  ConsumeKernel consumer;
  HIWAY_DEVICE void operator()() const {
    if (hiway::block_index() == 0) {
      producer();
    } else {
      consumer();
    }
  }
};

/// What comes out for each place, by the place of the task; empty if none, or several.
std::vector<std::int64_t> sums_of(TunnelDirection direction, bool batched, StencilConfig const& config) {
  bool const put_on_gpu = direction == GPU_TO_CPU || direction == GPU_TO_GPU;
  bool const got_on_gpu = direction == CPU_TO_GPU || direction == GPU_TO_GPU;
  int const w = static_cast<int>(config.stencil_width);
  int const h = static_cast<int>(config.stencil_height);
  Service service(bounded());
  int matrix = -1, sums = -1;
  createTunnel<std::int64_t>(matrix, direction, batched);
  configStencilTunnel<std::int64_t>(matrix, config);
  createTunnel<Sum>(sums, got_on_gpu ? GPU_TO_CPU : CPU_TO_CPU, true);
  connect("consume", {matrix}, {sums});
  connect("take", {sums}, {});
  setupService();
  std::vector<std::thread> threads;
  ProduceKernel const producer{matrix};
  ConsumeKernel const consumer{matrix, sums, w, h};
  if (put_on_gpu && got_on_gpu) {
    pipeline().launch("both", BothKernels{producer, consumer}, {.blocks = 3, .threads_per_block = 64});
  } else if (put_on_gpu) {
    pipeline().launch("produce", producer, {.blocks = 1, .threads_per_block = 32});
  } else if (got_on_gpu) {
    pipeline().launch("consume", consumer, {.blocks = 2, .threads_per_block = 64});
  }
  if (!put_on_gpu) threads.emplace_back(produce<OnHost>, OnHost{}, matrix);
  for (int i = 0; !got_on_gpu && i < 2; ++i) threads.emplace_back(consume<OnHost>, OnHost{}, matrix, sums, w, h);
  std::vector<std::int64_t> all(static_cast<std::size_t>(width) * height, 0);
  Sum got{};
  while (!isTerminate_h()) {
    if (!get_h(&got, sums)) continue;
    all[static_cast<std::size_t>(got.y * width + got.x)] += got.sum;
    endTask_h(sums);
  }
  for (std::thread& t : threads) t.join();
  static_cast<void>(service.shutdown());
  return all;
}
std::vector<std::int64_t> expected_sums(int w, int h) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(width) * height, 0);
  for (int y = 0; y + h <= height; ++y)
    for (int x = 0; x + w <= width; ++x)
      for (int i = 0; i < w * h; ++i) all[static_cast<std::size_t>(y * width + x)] += value_at(x + i % w, y + i / w);
  return all;
}

TEST(PaperStencils, BringEachTaskItsValues) {
  HIWAY_NEEDS_DEVICE();
  for (TunnelDirection const direction : {CPU_TO_CPU, CPU_TO_GPU, GPU_TO_CPU, GPU_TO_GPU}) {
    for (bool const batched : {true, false}) {
      StencilConfig const config{.width = width, .height = height, .region_width = 8, .region_height = 5};
      EXPECT_EQ(sums_of(direction, batched, config), expected_sums(3, 3)) << static_cast<int>(direction) << batched;
    }
  }
}
TEST(PaperStencils, MayBeOfAnyExtent) {
  HIWAY_NEEDS_DEVICE();
  StencilConfig const config{.width = width, .height = height, .stencil_width = 4, .stencil_height = 1};
  EXPECT_EQ(sums_of(CPU_TO_GPU, true, config), expected_sums(4, 1));
}

// A lane's tasks are single ones, also where a stage of the library's would take several at once.
TEST(PaperStencils, OfManyTasksGiveThemOneByOne) {
  HIWAY_NEEDS_DEVICE();
  Service service(bounded());
  int matrix = -1;
  createTunnel<std::uint8_t>(matrix, CPU_TO_CPU, true);
  configStencilTunnel<std::uint8_t>(matrix, {.width = 200, .height = 100, .stencil_width = 1, .stencil_height = 1});
  setupService();
  std::thread producer([&] {
    for (int y = 0; y < 100; ++y)
      for (int x = 0; x < 200; ++x) set_h<std::uint8_t>(matrix, x, y, static_cast<std::uint8_t>(x + y));
    put_h(endFlag, matrix);
  });
  int tasks = 0;
  StencilReference task{};
  while (!isTerminate_h()) {
    if (!get_h(&task, matrix)) continue;
    std::uint8_t value = 0;
    fetch_h(matrix, task.x, task.y, &value);
    tasks += value == static_cast<std::uint8_t>(task.x + task.y) ? 1 : 0;
    endTask_h(matrix);
  }
  producer.join();
  EXPECT_EQ(service.shutdown().stencils.front().tasks, 20000U);
  EXPECT_EQ(tasks, 20000);
}

// ---- errors

TEST(PaperStencils, ABadConfigurationIsNamed) {
  HIWAY_NEEDS_DEVICE();
  Service service(bounded());
  int id = -1;
  createTunnel<int>(id, CPU_TO_CPU, true);
  auto const error_of = [&](StencilConfig const& config) {
    return text_of_error<hiway::ConfigError>([&] { configStencilTunnel<int>(id, config); });
  };
  EXPECT_THAT(text_of_error<hiway::MisuseError>([&] { configStencilTunnel<float>(id, {.width = 8, .height = 8}); }),
              HasSubstr("it was created for another type"));
  EXPECT_THAT(error_of({.width = 8, .height = 8, .frames = 2}), HasSubstr("by number it has one frame"));
  EXPECT_THAT(error_of({.width = 0, .height = 8}), HasSubstr("stencil tunnel 'tunnel"));
  configStencilTunnel<int>(id, {.width = 8, .height = 8});
  EXPECT_THAT(text_of_error<hiway::MisuseError>([&] { (void)tunnel<int>(id); }), HasSubstr("not of the type"));
  int used = -1;
  createTunnel<int>(used, CPU_TO_CPU, true);
  (void)tunnel<int>(used);
  EXPECT_THAT(text_of_error<hiway::ConfigError>([&] { configStencilTunnel<int>(used, {.width = 8, .height = 8}); }),
              HasSubstr("is in use already"));
}

template <class Call>
std::string error_of_call(Call&& call) {
  Service service(bounded());
  int matrix = -1, plain = -1;
  createTunnel<int>(matrix, CPU_TO_CPU, true);
  configStencilTunnel<int>(matrix, {.width = 8, .height = 8});
  createTunnel<int>(plain, CPU_TO_CPU, true);
  setupService();
  try {
    call(matrix, plain);
  } catch (hiway::MisuseError const& e) {
    return e.what();
  }
  return text_of_error<hiway::Error>([&] { static_cast<void>(service.shutdown()); });
}

TEST(PaperStencils, MisuseIsNamed) {
  HIWAY_NEEDS_DEVICE();
  EXPECT_THAT(error_of_call([](int matrix, int) { put_h(1, matrix); }), HasSubstr("not of the tunnel's type"));
  EXPECT_THAT(error_of_call([](int, int plain) { set_h(plain, 1, 1, 1); }), HasSubstr("not of the tunnel's type"));
  EXPECT_THAT(error_of_call([](int, int plain) {
                StencilReference task{};
                (void)get_h(&task, plain);
              }),
              HasSubstr("not of the tunnel's type"));
  EXPECT_THAT(error_of_call([](int matrix, int) {
                set_h(matrix, 1, 2, 5);
                set_h(matrix, 1, 2, 6);
              }),
              HasSubstr("a value was set twice in one frame"));
  EXPECT_THAT(error_of_call([](int matrix, int) {
                int value = 0;
                fetch_h(matrix, 8, 0, &value);
              }),
              HasSubstr("outside the matrix"));
  EXPECT_THAT(error_of_call([](int matrix, int) { (void)isStencilReady_h(matrix, 0, 0); }),
              HasSubstr("outside the matrix"));
}

}  // namespace
