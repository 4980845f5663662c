// expect: calling a __host__ function\("Square::operator
// expect below: calls_what_is_marked_HIWAY_DEVICE.*Square
#include <hiway/pipeline.hpp>

#if !defined(REPAIRED)
#undef HIWAY_DEVICE
#define HIWAY_DEVICE  // forgotten
#endif

struct Square {
  HIWAY_DEVICE void operator()(hiway::Outlet<int> numbers, hiway::Inlet<long> squares) const {
    numbers.for_each_d([&](int x) { squares.put_d(long(x) * x); });
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", hiway::Direction::gpu_to_cpu);
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares));
}
