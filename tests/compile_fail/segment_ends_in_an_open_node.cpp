// expect: hiway: segment: the tree is a node with children, or a chain that ends in one or a sink
#include <cstdint>

#include <hiway/hiway.hpp>

struct Halve {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x / 2; }
};

int main() {
  using namespace hiway::segment;
#if defined(REPAIRED)
  auto tree = chain(node("halve", Halve{}), count<std::uint32_t>("all"));
#else
  auto tree = node("halve", Halve{});  // where do its items go?
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("halves", indices(10), tree);
}
