// expect: hiway: the stage's operator\(\) is a template \(an auto parameter\)
#include <hiway/pipeline.hpp>

struct Square {
#if defined(REPAIRED)
  HIWAY_DEVICE long operator()(int x) const { return static_cast<long>(x) * x; }
#else
  HIWAY_DEVICE long operator()(auto x) const { return static_cast<long>(x) * x; }
#endif
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& squares = pipe.create_tunnel<long>("squares", hiway::Direction::gpu_to_cpu);
  pipe.add_gpu_stage("square", Square{}, hiway::from(numbers), hiway::into(squares));
}
