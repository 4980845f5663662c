// The ring by itself: set the words, call, read the words; then lanes of the emulated device that wait for each other.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "hiway/grouping/warp_group.hpp"
#include "hiway/launch/simt.hpp"
#include "hiway/machine/fiber_machine.hpp"
#include "hiway/ring.hpp"

namespace {

using namespace hiway;

/// A ring of ints with memory of its own.
struct IntRing {
  explicit IntRing(std::size_t capacity, RingPart part = RingPart::whole)
      : items(std::bit_ceil(capacity)),
        turns(items.size()),
        done(2 * items.size()),
        words(std::make_unique<RingWords>()) {
    auto const lap_shift = static_cast<std::uint32_t>(std::countr_zero(items.size()));
    words->free.bits = part == RingPart::inbox ? 0 : static_cast<std::int32_t>(capacity);
    words->given.bits = part == RingPart::outbox ? capacity : 0;
    ring = {.items = reinterpret_cast<std::byte*>(items.data()),
            .turns = turns.data(),
            .done = done.data(),
            .words = words.get(),
            .slots_mask = static_cast<std::uint32_t>(items.size() - 1),
            .lap_shift = lap_shift,
            .chunk_shift = chunk_shift_of(lap_shift),
            .item_bytes = sizeof(int),
            .part = part};
  }
  /// As after so many puts and gets.
  void start_at(std::uint64_t ticket) {
    words->claimed.bits = words->taken.bits = ticket;
    words->given.bits += ticket;
    for (std::size_t i = 0; i < turns.size(); ++i) turns[ring.slot(ticket + i)].bits = ring.free_turn(ticket + i);
    for (std::size_t i = 0; i < done.size(); i += ring.chunk_slots()) {
      std::uint64_t const begin = ticket - ring.place_in_chunk(ticket) + i;
      ring.done_count(begin).bits = ring.done_before(begin);
    }
    ring.done_count(ticket).bits += ring.place_in_chunk(ticket);
  }
  template <class Machine>
  bool put(Machine m, int value) {
    Grant const g = claim_put(m, ring, m.converged(), true);
    if (g.granted)
      commit_put(m, ring, g.ticket, control, [&](std::byte* slot) { *reinterpret_cast<int*>(slot) = value; });
    return g.granted;
  }
  template <class Machine>
  bool get(Machine m, int& value) {
    Grant const g = claim_get(m, ring, m.converged(), true, nullptr, Credit::early);
    if (g.granted)
      finish_get(m, ring, g.ticket, control, Credit::early,
                 [&](std::byte const* slot) { value = *reinterpret_cast<int const*>(slot); });
    return g.granted;
  }

  std::vector<int> items;
  std::vector<Word<std::uint32_t>> turns;
  std::vector<Word<std::uint32_t>> done;
  std::unique_ptr<RingWords> words;
  Control control;
  Ring ring;
};

constexpr ThreadMachine thread;

TEST(Ring, RejectsPutWhenFullAndGetWhenEmpty) {
  for (std::size_t capacity : {1u, 2u, 3u, 4u, 5u}) {
    IntRing r(capacity);
    int x = 0;
    EXPECT_FALSE(r.get(thread, x));
    for (std::size_t i = 0; i < capacity; ++i) EXPECT_TRUE(r.put(thread, static_cast<int>(i)));
    EXPECT_FALSE(r.put(thread, 99));
    for (std::size_t i = 0; i < capacity; ++i) {
      EXPECT_TRUE(r.get(thread, x));
      EXPECT_EQ(x, static_cast<int>(i));
    }
    EXPECT_FALSE(r.get(thread, x));
  }
}

TEST(Ring, KeepsOrderOverManyLaps) {
  IntRing r(3);
  int x = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(r.put(thread, i));
    EXPECT_TRUE(r.put(thread, -i));
    EXPECT_TRUE(r.get(thread, x));
    EXPECT_EQ(x, i);
    EXPECT_TRUE(r.get(thread, x));
    EXPECT_EQ(x, -i);
  }
}

