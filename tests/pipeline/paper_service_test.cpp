// Several services in one process: each has a pipeline and an end of its own; a tunnel's number says whose it is.
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;

/// Puts each number back, one larger, until the service of `in` is over.
struct AddOne {
  int in, out;
  HIWAY_DEVICE void operator()() const {
    int x = 0;
    while (!isTerminate_d(in)) {
      if (!get_d(&x, in)) continue;
      put_d(x + 1, out);
      endTask_d(in);
    }
  }
};

/// A service with a kernel, from the host and back.
struct RoundTrip {
  Service service{bounded()};
  int there = -1;
  int back = -1;

  RoundTrip() {
    createTunnel<int>(there, CPU_TO_GPU, true);
    createTunnel<int>(back, GPU_TO_CPU, true);
    connect("add one", {there}, {back});
    setupService();
    service.pipeline().launch("add one", AddOne{there, back}, {.blocks = 1, .threads_per_block = 32});
  }
  void put(int x) const { put_h(x, there); }
  int get() const {
    int x = 0;
    while (!get_h(&x, back)) {
      if (isTerminate_h(back)) return -1;
    }
    endTask_h(back);
    return x;
  }
  void end() const { put_h(endFlag, there); }
};

TEST(PaperServices, RunAtTheSameTime) {
  HIWAY_NEEDS_DEVICE();
  for (int round = 0; round < 2; ++round) {
    RoundTrip one;
    RoundTrip two;
    EXPECT_NE(one.there, two.there);
    for (int i = 0; i < 100; ++i) {
      one.put(i);
      two.put(1000 + i);
    }
    long sums[2] = {0, 0};
    for (int i = 0; i < 100; ++i) {
      sums[1] += two.get();
      sums[0] += one.get();
    }
    EXPECT_EQ(sums[0], 4950 + 100);
    EXPECT_EQ(sums[1], 104950 + 100);
    one.end();
    EXPECT_EQ(one.get(), -1);
    EXPECT_EQ(one.service.shutdown().tunnels.size(), 2U);
    two.put(7);  // goes on
    EXPECT_EQ(two.get(), 8);
    two.end();
    EXPECT_EQ(two.get(), -1);
  }
}

TEST(PaperServices, EachThreadMayHaveItsOwn) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::thread> threads;
  std::vector<int> got(3, 0);
  std::atomic<int> over{0};
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([i, &got, &over] {
      RoundTrip own;
      own.put(static_cast<int>(i));
      got[i] = own.get();
      own.end();
      while (!isTerminate_h()) {  // without a number: of its own
      }
      // A GPU's memory is freed when no kernel runs, of any service.
      for (++over; over != 3;) std::this_thread::yield();
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_THAT(got, testing::ElementsAre(1, 2, 3));
}

TEST(PaperServices, TheProgramsOwnIsMeantWhereThereIsNoOther) {
  HIWAY_NEEDS_DEVICE();
  setenv("HIWAY_RUN_ON", "simt", 1);
  int own = -1;
  int further = -1;
  {
    Service service(bounded());
    createTunnel<int>(further, CPU_TO_CPU, true);
    std::thread([&] { createTunnel<int>(own, CPU_TO_CPU, true); }).join();
  }
  EXPECT_NE(own >> 16, further >> 16);
  EXPECT_EQ(tunnel<int>(own).name(), "tunnel " + std::to_string(own));
  EXPECT_THAT(text_of_error<hiway::MisuseError>([&] { (void)tunnel<int>(further); }),
              HasSubstr("there is no tunnel " + std::to_string(further)));
  shutdownService();
  unsetenv("HIWAY_RUN_ON");
}

TEST(PaperServices, AnEndWithoutANumberIsRefusedWhereSeveralRun) {
  HIWAY_NEEDS_DEVICE();
  RoundTrip one;
  RoundTrip two;
  std::thread([] {
    EXPECT_THAT(text_of_error<hiway::MisuseError>([] { (void)isTerminate_h(); }),
                HasSubstr("several services run: give isTerminate the number of a tunnel"));
  }).join();
  one.end();
  two.end();
}

struct AskWithoutANumber {
  HIWAY_DEVICE void operator()() const { (void)isTerminate_d(); }
};
TEST(PaperServices, AKernelThatAsksWithoutANumberIsNamed) {
  HIWAY_NEEDS_DEVICE();
  RoundTrip one;
  int id = -1;
  Service two(bounded());
  createTunnel<int>(id, CPU_TO_CPU, true);
  setupService();
  two.pipeline().launch("ask", AskWithoutANumber{}, {.blocks = 1, .threads_per_block = 1});
  while (!isTerminate_h(one.there)) {  // it has the fault: the first that a kernel finds
  }
  EXPECT_THAT(text_of_error<hiway::Error>([&] { one.service.shutdown(); }),
              HasSubstr("several services run: give isTerminate the number of a tunnel"));
  put_h(endFlag, id);
}

TEST(PaperServices, TooManyAreRefused) {
  std::vector<std::unique_ptr<Service>> all;
  std::string const text = text_of_error<hiway::ConfigError>([&] {
    for (int i = 0; i <= detail::most_services; ++i) all.push_back(std::make_unique<Service>(bounded()));
  });
  EXPECT_EQ(text, "HiWayLib: there are 16 services already");
}

}  // namespace
