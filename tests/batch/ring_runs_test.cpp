// Runs of a half-ring that a stream copies: what it is given, and when the slots are done.
#include "lib/batch/ring_runs.hpp"

#include <gmock/gmock.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "tests/batch/stream_stub.hpp"
#include "tests/ring/half_ring.hpp"

namespace {

using namespace hiway;
using testing::ElementsAre;

constexpr std::uint32_t capacity = 8;
constexpr std::uint64_t first = 6;  // so that a run of four wraps

/// Lands nothing until it is told to.
class LateStream final : public hiway_tests::StreamStub {
 public:
  void land() {
    for (Copy const& copy : copies) std::memcpy(copy.target, copy.source, copy.bytes);
    copies.clear();
  }

  std::vector<Copy> copies;

 private:
  void give_copy(BusDirection, void* to, void const* from, std::size_t bytes) override {
    copies.push_back({.target = to, .source = from, .bytes = bytes});
  }
};

/// All tickets before `first` are done, and there are four credits.
struct Half : hiway_tests::HalfRing {
  explicit Half(RingPart part) : HalfRing(part, capacity) {
    std::iota(items.begin(), items.end(), 100);
    bool const puts = part == RingPart::outbox;
    (puts ? words.free : words.avail).bits = 4;
    (puts ? words.claimed : words.taken).bits = first;
    words.given.bits = first + 4;
    for (std::uint64_t t = 0; t < first; ++t) done[t].bits = 1;
  }
  [[nodiscard]] std::uint64_t done_upto() const { return done_prefix(StageThread{}, ring, first); }

  Control control;
};

TEST(RingRuns, WhatIsTakenStaysInTheRingUntilItIsCopied) {
  Half inbox(RingPart::inbox);
  OutletPort port;
  OutletView view;
  view.ring = inbox.ring;
  view.ports = &port;
  LateStream stream;
  std::vector<std::uint32_t> to(10);
  RingRuns runs;
  EXPECT_EQ(runs.take(StageThread{}, view, stream, reinterpret_cast<std::byte*>(to.data()), 10), 4u);
  EXPECT_EQ(runs.items(), 4u);
  EXPECT_EQ(port.got.bits, 4u);
  EXPECT_EQ(stream.copies.size(), 2u) << "one before the ring's end, one behind it";
  EXPECT_EQ(inbox.done_upto(), first);
  stream.land();
  EXPECT_THAT(std::vector(to.begin(), to.begin() + 4), ElementsAre(106, 107, 100, 101));
  runs.end(StageThread{}, inbox.ring, ClaimKind::get, inbox.control);
  EXPECT_EQ(inbox.done_upto(), first + 4);
  EXPECT_EQ(runs.items(), 0u);
}

TEST(RingRuns, WhatIsGivenIsThereWhenItIsCopied) {
  Half outbox(RingPart::outbox);
  EndWords end;
  InletPort port;
  InletView view;
  view.ring = outbox.ring;
  view.end = &end;
  view.ports = &port;
  view.control = &outbox.control;
  LateStream stream;
  std::vector<std::uint32_t> const from{1, 2, 3, 4, 5};
  RingRuns runs;
  EXPECT_EQ(runs.give(StageThread{}, view, stream, reinterpret_cast<std::byte const*>(from.data()), 3), 3u);
  EXPECT_EQ(outbox.done_upto(), first);
  EXPECT_EQ(runs.give(StageThread{}, view, stream, reinterpret_cast<std::byte const*>(from.data() + 3), 2), 1u)
      << "there is room for one more";
  stream.land();
  runs.end(StageThread{}, outbox.ring, ClaimKind::put, outbox.control);
  EXPECT_EQ(outbox.done_upto(), first + 4);
  EXPECT_THAT(outbox.items, ElementsAre(3, 4, 102, 103, 104, 105, 1, 2));
}

}  // namespace
