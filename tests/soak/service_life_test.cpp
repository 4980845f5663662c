// A service that stays: clients come and go, some leave before their answers, some requests fail, some are late. Each
// request has one outcome, and memory does not grow.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "hiway/service.hpp"
#include "tests/device.hpp"
#include "tests/soak/resident_memory.hpp"

namespace {

using namespace hiway;
using hiway_tests::from_environment;
using Clock = std::chrono::steady_clock;

struct Ask {
  std::uint64_t number;
  std::uint32_t fails;
  std::uint32_t work;
};
struct Reply {
  std::uint64_t number;
  std::uint64_t twice;
};
struct Work {
  HIWAY_DEVICE Reply operator()(Ask const& ask) const {
    if (ask.fails != 0) fail_scope("asked to");
    std::uint64_t sum = ask.number;
    for (std::uint32_t i = 0; i < ask.work; ++i) sum = sum * 3 + 1;
    return {ask.number, 2 * ask.number + (sum == 0 ? 1 : 0)};
  }
};

struct Outcomes {
  std::atomic<std::uint64_t> asked{0};
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> failed{0};
  std::atomic<std::uint64_t> late{0};
  std::atomic<std::uint64_t> wrong{0};
};

/// One client: asks for a while, and leaves; of the futures that it has then it waits for none.
void ask(Service<Ask, Reply>& service, Outcomes& outcomes, std::uint64_t first, unsigned count) {
  std::vector<std::future<Reply>> kept;
  for (std::uint64_t i = first; i < first + count; ++i) {
    Ask const request{i, i % 16 == 3 ? 1u : 0u, static_cast<std::uint32_t>(i % 50)};
    if (i % 64 == 5) {
      kept.push_back(service.submit(request));
      continue;
    }
    Deadline const deadline = i % 32 == 9 ? Deadline(std::chrono::microseconds(i % 300)) : Deadline();
    outcomes.asked.fetch_add(1, std::memory_order_relaxed);
    service.submit(
        request,
        [&outcomes, i](ServiceResult<Reply> const& result) {
          std::atomic<std::uint64_t>* outcome = &outcomes.wrong;
          try {
            if (result.reply().number == i && result.reply().twice == 2 * i && i % 16 != 3)
              outcome = &outcomes.answered;
          } catch (ScopeFailed const&) {
            if (i % 16 == 3) outcome = &outcomes.failed;
          } catch (DeadlineExceeded const&) {
            if (i % 32 == 9) outcome = &outcomes.late;
          } catch (...) {
          }
          outcome->fetch_add(1, std::memory_order_relaxed);
        },
        deadline);
  }
}

// HIWAY_SERVICE_SECONDS: for how long.
TEST(ServiceLife, EachRequestHasOneOutcomeAndMemoryDoesNotGrow) {
  HIWAY_NEEDS_DEVICE();
  auto const seconds = std::chrono::seconds(from_environment("HIWAY_SERVICE_SECONDS", 2));
  constexpr unsigned clients = 4;
  constexpr unsigned each = 200;
  Outcomes outcomes;
  std::int64_t early = 0;
  {
    Service<Ask, Reply> service(
        Work{},
        {.device = hiway_tests::device(), .most_open = 128, .blocks = 2, .threads_per_block = 64, .reply_threads = 2});
    auto const begin = Clock::now();
    std::uint64_t next = 1;
    for (unsigned round = 0; Clock::now() - begin < seconds; ++round) {
      std::vector<std::jthread> threads;
      for (unsigned c = 0; c < clients; ++c, next += each)
        threads.emplace_back([&service, &outcomes, next] { ask(service, outcomes, next, each); });
      threads.clear();
      if (early == 0 && Clock::now() - begin > seconds / 4) early = hiway_tests::Memory::now().in_use;
    }
    service.stop();
    ServiceStats const stats = service.stats();
    EXPECT_EQ(stats.under_way, 0);
    EXPECT_EQ(stats.submitted, stats.answered + stats.failed + stats.expired);
    std::int64_t const late = hiway_tests::Memory::now().in_use;
    EXPECT_LE(late, early + (std::int64_t{1} << 20)) << "bytes, early: " << early;
  }
  EXPECT_EQ(outcomes.wrong, 0);
  EXPECT_EQ(outcomes.asked, outcomes.answered + outcomes.failed + outcomes.late);
  EXPECT_GT(outcomes.failed, 0);
  EXPECT_GT(outcomes.answered, 0);
}

}  // namespace
