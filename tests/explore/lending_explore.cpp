// Lending under every schedule: a few replicas with a few items each. Everything is done exactly once, everybody
// leaves, and nobody before all is done.
#include <algorithm>
#include <vector>

#include "hiway/segment/lending.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;
namespace segment = hiway::segment;
using segment::Awaited;
using segment::Lending;

/// The library's. Each planted mistake replaces one of its functions.
struct Sound {
  static void ask(ExploreMachine m, Lending const& l, std::uint32_t own) { segment::ask(m, l, own); }
  static bool await_letter(ExploreMachine m, Lending const& l, std::uint32_t own, Control& control) {
    return segment::await_letter(m, l, own, control, [] { return false; }) == Awaited::letter;
  }
  static std::uint32_t answer(ExploreMachine m, Lending const& l) { return segment::answer(m, l, 0); }
  template <class Write>
  static void send(ExploreMachine m, Lending const& l, std::uint32_t to, std::uint32_t count, Write&& write) {
    write();
    segment::send(m, l, to, 0, count);
  }
  static constexpr bool asks_with_work = false;
};

/// Each replica has so many items at the start. It works on one after another, lends half of the rest to whoever asks,
/// and borrows when it has none.
template <class Rules, unsigned... Items>
struct Replicas {
  static constexpr std::array warps = {(Items, 1u)...};
  static constexpr unsigned replicas = sizeof...(Items);
  static constexpr unsigned total = (Items + ...);
  static constexpr unsigned letter_items = 2;
  using Letter = std::array<Torn, letter_items>;

  Replicas() {
    lending.idle = &idle;
    lending.asks = &asks;
    lending.boxes = boxes.data();
    lending.letters = reinterpret_cast<std::byte*>(letters.data());
    lending.letter_bytes = sizeof(Letter);
    lending.replicas = replicas;
  }
  void run(unsigned own, ExploreMachine m) {
    constexpr std::array has = {Items...};
    std::vector<std::uint32_t> queue;
    std::uint32_t next = 0;
    for (unsigned r = 0; r < own; ++r) next += has[r];
    for (unsigned i = 0; i < has[own]; ++i) queue.push_back(next++);
    do {
      while (!queue.empty()) {
        if (queue.size() > 1 && segment::anyone_asks(m, lending)) lend(m, queue);
        std::uint32_t const item = queue.back();
        queue.pop_back();
        if (Rules::asks_with_work && queue.empty()) Rules::ask(m, lending, own);
        m.point();
        require(item < total, "an item that nobody had");
        require(!done[item], "an item was done twice");
        done[item] = true;
        ++all_done;
      }
    } while (borrow(m, own, queue));
    require(all_done == total, "a replica leaves before all is done");
  }
  void lend(ExploreMachine m, std::vector<std::uint32_t>& queue) {
    std::uint32_t const to = Rules::answer(m, lending);
    if (to == segment::no_replica) return;
    auto const k = std::min(static_cast<std::uint32_t>(queue.size() / 2), letter_items);
    Rules::send(m, lending, to, k, [&] {
      for (std::uint32_t i = 0; i < k; ++i) {
        WriteTorn{m, queue.back()}(slot(to, i));
        queue.pop_back();
      }
    });
  }
  bool borrow(ExploreMachine m, unsigned own, std::vector<std::uint32_t>& queue) {
    if (!Rules::asks_with_work) Rules::ask(m, lending, own);
    if (!Rules::await_letter(m, lending, own, control)) return false;
    std::uint32_t const k = boxes[own].count;
    require(k != 0 && k <= letter_items, "a letter without items");
    for (std::uint32_t i = 0; i < k; ++i) {
      std::uint32_t item = 0;
      ReadTorn{m, item}(slot(own, i));
      queue.push_back(item);
    }
    return true;
  }
  std::byte* slot(std::uint32_t replica, std::uint32_t i) {
    return lending.letters + std::size_t{replica} * lending.letter_bytes + i * sizeof(Torn);
  }
  void check() const {
    for (bool const d : done) require(d, "an item was lost");
    require(idle.bits == replicas && asks.bits == (1u << replicas) - 1, "not everybody asks at the end");
  }

  Control control;
  Word<std::uint32_t> idle{0}, asks{0};
  std::array<segment::LetterBox, replicas> boxes{};
  std::array<Letter, replicas> letters{};
  Lending lending;
  std::array<bool, total> done{};
  unsigned all_done = 0;
};

TEST(ExploreLending, OneLendsToTheOther) { expect_no_failure<Replicas<Sound, 4, 0>>(); }
TEST(ExploreLending, TwoLendToEachOther) { expect_no_failure<Replicas<Sound, 3, 3>>(); }
TEST(ExploreLending, OneLendsToTwo) { expect_no_failure<Replicas<Sound, 5, 0, 0>>(); }
TEST(ExploreLending, TwoLendToOne) { expect_no_failure<Replicas<Sound, 3, 2, 0>>(); }
TEST(ExploreLending, NobodyHasWork) { expect_no_failure<Replicas<Sound, 1, 1, 1>>(); }

/// A replica's kernel is away between its looks for a letter. Whether it then `asks` again is a rule of its own.
template <bool asks>
struct LooksAndLeaves : Sound {
  static bool await_letter(ExploreMachine m, Lending const& l, std::uint32_t own, Control& control) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      Awaited const got = segment::await_letter(m, l, own, control, [] { return true; });
      if (got != Awaited::not_yet) return got == Awaited::letter;
      if (asks) segment::ask(m, l, own);
    }
  }
};
TEST(ExploreLending, ARequestStandsWhileItsKernelIsAway) {
  expect_no_failure<Replicas<LooksAndLeaves<false>, 3, 2, 0>>();
}
TEST(ExplorePlanted, ARequestMadeAgainByAKernelThatComesBackIsFound) {
  expect_found<Replicas<LooksAndLeaves<true>, 3, 2, 0>>();
}

