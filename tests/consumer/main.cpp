// The contract's example, and a line that prints the sum.
#include <cstdio>

#include <hiway/hiway.hpp>

struct Square {  // a GPU stage: the same source for CUDA and the emulated device
  HIWAY_DEVICE void operator()(hiway::Outlet<int> numbers, hiway::Inlet<long> squares) const {
    // get, body, end_task, back-off: the whole persistent loop
    numbers.for_each_d([&](int x) { squares.put_d(long(x) * x); });
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", hiway::Direction::gpu_to_cpu, {.capacity_items = 4096});
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [](hiway::Inlet<int> out) {
        for (int i = 1; i <= 1000; ++i) out.put_h(i);
      },
      hiway::into(numbers));
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares));
  pipe.add_cpu_stage(
      "sum", [&](hiway::Outlet<long> in) { in.for_each_h([&](long s) { sum += s; }); }, hiway::from(squares));
  hiway::RunReport report = pipe.run();
  std::printf("%ld\n", sum);
}
