// A transfer line step by step, on a stream that does what the test says: set words, step, read words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <span>
#include <string>

#include "hiway/backend.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "hiway/ranges.hpp"
#include "monitors/transfer.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;

constexpr std::size_t kib = 1024;

/// Keeps what was submitted; a submission happens when the test says so.
class ManualStream final : public CopyStream {
 public:
  struct Submission {
    std::vector<Copy> copies;
    std::vector<WordCopy> words;
    [[nodiscard]] std::size_t bytes() const {
      return std::accumulate(copies.begin(), copies.end(), std::size_t{0},
                             [](std::size_t sum, Copy const& c) { return sum + c.bytes; });
    }
  };

  std::uint64_t submit(std::span<Copy const> copies, std::span<WordCopy const> words) override {
    EXPECT_LT(submitted.size() - happened, most_under_way) << "submissions that have not completed";
    submitted.push_back({{copies.begin(), copies.end()}, {words.begin(), words.end()}});
    return submitted.size();
  }
  std::uint64_t completed() override {
    ++polls;
    if (happens_by_itself && happened < submitted.size()) happen();
    return happened;
  }

  /// The next submission happens.
  void happen() {
    ASSERT_LT(happened, submitted.size());
    for (Copy const& c : submitted[happened].copies) std::memcpy(c.target, c.source, c.bytes);
    for (WordCopy const& w : submitted[happened].words) w.word->bits = w.value;
    ++happened;
  }

  std::vector<Submission> submitted;
  std::uint64_t happened = 0;
  unsigned polls = 0;
  bool happens_by_itself = false;  ///< one at each poll
};

/// A tunnel's memory on both sides; item t of the outbox is a run of bytes t % 251.
struct Side {
  std::uint32_t item_bytes;
  std::vector<std::byte> out;
  std::vector<std::byte> in;
  Word<std::uint64_t> published{0};
  Word<std::uint64_t> arrived{0};
  Word<std::uint32_t> closing{0};

  Side(std::size_t slots, std::uint32_t bytes) : item_bytes(bytes), out(slots * bytes), in(slots * bytes) {}

  void put(std::uint64_t n) {
    std::uint64_t const slots = out.size() / item_bytes;
    for (std::uint64_t t = published.bits; t < published.bits + n; ++t)
      std::memset(out.data() + t % slots * item_bytes, int(t % 251), item_bytes);
    published.bits += n;
  }
  [[nodiscard]] bool has(std::uint64_t ticket) const {
    std::uint64_t const slots = in.size() / item_bytes;
    std::byte const* const item = in.data() + ticket % slots * item_bytes;
    return std::all_of(item, item + item_bytes, [&](std::byte b) { return b == std::byte(ticket % 251); });
  }
  [[nodiscard]] TransferLine::Route route(std::uint64_t batch_items, std::chrono::nanoseconds flush_after) {
    TransferLine::Route r;
    r.from_items = out.data();
    r.to_items = in.data();
    r.outbox.slots_mask = static_cast<std::uint32_t>(out.size() / item_bytes - 1);
    r.outbox.item_bytes = item_bytes;
    r.published = &published;
    r.arrived = &arrived;
    r.closing = &closing;
    r.capacity_items = out.size() / item_bytes;
    r.batch_items = batch_items;
    r.flush_after = flush_after;
    return r;
  }
};

/// A line over sides whose batches never leave by age, unless a test says so.
struct Rig {
  ManualStream* stream = nullptr;
  std::unique_ptr<TransferLine> line;

  Rig(BusDirection direction, std::vector<Side*> sides, std::uint64_t batch_items,
      std::chrono::nanoseconds flush_after = 1h, std::vector<TransferLine::Bounds> const& bounds = {}) {
    std::vector<TransferLine::Route> routes;
    for (Side* side : sides) routes.push_back(side->route(batch_items, flush_after));
    for (std::size_t i = 0; i < bounds.size(); ++i) routes[i].bounds = bounds[i];
    auto owned = std::make_unique<ManualStream>();
    stream = owned.get();
    line = std::make_unique<TransferLine>(direction, routes, std::move(owned));
  }
  bool step() { return line->step(ThreadMachine{}); }
  /// Steps until nothing moves; the steps that moved something.
  unsigned settle() {
    unsigned steps = 0;
    while (step()) {
      if (++steps > 10'000) {
        ADD_FAILURE() << "the line does not come to rest";
        break;
      }
    }
    return steps;
  }
  [[nodiscard]] std::size_t under_way_bytes() const {
    std::size_t bytes = 0;
    for (std::size_t i = stream->happened; i < stream->submitted.size(); ++i) bytes += stream->submitted[i].bytes();
    return bytes;
  }
};

