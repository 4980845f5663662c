// The explorer's weak memory against the litmus tests of the literature: what C++ forbids never happens, what it allows
// is found. The two shapes that are allowed and never happen stand last.
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

using Bits = Word<std::uint32_t>;

/// What stands between two accesses of one lane.
enum class Between : std::uint8_t { nothing, fence, acquire, fence_or_acquire };

enum class Side : std::uint8_t { writes, reads };
void stand(ExploreMachine m, Between between, Side side = Side::writes) {
  if (between == Between::nothing) return;
  bool const acquires = between == Between::acquire || (between == Between::fence_or_acquire && side == Side::reads);
  if (acquires) return m.acquire_ahead();
  m.fence_across();
}

// ---- message passing: who sees the flag sees what was written before it, words and plain memory

enum class What : std::uint8_t { word, item };

template <What Message, MemoryOrder Writes, MemoryOrder Reads, Between Has = Between::nothing>
struct MessagePassing {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    auto* const slot = reinterpret_cast<std::byte*>(&item);
    if (warp == 0) {
      if (Message == What::item) WriteTorn{m, 7}(slot);
      if (Message == What::word) m.store(word, 7u, MemoryOrder::relaxed);
      stand(m, Has);
      m.store(flag, 1u, Writes);
    } else if (m.load(flag, Reads) == 1) {
      stand(m, Has, Side::reads);
      std::uint32_t x = 0;
      if (Message == What::item) ReadTorn{m, x}(slot);
      if (Message == What::word) x = m.load(word, MemoryOrder::relaxed);
      require(x == 7, "what the flag told of is old");
    }
  }
  void check() const {}
  Bits word{0};
  Bits flag{0};
  Torn item{0, ~0u};
};
TEST(ExploreWeak, AnAcquireOfAReleaseBringsAllBeforeIt) {
  expect_no_failure<MessagePassing<What::word, MemoryOrder::release, MemoryOrder::acquire>>();
  expect_no_failure<MessagePassing<What::item, MemoryOrder::release, MemoryOrder::acquire>>();
}
TEST(ExploreWeak, FencesBringAllBeforeARelaxedStore) {
  expect_no_failure<MessagePassing<What::word, MemoryOrder::relaxed, MemoryOrder::relaxed, Between::fence>>();
  expect_no_failure<MessagePassing<What::item, MemoryOrder::relaxed, MemoryOrder::relaxed, Between::fence>>();
  expect_no_failure<
      MessagePassing<What::item, MemoryOrder::relaxed, MemoryOrder::relaxed, Between::fence_or_acquire>>();
}
TEST(ExploreWeak, ARelaxedStoreBringsNothing) {
  expect_found<MessagePassing<What::word, MemoryOrder::relaxed, MemoryOrder::acquire>>();
  expect_found<MessagePassing<What::item, MemoryOrder::relaxed, MemoryOrder::acquire>>();
}
TEST(ExploreWeak, ARelaxedLoadBringsNothing) {
  expect_found<MessagePassing<What::word, MemoryOrder::release, MemoryOrder::relaxed>>();
  expect_found<MessagePassing<What::item, MemoryOrder::release, MemoryOrder::relaxed>>();
}

/// A slot is written again by who was told that it was read.
template <MemoryOrder Frees>
struct WriteAfterRead {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    std::uint32_t x = 0;
    if (warp == 0) {
      ReadTorn{m, x}(reinterpret_cast<std::byte*>(&item));
      m.store(flag, 1u, Frees);
    } else if (m.load(flag, MemoryOrder::acquire) == 1) {
      WriteTorn{m, 1}(reinterpret_cast<std::byte*>(&item));
    }
  }
  void check() const {}
  Bits flag{0};
  Torn item{0, ~0u};
};
TEST(ExploreWeak, AWriteAfterAReadNeedsTheReadersRelease) {
  expect_no_failure<WriteAfterRead<MemoryOrder::release>>();
  expect_found<WriteAfterRead<MemoryOrder::relaxed>>();
}

// ---- store buffering: two that write, then look at the other's word. termination.hpp T5 stands on it

template <Between Has>
struct StoreBuffering {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    m.store(words[warp], 1u, MemoryOrder::release);
    stand(m, Has);
    saw[warp] = m.load(words[1 - warp], MemoryOrder::acquire);
  }
  void check() const { require(saw[0] + saw[1] != 0, "neither saw the other"); }
  std::array<Bits, 2> words{};
  std::array<std::uint32_t, 2> saw{};
};
TEST(ExploreWeak, StoresWaitInABuffer) { expect_found<StoreBuffering<Between::nothing>>(); }
TEST(ExploreWeak, FencesEmptyTheBuffer) { expect_no_failure<StoreBuffering<Between::fence>>(); }
TEST(ExploreWeak, FencesOfOneSideDoNot) { expect_found<StoreBuffering<Between::acquire>>(); }