TEST(Ring, CountsWhatWasGranted) {
  IntRing r(4);
  r.put(thread, 1);
  r.put(thread, 2);
  EXPECT_EQ(r.words->claimed.bits, 2u);
  EXPECT_EQ(r.words->free.bits, 2);
  EXPECT_EQ(r.words->avail.bits, 2);
  int x = 0;
  Word<std::uint64_t> tally{0};
  EXPECT_TRUE(claim_get(thread, r.ring, 1, true, &tally, Credit::early).granted);
  EXPECT_EQ(tally.bits, 1u);
  EXPECT_EQ(r.words->taken.bits, 1u);
  EXPECT_EQ(r.words->free.bits, 3);  // early credit: given at the grant
  (void)x;
}

TEST(Ring, GrantsARunAsFarAsThereIsRoom) {
  IntRing r(5);
  EXPECT_EQ(claim_put_run(thread, r.ring, 3).count, 3u);
  hiway::Run const rest = claim_put_run(thread, r.ring, 3);
  EXPECT_EQ(rest.first, 3u);
  EXPECT_EQ(rest.count, 2u);
  EXPECT_EQ(claim_put_run(thread, r.ring, 1).count, 0u);
  EXPECT_EQ(r.words->free.bits, 0);  // what was taken beyond the balance is given back
  EXPECT_EQ(r.words->avail.bits, 5);
  Word<std::uint64_t> tally{0};
  EXPECT_EQ(claim_get_run(thread, r.ring, 9, &tally, Credit::early).count, 5u);
  EXPECT_EQ(tally.bits, 5u);
}

TEST(Ring, ALateCreditComesWhenTheSlotIsFree) {
  IntRing r(1);
  EXPECT_TRUE(r.put(thread, 7));
  hiway::Run const run = claim_get_run(thread, r.ring, 1, nullptr, Credit::late);
  ASSERT_EQ(run.count, 1u);
  std::byte const* const slot = begin_get(thread, r.ring, run.first, r.control);
  EXPECT_FALSE(r.put(thread, 8));  // its holder still reads it
  EXPECT_EQ(*reinterpret_cast<int const*>(slot), 7);
  end_get(thread, r.ring, run.first, Credit::late);
  EXPECT_TRUE(r.put(thread, 8));
  EXPECT_EQ(r.words->free.bits, 0);
}

TEST(Ring, InOrderGrantsNoSlotThatIsStillHeld) {  // a put from a body waited for the slot that its own stage held
  IntRing r(2, RingPart::in_order);
  EXPECT_TRUE(r.put(thread, 7));
  EXPECT_TRUE(r.put(thread, 8));
  hiway::Run const first = claim_get_run(thread, r.ring, 1, nullptr, Credit::late);
  hiway::Run const second = claim_get_run(thread, r.ring, 1, nullptr, Credit::late);
  (void)begin_get(thread, r.ring, first.first, r.control);
  (void)begin_get(thread, r.ring, second.first, r.control);
  end_get(thread, r.ring, second.first, Credit::late);
  EXPECT_EQ(r.words->free.bits, 0);  // the next ticket's slot is the first's
  end_get(thread, r.ring, first.first, Credit::late);
  EXPECT_EQ(r.words->free.bits, 2);
  EXPECT_TRUE(r.put(thread, 9));
  EXPECT_EQ(claim_get_run(thread, r.ring, 1, nullptr, Credit::early).count, 1u);
  EXPECT_EQ(r.words->free.bits, 1);  // no get gives its credit early
}

