// A plugin with the library in it, for host.cpp: what it exports is all that the host knows.
#include <hiway/hiway.hpp>
#include <memory>

namespace {
std::unique_ptr<hiway::Pipeline> made;
}

extern "C" {
void make_pipeline() { made = std::make_unique<hiway::Pipeline>(); }
int run_pipeline() {
  int sum = 0;
  auto& numbers = made->create_tunnel<int>("numbers", hiway::Direction::cpu_to_cpu);
  made->add_cpu_stage(
      "feed",
      [](hiway::Inlet<int> out) {
        for (int i = 1; i <= 100; ++i) out.put_h(i);
      },
      hiway::into(numbers));
  made->add_cpu_stage("add", [&](int const& x) { sum += x; }, hiway::from(numbers));
  made->run();
  made.reset();
  return sum;
}
}
