// expect: hiway: segment: with scopes there are no signals: what a node puts for one has no scope
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Hear {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE void on(std::uint32_t const&) const {}
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu);
#else
  auto& jobs = pipe.create_scopes("jobs");
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu, {.scopes = &jobs});
#endif
  pipe.add_segment("numbers", from(in), chain(node("hear", Hear{}), count<std::uint32_t>("all")));
}