TEST(Ring, HalvesHandOverCommittedPrefixes) {
  IntRing out(4, RingPart::outbox);
  IntRing in(4, RingPart::inbox);
  in.ring.items = out.ring.items;  // direct: one array
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(out.put(thread, i));
  EXPECT_EQ(done_prefix(thread, out.ring, 0), 3u);
  give_credit(thread, in.ring, 3);
  EXPECT_TRUE(out.put(thread, 3));
  EXPECT_FALSE(out.put(thread, 4)) << "nothing was retired yet";
  int x = -1;
  EXPECT_TRUE(in.get(thread, x));
  EXPECT_EQ(x, 0);
  EXPECT_EQ(done_prefix(thread, in.ring, 0), 1u);
  give_credit(thread, out.ring, 1);
  EXPECT_TRUE(out.put(thread, 4));
  EXPECT_EQ(done_prefix(thread, out.ring, 3), 5u);
}

TEST(Ring, APrefixStopsAtAnItemThatIsClaimedAndNotCommitted) {
  IntRing out(4, RingPart::outbox);
  Grant const late = claim_put(thread, out.ring, 1, true);
  EXPECT_TRUE(out.put(thread, 1));
  EXPECT_EQ(done_prefix(thread, out.ring, 0), 0u);
  commit_put(thread, out.ring, late.ticket, out.control, [](std::byte*) {});
  EXPECT_EQ(done_prefix(thread, out.ring, 0), 2u);
}

TEST(Ring, APrefixEndsInTheMiddleOfAChunkOnlyWhenNoTicketIsOut) {
  IntRing out(256, RingPart::outbox);
  ASSERT_EQ(out.ring.chunk_slots(), 4u);
  std::vector<std::uint64_t> tickets;
  for (int i = 0; i < 10; ++i) tickets.push_back(claim_put(thread, out.ring, 1, true).ticket);
  auto const commit = [&](std::uint64_t ticket) {
    commit_put(thread, out.ring, ticket, out.control, [](std::byte*) {});
  };
  for (std::uint64_t t : {0, 1, 3, 4, 5, 6, 7}) commit(tickets[t]);
  EXPECT_EQ(done_prefix(thread, out.ring, 0), 0u) << "ticket 2 is out";
  commit(2);
  EXPECT_EQ(done_prefix(thread, out.ring, 0), 8u);
  commit(9);
  EXPECT_EQ(done_prefix(thread, out.ring, 8), 8u) << "one of two: which one nobody knows";
  commit(8);
  EXPECT_EQ(done_prefix(thread, out.ring, 8), 10u);
  EXPECT_EQ(done_prefix(thread, out.ring, 10), 10u);
}

TEST(Ring, ARunIsCommittedAndReadChunkByChunk) {
  IntRing out(256, RingPart::outbox);
  IntRing in(256, RingPart::inbox);
  in.ring.items = out.ring.items;
  std::uint64_t at = 0;
  for (std::uint32_t n : {3u, 250u, 1u, 256u, 7u}) {  // laps and chunks begin anywhere
    SCOPED_TRACE(n);
    auto const put = claim_put_run(thread, out.ring, n);
    ASSERT_EQ(put.count, n);
    commit_put_run(thread, out.ring, put, out.control, [&](std::byte* slot, std::uint32_t i, std::uint32_t count) {
      EXPECT_LE(done_prefix(thread, out.ring, at), at + i) << "told of before it is written";
      for (std::uint32_t k = 0; k < count; ++k) reinterpret_cast<int*>(slot)[k] = static_cast<int>(i + k);
    });
    ASSERT_EQ(done_prefix(thread, out.ring, at), at + n);
    give_credit(thread, in.ring, n);
    auto const get = claim_get_run(thread, in.ring, n, nullptr, Credit::early);
    ASSERT_EQ(get.count, n);
    finish_get_run(thread, in.ring, get, in.control, [&](std::byte const* slot, std::uint32_t i, std::uint32_t count) {
      for (std::uint32_t k = 0; k < count; ++k)
        EXPECT_EQ(reinterpret_cast<int const*>(slot)[k], static_cast<int>(i + k));
    });
    ASSERT_EQ(done_prefix(thread, in.ring, at), at + n);
    give_credit(thread, out.ring, n);
    at += n;
  }
}

