// The thread that gives up scopes and requests at their deadlines (lib/scope/deadlines.hpp).
#include "lib/scope/deadlines.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using Clock = Deadline::Clock;

struct Expired final : Expiry {
  [[nodiscard]] bool is_waiting(PlacedWord of) const noexcept override { return of.word == 1; }
  void expire(PlacedWord of) noexcept override {
    int const n = count++;
    if (n < 100) places[n] = of.place;
  }
  void await(int n) const {
    for (auto const until = Clock::now() + 30s; count < n && Clock::now() < until;) std::this_thread::yield();
    EXPECT_EQ(count, n);
  }
  std::atomic<int> count{0};
  std::uint32_t places[100]{};
};

TEST(Deadlines, ComeInTheOrderOfTheirTimes) {
  Expired expired;
  Deadlines deadlines(expired, 100);
  auto const now = Clock::now();
  deadlines.add(now + 1h, {99, 1});
  std::this_thread::sleep_for(5ms);
  for (std::uint32_t i = 0; i < 20; ++i) deadlines.add(now + 30ms + i * 7 % 20 * 100us, {i * 7 % 20, 1});
  expired.await(20);
  EXPECT_GE(Clock::now() - now, 31ms);
  for (std::uint32_t i = 0; i < 20; ++i) EXPECT_EQ(expired.places[i], i);
}

TEST(Deadlines, OfWhatIsOverAreDropped) {
  Expired expired;
  {
    Deadlines deadlines(expired, 4);
    auto const soon = Clock::now() + 200ms;
    for (std::uint32_t i = 0; i < 1000; ++i) deadlines.add(soon, {i, i % 500 == 0 ? 1u : 0u});
    ASSERT_LT(Clock::now(), soon);
    std::this_thread::sleep_until(soon + 50ms);
  }
  EXPECT_GE(expired.count, 2);
  EXPECT_LE(expired.count, 2 + 2 * 4);
}

TEST(Deadlines, ThatHaveNotComeEndWithTheThread) {
  Expired expired;
  for (int i = 0; i < 50; ++i) {
    Deadlines deadlines(expired, 4);
    if (i % 3 != 0) deadlines.add(Clock::now() + 1h, {0, 1});
  }
  EXPECT_EQ(expired.count, 0);
}

}  // namespace