/// T5 in small: ticket, then closed; closed, then tickets, both by read-modify-writes of the tickets.
template <MemoryOrder Tickets>
struct TicketThenClosed {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      m.fetch_add(tickets, 1u, Tickets);
      saw[0] = m.load(closed, MemoryOrder::relaxed);
    } else {
      m.store(closed, 1u, MemoryOrder::relaxed);
      saw[1] = m.fetch_add(tickets, 0u, Tickets);
    }
  }
  void check() const { require(saw[0] + saw[1] != 0, "neither saw the other"); }
  Bits tickets{0};
  Bits closed{0};
  std::array<std::uint32_t, 2> saw{};
};
TEST(ExploreWeak, ReadModifyWritesOfOneWordSeeEachOther) {
  expect_no_failure<TicketThenClosed<MemoryOrder::acq_rel>>();
  expect_found<TicketThenClosed<MemoryOrder::relaxed>>();
  expect_found<TicketThenClosed<MemoryOrder::acquire>>();
  expect_found<TicketThenClosed<MemoryOrder::release>>();
}

// ---- coherence, and independent reads of independent writes

struct ReadsOfOneWord {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (std::uint32_t i = 1; i < 4; ++i) m.store(word, i, MemoryOrder::relaxed);
    } else {
      std::uint32_t last = 0;
      for (unsigned i = 0; i < 4; ++i) {
        std::uint32_t const now = m.load(word, MemoryOrder::relaxed);
        require(now >= last, "a word went back");
        last = now;
      }
    }
  }
  void check() const {}
  Bits word{0};
};
TEST(ExploreWeak, AWordNeverGoesBack) { expect_no_failure<ReadsOfOneWord>(); }

/// Every value that a load can bring is brought: the newest and the `depth - 1` before it.
struct OldValues {
  static constexpr std::array warps = {1u, 1u};
  static inline std::array<bool, 6> seen{};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      for (std::uint32_t i = 1; i < 6; ++i) m.store(word, i, MemoryOrder::release);
      m.store(done, 1u, MemoryOrder::relaxed);
    } else if (m.load(done, MemoryOrder::relaxed) == 1) {
      seen[m.load(word, MemoryOrder::acquire)] = true;
    }
  }
  void check() const {}
  Bits word{0};
  Bits done{0};
};
TEST(ExploreWeak, ALoadBringsTheLastFewValues) {
  OldValues::seen = {};
  expect_no_failure<OldValues>();
  if (std::getenv("HIWAY_SEED") != nullptr) return;
  EXPECT_EQ(OldValues::seen, (std::array{false, false, true, true, true, true}));
}

template <Between Has>
struct IndependentReads {
  static constexpr std::array warps = {1u, 1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp < 2) {
      m.store(words[warp], 1u, MemoryOrder::release);
    } else {
      std::uint32_t const first = m.load(words[warp - 2], MemoryOrder::acquire);
      stand(m, Has);
      std::uint32_t const second = m.load(words[3 - warp], MemoryOrder::acquire);
      first_only[warp - 2] = first == 1 && second == 0;
    }
  }
  void check() const { require(!first_only[0] || !first_only[1], "two writes in two orders"); }
  std::array<Bits, 2> words{};
  std::array<bool, 2> first_only{};
};
TEST(ExploreWeak, TwoReadersSeeTwoWritesInTwoOrders) { expect_found<IndependentReads<Between::nothing>>(); }
TEST(ExploreWeak, TwoReadersWithFencesSeeOneOrder) { expect_no_failure<IndependentReads<Between::fence>>(); }

// ---- a release goes on through read-modify-writes, not through a store

enum class Second : std::uint8_t { read_modify_write, store };

