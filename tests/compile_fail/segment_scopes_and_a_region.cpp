// expect: hiway: segment: with scopes there are no regions yet
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Below {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint32_t at(std::uint32_t const&, unsigned k) const { return k; }
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu);
#else
  auto& jobs = pipe.create_scopes("jobs");
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu, {.scopes = &jobs});
#endif
  pipe.add_segment("numbers", from(in), enumerate("below", Below{}, count<std::uint32_t>("all")));
}
