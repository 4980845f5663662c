// expect: hiway: add_batch_stage: the body takes a Batch<I const>
#include <hiway/pipeline.hpp>

int main() {
  hiway::Pipeline pipe;
  auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_cpu);
#if defined(REPAIRED)
  auto const body = [](hiway::Batch<int const>, hiway::Stream) {};
#else
  auto const body = [](hiway::Batch<int>, hiway::Stream) {};  // what was got is not to be changed
#endif
  pipe.add_batch_stage("all", body, hiway::from(numbers));
}