TEST(Ring, AWaitForATurnIsLeftOnAbort) {
  IntRing r(1);
  r.control.aborted.bits = 1;
  Grant const g = claim_put(thread, r.ring, 1, true);
  r.turns[0].bits = 77;
  EXPECT_THROW(commit_put(thread, r.ring, g.ticket, r.control, [](std::byte*) {}), Unwind);
}

/// Four threads put and four get.
void expect_each_item_once(IntRing& r) {
  constexpr int each = 5000;
  std::vector<Word<std::uint32_t>> seen(4 * each, Word<std::uint32_t>{0});
  std::vector<std::jthread> threads;
  Word<std::uint32_t> got{0};
  for (int p = 0; p < 4; ++p) {
    threads.emplace_back([&, p] {
      for (int i = 0; i < each; ++i) {
        for (unsigned misses = 0; !r.put(thread, p * each + i); ++misses) thread.relax(misses);
      }
    });
    threads.emplace_back([&] {
      int x = 0;
      for (unsigned misses = 0; thread.load(got, MemoryOrder::relaxed) < 4 * each;) {
        if (r.get(thread, x)) {
          thread.fetch_add(seen[static_cast<std::size_t>(x)], 1u, MemoryOrder::relaxed);
          thread.fetch_add(got, 1u, MemoryOrder::relaxed);
          misses = 0;
        } else {
          thread.relax(misses++);
        }
      }
    });
  }
  threads.clear();
  for (Word<std::uint32_t> const& word : seen) ASSERT_EQ(word.bits, 1u);
}

TEST(Ring, MovesEveryItemOnceBetweenManyThreads) {
  IntRing r(8);
  expect_each_item_once(r);
}

/// Where a ring of `slots` starts its last laps: before its tickets need more than 32 bits, its turns repeat, its
/// tickets do.
std::vector<std::uint64_t> near_wrap(std::uint64_t slots) {
  std::uint64_t const laps_of_a_turn = std::uint64_t{1} << 31;
  return {(std::uint64_t{1} << 32) - 5, laps_of_a_turn * slots - 5, 2 * laps_of_a_turn * slots - 5,
          (std::uint64_t{1} << 63) - 5, std::uint64_t(0) - 5};
}

TEST(Ring, GoesOnWhereTurnsAndTicketsWrap) {
  for (std::size_t capacity : {1u, 3u, 4u}) {
    for (std::uint64_t start : near_wrap(std::bit_ceil(capacity))) {
      SCOPED_TRACE(start);
      IntRing r(capacity);
      r.start_at(start);
      int x = -1;
      for (int i = 0; i < 100; ++i) {
        EXPECT_FALSE(r.get(thread, x));
        for (std::size_t k = 0; k < capacity; ++k) ASSERT_TRUE(r.put(thread, i + static_cast<int>(k)));
        EXPECT_FALSE(r.put(thread, -1));
        for (std::size_t k = 0; k < capacity; ++k) {
          ASSERT_TRUE(r.get(thread, x));
          EXPECT_EQ(x, i + static_cast<int>(k));
        }
      }
    }
  }
}

TEST(Ring, MovesEveryItemOnceWhereTurnsAndTicketsWrap) {
  for (std::uint64_t start : near_wrap(8)) {
    IntRing r(8);
    r.start_at(start - 10000);
    expect_each_item_once(r);
  }
}

