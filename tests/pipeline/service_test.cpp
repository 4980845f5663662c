// Services: requests of many threads, each with a future or a callback of its own.
#include "hiway/service.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::soon;
using hiway_tests::text_of_error;
using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

/// How long a test waits for what must come.
constexpr auto long_enough = 40s;

ServiceOptions small(std::size_t most_open = 64, unsigned reply_threads = 1) {
  return {.device = hiway_tests::device(),
          .most_open = most_open,
          .blocks = 1,
          .threads_per_block = 64,
          .reply_threads = reply_threads};
}

/// The reply; fails the test if it takes too long.
template <class Reply>
Reply reply_of(std::future<Reply>& future) {
  if (future.wait_for(long_enough) != std::future_status::ready) throw std::logic_error("no result");
  return future.get();
}
template <class E, class Reply>
std::string error_of(std::future<Reply> future) {
  return text_of_error<E>([&] { reply_of(future); });
}

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

TEST(Service, AnswersEachOfManyClients) {
  HIWAY_NEEDS_DEVICE();
  for (std::size_t const most_open : {2, 64}) {
    Service<int, long> service{Twice{}, small(most_open, 2)};
    std::atomic<int> wrong{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 4; ++c) {
      clients.emplace_back([&, c] {
        for (int i = 0; i < 300; i += 3) {
          std::array<std::future<long>, 3> futures;
          int x = c * 1000 + i;
          for (auto& f : futures) f = service.submit(x++);
          for (auto& f : futures) wrong += reply_of(f) == 2L * (x - 3) ? 0 : 1, ++x;
        }
      });
    }
    for (std::thread& c : clients) c.join();
    EXPECT_EQ(wrong, 0);
    service.stop();
    ServiceStats const stats = service.stats();
    EXPECT_EQ(stats.submitted, 1200u);
    EXPECT_EQ(stats.answered, 1200u);
    EXPECT_EQ(stats.failed + stats.expired + stats.under_way, 0u);
  }
}

TEST(Service, CallsEachCallbackOnceAndTheyHaveReturnedAfterTheStop) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{Twice{}, small(8, 2)};
  std::vector<std::atomic<long>> got(500);
  for (int i = 0; i < 500; ++i) {
    service.submit(i, [&, i](ServiceResult<long> const& result) {
      ASSERT_TRUE(result);
      EXPECT_EQ(result.error(), nullptr);
      if (i == 499) std::this_thread::sleep_for(20ms);
      got[i] += result.reply() + 1;
    });
  }
  service.stop();
  for (int i = 0; i < 500; ++i) ASSERT_EQ(got[i], 2L * i + 1);
}

TEST(Service, DropsWhatACallbackThrowsAndSaysSo) {
  HIWAY_NEEDS_DEVICE();
  std::atomic<int> said{0};
  set_log_sink([&](LogLevel, std::string_view text) {
    said += text.find("a callback has thrown, which is dropped: my fault") != text.npos ? 1 : 0;
  });
  Service<int, long> service{Twice{}, small()};
  service.submit(1, [](auto const&) { throw std::runtime_error("my fault"); });
  auto next = service.submit(2);
  EXPECT_EQ(reply_of(next), 4);
  service.stop();
  set_log_sink({});
  EXPECT_EQ(said, 1);
}

/// A chain of requests, each submitted by the callback of the last.
TEST(Service, LetsCallbacksSubmitAndTellsThemIfThereIsNoRoom) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{Twice{}, small(1)};
  std::promise<void> end;
  std::function<void(ServiceResult<long> const&)> again = [&](ServiceResult<long> const& result) {
    if (result.reply() < 200) return service.submit(static_cast<int>(result.reply() / 2 + 1), again);
    auto first = service.submit(1);
    auto second = service.submit(2);  // the only place is taken
    EXPECT_THAT(error_of<ServiceFull>(std::move(second)), HasSubstr("no room"));
    end.set_value();
  };
  service.submit(0, again);
  ASSERT_EQ(end.get_future().wait_for(long_enough), std::future_status::ready);
  service.stop();
  EXPECT_EQ(service.stats().answered, 102u);
}

