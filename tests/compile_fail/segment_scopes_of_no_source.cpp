// expect: hiway: segment: only a segment that takes its items from a tunnel with scopes may put into one
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Add {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x + 1; }
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  auto& out = pipe.create_tunnel<std::uint32_t>("out", hiway::Direction::gpu_to_cpu);
#else
  auto& jobs = pipe.create_scopes("jobs");
  auto& out = pipe.create_tunnel<std::uint32_t>("out", hiway::Direction::gpu_to_cpu, {.scopes = &jobs});
#endif
  pipe.add_segment("numbers", indices(10), chain(node("add", Add{}), into(out)));
}