/// What a profiler would see.
struct SeenRanges {
  static inline int started = 0;
  static inline int stopped = 0;
  SeenRanges() {
    started = stopped = 0;
    set_range_calls({.start = [](char const*) -> std::uint64_t { return ++started; },
                     .stop =
                         [](std::uint64_t range) {
                           EXPECT_EQ(range, started);
                           ++stopped;
                         }});
  }
  ~SeenRanges() { set_range_calls({}); }
  SeenRanges(SeenRanges const&) = delete;
  SeenRanges& operator=(SeenRanges const&) = delete;
};

TEST(Transfer, ARangeLastsWhileCopiesAreUnderWay) {
  SeenRanges const seen;
  Side side(64, 16);
  Rig rig(BusDirection::to_device, {&side}, 4);
  side.put(4);
  rig.settle();
  side.put(4);
  rig.settle();
  EXPECT_EQ(SeenRanges::started, 1) << "two submissions that follow each other";
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(SeenRanges::stopped, 0) << "one of them is under way";
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(SeenRanges::stopped, 1);
  side.put(4);
  rig.settle();
  EXPECT_EQ(SeenRanges::started, 2);
  rig.stream->happen();
  rig.line->reset();
  EXPECT_EQ(SeenRanges::stopped, 2) << "a run that was left";
  rig.line->reset();
  EXPECT_EQ(SeenRanges::stopped, 2);
}

TEST(Transfer, ARunThatWrapsIsOneSubmissionOfTwoCopies) {
  Side side(8, 16);
  Rig rig(BusDirection::to_device, {&side}, 4);
  side.put(6);
  rig.settle();
  rig.stream->happen();
  rig.settle();
  side.put(5);  // tickets 6 to 10: slots 6, 7 and 0, 1, 2
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 2u);
  ManualStream::Submission const& wrapped = rig.stream->submitted[1];
  ASSERT_EQ(wrapped.copies.size(), 2u);
  EXPECT_EQ(wrapped.copies[0].source, side.out.data() + 6 * 16);
  EXPECT_EQ(wrapped.copies[0].bytes, 2u * 16);
  EXPECT_EQ(wrapped.copies[1].source, side.out.data());
  EXPECT_EQ(wrapped.copies[1].target, side.in.data());
  EXPECT_EQ(wrapped.copies[1].bytes, 3u * 16);
  rig.stream->happen();
  EXPECT_EQ(side.arrived.bits, 11u);
  for (std::uint64_t t = 6; t < 11; ++t) EXPECT_TRUE(side.has(t)) << "item " << t;
}

TEST(Transfer, TunnelsThatAreDueTogetherLeaveInOneSubmission) {
  Side a(8, 16);
  Side b(8, 4);
  Side idle(8, 4);
  Rig rig(BusDirection::to_device, {&a, &idle, &b}, 2);
  a.put(3);
  b.put(5);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 1u);
  EXPECT_EQ(rig.stream->submitted[0].copies.size(), 2u);
  EXPECT_EQ(rig.stream->submitted[0].bytes(), 3u * 16 + 5u * 4);
  rig.stream->happen();
  EXPECT_EQ(a.arrived.bits, 3u);
  EXPECT_EQ(b.arrived.bits, 5u);
  EXPECT_EQ(rig.line->batches(0), 1u);
  EXPECT_EQ(rig.line->batches(1), 0u);
  EXPECT_EQ(rig.line->batches(2), 1u);
}

TEST(Transfer, TheNextBatchLeavesWhileTheLastIsUnderWay) {
  Side side(64, 16);
  Rig rig(BusDirection::to_device, {&side}, 4);
  for (int i = 0; i < 3; ++i) {
    side.put(4);
    rig.settle();
  }
  EXPECT_EQ(rig.stream->submitted.size(), 3u);
  EXPECT_EQ(rig.stream->happened, 0u);
}

TEST(Transfer, NoRecordBeginsBeforeTheSubmissionBeforeItWasDone) {
  Side side(64, 16);
  Rig rig(BusDirection::to_device, {&side}, 4);
  rig.line->keep_records(true);
  for (int i = 0; i < 2; ++i) {
    side.put(4);
    rig.settle();
  }
  for (int i = 0; i < 2; ++i) {
    rig.stream->happen();
    rig.settle();
  }
  ASSERT_EQ(rig.line->records().size(), 2u);
  EXPECT_GE(rig.line->records()[1].begin_ns, rig.line->records()[0].end_ns);
}

