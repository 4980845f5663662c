// Batch stages at half-rings: slots stay claimed while a stream copies from or to them, beside ordinary writers and
// relays.
#include <array>
#include <cstdint>
#include <deque>

#include "lib/batch/ring_runs.hpp"
#include "tests/batch/stream_stub.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/tunnels.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// Copies are made by a warp of its own, whenever it comes to it, in the order in which they were given.
class ExploredStream final : public hiway_tests::StreamStub {
 public:
  [[nodiscard]] std::uint32_t given() const { return static_cast<std::uint32_t>(copies_.size()); }
  /// Lets the stream's warp see what was given.
  void commit(ExploreMachine m) { m.store(committed_, given(), MemoryOrder::release); }
  /// Whether the first `count` copies are made.
  [[nodiscard]] bool has_landed(ExploreMachine m, std::uint32_t count) const {
    return m.load(landed_, MemoryOrder::acquire) >= count;
  }
  /// Makes the next copy; false if none was given.
  bool step(ExploreMachine m) {
    if (made_ == m.load(committed_, MemoryOrder::acquire)) return false;
    Copy const copy = copies_[made_];
    for (std::size_t at = 0; at < copy.bytes; at += sizeof(Torn)) {
      std::uint32_t value = 0;
      ReadTorn{m, value}(static_cast<std::byte const*>(copy.source) + at);
      WriteTorn{m, value}(static_cast<std::byte*>(copy.target) + at);
    }
    m.store(landed_, ++made_, MemoryOrder::release);
    return true;
  }

 private:
  void give_copy(BusDirection, void* to, void const* from, std::size_t bytes) override {
    copies_.push_back({.target = to, .source = from, .bytes = bytes});
  }

  std::deque<Copy> copies_;
  std::uint32_t made_ = 0;
  Word<std::uint32_t> committed_{0};
  mutable Word<std::uint32_t> landed_{0};
};

enum class Way : std::uint8_t { sound, puts_before_the_copy, frees_before_the_copy };

/// A batch stage puts `batch` items, and a thread one after another `singles`, into one outbox; a batch stage gets all.
template <std::uint32_t batch, std::uint32_t singles, std::uint32_t capacity, Way how = Way::sound>
struct BatchesAcross {
  static constexpr std::array warps = {1u, 1u, 1u, 1u, 1u, 1u};
  static constexpr std::uint32_t total = batch + singles;

  BatchesAcross() {
    for (std::uint32_t i = 0; i < batch; ++i) made[i] = {i, ~i};
  }
  void run(unsigned warp, ExploreMachine m) {
    switch (warp) {
      case 0: return put_batch(m);
      case 1:
        for (std::uint32_t i = 0; i < singles; ++i) t.put(m, 1, batch + i);
        return;
      case 2: return get_batches(m);
      case 3: return relay(m);
      case 4: return copy(m, out);
      default: return copy(m, in);
    }
  }
  void check() const {
    std::array<bool, total> seen{};
    std::uint32_t next = 0;
    for (Torn const& item : got) {
      require(item.value < total && !seen.at(item.value), "another item, or one twice");
      seen.at(item.value) = true;
      require(item.value >= batch || item.value == next++, "a batch's items changed their order");
    }
    require(t.published.bits == total && t.retired.bits == total, "a prefix stopped");
    require(t.outbox.words.free.bits == static_cast<std::int32_t>(capacity), "credit of puts went astray");
    require(t.inbox.words.avail.bits == 0 && t.outlets[0].got.bits == total, "credit of gets went astray");
  }

