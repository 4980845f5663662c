// HiWayLib's figures 8 and 9 as they are printed. Each printed line stands as a comment in front of what it is here;
// C++ does not allow the rest: types that are left out, names without a declaration, launches without a grid.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;

class PaperFigures : public testing::Test {
 protected:
  void SetUp() override {
    HIWAY_NEEDS_DEVICE();
    setenv("HIWAY_RUN_ON", hiway_tests::device().c_str(), 1);
  }
  void TearDown() override {
    shutdownService();
    unsetenv("HIWAY_RUN_ON");
  }
};

// ---- figure 9, right: with HiWayLib

struct Data {
  std::int32_t number;
  std::int32_t square;
};
constexpr int maxLength = 8;  // chunks
constexpr int chunk = 192;

using Counter = hiway::Word<unsigned>;

/// Whether no thread of any launch comes after the caller; the figure does not say how it knows.
HIWAY_DEVICE bool isLast(Counter* counter) {
  unsigned const before =
      hiway::anywhere([&](auto m) { return m.fetch_add(*counter, 1u, hiway::MemoryOrder::acq_rel); });
  return before + 1 == maxLength * chunk;
}

// 1. producerGPU (input, tunnelid) {
HIWAY_DEVICE void producerGPU(std::int32_t const* input, int tunnelid, Counter* counter) {
  // 2.   // each thread generate 'data' with 'input'
  std::int32_t const number = input[hiway::thread_index()];
  Data const data{number, number * number};
  // 3.   put_d<->(data, tunnelid);
  put_d<Data>(data, tunnelid);
  // 4.   if(isLastThread) {
  bool const isLastThread = isLast(counter);
  if (isLastThread) {
    // 5.     put_d<->(HiWayLib::endFlag_d, tunnelid);
    put_d<Data>(HiWayLib::endFlag_d, tunnelid);
    // 6.   }
  }
  // 7.
}

std::int64_t sum = 0;
int processed = 0;
void process(Data const& data) {
  sum += data.square;
  processed += data.square == data.number * data.number ? 1 : 0;
}

// 8. consumerCPU(tunnelid) {
void consumerCPU(int tunnelid) {
  Data data;
  // 9.   while(!isTerminate_h()) {
  while (!isTerminate_h()) {
    // 10.     if(get_h<->(&data, tunnelid)) {
    if (get_h<Data>(&data, tunnelid)) {
      // 11.       process(data);
      process(data);
      // 12.       endTask_h(tunnelid);
      endTask_h(tunnelid);
      // 13.     }
    }
  }
}
// 14.

struct ProducerGPU {
  std::int32_t const* input;
  int tunnelid;
  Counter* counter;
  HIWAY_DEVICE void operator()() const { producerGPU(input, tunnelid, counter); }
};

// 15. main () {
void figure9(std::int32_t const* input, Counter* counter) {
  int id = -1;
  int start = 0;
  // 16.   // initialize HiWayLib::endFlag_d
  // 17.   createTunnel<->(id, GPU_TO_CPU, true);
  createTunnel<Data>(id, GPU_TO_CPU, true);
  // 18.   setupService();
  setupService();
  // 19.   thread_create(consumerCPU, id);
  std::thread thread(consumerCPU, id);
  // 20.   while (start < maxLength) {
  while (start < maxLength) {
    // 21.     producerGPU(&input[start], id);
    pipeline().launch("producerGPU", ProducerGPU{&input[start * chunk], id, counter},
                      {.blocks = 3, .threads_per_block = 64});
    // 22.     start++;
    start++;
    // 23.   }
  }
  // 24.   thread_join();
  thread.join();
  // 25. }
}

TEST_F(PaperFigures, Figure9RunsAsPrinted) {
  std::vector<std::int32_t> numbers(maxLength * chunk);
  std::int64_t expected = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<std::int32_t>(i + 1);
    expected += std::int64_t{numbers[i]} * numbers[i];
  }
  auto& input = pipeline().create_buffer<std::int32_t>(std::span<std::int32_t const>(numbers));
  Counter const none{0};
  auto& counter = pipeline().create_buffer<Counter>(std::span<Counter const>(&none, 1));
  sum = processed = 0;
  figure9(input.view().data, counter.view().data);
  shutdownService();
  EXPECT_EQ(processed, maxLength * chunk);
  EXPECT_EQ(sum, expected);
}

// ---- figure 8

// createTunnel<Type>(int& id, TunnelDirection direc, bool isBatched)
template <class Type>
void context_construction(int& id, TunnelDirection direc, bool isBatched) {
  createTunnel<Type>(id, direc, isBatched);
}

// isTerminate_h(), endTask_h(int id), setupService(), shutdownService()
static_assert(std::is_same_v<decltype(isTerminate_h()), bool> && std::is_same_v<decltype(isTerminate_d()), bool>);
static_assert(std::is_same_v<decltype(endTask_h), void(int)> && std::is_same_v<decltype(endTask_d), void(int)>);
static_assert(std::is_same_v<decltype(setupService), void()> && std::is_same_v<decltype(shutdownService), void()>);
// put_h<Type>(Type data, int id), get_h<Type>(Type *data, int id)
static_assert(std::is_same_v<decltype(put_h<Data>(Data{}, 0)), void>);
static_assert(std::is_same_v<decltype(put_d<Data>(Data{}, 0)), void>);
static_assert(std::is_same_v<decltype(get_h<Data>(static_cast<Data*>(nullptr), 0)), bool>);
static_assert(std::is_same_v<decltype(get_d<Data>(static_cast<Data*>(nullptr), 0)), bool>);

/// A kernel between two tunnels, by the names of figure 8 alone.
struct Pass {
  int from;
  int into;
  HIWAY_DEVICE void operator()() const {
    Data data;
    while (!isTerminate_d()) {
      if (!get_d<Data>(&data, from)) continue;
      put_d<Data>(data, into);
      endTask_d(from);
      if (data.number == -1) put_d<Data>(endFlag_d, into);
    }
  }
};

TEST_F(PaperFigures, Figure8sNamesAreAllThere) {
  int to = -1;
  int back = -1;
  context_construction<Data>(to, CPU_TO_GPU, true);
  context_construction<Data>(back, GPU_TO_CPU, false);
  setupService();
  pipeline().launch("pass", Pass{to, back}, {.blocks = 1, .threads_per_block = 1});
  put_h<Data>({}, to);  // an item, not the end flag
  put_h<Data>(Data{-1, 7}, to);
  put_h<Data>(endFlag_h, to);
  std::vector<int> squares;
  Data data{};
  while (!isTerminate_h()) {
    if (!get_h<Data>(&data, back)) continue;
    squares.push_back(data.square);
    endTask_h(back);
  }
  shutdownService();
  EXPECT_EQ(squares, (std::vector<int>{0, 7}));
}

}  // namespace
