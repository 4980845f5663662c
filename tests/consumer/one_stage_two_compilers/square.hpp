// One stage, used from a unit that g++ compiles and from one that nvcc compiles, in one program.
#pragma once
#include <hiway/hiway.hpp>

struct Square {
  HIWAY_DEVICE void operator()(hiway::Outlet<int> numbers, hiway::Inlet<long> squares) const {
    numbers.for_each_d([&](int x) { squares.put_d(long(x) * x); });
  }
};

// Each unit has a copy of this of its own; what it instantiates in the library is shared by name.
namespace {
long sum_of_squares(hiway::PipelineConfig config) {
  hiway::Pipeline pipe(config);
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", hiway::Direction::gpu_to_cpu);
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
  pipe.run();
  return sum;
}
}  // namespace

long sum_in_plain_unit();  // on the emulated device: the only one that such a unit has
long sum_in_cuda_unit();   // on the device that HIWAY_RUN_ON or auto gives
