// Segments on the emulated device, whole pipelines.
#include <gtest/gtest.h>

#include <hiway/hiway.hpp>

#include "tree_nodes.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;

template <std::size_t... Row>
auto rows(std::uint32_t n, std::index_sequence<Row...>) {
  return chain(node("row " + std::to_string(Row), Place{n})..., segment::count<Board>("solutions"));
}

template <Shape shape, std::size_t N>
std::uint64_t queens(SegmentConfig config = {}) {
  Pipeline pipe({.device = "simt"});
  Board const first{};
  auto& boards = pipe.create_buffer<Board>(std::span<Board const>(&first, 1));
  auto& segment = pipe.add_segment<shape>("queens", load(boards), rows(N, std::make_index_sequence<N>{}), config);
  pipe.run();
  return segment.items("solutions");
}

TEST(Segments, CountTheSolutionsOfTheQueens) {
  EXPECT_EQ((queens<Shape{ReplicaOf::warp}, 8>()), 92u);
  EXPECT_EQ((queens<Shape{ReplicaOf::block}, 8>()), 92u);
}

}  // namespace
}  // namespace hiway::segment_test