TEST(Transfer, ToTheDeviceOnlyTheStreamSetsArrived) {
  Side side(8, 16);
  Rig rig(BusDirection::to_device, {&side}, 2);
  side.put(3);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted[0].words.size(), 1u);
  EXPECT_EQ(rig.stream->submitted[0].words[0].word, &side.arrived);
  EXPECT_EQ(rig.stream->submitted[0].words[0].value, 3u);
  ++rig.stream->happened;  // completed, without the word
  rig.settle();
  EXPECT_EQ(side.arrived.bits, 0u);
}

TEST(Transfer, FromTheDeviceNothingHasArrivedBeforeItsCopyIsComplete) {
  Side side(16, 16);
  Rig rig(BusDirection::from_device, {&side}, 2);
  side.put(2);
  rig.settle();
  side.put(3);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 2u);
  EXPECT_TRUE(rig.stream->submitted[0].words.empty());
  EXPECT_EQ(side.arrived.bits, 0u);
  rig.stream->happen();
  EXPECT_TRUE(rig.step());
  EXPECT_EQ(side.arrived.bits, 2u);
  EXPECT_FALSE(rig.step());
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(side.arrived.bits, 5u);
}

TEST(Transfer, SubmissionsThatCompleteTogetherAreTakenInTheirOrder) {
  Side a(16, 16);
  Side b(16, 16);
  Rig rig(BusDirection::from_device, {&a, &b}, 2);
  a.put(2);
  rig.settle();
  b.put(2);
  rig.settle();
  a.put(4);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 3u);
  rig.stream->happen();
  rig.stream->happen();
  EXPECT_TRUE(rig.step());
  EXPECT_EQ(a.arrived.bits, 2u);
  EXPECT_EQ(b.arrived.bits, 2u);
  rig.stream->happen();
  EXPECT_TRUE(rig.step());
  EXPECT_EQ(a.arrived.bits, 6u);
}

TEST(Transfer, ATunnelAloneKeepsFourMegabytesUnderWay) {
  Side side(128, 64 * kib);
  Rig rig(BusDirection::to_device, {&side}, 1);
  side.put(128);  // 8 MiB
  rig.settle();
  EXPECT_EQ(rig.under_way_bytes(), TransferLine::over_the_bus.alone_bytes);
  EXPECT_EQ(rig.stream->submitted.size(), 2u) << "a submission is half of the bound, so that another stands behind it";
  rig.stream->happen();
  EXPECT_EQ(side.arrived.bits, 32u) << "the first half of the bound, of all that is published";
  rig.settle();
  EXPECT_EQ(rig.under_way_bytes(), TransferLine::over_the_bus.alone_bytes);
  rig.stream->happens_by_itself = true;
  rig.settle();
  EXPECT_EQ(side.arrived.bits, 128u);
}

TEST(Transfer, TunnelsThatWaitForEachOtherKeepOneMegabyteUnderWay) {
  Side a(128, 64 * kib);
  Side b(128, 64 * kib);
  Rig rig(BusDirection::to_device, {&a, &b}, 1);
  a.put(128);
  b.put(128);
  rig.settle();
  EXPECT_EQ(rig.under_way_bytes(), TransferLine::over_the_bus.shared_bytes);
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(rig.under_way_bytes(), TransferLine::over_the_bus.shared_bytes);
}

TEST(Transfer, BetweenDevicesMoreIsUnderWayUntilATunnelFromTheHostIsDue) {
  Side a(1024, 64 * kib);
  Side b(128, 64 * kib);
  Rig rig(BusDirection::to_device, {&a, &b}, 1, 1h, {TransferLine::between_devices, TransferLine::over_the_bus});
  a.put(1024);  // 64 MiB
  rig.settle();
  EXPECT_EQ(rig.under_way_bytes(), TransferLine::between_devices.alone_bytes);
  b.put(128);
  rig.settle();
  while (rig.under_way_bytes() > TransferLine::over_the_bus.shared_bytes) rig.stream->happen();
  rig.settle();
  EXPECT_LE(rig.under_way_bytes(), TransferLine::over_the_bus.shared_bytes);
  EXPECT_EQ(rig.line->items(1), 8u) << "half of the lesser bound";
}

