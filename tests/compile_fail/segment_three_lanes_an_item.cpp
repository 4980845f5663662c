// expect: hiway: segment: lanes_per_item is 2, 4, 8, 16 or 32
#include <cstdint>

#include <hiway/hiway.hpp>

struct AddUp {
  using Input = std::uint32_t;
  using Output = std::uint32_t;
#if defined(REPAIRED)
  static constexpr unsigned lanes_per_item = 4;
#else
  static constexpr unsigned lanes_per_item = 3;
#endif
  template <class Tile>
  HIWAY_DEVICE hiway::segment::Maybe<std::uint32_t> operator()(Tile tile, std::uint32_t const& x) const {
    return tile.sum(x);
  }
};

int main() {
  using namespace hiway::segment;
  hiway::Pipeline pipe;
  pipe.add_segment("sums", indices(10), node("add up", AddUp{}, count<std::uint32_t>("all")));
}
