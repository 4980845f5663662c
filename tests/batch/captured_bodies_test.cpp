// Bodies that are captured, by a stream that captures.
#include "hiway/batch/captured_bodies.hpp"

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/batch/stream_stub.hpp"

namespace {

using namespace hiway;
using testing::ElementsAre;

struct Graph final : BatchGraph {
  explicit Graph(int made_by) : number(made_by) {}
  int number;
};

/// Notes what it is given.
class CapturingStream final : public hiway_tests::StreamStub {
 public:
  std::unique_ptr<BatchGraph> capture(std::function<void()> const& give) override {
    given.emplace_back("capture");
    give();
    return std::make_unique<Graph>(++graphs);
  }
  void replay(BatchGraph const& graph) override {
    given.push_back("replay " + std::to_string(static_cast<Graph const&>(graph).number));
  }

  int graphs = 0;
  std::vector<std::string> given;
};

/// Batches of these sizes; each makes twice as many items as it gets.
template <class Stream>
std::vector<std::size_t> made_of(Stream& stream, std::vector<std::size_t> const& sizes, int& bodies) {
  CapturedBodies captured;
  std::vector<std::size_t> all;
  for (std::size_t const items : sizes) {
    std::vector<detail::BatchSize> made(1);
    captured.give(stream, items, made, [&] {
      ++bodies;
      made[0] = {.items = 2 * items, .is_set = true};
    });
    EXPECT_TRUE(made[0].is_set);
    all.push_back(made[0].items);
  }
  return all;
}

TEST(CapturedBodies, AreCalledTwiceForEachNumberOfItems) {
  CapturingStream stream;
  int bodies = 0;
  EXPECT_THAT(made_of(stream, {5, 5, 7, 5, 7, 7, 5}, bodies), ElementsAre(10, 10, 14, 10, 14, 14, 10));
  EXPECT_EQ(bodies, 4);
  EXPECT_THAT(stream.given,
              ElementsAre("capture", "replay 1", "replay 1", "capture", "replay 2", "replay 2", "replay 1"));
}

TEST(CapturedBodies, AreCalledAlwaysWhereTheStreamCapturesNothing) {
  hiway_tests::StreamStub stream;
  int bodies = 0;
  EXPECT_THAT(made_of(stream, {5, 5, 5}, bodies), ElementsAre(10, 10, 10));
  EXPECT_EQ(bodies, 3);
}

TEST(CapturedBodies, AreCalledAlwaysForNumbersBeyondTheMost) {
  CapturingStream stream;
  std::vector<std::size_t> sizes;
  for (int round = 0; round < 3; ++round)
    for (std::size_t n = 1; n <= CapturedBodies::most + 1; ++n) sizes.push_back(n);
  int bodies = 0;
  (void)made_of(stream, sizes, bodies);
  EXPECT_EQ(stream.graphs, static_cast<int>(CapturedBodies::most));
  EXPECT_EQ(bodies, 2 * static_cast<int>(CapturedBodies::most) + 3);
}

}  // namespace
