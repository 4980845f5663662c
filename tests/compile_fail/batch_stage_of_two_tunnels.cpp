// expect: hiway: add_batch_stage: it gets from one tunnel
#include <hiway/pipeline.hpp>

int main() {
  hiway::Pipeline pipe;
  auto& one = pipe.create_tunnel<int>("one", hiway::Direction::cpu_to_cpu);
#if defined(REPAIRED)
  pipe.add_batch_stage(
      "all", [](hiway::Batch<int const>, hiway::Stream) {}, hiway::from(one));
#else
  auto& two = pipe.create_tunnel<int>("two", hiway::Direction::cpu_to_cpu);
  pipe.add_batch_stage(
      "all", [](hiway::Batch<int const>, hiway::Batch<int const>, hiway::Stream) {}, hiway::from(one, two));
#endif
}