TEST(Transfer, OfALargeTunnelNoMoreThanAQuarterLeavesAtOnce) {
  Side large(256, 64 * kib);
  Rig rig(BusDirection::to_device, {&large}, 1, 1h, {TransferLine::between_devices});
  large.put(256);  // 16 MiB, half of the bound
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 4u);
  for (auto const& submission : rig.stream->submitted) EXPECT_EQ(submission.bytes(), 4096 * kib);

  Side small(32, 64 * kib);
  Rig whole(BusDirection::to_device, {&small}, 1, 1h, {TransferLine::between_devices});
  small.put(32);
  whole.settle();
  EXPECT_EQ(whole.stream->submitted.size(), 1u) << "2 MiB: less would be lost in what a submission costs";
}

TEST(Transfer, ALateTunnelWaitsUntilLessIsUnderWay) {
  Side a(128, 64 * kib);
  Side b(8, 64 * kib);
  Rig rig(BusDirection::to_device, {&a, &b}, 1);
  a.put(128);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 2u);  // 4 MiB of a
  b.put(1);
  rig.settle();
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(rig.stream->submitted.size(), 2u) << "2 MiB are under way, and two tunnels are due";
  rig.stream->happen();
  rig.settle();
  EXPECT_EQ(b.published.bits, 1u);
  EXPECT_EQ(rig.line->batches(1), 1u);
  EXPECT_LE(rig.under_way_bytes(), TransferLine::over_the_bus.alone_bytes);
}

TEST(Transfer, TunnelsThatTheBoundLeftOutComeFirst) {
  Side a(64, 64 * kib);
  Side b(64, 64 * kib);
  Side c(64, 64 * kib);
  Rig rig(BusDirection::to_device, {&a, &b, &c}, 1);
  for (Side* side : {&a, &b, &c}) side->put(64);
  rig.stream->happens_by_itself = true;
  for (int i = 0; i < 4; ++i) {
    while (rig.stream->submitted.size() < 3u * static_cast<unsigned>(i + 1)) ASSERT_TRUE(rig.step());
    for (std::size_t t : {0u, 1u, 2u}) EXPECT_EQ(rig.line->batches(t), unsigned(i + 1)) << "tunnel " << t;
  }
  rig.settle();
  for (Side* side : {&a, &b, &c}) EXPECT_EQ(side->arrived.bits, 64u);
}

TEST(Transfer, WhatWasDecidedToLeaveLeavesWholeInPieces) {
  Side side(128, 64 * kib);
  Rig rig(BusDirection::to_device, {&side}, 100);  // 6.25 MiB
  side.put(100);
  rig.stream->happens_by_itself = true;
  rig.settle();
  EXPECT_EQ(side.arrived.bits, 100u) << "the rest is no batch of its own that would wait for company";
  EXPECT_EQ(rig.line->batches(0), 4u);
}

TEST(Transfer, NoMoreSubmissionsAreUnderWayThanTheStreamTakes) {
  Side side(1024, 4);
  Rig rig(BusDirection::from_device, {&side}, 1);
  for (int i = 0; i < 200; ++i) {
    side.put(1);
    rig.step();
  }
  EXPECT_EQ(rig.stream->submitted.size(), CopyStream::most_under_way);
  rig.stream->happens_by_itself = true;
  rig.settle();
  EXPECT_EQ(side.arrived.bits, 200u);
}

TEST(Transfer, WaitsForCompanyUntilTheEndMarker) {
  Side side(64, 16);
  Rig rig(BusDirection::to_device, {&side}, 8);
  side.put(7);
  EXPECT_EQ(rig.settle(), 0u);
  side.closing.bits = 1;
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 1u);
  EXPECT_EQ(rig.stream->submitted[0].bytes(), 7u * 16);
}

TEST(Transfer, LeavesWhenOldEnough) {
  Side side(64, 16);
  Rig rig(BusDirection::to_device, {&side}, 8, 1ms);
  side.put(7);
  EXPECT_FALSE(rig.step());
  auto const deadline = std::chrono::steady_clock::now() + 10s;
  while (!rig.step()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_EQ(rig.stream->submitted.size(), 1u);
  rig.stream->happen();
  rig.settle();
  side.put(7);
  EXPECT_FALSE(rig.step()) << "the age of what has left is not theirs";
  EXPECT_EQ(rig.stream->submitted.size(), 1u);
}

TEST(Transfer, BatchesThatTheLibraryChoosesGrowWhileCopiesAreUnderWay) {
  Side side(1024, kib);
  Rig rig(BusDirection::to_device, {&side}, 0);
  side.put(1);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 1u) << "nothing is under way: the first item leaves";
  side.put(63);
  rig.settle();
  EXPECT_EQ(rig.stream->submitted.size(), 1u);
  side.put(1);
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 2u) << "64 KiB";
  EXPECT_EQ(rig.stream->submitted[1].bytes(), 64 * kib);
  side.put(64);
  rig.settle();
  EXPECT_EQ(rig.stream->submitted.size(), 2u) << "65 KiB are under way";
  rig.stream->happen();
  rig.stream->happen();
  rig.settle();
  ASSERT_EQ(rig.stream->submitted.size(), 3u) << "nothing is under way any more";
  EXPECT_EQ(rig.stream->submitted[2].bytes(), 64 * kib);
}

