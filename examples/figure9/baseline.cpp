// Figure 9 of HiWayLib (ASPLOS'19): (a) is baseline.cpp, (b) is hiway.cpp; examples/figure9/diff prints what differs.
//
// The GPU counts the steps from each number down to 1 (halve it when even, else three times it plus one); a CPU thread
// walks as many steps again and keeps the highest number on the way. hiway::Pipeline stands for CUDA's allocation, copies
// and launches, so that both programs also run without a GPU.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <hiway/hiway.hpp>
#include <span>
#include <thread>
#include <vector>

constexpr int total = 16384;
constexpr int chunk = 2048;

struct Result {
  std::uint32_t number;
  std::uint32_t steps;
};

using Results = hiway::View<Result>;

HIWAY_DEVICE std::uint64_t step(std::uint64_t n) { return n % 2 == 0 ? n / 2 : 3 * n + 1; }

HIWAY_DEVICE std::uint32_t count_steps(std::uint64_t n) {
  std::uint32_t steps = 0;
  for (; n != 1; n = step(n)) ++steps;
  return steps;
}

std::uint64_t peak(Result const& r) {
  std::uint64_t n = r.number;
  std::uint64_t highest = n;
  for (std::uint32_t i = 0; i < r.steps; ++i) highest = std::max(highest, n = step(n));
  return highest;
}

struct Produce {
  hiway::View<std::uint32_t> numbers;
  int first = 0;
  Results results{};
  HIWAY_DEVICE Result result(int i) const { return {numbers[i], count_steps(numbers[i])}; }
  HIWAY_DEVICE void operator()() const {
    int const i = first + static_cast<int>(hiway::thread_index());
    results[i] = result(i);
  }
};

std::atomic<std::uint64_t> sum_of_peaks{0};

void consume(Results results) {
  for (Result const& r : results) {
    sum_of_peaks += peak(r);
  }
}

int main() {
  std::vector<std::uint32_t> numbers(total);
  for (std::uint32_t i = 0; i < total; ++i) numbers[i] = 1 + i * 2654435761u % 1000000;

  hiway::Pipeline pipe;
  auto& input = pipe.create_buffer<std::uint32_t>(total);
  Produce produce{input.view()};
  auto& output = pipe.create_buffer<Result>(total);
  produce.results = output.view();
  std::vector<Result> copies(total);
  std::vector<std::thread> consumers;
  for (; produce.first < total; produce.first += chunk) {
    input.copy_in(std::span(numbers).subspan(produce.first, chunk), produce.first);
    pipe.launch("produce", produce, {.blocks = chunk / 256, .threads_per_block = 256});
    pipe.synchronize();
    output.copy_out(std::span(copies).subspan(produce.first, chunk), produce.first);
    consumers.emplace_back(consume, Results{&copies[produce.first], chunk});
  }
  for (std::thread& consumer : consumers) consumer.join();

  std::uint64_t expected = 0;
  for (std::uint32_t n : numbers) expected += peak({n, count_steps(n)});
  std::printf("%d numbers, sum of peaks %" PRIu64 ", expected %" PRIu64 "\n", total, sum_of_peaks.load(), expected);
  return sum_of_peaks == expected ? 0 : 1;
}
