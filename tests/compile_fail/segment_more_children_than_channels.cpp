// expect: hiway: segment: a node has one child for each channel of its function
#include <cstdint>

#include <hiway/hiway.hpp>

struct Halve {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x / 2; }
};

int main() {
  using namespace hiway::segment;
  auto const all = count<std::uint32_t>("all");
#if defined(REPAIRED)
  auto tree = node("halve", Halve{}, all);
#else
  auto tree = node("halve", Halve{}, all, count<std::uint32_t>("rest"));
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("halves", indices(10), tree);
}