// The tickets themselves do not wrap here: prefixes are compared, and 2^64 items are 500 years of a thousand million a
// second.
void expect_halves_hand_over_prefixes(std::uint64_t slots) {
  for (std::uint64_t start : {(std::uint64_t{1} << 32) - 5, (std::uint64_t{1} << 31) * slots - 5,
                              (std::uint64_t{1} << 32) * slots - 5, (std::uint64_t{1} << 33) * slots - 5}) {
    SCOPED_TRACE(start);
    IntRing out(slots, RingPart::outbox);
    IntRing in(slots, RingPart::inbox);
    in.ring.items = out.ring.items;
    out.start_at(start);
    in.start_at(start);
    std::uint64_t at = start;
    for (int i = 0; i < 100; i += 3) {
      for (int k = 0; k < 3; ++k) ASSERT_TRUE(out.put(thread, i + k));
      std::uint64_t const to = done_prefix(thread, out.ring, at);
      ASSERT_EQ(to, at + 3);
      give_credit(thread, in.ring, to - at);
      EXPECT_EQ(done_prefix(thread, in.ring, at), at);
      int x = -1;
      for (int k = 0; k < 3; ++k) {
        ASSERT_TRUE(in.get(thread, x));
        EXPECT_EQ(x, i + k);
      }
      ASSERT_EQ(done_prefix(thread, in.ring, at), to);
      give_credit(thread, out.ring, to - at);
      at = to;
    }
  }
}
TEST(Ring, HalvesHandOverPrefixesWhereTurnsWrap) { expect_halves_hand_over_prefixes(4); }
TEST(Ring, HalvesWithChunksOfSeveralSlotsHandOverPrefixesWhereCountsWrap) { expect_halves_hand_over_prefixes(512); }

// Lane 31 of one warp waits for lane 0 of another, both ways, through rings of one: a device that ran a warp to its end
// before the next, or that could not switch away from a waiting lane, would hang here.
TEST(Simt, LaneWaitsForSibling) {
  simt::Device device({.processors = 1, .os_threads = 1});
  IntRing there(1);
  IntRing back(1);
  constexpr int rounds = 200;
  int sum = 0;
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  simt::Launch const launch = device.launch("siblings", {.blocks = 1, .threads_per_block = 64}, [&] {
    FiberMachine const m;
    auto const patient = [&](auto&& attempt) {
      while (!attempt()) {
        if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("the deadline of 5 s has passed");
        m.relax(0);
      }
    };
    int x = 0;
    if (simt::lane_id().thread == 31) {  // lane 31 of warp 0: waits for an item, then for room
      for (int i = 0; i < rounds; ++i) {
        patient([&] { return there.get(m, x); });
        sum += x;
        patient([&] { return back.put(m, x); });
        patient([&] { return back.put(m, -x); });
      }
    } else if (simt::lane_id().thread == 32) {  // lane 0 of warp 1
      for (int i = 1; i <= rounds; ++i) {
        patient([&] { return there.put(m, i); });
        patient([&] { return back.get(m, x); });
        if (x != i) throw std::runtime_error("a wrong item came back");
        patient([&] { return back.get(m, x); });
      }
    }
  });
  launch.wait();
  EXPECT_EQ(sum, rounds * (rounds + 1) / 2);
}

TEST(Simt, WarpsShareAClaimAndLoseNothing) {
  simt::Device device({.processors = 2, .os_threads = 2});
  IntRing r(16);
  std::vector<Word<std::uint32_t>> seen(64 * 20, Word<std::uint32_t>{0});
  auto const body = [&](bool producer) {
    FiberMachine const m;
    std::uint32_t const group = m.lanes();
    unsigned const me = m.thread_in_block();
    for (int i = 0; i < 20; ++i) {
      bool need = true;
      while (m.ballot(group, need) != 0) {
        Grant const g =
            producer ? claim_put(m, r.ring, group, need) : claim_get(m, r.ring, group, need, nullptr, Credit::early);
        if (g.granted) {
          need = false;
          if (producer) {
            commit_put(m, r.ring, g.ticket, r.control,
                       [&](std::byte* slot) { *reinterpret_cast<int*>(slot) = static_cast<int>(me) * 20 + i; });
          } else {
            int x = 0;
            finish_get(m, r.ring, g.ticket, r.control, Credit::early,
                       [&](std::byte const* slot) { x = *reinterpret_cast<int const*>(slot); });
            m.fetch_add(seen[static_cast<std::size_t>(x)], 1u, MemoryOrder::relaxed);
          }
        }
        m.relax(0);
      }
    }
  };
  simt::Launch const puts = device.launch("puts", {.blocks = 1, .threads_per_block = 64}, [&] { body(true); });
  simt::Launch const gets = device.launch("gets", {.blocks = 1, .threads_per_block = 64}, [&] { body(false); });
  puts.wait();
  gets.wait();
  for (Word<std::uint32_t> const& word : seen) ASSERT_EQ(word.bits, 1u);
}

