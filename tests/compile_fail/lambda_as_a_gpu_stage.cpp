// expect: hiway: add_gpu_stage: no lambda runs on a GPU
#include <hiway/pipeline.hpp>

struct Scale {
  int factor;
  HIWAY_DEVICE int operator()(int x) const { return factor * x; }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& scaled = pipe.create_tunnel<int>("scaled", hiway::Direction::gpu_to_cpu);
  int factor = 3;
#if defined(REPAIRED)
  pipe.add_gpu_stage("scale", Scale{factor}, hiway::from(numbers), hiway::into(scaled));
#else
  pipe.add_gpu_stage("scale", [&](int x) { return factor * x; }, hiway::from(numbers), hiway::into(scaled));
#endif
}
