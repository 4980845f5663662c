// expect: hiway: segment: aggregate: no enumerate above it is open
#include <cstdint>

#include <hiway/hiway.hpp>

struct Copies {
  HIWAY_DEVICE unsigned count(std::uint32_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t at(std::uint32_t const&, unsigned k) const { return k; }
};
struct Sum {
  HIWAY_DEVICE std::uint64_t identity() const { return 0; }
  HIWAY_DEVICE std::uint64_t value(std::uint64_t const& x) const { return x; }
  HIWAY_DEVICE std::uint64_t join(std::uint64_t const& a, std::uint64_t const& b) const { return a + b; }
  HIWAY_DEVICE std::uint64_t close(std::uint32_t const&, std::uint64_t const& sum) const { return sum; }
};

int main() {
  using namespace hiway::segment;
#if defined(REPAIRED)
  auto const copies = enumerate("copies", Copies{});
#else
  auto const copies = node("copies", Copies{});  // opens nothing
#endif
  hiway::Pipeline pipe;
  pipe.add_segment("sums", indices(10), chain(copies, aggregate("sum", Sum{}), count<std::uint64_t>("all")));
}
