// Lending between real threads, and where a request is looked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "hiway/machine/thread_machine.hpp"
#include "hiway/segment/lending.hpp"

namespace hiway::segment_test {
namespace {

using namespace segment;
using namespace std::chrono_literals;

/// A thread as a replica. ThreadMachine knows masks of its one lane alone; `asks` is one of 32 replicas.
struct ReplicaThread : ThreadMachine {
  [[nodiscard]] unsigned lowest(std::uint32_t mask) const { return static_cast<unsigned>(std::countr_zero(mask)); }
};
constexpr ReplicaThread thread;

/// What so many replicas lend through, in this process.
struct LendingWords {
  explicit LendingWords(unsigned replicas) : asks((replicas + 31) / 32), boxes(replicas) {
    lending.idle = &idle;
    lending.asks = asks.data();
    lending.boxes = boxes.data();
    lending.replicas = replicas;
  }
  Word<std::uint32_t> idle{0};
  std::vector<Word<std::uint32_t>> asks;
  std::vector<LetterBox> boxes;
  Lending lending;
};

TEST(Lending, ARequestIsTakenOverOnce) {
  LendingWords w(70);
  EXPECT_FALSE(anyone_asks(thread, w.lending));
  EXPECT_EQ(answer(thread, w.lending, 0), no_replica);
  for (std::uint32_t const who : {3u, 40u, 69u}) ask(thread, w.lending, who);
  EXPECT_TRUE(anyone_asks(thread, w.lending));
  EXPECT_EQ(w.idle.bits, 3u);
  EXPECT_EQ(answer(thread, w.lending, 2), 69u);  // from its own word on
  EXPECT_EQ(answer(thread, w.lending, 2), 3u);
  EXPECT_EQ(answer(thread, w.lending, 2), 40u);
  EXPECT_EQ(answer(thread, w.lending, 2), no_replica);
  EXPECT_EQ(w.idle.bits, 0u);
}

TEST(Lending, FewWordsAreLookedAt) {
  LendingWords w(32 * 40);
  ask(thread, w.lending, 32 * 16);
  EXPECT_EQ(answer(thread, w.lending, 0), no_replica);
  EXPECT_EQ(answer(thread, w.lending, 1), 32u * 16);
}

TEST(Lending, ALetterSaysItsNodeAndItems) {
  LendingWords w(2);
  Control control;
  w.boxes[1].full.bits = 1;  // of the last letter
  ask(thread, w.lending, 1);
  EXPECT_EQ(w.boxes[1].full.bits, 0u);
  EXPECT_EQ(answer(thread, w.lending, 0), 1u);
  send(thread, w.lending, 1, 7, 5);
  EXPECT_EQ(await_letter(thread, w.lending, 1, control, [] { return true; }), Awaited::letter);
  EXPECT_EQ(w.boxes[1].node, 7u);
  EXPECT_EQ(w.boxes[1].count, 5u);
}

/// One replica has all items at the start.
class Replicas {
 public:
  static constexpr std::uint32_t items = 2000;
  static constexpr std::size_t letter_items = 32;

  explicit Replicas(unsigned replicas) : words_(replicas), letters_(replicas * letter_items), done_(items) {}

  void run(std::uint32_t own) {
    std::vector<std::uint32_t> queue(own == 0 ? items : 0);
    for (std::uint32_t i = 0; i < queue.size(); ++i) queue[i] = i;
    do {
      while (!queue.empty()) {
        if (queue.size() > 1 && anyone_asks(thread, words_.lending)) lend(own, queue);
        ++done_[queue.back()];
        queue.pop_back();
        if (queue.size() % 16 == 0) std::this_thread::yield();
      }
    } while (borrow(own, queue));
  }
  /// No thread is left.
  void check() const {
    for (std::uint32_t i = 0; i < items; ++i) ASSERT_EQ(done_[i], 1u) << "item " << i;
    EXPECT_EQ(words_.idle.bits, words_.lending.replicas);
  }
  Control control;

 private:
  void lend(std::uint32_t own, std::vector<std::uint32_t>& queue) {
    std::uint32_t const to = answer(thread, words_.lending, own);
    if (to == no_replica) return;
    std::size_t const k = std::min(queue.size() / 2, letter_items);
    std::copy(queue.end() - static_cast<std::ptrdiff_t>(k), queue.end(), letter(to));
    queue.resize(queue.size() - k);
    send(thread, words_.lending, to, 0, static_cast<std::uint32_t>(k));
  }
  bool borrow(std::uint32_t own, std::vector<std::uint32_t>& queue) {
    ask(thread, words_.lending, own);
    if (await_letter(thread, words_.lending, own, control, [] { return false; }) != Awaited::letter) return false;
    queue.assign(letter(own), letter(own) + words_.boxes[own].count);
    return true;
  }
  std::uint32_t* letter(std::uint32_t replica) { return &letters_[replica * letter_items]; }

  LendingWords words_;
  std::vector<std::uint32_t> letters_;
  std::vector<std::uint32_t> done_;  ///< how often each item was done
};

TEST(Lending, ThreadsDoEveryItemOnceAndLeave) {
  constexpr unsigned replicas = 4;
  for (unsigned round = 0; round < 50; ++round) {
    Replicas r(replicas);
    std::vector<std::future<void>> all;
    for (std::uint32_t own = 0; own < replicas; ++own)
      all.push_back(std::async(std::launch::async, [&r, own] { r.run(own); }));
    auto const deadline = std::chrono::steady_clock::now() + 20s;
    bool in_time = true;
    for (auto const& one : all) in_time &= one.wait_until(deadline) == std::future_status::ready;
    if (!in_time) thread.store(r.control.aborted, 1u, MemoryOrder::release);
    for (auto& one : all) one.get();
    ASSERT_TRUE(in_time) << "a replica waits for ever, in round " << round;
    r.check();
  }
}

}  // namespace
}  // namespace hiway::segment_test
