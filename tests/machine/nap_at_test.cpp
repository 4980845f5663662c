// A nap at a descriptor ends when its bell is rung, when the descriptor is readable, and when it is over.
#include "hiway/machine/bell.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace {

using namespace std::chrono_literals;

class NapAt : public testing::Test {
 protected:
  ~NapAt() override { close(descriptor); }
  /// Naps while `wake` runs after the nap has begun; how long it took.
  template <class Wake>
  std::chrono::nanoseconds nap(Wake wake) {
    std::jthread const other([&] {
      while (!bell.has_nappers()) std::this_thread::yield();
      wake();
    });
    auto const began = std::chrono::steady_clock::now();
    woken = bell.nap_at(descriptor, over, 5s);
    return std::chrono::steady_clock::now() - began;
  }

  hiway::Bell bell;
  std::atomic<bool> over{false};
  bool woken = false;
  int descriptor = eventfd(0, EFD_NONBLOCK);
};

TEST_F(NapAt, EndsWhenItIsRung) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_LT(nap([&] { bell.ring(1); }), 4s);
    EXPECT_TRUE(woken);
    EXPECT_FALSE(bell.has_nappers());
  }
}

TEST_F(NapAt, EndsWhenTheDescriptorIsReadable) {
  EXPECT_LT(nap([&] { (void)eventfd_write(descriptor, 1); }), 4s);
  EXPECT_TRUE(woken);
}

TEST_F(NapAt, EndsWhenItIsOver) {
  EXPECT_LT(nap([&] {
              over = true;
              bell.wake_all();
            }),
            4s);
  EXPECT_TRUE(bell.nap_at(descriptor, over, 5s)) << "and does not begin then";
}

TEST_F(NapAt, EndsByItself) { EXPECT_FALSE(bell.nap_at(descriptor, over, 1ms)); }

TEST_F(NapAt, IsNotEndedByAnEarlierRing) {
  nap([&] {
    bell.ring(1);
    bell.wake_all();
  });
  EXPECT_FALSE(bell.nap_at(descriptor, over, 1ms));
}

}  // namespace
