// A user's own kernel as a stage. It was, with one number a thread:
//
//   __global__ void divisors(unsigned const* numbers, unsigned* counts, int n, unsigned limit);
//
// Now its first parameters are the ends of its tunnels, and its body stands in a loop over items. Compiled by nvcc it
// runs on a GPU, compiled by a C++ compiler on the emulated device.
#include <cstdio>
#include <hiway/hiway.hpp>

HIWAY_KERNEL void divisors(hiway::Outlet<unsigned> numbers, hiway::Inlet<unsigned> counts, unsigned limit) {
  unsigned n = 0;
  while (numbers.next_d(n)) {
    if (n == 0 || n > limit) numbers.fail_d("divisors: a number is 0 or above the limit");
    unsigned count = 0;
    for (unsigned d = 1; d <= n; ++d) count += n % d == 0 ? 1 : 0;
    counts.put_d(count);
    numbers.end_task_d();
  }
}

int main() {
  constexpr unsigned limit = 2000;
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<unsigned>("numbers", hiway::Direction::cpu_to_gpu);
  auto& counts = pipe.create_tunnel<unsigned>("counts", hiway::Direction::gpu_to_cpu);
  unsigned primes = 0;
  unsigned sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](hiway::Inlet<unsigned> out) {
        for (unsigned n = 1; n <= limit; ++n) out.put_h(n);
      },
      hiway::into(numbers));
  pipe.add_kernel_stage("divisors", divisors, hiway::from(numbers), hiway::into(counts), 4, 64, limit);
  pipe.add_cpu_stage(
      "tally",
      [&](unsigned const& count) {
        primes += count == 2 ? 1 : 0;
        sum += count;
      },
      hiway::from(counts));
  pipe.run();

  unsigned expected = 0;  // d divides limit / d of the numbers
  for (unsigned d = 1; d <= limit; ++d) expected += limit / d;
  std::printf("up to %u: %u primes, %u divisors, expected 303 and %u\n", limit, primes, sum, expected);
  return primes == 303 && sum == expected ? 0 : 1;
}
