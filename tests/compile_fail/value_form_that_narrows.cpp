// expect: hiway: the stage returns a type whose values do not all fit the tunnel's item type
#include <hiway/pipeline.hpp>

struct Square {
#if defined(REPAIRED)
  HIWAY_DEVICE int operator()(int x) const { return x * x; }
#else
  HIWAY_DEVICE long operator()(int x) const { return static_cast<long>(x) * x; }
#endif
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<int>("squares", hiway::Direction::gpu_to_cpu);
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares));
}
