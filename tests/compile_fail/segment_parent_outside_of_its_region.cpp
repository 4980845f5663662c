// expect: hiway: segment: a node function takes parents that are not those of the regions it is in, the innermost first
#include <cstdint>

#include <hiway/hiway.hpp>

struct Copies {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t at(std::uint32_t const&, unsigned k) const { return k; }
};
struct Add {
  HIWAY_DEVICE std::uint64_t operator()(std::uint64_t const& x, std::uint32_t const& parent) const {
    return x + parent;
  }
};

int main() {
  using namespace hiway::segment;
#if defined(REPAIRED)
  auto const copies = enumerate("copies", Copies{});
#else
  auto const copies = node("copies", Copies{});  // opens nothing
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("sums", indices(10), chain(copies, node("add", Add{}), count<std::uint64_t>("all")));
}