struct FailsSome {
  HIWAY_DEVICE long operator()(int const& x) const {
    if (x % 3 == 0) fail_scope("no threes");
    return x;
  }
};

TEST(Service, FailsARequestAlone) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{FailsSome{}, small(4)};
  std::vector<std::future<long>> futures;
  for (int i = 0; i < 60; ++i) futures.push_back(service.submit(i));
  for (int i = 0; i < 60; ++i) {
    if (i % 3 == 0) {
      EXPECT_EQ(error_of<ScopeFailed>(std::move(futures[i])), "no threes");
    } else {
      EXPECT_EQ(reply_of(futures[i]), i);
    }
  }
  service.stop();
  EXPECT_EQ(service.stats().failed, 20u);
  EXPECT_EQ(service.stats().answered, 40u);
}

TEST(Service, CallsWaitForTheirOutcome) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{FailsSome{}, small(4)};
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&, c] {
      for (int i = c; i < 60; i += 3) {
        try {
          wrong += service.call(i) == i && i % 3 != 0 ? 0 : 1;
        } catch (ScopeFailed const& e) {
          wrong += e.what() == std::string("no threes") && i % 3 == 0 ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& c : clients) c.join();
  EXPECT_EQ(wrong, 0);
  std::string text;
  service.submit(1, [&](auto const&) { text = text_of_error<MisuseError>([&] { (void)service.call(1); }); });
  service.stop();
  EXPECT_THAT(text, HasSubstr("call() in a callback"));
  EXPECT_THROW((void)service.call(1), ServiceStopped);
}

/// open inlet of the service -> a CPU stage that takes its time -> the service.
struct Slowly {
  explicit Slowly(std::size_t most_open = 8, std::size_t capacity = 8) : pipe(bounded()) {
    auto& scopes = pipe.create_scopes("jobs", {.most_open = most_open});
    auto& there =
        pipe.create_tunnel<int>("there", Direction::cpu_to_cpu, {.capacity_items = capacity, .scopes = &scopes});
    auto& back = pipe.create_tunnel<long>("back", Direction::cpu_to_cpu, {.capacity_items = 8, .scopes = &scopes});
    pipe.add_cpu_stage(
        "slow",
        [this](int const& ms, Inlet<long> out) {
          ++begun;
          auto const until = Clock::now() + std::chrono::milliseconds(ms);
          while (Clock::now() < until && !hurry) std::this_thread::sleep_for(1ms);
          if (fails) throw std::runtime_error("out of ink");
          if (ms >= 0) out.put_h(ms);
        },
        from(there), into(back));
    service.emplace(pipe, there, back);
  }
  void await_begun(int n) const {
    while (begun < n) std::this_thread::yield();
  }
  Pipeline pipe;
  std::atomic<int> begun{0};
  std::atomic<bool> hurry{false};
  std::atomic<bool> fails{false};
  std::optional<Service<int, long>> service;
};

TEST(Service, GivesARequestUpAtItsDeadlineAndDropsTheLateReply) {
  HIWAY_NEEDS_DEVICE();
  Slowly run;
  run.pipe.start();
  auto const began = Clock::now();
  auto slow = run.service->submit(60'000);
  auto in_time = run.service->submit(3, std::chrono::system_clock::now() + 1h);
  std::this_thread::sleep_for(5ms);  // the deadlines' thread sleeps until then
  auto late = run.service->submit(1, 30ms);
  auto later = run.service->submit(2, Clock::now() + 60ms);
  std::promise<void> called;
  run.service->submit(
      4,
      [&](ServiceResult<long> const& result) {
        EXPECT_FALSE(result);
        EXPECT_THROW((void)result.reply(), DeadlineExceeded);
        called.set_value();
      },
      90ms);
  EXPECT_THAT(error_of<DeadlineExceeded>(std::move(late)), HasSubstr("no reply by the request's deadline"));
  EXPECT_GE(Clock::now() - began, 30ms);
  EXPECT_LT(Clock::now() - began, 10s);
  error_of<DeadlineExceeded>(std::move(later));
  EXPECT_GE(Clock::now() - began, 60ms);
  called.get_future().wait();
  EXPECT_GE(Clock::now() - began, 90ms);
  EXPECT_LT(Clock::now() - began, 10s);
  EXPECT_EQ(run.service->stats().expired, 3u);
  EXPECT_EQ(run.service->stats().under_way, 2u);
  run.hurry = true;
  EXPECT_EQ(reply_of(slow), 60'000);
  EXPECT_EQ(reply_of(in_time), 3);
  run.service->stop();
  EXPECT_EQ(run.begun, 2) << "those that were given up waited, and are dropped";
  EXPECT_EQ(run.service->stats().answered, 2u);
  run.pipe.wait();
}

TEST(Service, GivesUpAtTheDeadlineWhereARequestWaitsForRoom) {
  HIWAY_NEEDS_DEVICE();
  for (bool const for_a_place : {false, true}) {
    Slowly run(for_a_place ? 1 : 8, 1);
    run.pipe.start();
    std::vector<std::future<long>> taken;
    taken.push_back(run.service->submit(60'000));
    run.await_begun(1);
    if (!for_a_place) taken.push_back(run.service->submit(1));  // the tunnel is full
    auto const began = Clock::now();
    auto late = run.service->submit(2, 30ms);
    EXPECT_GE(Clock::now() - began, 30ms);
    EXPECT_LT(Clock::now() - began, 10s);
    ASSERT_EQ(late.wait_for(10s), std::future_status::ready);  // the deadlines' thread may be settling it just now
    error_of<DeadlineExceeded>(std::move(late));
    auto past = run.service->submit(3, -1s);
    error_of<DeadlineExceeded>(std::move(past));
    EXPECT_EQ(run.service->stats().expired, 2u);
    run.hurry = true;
    for (auto& f : taken) reply_of(f);
    run.service->stop();
    EXPECT_EQ(run.begun, for_a_place ? 1 : 2);  // what was given up has not been put
    run.pipe.wait();
  }
}

/// Requests whose deadlines come at about the time of their replies: each has one result.
TEST(Service, SettlesEachRequestOnceAtItsDeadline) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{Twice{}, small(8, 2)};
  std::vector<std::atomic<int>> settled(2000);
  std::array<std::atomic<int>, 2> of{};
  for (int i = 0; i < 2000; ++i) {
    service.submit(
        i,
        [&, i](ServiceResult<long> const& result) {
          ++settled[i];
          ++of[result ? 0 : 1];
          EXPECT_TRUE(!result || result.reply() == 2L * i);
        },
        std::chrono::microseconds(i % 200));
  }
  service.stop();
  for (auto const& n : settled) ASSERT_EQ(n, 1);
  EXPECT_EQ(service.stats().answered, static_cast<std::uint64_t>(of[0]));
  EXPECT_EQ(service.stats().expired, static_cast<std::uint64_t>(of[1]));
}

TEST(Service, StopsWhileClientsSubmit) {
  HIWAY_NEEDS_DEVICE();
  for (int round = 0; round < 20; ++round) {
    Service<int, long> service{Twice{}, small(4, 1 + round % 2)};
    std::atomic<int> answered{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> clients;
    for (int c = 0; c < 3; ++c) {
      clients.emplace_back([&] {
        for (int after = 0; after < 3;) {
          auto future = service.submit(21);
          try {
            answered += reply_of(future) == 42 ? 1 : 0;
          } catch (ServiceStopped const&) {
            ++refused;
            ++after;
          }
        }
      });
    }
    while (answered < round) std::this_thread::yield();
    service.stop();
    service.stop();
    for (std::thread& c : clients) c.join();
    EXPECT_EQ(refused, 9);
    EXPECT_EQ(service.stats().answered, static_cast<std::uint64_t>(answered));
    EXPECT_EQ(service.stats().failed, 9u);
    EXPECT_EQ(service.stats().under_way, 0u);
  }
}

TEST(Service, StopsAfterWhatIsUnderWay) {
  HIWAY_NEEDS_DEVICE();
  Slowly run;
  for (int i = 0; i < 2; ++i) {  // each run has requests, and a stop, of its own
    EXPECT_THAT(error_of<Aborted>(run.service->submit(1)), HasSubstr("no run is under way"));
    run.begun = 0;
    run.pipe.start();
    auto slow = run.service->submit(50);
    auto given_up = run.service->submit(50, 10ms);
    bool returned = false;
    run.service->submit(1, [&](auto const&) {
      std::this_thread::sleep_for(50ms);
      returned = true;
    });
    run.service->stop();
    EXPECT_TRUE(returned);
    EXPECT_GE(run.begun, 2);  // the one that is given up has begun only if its deadline was heard of late
    EXPECT_LE(run.begun, 3);
    ASSERT_EQ(slow.wait_for(0s), std::future_status::ready);
    EXPECT_EQ(slow.get(), 50);
    error_of<DeadlineExceeded>(std::move(given_up));
    EXPECT_THAT(error_of<ServiceStopped>(run.service->submit(1)), HasSubstr("takes no more"));
    run.pipe.wait();
    error_of<ServiceStopped>(run.service->submit(1));
    if (i == 0) {
      run.pipe.start();
      run.pipe.abort();
      EXPECT_THROW(run.pipe.wait(), Aborted);
    }
  }
}

TEST(Service, CannotBeStoppedInACallback) {
  HIWAY_NEEDS_DEVICE();
  Service<int, long> service{Twice{}, small()};
  std::string text;
  service.submit(1, [&](auto const&) { text = text_of_error<MisuseError>([&] { service.stop(); }); });
  service.stop();
  EXPECT_THAT(text, HasSubstr("in a callback"));
}

TEST(Service, GivesRequestsUnderWayTheErrorOfTheirRun) {
  HIWAY_NEEDS_DEVICE();
  for (bool const stage_fails : {false, true}) {
    std::string const why = stage_fails ? "out of ink" : "the pipeline was aborted";
    Slowly run(4, 1);
    run.pipe.start();
    std::vector<std::future<long>> futures;
    futures.push_back(run.service->submit(60'000));
    run.await_begun(1);
    futures.push_back(run.service->submit(1, 1h));
    std::atomic<int> waiting{0};
    std::vector<std::thread> clients;  // for room in the tunnel, then for a place
    std::array<std::future<long>, 4> more;
    for (auto& f : more) {
      clients.emplace_back([&] {
        ++waiting;
        f = run.service->submit(2);
      });
    }
    while (waiting < 4) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    if (!stage_fails) run.pipe.abort();
    run.fails = true;  // a stage that went on might still reply
    run.hurry = true;
    for (std::thread& c : clients) c.join();
    for (auto& f : futures) EXPECT_THAT(error_of<Aborted>(std::move(f)), HasSubstr(why));
    for (auto& f : more) EXPECT_THAT(error_of<Aborted>(std::move(f)), HasSubstr(why));
    EXPECT_THAT(error_of<Aborted>(run.service->submit(1)), HasSubstr(why));
    EXPECT_THAT(text_of_error<Error>([&] { run.pipe.wait(); }), HasSubstr(why));
    EXPECT_EQ(run.service->stats().failed, 7u);
    EXPECT_EQ(run.service->stats().under_way, 0u);
  }
}

TEST(Service, OfAFailedRunAnswersInTheNext) {
  HIWAY_NEEDS_DEVICE();
  Slowly run(1);
  for (int i = 0; i < 5; ++i) {
    run.hurry = false;
    run.fails = false;
    run.begun = 0;
    run.pipe.start();
    auto lost = run.service->submit(60'000);
    run.await_begun(1);
    run.pipe.abort();
    run.fails = true;
    run.hurry = true;
    error_of<Aborted>(std::move(lost));
    EXPECT_THROW(run.pipe.wait(), Aborted);
  }
  run.fails = false;
  run.pipe.start();
  auto next = run.service->submit(7);
  EXPECT_EQ(reply_of(next), 7);
  run.service->stop();
  run.pipe.wait();
}

TEST(Service, SaysThatARequestHasNoReply) {
  HIWAY_NEEDS_DEVICE();
  Slowly run(1);
  run.pipe.start();
  for (int i = 1; i < 4; ++i) {
    auto with_reply = run.service->submit(i);
    EXPECT_EQ(reply_of(with_reply), i);
    EXPECT_THAT(error_of<NoReply>(run.service->submit(-i)), HasSubstr("ended without a reply"));
  }
  run.service->stop();
  EXPECT_EQ(run.service->stats().failed, 3u);
  run.pipe.wait();
}

/// Takes some milliseconds.
struct Steps {
  HIWAY_DEVICE long operator()(int const& x) const {
    unsigned n = static_cast<unsigned>(x);
    for (int i = 0; i < 10'000'000; ++i) n = n * 1'664'525u + 1'013'904'223u;
    return n;
  }
};

TEST(Service, IsDestroyedWithRequestsUnderWay) {
  HIWAY_NEEDS_DEVICE();
  std::vector<std::future<long>> futures;
  {
    Service<int, long> service{Steps{}, small(64)};
    for (int i = 0; i < 64; ++i) futures.push_back(service.submit(i, i % 2 == 0 ? Deadline{} : Deadline{1h}));
  }
  for (auto& f : futures) {
    ASSERT_EQ(f.wait_for(0s), std::future_status::ready);
    EXPECT_THAT(error_of<Aborted>(std::move(f)), HasSubstr("destroyed"));
  }
}

TEST(Service, OfAUsersPipelineIsDestroyedAfterWhatIsUnderWay) {
  HIWAY_NEEDS_DEVICE();
  Slowly run;
  run.pipe.start();
  auto slow = run.service->submit(30);
  run.service.reset();
  ASSERT_EQ(slow.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(slow.get(), 30);
  run.pipe.wait();
}

/// The sum of all numbers from 1 to n, by a recursion that halves ranges on the device; the last task of a request
/// replies.
struct Range {
  int first, last;
};
struct AddUp {
  long* sums;
  int* open;
  HIWAY_DEVICE static int add(int* to, int n) {
#if defined(__CUDA_ARCH__)
    return atomicAdd(to, n) + n;
#else
    return std::atomic_ref<int>(*to).fetch_add(n) + n;
#endif
  }
  HIWAY_DEVICE static void add(long* to, long n) {
#if defined(__CUDA_ARCH__)
    atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(n));
    __threadfence();
#else
    std::atomic_ref<long>(*to).fetch_add(n);
#endif
  }
  HIWAY_DEVICE static long take(long* from) {
#if defined(__CUDA_ARCH__)
    return static_cast<long>(atomicExch(reinterpret_cast<unsigned long long*>(from), 0ull));
#else
    return std::atomic_ref<long>(*from).exchange(0);
#endif
  }
  HIWAY_DEVICE void operator()(Range const& r, Inlet<Range> again, Inlet<long> out) const {
    std::uint32_t const at = scope_index();
    if (r.last - r.first < 4) {
      for (long i = r.first; i <= r.last; ++i) add(sums + at, i);
      if (add(open + at, -1) != -1) return;
      open[at] = 0;
      return out.put(take(sums + at));
    }
    int const middle = (r.first + r.last) / 2;
    add(open + at, 1);
    again.put({r.first, middle});
    again.put({middle + 1, r.last});
  }
};

TEST(Service, AnswersByAUsersPipelineWithARecursion) {
  HIWAY_NEEDS_DEVICE();
  constexpr std::size_t most_open = 8;
  Pipeline pipe(bounded());
  auto& scopes = pipe.create_scopes("sums", {.most_open = most_open});
  auto& ranges = pipe.create_tunnel<Range>("ranges", Direction::cpu_to_gpu, {.capacity_items = 16, .scopes = &scopes});
  auto& again = pipe.create_tunnel<Range>("again", Direction::gpu_to_gpu,
                                          {.capacity_items = 64, .spill_items = 1 << 16, .scopes = &scopes});
  auto& back = pipe.create_tunnel<long>("back", Direction::gpu_to_cpu, {.capacity_items = 16, .scopes = &scopes});
  std::vector<long> const zeros(most_open);
  std::vector<int> const none(most_open);
  AddUp const add_up{pipe.create_buffer<long>(std::span<long const>(zeros)).view().data,
                     pipe.create_buffer<int>(std::span<int const>(none)).view().data};
  pipe.add_gpu_stage("add up", add_up, from(ranges, again), into(again, back), {.blocks = 2, .threads_per_block = 64});
  Service<Range, long> service(pipe, ranges, back, {.threads = 2});
  pipe.start();
  std::atomic<int> wrong{0};
  std::vector<std::thread> clients;
  for (int c = 0; c < 3; ++c) {
    clients.emplace_back([&, c] {
      for (int i = 0; i < 60; ++i) {
        long const n = 1 + (i * 37 + c) % 200;
        auto sum = service.submit({1, static_cast<int>(n)});
        wrong += reply_of(sum) == n * (n + 1) / 2 ? 0 : 1;
      }
    });
  }
  for (std::thread& c : clients) c.join();
  service.stop();
  pipe.wait();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(service.stats().answered, 180u);
}

TEST(Service, TakesTheFirstReplyAndLeavesOtherScopesAlone) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& scopes = pipe.create_scopes("jobs", {.most_open = 2});
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_cpu, {.scopes = &scopes});
  auto& back = pipe.create_tunnel<int>("back", Direction::cpu_to_cpu, {.scopes = &scopes});
  pipe.add_cpu_stage(
      "thrice",
      [](int const& x, Inlet<int> out) {
        for (int i = 1; i <= 3; ++i) out.put_h(i * x);
      },
      from(there), into(back));
  Inlet<int> const own = there.open_inlet();
  Service<int, int> service(pipe, there, back);
  pipe.start();
  for (int i = 0; i < 50; ++i) {
    Scope job = scopes.open_h();
    own.put_h(1000, job);
    auto first = service.submit(i);
    EXPECT_EQ(reply_of(first), i);
    job.close_h();
    job.wait();
  }
  own.close_h();
  service.stop();
  pipe.wait();
}

TEST(Service, RefusesTunnelsThatDoNotFit) {
  HIWAY_NEEDS_DEVICE();
  Pipeline pipe(bounded());
  auto& jobs = pipe.create_scopes("jobs");
  auto& others = pipe.create_scopes("others");
  auto& there = pipe.create_tunnel<int>("there", Direction::cpu_to_gpu, {.scopes = &jobs});
  auto& other = pipe.create_tunnel<int>("other", Direction::gpu_to_cpu, {.scopes = &others});
  auto& inside = pipe.create_tunnel<int>("inside", Direction::gpu_to_gpu, {.scopes = &jobs});
  using S = Service<int, int>;
  EXPECT_THAT(text_of_error<ConfigError>([&] { S(pipe, there, other); }), HasSubstr("scopes of one kind"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { S(pipe, there, inside); }), HasSubstr("on the CPU"));
  EXPECT_THAT(text_of_error<ConfigError>([&] { S(pipe, inside, there); }), HasSubstr("on the CPU"));
}

}  // namespace
