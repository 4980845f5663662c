// expect: hiway: the stage's operator\(\) is a template \(an auto parameter\)
#include <hiway/pipeline.hpp>

int main() {
  hiway::Pipeline pipe;
  auto& items = pipe.create_tunnel<int>("items", hiway::Direction::cpu_to_cpu);
#if defined(REPAIRED)
  auto sink = [](int item) { return static_cast<void>(item % 2); };
#else
  auto sink = [](auto item) { return static_cast<void>(item % 2); };
#endif
  pipe.add_cpu_stage("sink", sink, hiway::from(items));
}