template <Second By>
struct ReleaseSequence {
  static constexpr std::array warps = {1u, 1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    std::uint32_t x = 0;
    switch (warp) {
      case 0:
        WriteTorn{m, 1}(reinterpret_cast<std::byte*>(&item));
        m.store(flag, 1u, MemoryOrder::release);
        break;
      case 1:
        if (m.load(flag, MemoryOrder::relaxed) != 1) break;
        if (By == Second::store) m.store(flag, 2u, MemoryOrder::relaxed);
        if (By == Second::read_modify_write) m.fetch_add(flag, 1u, MemoryOrder::relaxed);
        break;
      default:
        if (m.load(flag, MemoryOrder::acquire) == 2) ReadTorn{m, x}(reinterpret_cast<std::byte*>(&item));
    }
  }
  void check() const {}
  Bits flag{0};
  Torn item{0, ~0u};
};
TEST(ExploreWeak, AReleaseGoesOnThroughAReadModifyWrite) {
  expect_no_failure<ReleaseSequence<Second::read_modify_write>>();
}
TEST(ExploreWeak, AReleaseEndsAtAStore) { expect_found<ReleaseSequence<Second::store>>(); }

// ---- warps

enum class Tells : std::uint8_t { shuffle, ballot, shuffle_and_sync, fence_and_shuffle };

/// Lane 0 acquires, lane 1 reads the item.
template <Tells How>
struct LeadersAcquire {
  static constexpr std::array warps = {1u, 2u};
  void run(unsigned warp, ExploreMachine m) {
    auto* const slot = reinterpret_cast<std::byte*>(&item);
    if (warp == 0) {
      WriteTorn{m, 1}(slot);
      m.store(flag, 1u, MemoryOrder::release);
      return;
    }
    std::uint32_t found = m.lane() == 0 ? m.load(flag, MemoryOrder::acquire) : 0;
    if (How == Tells::fence_and_shuffle) m.fence_across();
    found = How == Tells::ballot ? m.ballot(m.lanes(), found != 0) : m.shuffle(m.lanes(), found, 0);
    if (How == Tells::shuffle_and_sync) m.sync_warp(m.lanes());
    std::uint32_t x = 0;
    if (found != 0 && m.lane() == 1) ReadTorn{m, x}(slot);
  }
  void check() const {}
  Bits flag{0};
  Torn item{0, ~0u};
};
TEST(ExploreWeak, SyncWarpHandsTheLeadersAcquireOn) { expect_no_failure<LeadersAcquire<Tells::shuffle_and_sync>>(); }
TEST(ExploreWeak, ShuffleAndBallotOrderNothing) {
  expect_found<LeadersAcquire<Tells::shuffle>>();
  expect_found<LeadersAcquire<Tells::ballot>>();
  expect_found<LeadersAcquire<Tells::fence_and_shuffle>>();
}

// ---- waits

/// A wait that has read an old value is not asleep for ever, and one that reads the newest in vain is.
struct WaitsForTheNewest {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    if (warp == 0) {
      m.store(word, 1u, MemoryOrder::release);
    } else {
      for (unsigned misses = 0; m.load(word, MemoryOrder::acquire) == 0; ++misses) m.relax(misses);
    }
  }
  void check() const {}
  Bits word{0};
};
TEST(ExploreWeak, EveryWaitSeesTheNewestValueSomeTime) { expect_no_failure<WaitsForTheNewest>(); }

/// What is written without the machine would not be seen by the views.
struct WrittenBehindTheBack {
  static constexpr std::array warps = {1u};
  void run(unsigned, ExploreMachine m) {
    m.store(word, 1u, MemoryOrder::release);
    word.bits = 2;
    m.load(word, MemoryOrder::acquire);
  }
  void check() const {}
  Bits word{0};
};
TEST(ExploreWeak, AWordThatAWorldWritesPlainlyIsFound) { expect_found<WrittenBehindTheBack>({walks}, 1); }

// ---- what C++ allows and the explorer does not show

struct LoadBuffering {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    saw[warp] = m.load(words[warp], MemoryOrder::relaxed);
    m.store(words[1 - warp], 1u, MemoryOrder::relaxed);
  }
  void check() const { require(saw[0] + saw[1] != 2, "both read what is written later"); }
  std::array<Bits, 2> words{};
  std::array<std::uint32_t, 2> saw{};
};
struct WritesInTwoOrders {
  static constexpr std::array warps = {1u, 1u};
  void run(unsigned warp, ExploreMachine m) {
    m.store(words[warp], 1u, MemoryOrder::relaxed);
    m.store(words[1 - warp], 2u, MemoryOrder::relaxed);
  }
  void check() const { require(words[0].bits != 1 || words[1].bits != 1, "both first writes are last"); }
  std::array<Bits, 2> words{};
};
TEST(ExploreWeak, NothingIsReadBeforeItIsWrittenAndNoWriteIsPutBeforeAnother) {
  expect_no_failure<LoadBuffering>();
  expect_no_failure<WritesInTwoOrders>();
}

}  // namespace
