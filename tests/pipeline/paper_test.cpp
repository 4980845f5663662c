// The paper's interface: the shape of its figure 9(b), both spellings on one tunnel, and its named errors.
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "hiway/paper.hpp"
#include "tests/device.hpp"

namespace {

using namespace HiWayLib;
using testing::HasSubstr;

/// A service on the device of this program, over when the test is.
class Paper : public testing::Test {
 protected:
  void SetUp() override {
    HIWAY_NEEDS_DEVICE();
    setenv("HIWAY_RUN_ON", hiway_tests::device().c_str(), 1);
  }
  void TearDown() override {
    try {
      shutdownService();
    } catch (std::exception const&) {  // the test looked at it, or did not want to
    }
    unsetenv("HIWAY_RUN_ON");
  }
};

/// Waits for the end of the run, but not for ever.
void await_end() {
  for (int i = 0; i < 100 && !pipeline().wait_for(std::chrono::milliseconds(100)); ++i) {
  }
  EXPECT_TRUE(pipeline().wait_for(std::chrono::nanoseconds(0))) << "the run did not end";
}

struct Result {
  float value;
  int from;
};

HIWAY_DEVICE float work(int i) { return 0.5f * static_cast<float>(i); }

/// Figure 9(b)'s producer: every thread puts its result, the last of all puts the end flag.
struct Produce {
  int results;
  int first;
  int total;
  hiway::View<hiway::Word<unsigned>> done;
  HIWAY_DEVICE void operator()() const {
    int const i = first + static_cast<int>(hiway::thread_index());
    put_d(Result{work(i), i}, results);
    unsigned const before =
        hiway::anywhere([&](auto m) { return m.fetch_add(done[0], 1u, hiway::MemoryOrder::acq_rel); });
    if (before + 1 == static_cast<unsigned>(total)) put_d(endFlag, results);
  }
};

void consume(int results, double& sum, int& count) {
  Result r{};
  while (!isTerminate_h()) {
    if (get_h(&r, results)) {
      sum += r.value == work(r.from) ? r.value : 1e9;
      ++count;
      endTask_h(results);
    }
  }
}

TEST_F(Paper, Figure9bRuns) {
  for (int round = 0; round < 2; ++round) {
    for (bool batched : {true, false}) {
      constexpr int chunk = 256;
      constexpr int chunks = 20;
      int results = -1;
      createTunnel<Result>(results, GPU_TO_CPU, batched);
      auto& done = pipeline().create_buffer<hiway::Word<unsigned>>(1);
      hiway::Word<unsigned> const none{0};
      done.copy_in(std::span(&none, 1));
      setupService();
      double sum = 0;
      int count = 0;
      std::thread consumer(consume, results, std::ref(sum), std::ref(count));
      for (int c = 0; c < chunks; ++c)
        pipeline().launch("produce", Produce{results, c * chunk, chunk * chunks, done.view()}, {4, 64});
      consumer.join();
      shutdownService();
      EXPECT_EQ(count, chunk * chunks);
      EXPECT_EQ(sum, 0.5 * chunk * chunks * (chunk * chunks - 1) / 2);
    }
  }
}

/// A consumer on the GPU, by number.
struct Negate {
  int in;
  int out;
  HIWAY_DEVICE void operator()() const {
    std::int64_t x = 0;
    while (!isTerminate_d()) {
      if (get_d(&x, in)) {
        put_d(-x, out);
        endTask_d(in);
        if (x == -1) put_d(endFlag, out);
      }
    }
  }
};

TEST_F(Paper, NoValueIsReserved) {
  int to = -1;
  int back = -1;
  createTunnel<std::int64_t>(to, CPU_TO_GPU, true, {.capacity_items = 8});
  createTunnel<std::int64_t>(back, GPU_TO_CPU, true, {.capacity_items = 8});
  setupService();
  pipeline().launch("negate", Negate{to, back}, {1, 1});
  std::vector<std::int64_t> const values{0, -2, 1, INT64_MIN + 1, INT64_MAX, -1};
  std::thread producer([&] {
    for (std::int64_t v : values) put_h(v, to);
    put_h(endFlag, to);
  });
  std::vector<std::int64_t> seen;
  std::int64_t x = 0;
  while (!isTerminate_h()) {
    if (get_h(&x, back)) {
      seen.push_back(x);
      endTask_h(back);
    }
  }
  producer.join();
  shutdownService();
  EXPECT_THAT(seen, testing::ElementsAre(0, 2, -1, INT64_MAX, -INT64_MAX, 1));
}

struct Twice {
  HIWAY_DEVICE int operator()(int const& x) const { return 2 * x; }
};

TEST_F(Paper, BothSpellingsWorkOnOneTunnel) {
  int to = -1;
  int back = -1;
  createTunnel<int>(to, CPU_TO_GPU, true);
  createTunnel<int>(back, GPU_TO_CPU, false);
  pipeline().add_gpu_stage("twice", Twice{}, hiway::from(tunnel<int>(to)), hiway::into(tunnel<int>(back)));
  long sum = 0;
  pipeline().add_cpu_stage(
      "sum", [&](hiway::Outlet<int> in) { in.for_each_h([&](int x) { sum += x; }); }, hiway::from(tunnel<int>(back)));
  setupService();
  for (int i = 1; i <= 1000; ++i) put_h(i, to);
  put_h(endFlag, to);
  await_end();
  shutdownService();
  EXPECT_EQ(sum, 1001000);
}

TEST_F(Paper, TheWrongTypeIsNamedOnTheHost) {
  int id = -1;
  createTunnel<int>(id, CPU_TO_CPU, true);
  EXPECT_THAT(hiway_tests::text_of_error<hiway::MisuseError>([&] { (void)tunnel<float>(id); }),
              HasSubstr("not of the type"));
  setupService();
  EXPECT_THAT(hiway_tests::text_of_error<hiway::MisuseError>([&] { put_h(1.0f, id); }),
              HasSubstr("tunnel 0: the item is not of the tunnel's type"));
  EXPECT_TRUE(isTerminate_h());  // the run aborts: loops end
  int x = 0;
  EXPECT_FALSE(get_h(&x, id));
  EXPECT_THAT(hiway_tests::text_of_error<hiway::MisuseError>([&] {
                await_end();
                shutdownService();
              }),
              HasSubstr("the item is not of the tunnel's type: tunnel 'tunnel 0'"));
}

struct PutFloat {
  int id;
  HIWAY_DEVICE void operator()() const { put_d(1.0f, id); }
};
struct PutResult {
  int id;
  HIWAY_DEVICE void operator()() const { put_d(Result{1.0f, 1}, id); }
};
struct PutNumber {
  int id;
  HIWAY_DEVICE void operator()() const { put_d(7, id); }
};

template <class T, class Kernel>
std::string error_of_launch(Kernel kernel, hiway::Direction direction) {
  createTunnel<T>(kernel.id, direction, true);
  int other = -1;
  createTunnel<int>(other, CPU_TO_CPU, true);
  setupService();
  pipeline().launch("put", kernel, {1, 1});
  await_end();
  return hiway_tests::text_of_error<hiway::MisuseError>([] { shutdownService(); });
}

TEST_F(Paper, TheWrongTypeIsNamedOnTheDevice) {
  EXPECT_THAT(error_of_launch<int>(PutFloat{}, GPU_TO_CPU),
              HasSubstr("the item is not of the tunnel's type: tunnel 'tunnel 0'"));
}
struct Other {
  float value;
  int from;
};
TEST_F(Paper, AnotherTypeOfTheSameSizeIsNamedOnTheDevice) {
  EXPECT_THAT(error_of_launch<Other>(PutResult{}, GPU_TO_CPU), HasSubstr("the item is not of the tunnel's type"));
}
TEST_F(Paper, TheWrongEndIsNamedOnTheDevice) {
  EXPECT_THAT(error_of_launch<int>(PutNumber{}, CPU_TO_GPU), HasSubstr("the tunnel's end is on the other device"));
}

TEST_F(Paper, AnUnknownTunnelIsNamed) {
  int id = -1;
  createTunnel<int>(id, CPU_TO_CPU, true);
  setupService();
  EXPECT_THAT(hiway_tests::text_of_error<hiway::MisuseError>([&] { put_h(1, 3); }),
              HasSubstr("tunnel 3: there is no tunnel of that number"));
}

TEST_F(Paper, CallsBeforeSetupAreNamed) {
  int id = -1;
  createTunnel<int>(id, CPU_TO_CPU, true);
  EXPECT_THAT(hiway_tests::text_of_error<hiway::ConfigError>([&] { put_h(1, id); }),
              HasSubstr("setupService() comes first"));
  setupService();
  EXPECT_THAT(hiway_tests::text_of_error<hiway::ConfigError>([] { setupService(); }), HasSubstr("runs already"));
}

TEST_F(Paper, AShutdownEndsAnIdleService) {
  int id = -1;
  createTunnel<int>(id, CPU_TO_CPU, true);
  setupService();
  std::thread consumer([&] {
    int x = 0;
    while (!isTerminate_h()) {
      if (get_h(&x, id)) endTask_h(id);
    }
  });
  shutdownService();
  consumer.join();
}

}  // namespace
