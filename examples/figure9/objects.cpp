// The programs of figure 9 (baseline.cpp, hiway.cpp) with hiway's own objects: a persistent GPU stage between two CPU
// stages, numbers and results in tunnels. The library sees the whole graph: it starts, closes and ends it, and run()
// throws the first error by its stage's name.
#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <hiway/hiway.hpp>
#include <vector>

constexpr int total = 16384;

struct Result {
  std::uint32_t number;
  std::uint32_t steps;
};

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

struct CountSteps {
  HIWAY_DEVICE Result operator()(std::uint32_t const& number) const { return {number, count_steps(number)}; }
};

int main() {
  std::vector<std::uint32_t> numbers(total);
  for (std::uint32_t i = 0; i < total; ++i) numbers[i] = 1 + i * 2654435761u % 1000000;

  hiway::Pipeline pipe;
  auto& input = pipe.create_tunnel<std::uint32_t>("numbers", hiway::Direction::cpu_to_gpu);
  auto& results = pipe.create_tunnel<Result>("results", hiway::Direction::gpu_to_cpu);
  std::uint64_t sum_of_peaks = 0;
  pipe.add_cpu_stage(
      "feed", [&](hiway::Inlet<std::uint32_t> out) { out.put_h(numbers); }, hiway::into(input));
  pipe.add_gpu_stage("count steps", CountSteps{}, hiway::from(input), hiway::into(results));
  pipe.add_cpu_stage(
      "peaks", [&](Result const& r) { sum_of_peaks += peak(r); }, hiway::from(results));
  pipe.run();

  std::uint64_t expected = 0;
  for (std::uint32_t n : numbers) expected += peak({n, count_steps(n)});
  std::printf("%d numbers, sum of peaks %" PRIu64 ", expected %" PRIu64 "\n", total, sum_of_peaks, expected);
  return sum_of_peaks == expected ? 0 : 1;
}
