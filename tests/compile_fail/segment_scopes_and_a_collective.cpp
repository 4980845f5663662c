// expect: hiway: segment: with scopes there are no collectives, and no nodes by hand
#include <cstdint>

#include <hiway/hiway.hpp>

using namespace hiway::segment;

struct Together {
  using Input = std::uint32_t;
  using Output = std::uint32_t;
  static constexpr unsigned max_gain = 1;
  template <class Lanes, class Push>
  HIWAY_DEVICE void operator()(Lanes, std::uint32_t const& x, bool valid, Push push) const {
    push(x, valid);
  }
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu);
#else
  auto& jobs = pipe.create_scopes("jobs");
  auto& in = pipe.create_tunnel<std::uint32_t>("in", hiway::Direction::cpu_to_gpu, {.scopes = &jobs});
#endif
  pipe.add_segment("numbers", from(in), chain(node("together", Together{}), count<std::uint32_t>("all")));
}