/// Who waits for a letter leaves when the run aborts.
struct Aborts : Replicas<Sound, 1, 0> {
  void run(unsigned own, ExploreMachine m) {
    if (own == 0) return record_fault(m, control, FaultKind::failed, 7, no_id, 0);
    segment::ask(m, lending, own);
    require(!Sound::await_letter(m, lending, own, control), "a letter that nobody sent");
  }
  void check() const {}
};
TEST(ExploreLending, AnAbortEndsTheWait) { expect_no_failure<Aborts>(); }

// ---- L2: either order of the bit and the count will do

struct CountsBeforeItsBit : Sound {
  static void ask(ExploreMachine m, Lending const& l, std::uint32_t own) {
    m.store(l.boxes[own].full, 0u, MemoryOrder::relaxed);
    m.fetch_add(*l.idle, 1u, MemoryOrder::acq_rel);
    m.fetch_or(l.asks[own / 32], 1u << own % 32, MemoryOrder::release);
  }
};
TEST(ExploreLending, AReplicaMayCountItselfFirst) { expect_no_failure<Replicas<CountsBeforeItsBit, 3, 2, 0>>(); }

// ---- planted mistakes

struct NeverClearsFull : Sound {
  static void ask(ExploreMachine m, Lending const& l, std::uint32_t own) {
    m.fetch_or(l.asks[own / 32], 1u << own % 32, MemoryOrder::release);
    m.fetch_add(*l.idle, 1u, MemoryOrder::acq_rel);
  }
};
TEST(ExplorePlanted, AFullBoxThatIsNeverClearedIsFound) { expect_found<Replicas<NeverClearsFull, 4, 0>>(); }

struct ClearsFullBehindItsBit : Sound {
  static void ask(ExploreMachine m, Lending const& l, std::uint32_t own) {
    m.fetch_or(l.asks[own / 32], 1u << own % 32, MemoryOrder::release);
    m.store(l.boxes[own].full, 0u, MemoryOrder::relaxed);
    m.fetch_add(*l.idle, 1u, MemoryOrder::acq_rel);
  }
};
TEST(ExplorePlanted, ABoxClearedBehindTheRequestIsFound) { expect_found<Replicas<ClearsFullBehindItsBit, 5, 0, 0>>(); }

struct LeavesOneEarly : Sound {
  static bool await_letter(ExploreMachine m, Lending const& l, std::uint32_t own, Control&) {
    for (unsigned misses = 0;; m.relax(misses++)) {
      if (m.load(l.boxes[own].full, MemoryOrder::acquire) != 0) return true;
      if (m.load(*l.idle, MemoryOrder::acquire) >= l.replicas - 1) return false;
    }
  }
};
TEST(ExplorePlanted, AReplicaThatLeavesOneEarlyIsFound) { expect_found<Replicas<LeavesOneEarly, 2, 0>>(); }

struct AsksWithWork : Sound {
  static constexpr bool asks_with_work = true;
};
TEST(ExplorePlanted, ARequestWithWorkInHandIsFound) { expect_found<Replicas<AsksWithWork, 1, 1>>(); }

/// Takes a request over, and leaves the count to send().
struct AnswersWithoutCounting : Sound {
  static std::uint32_t answer(ExploreMachine m, Lending const& l) {
    std::uint32_t bits = m.load(*l.asks, MemoryOrder::relaxed);
    while (bits != 0) {
      unsigned const who = m.lowest(bits);
      if (m.compare_exchange(*l.asks, bits, bits & ~(1u << who), MemoryOrder::acq_rel)) return who;
    }
    return segment::no_replica;
  }
};
TEST(ExplorePlanted, ALetterThatIsNotCountedIsFound) { expect_found<Replicas<AnswersWithoutCounting, 4, 0>>(); }

struct CountsBehindTheLetter : AnswersWithoutCounting {
  template <class Write>
  static void send(ExploreMachine m, Lending const& l, std::uint32_t to, std::uint32_t count, Write&& write) {
    Sound::send(m, l, to, count, write);
    m.fetch_add(*l.idle, ~0u, MemoryOrder::acq_rel);
  }
};
TEST(ExplorePlanted, ACountBehindTheLetterIsFound) { expect_found<Replicas<CountsBehindTheLetter, 4, 0>>(); }

struct TwoAnswerOne : Sound {
  static std::uint32_t answer(ExploreMachine m, Lending const& l) {
    std::uint32_t const bits = m.load(*l.asks, MemoryOrder::acquire);
    if (bits == 0) return segment::no_replica;
    unsigned const who = m.lowest(bits);
    m.store(*l.asks, bits & ~(1u << who), MemoryOrder::release);
    m.fetch_add(*l.idle, ~0u, MemoryOrder::acq_rel);
    return who;
  }
};
TEST(ExplorePlanted, TwoLettersForOneRequestAreFound) { expect_found<Replicas<TwoAnswerOne, 3, 3, 0>>(); }

struct TellsBeforeWriting : Sound {
  template <class Write>
  static void send(ExploreMachine m, Lending const& l, std::uint32_t to, std::uint32_t count, Write&& write) {
    segment::send(m, l, to, 0, count);
    write();
  }
};
TEST(ExplorePlanted, ALetterToldOfBeforeItIsWrittenIsFound) { expect_found<Replicas<TellsBeforeWriting, 4, 0>>(); }

}  // namespace