// Blocks of five warps, the last one of 7 lanes; every warp puts and gets at two rings in turn, of which one is full
// most of the time. Lanes leave the loops at different times, so that groups are also parts of warps.
TEST(Simt, WarpsOfABlockShareAClaimAndLoseNothing) {
  constexpr unsigned threads = 4 * 32 + 7;
  constexpr unsigned blocks = 2;
  constexpr int each = 12;
  for (Grouping const grouping :
       {Grouping::none, Grouping::warp, Grouping::block, Grouping::block_scan, Grouping::automatic}) {
    SCOPED_TRACE(testing::Message() << "grouping " << int(grouping));
    simt::Device device({.processors = 2, .os_threads = 2});
    IntRing rings[] = {IntRing(16), IntRing(1024)};
    for (IntRing& r : rings) r.ring.grouping = grouping;
    std::vector<Word<std::uint32_t>> seen(blocks * threads * each, Word<std::uint32_t>{0});
    auto const body = [&](bool producer) {
      FiberMachine const m;
      int const me = static_cast<int>(m.thread_index());
      for (int i = 0; i < each; ++i) {
        IntRing& r = rings[(me / 32 + i) % 2 == 0 ? 0 : 1];
        for (unsigned misses = 0;; m.relax(misses++)) {
          std::uint32_t const group = converged_on(m, r.ring.words);
          Grant const g =
              producer ? claim_put(m, r.ring, group, true, after_misses(misses), &r.control)
                       : claim_get(m, r.ring, group, true, nullptr, Credit::early, after_misses(misses), &r.control);
          if (!g.granted) continue;
          if (producer) {
            commit_put(m, r.ring, g.ticket, r.control,
                       [&](std::byte* slot) { *reinterpret_cast<int*>(slot) = me * each + i; });
          } else {
            int x = 0;
            finish_get(m, r.ring, g.ticket, r.control, Credit::early,
                       [&](std::byte const* slot) { x = *reinterpret_cast<int const*>(slot); });
            m.fetch_add(seen[static_cast<std::size_t>(x)], 1u, MemoryOrder::relaxed);
          }
          break;
        }
      }
    };
    simt::Grid const grid{.blocks = blocks, .threads_per_block = threads};
    simt::Launch const puts = device.launch("puts", grid, [&] { body(true); });
    simt::Launch const gets = device.launch("gets", grid, [&] { body(false); });
    puts.wait();
    gets.wait();
    for (Word<std::uint32_t> const& word : seen) ASSERT_EQ(word.bits, 1u);
    for (IntRing const& r : rings) {
      EXPECT_EQ(r.words->free.bits, static_cast<int>(r.items.size()));
      EXPECT_EQ(r.words->avail.bits, 0);
    }
  }
}

/// What one lane sees of its block's group, and what it leaves there.
TEST(Simt, ABlocksGroupIsEmptyAtItsStart) {
  simt::Device device({.processors = 1, .os_threads = 1});
  Word<std::uint32_t> found{0};
  for (int launch = 0; launch < 2; ++launch) {
    device
        .launch("look", {.blocks = 3, .threads_per_block = 64},
                [&] {
                  FiberMachine const m;
                  BlockGroup& group = m.block_room<BlockGroup>();
                  if (m.thread_in_block() == 0) {
                    m.fetch_add(found, group.places[0].here.bits, MemoryOrder::relaxed);
                    group.places[0].here.bits = 1;
                  }
                  m.sync_block();
                  if (m.thread_in_block() == 63)
                    m.fetch_add(found, 1 - group.places[0].here.bits, MemoryOrder::relaxed);
                })
        .wait();
  }
  EXPECT_EQ(found.bits, 0u);
}

}  // namespace