 private:
  void put_batch(ExploreMachine m) {
    InletView const v = t.inlet(0);
    std::uint32_t gone = 0;
    for (unsigned misses = 0; gone != batch;) {
      auto const* const from = reinterpret_cast<std::byte const*>(&made[gone]);
      auto const some = static_cast<std::uint32_t>(runs_out.give(m, v, out, from, batch - gone));
      if (some == 0) {
        m.relax(misses++);
        continue;
      }
      misses = 0;
      gone += some;
      out.commit(m);
      if (how != Way::puts_before_the_copy) await(m, out);
      runs_out.end(m, v.ring, ClaimKind::put, control);
    }
    m.store(last_out, 1u, MemoryOrder::release);
  }
  /// Takes what is there, up to two at once, while what was taken before may still be under way.
  void get_batches(ExploreMachine m) {
    OutletView const v = t.outlet(0);
    std::uint32_t taken = 0;
    std::array<RingRuns, 2> runs;
    std::array<std::uint32_t, 2> marks{};
    for (unsigned which = 0, misses = 0; taken != total;) {
      RingRuns& next = runs[which];
      if (next.items() != 0) {
        for (unsigned again = 0; !in.has_landed(m, marks[which]); ++again) m.relax(again);
        next.end(m, v.ring, ClaimKind::get, control);
      }
      auto const some = static_cast<std::uint32_t>(next.take(m, v, in, reinterpret_cast<std::byte*>(&got[taken]), 2));
      if (some == 0) {
        finish(m, v, runs[1 - which], marks[1 - which]);  // nothing comes while half-finished batches hold all slots
        m.relax(misses++);
        continue;
      }
      misses = 0;
      taken += some;
      in.commit(m);
      marks[which] = in.given();
      if (how == Way::frees_before_the_copy) next.end(m, v.ring, ClaimKind::get, control);
      which = 1 - which;
    }
    for (unsigned i = 0; i < 2; ++i) finish(m, v, runs[i], marks[i]);
    await(m, in);
    m.store(last_in, 1u, MemoryOrder::release);
  }
  void finish(ExploreMachine m, OutletView const& v, RingRuns& runs, std::uint32_t mark) {
    if (runs.items() == 0) return;
    for (unsigned misses = 0; !in.has_landed(m, mark); ++misses) m.relax(misses);
    runs.end(m, v.ring, ClaimKind::get, control);
  }
  void await(ExploreMachine m, ExploredStream const& stream) {
    for (unsigned misses = 0; !stream.has_landed(m, stream.given()); ++misses) m.relax(misses);
  }
  void copy(ExploreMachine m, ExploredStream& stream) {
    Word<std::uint32_t>& over = &stream == &out ? last_out : last_in;
    for (unsigned misses = 0;;) {
      if (stream.step(m)) {
        misses = 0;
      } else if (m.load(over, MemoryOrder::acquire) != 0) {
        if (!stream.step(m)) return;
      } else {
        m.relax(misses++);
      }
    }
  }
  void relay(ExploreMachine m) {
    for (unsigned misses = 0; t.out.hears.to.bits != total;) {
      bool const inwards = step(m, t.in);
      if (step(m, t.out) || inwards) {
        misses = 0;
      } else {
        m.relax(misses++);
      }
    }
  }

  Control control;
  CrossingTunnel t{control, control, capacity};
  ExploredStream out;
  ExploredStream in;
  RingRuns runs_out;
  std::array<Torn, batch> made{};
  std::array<Torn, total> got{};
  Word<std::uint32_t> last_out{0};
  Word<std::uint32_t> last_in{0};
};

TEST(ExploreBatches, StandBesideAnOrdinaryWriter) { expect_no_failure<BatchesAcross<2, 2, 2>>(); }
TEST(ExploreBatches, GoThroughASmallerRing) { expect_no_failure<BatchesAcross<4, 1, 2>>(); }
TEST(ExploreBatches, GoThroughOneSlot) { expect_no_failure<BatchesAcross<2, 1, 1>>(); }
TEST(ExploreBatches, AreCopiedAroundTheRingsEnd) { expect_no_failure<BatchesAcross<5, 1, 3>>(); }
TEST(ExploreBatches, WhatIsPutBeforeItIsCopiedIsFound) {
  expect_found<BatchesAcross<3, 1, 2, Way::puts_before_the_copy>>();
}
TEST(ExploreBatches, SlotsThatAreFreeBeforeTheyAreCopiedAreFound) {
  expect_found<BatchesAcross<3, 1, 2, Way::frees_before_the_copy>>();
}

}  // namespace
