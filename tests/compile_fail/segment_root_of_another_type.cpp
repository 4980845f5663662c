// expect: hiway: segment: the root takes another type of item than the source gives
#include <cstdint>

#include <hiway/hiway.hpp>

struct Halve {
  HIWAY_DEVICE std::uint64_t operator()(std::uint64_t const& x) const { return x / 2; }
};

int main() {
  using namespace hiway::segment;
#if defined(REPAIRED)
  auto source = indices<std::uint64_t>(10);
#else
  auto source = indices(10);  // std::uint32_t
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("halves", source, node("halve", Halve{}, count<std::uint64_t>("all")));
}
