// expect: hiway: add_gpu_stage: this lambda cannot run on a GPU
#include <hiway/pipeline.hpp>
#include <string>

struct Scale {
  int factor;
  HIWAY_DEVICE int operator()(int x) const { return factor * x; }
};

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
  auto& scaled = pipe.create_tunnel<int>("scaled", hiway::Direction::gpu_to_cpu);
  std::string const three = "3";
#if defined(REPAIRED)
  pipe.add_gpu_stage("scale", Scale{three[0] - '0'}, hiway::from(numbers), hiway::into(scaled));
#else
  pipe.add_gpu_stage("scale", [=](int x) { return (three[0] - '0') * x; }, hiway::from(numbers), hiway::into(scaled));
#endif
}
