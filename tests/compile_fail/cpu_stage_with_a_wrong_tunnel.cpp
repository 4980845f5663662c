// expect: hiway: the stage cannot be called with its tunnels
#include <hiway/pipeline.hpp>

#if defined(REPAIRED)
using Got = int;
#else
using Got = long;
#endif

int main() {
  hiway::Pipeline pipe;
  auto& items = pipe.create_tunnel<int>("items", hiway::Direction::cpu_to_cpu);
  pipe.add_cpu_stage(
      "sink", [](hiway::Outlet<Got> in) { in.for_each_h([](Got) {}); }, hiway::from(items));
}
