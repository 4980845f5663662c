// The smallest segment: how many right triangles have whole sides, the longest of them at most `longest`?
//
// Two steps in one persistent kernel, with a queue between them that one block keeps to itself. The first opens each
// longest side into the shorter ones that it may have; the second keeps the few that close to a right triangle.
#include <cstdint>
#include <cstdio>
#include <hiway/hiway.hpp>
#include <vector>

using namespace hiway::segment;

constexpr std::uint32_t longest = 200;

struct Triangle {  // a < b < c
  std::uint32_t a, b, c;
};

HIWAY_DEVICE bool is_right(Triangle const& t) { return t.a * t.a + t.b * t.b == t.c * t.c; }

struct Open {  // an indexed expander: of an item come count() items, at() is the k-th
  HIWAY_DEVICE unsigned count(std::uint32_t const& c) const { return c == 0 ? 0 : c - 1; }
  HIWAY_DEVICE Triangle at(std::uint32_t const& c, unsigned k) const { return {k + 1, 0, c}; }
};

struct Close {  // a filter: of an item comes one at most
  HIWAY_DEVICE Maybe<Triangle> operator()(Triangle const& open) const {
    Triangle t{open.a, open.a + 1, open.c};
    while (t.a * t.a + t.b * t.b < t.c * t.c) ++t.b;
    return is_right(t) ? Maybe<Triangle>(t) : Maybe<Triangle>::none();
  }
};

int main() {
  hiway::Pipeline pipe;
  auto& room = pipe.create_buffer<Triangle>(1000);
  auto& segment = pipe.add_segment("triangles", indices(longest + 1),
                                   chain(node("open", Open{}), node("close", Close{}), store("right", room)));
  pipe.run();
  std::vector<Triangle> found(segment.items("right"));
  room.copy_out(found);

  unsigned right = 0;
  for (Triangle const& t : found) right += is_right(t) && t.a < t.b ? 1 : 0;
  std::printf("%zu triangles, %u of them right, expected 127\n", found.size(), right);
  return found.size() == 127 && right == 127 ? 0 : 1;
}