TEST(Transfer, AResetWaitsForTheCopiesOfAnAbortedRun) {
  Side side(16, 16);
  Rig rig(BusDirection::from_device, {&side}, 2);
  side.put(2);
  rig.settle();
  side.put(2);
  rig.settle();
  rig.stream->happens_by_itself = true;
  rig.line->reset();
  EXPECT_EQ(rig.stream->happened, 2u);
  EXPECT_EQ(side.arrived.bits, 0u) << "they are no items of the next run";
  EXPECT_EQ(rig.line->batches(0), 0u);
  side.published.bits = 0;
  side.put(3);
  rig.settle();
  EXPECT_EQ(rig.line->batches(0), 1u);
  EXPECT_EQ(side.arrived.bits, 3u);
}

TEST(Transfer, EveryItemArrivesInOrderUnderRandomSchedules) {
  char const* const given = std::getenv("HIWAY_SEED");
  std::uint64_t const seed = given != nullptr ? std::strtoull(given, nullptr, 10) : 1;
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed));
  std::uint64_t random = seed;
  auto const below = [&](std::uint64_t n) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % n;
  };
  for (BusDirection direction : {BusDirection::to_device, BusDirection::from_device}) {
    Side a(4, 24);
    Side b(16, 4);
    Side c(1, 8);
    std::vector<Side*> const sides{&a, &b, &c};
    Rig rig(direction, sides, 0, 0s);
    std::uint64_t retired[3] = {};
    for (int round = 0; round < 100'000; ++round) {
      std::size_t const i = below(3);
      Side& side = *sides[i];
      std::uint64_t const slots = side.out.size() / side.item_bytes;
      switch (below(4)) {
        case 0: side.put(below(retired[i] + slots - side.published.bits + 1)); break;
        case 1: rig.step(); break;
        case 2:
          if (rig.stream->happened < rig.stream->submitted.size()) rig.stream->happen();
          break;
        default:  // the consumers: read, then retire
          ASSERT_LE(side.arrived.bits, side.published.bits);
          ASSERT_GE(side.arrived.bits, retired[i]);
          for (; retired[i] < side.arrived.bits; ++retired[i])
            ASSERT_TRUE(side.has(retired[i])) << "item " << retired[i];
      }
    }
    rig.stream->happens_by_itself = true;
    rig.settle();
    for (Side* side : sides) {
      EXPECT_GT(side->published.bits, 1000u);
      EXPECT_EQ(side->arrived.bits, side->published.bits);
    }
  }
}

// The emulated device's copies: whoever takes a poll, a copy or a word for the end of a submission sees old bytes.
TEST(TransferOnTheEmulatedDevice, CopiesLandLateAndOneByOneAndWordsBehindThem) {
  auto const stream = make_backend("simt")->open_stream();
  int source[2] = {1, 2};
  int target[2] = {};
  Word<std::uint64_t> words[2] = {};
  Copy const copies[] = {{&target[0], &source[0], sizeof(int)}, {&target[1], &source[1], sizeof(int)}};
  WordCopy const settings[] = {{&words[0], 7}, {&words[1], 8}};
  EXPECT_EQ(stream->submit(copies, settings), 1u);
  EXPECT_EQ(stream->submit({}, settings), 2u);
  EXPECT_EQ(target[0] + target[1], 0) << "nothing lands by itself";
  EXPECT_EQ(stream->completed(), 0u);
  EXPECT_EQ(target[0], 0);
  EXPECT_EQ(target[1], 2);
  EXPECT_EQ(stream->completed(), 0u);
  EXPECT_EQ(target[0], 1);
  EXPECT_EQ(words[0].bits + words[1].bits, 0u);
  EXPECT_EQ(stream->completed(), 0u);
  EXPECT_EQ(words[0].bits, 0u);
  EXPECT_EQ(words[1].bits, 8u);
  EXPECT_EQ(stream->completed(), 0u);
  EXPECT_EQ(words[0].bits, 7u);
  EXPECT_EQ(stream->completed(), 1u);
  EXPECT_EQ(stream->completed(), 1u);
  EXPECT_EQ(stream->completed(), 1u);
  EXPECT_EQ(stream->completed(), 2u);
}

}  // namespace
