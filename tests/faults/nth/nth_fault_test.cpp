// Whatever a run asks for may fail once: each n-th allocation, thread, file operation, and call of the device, of runs
// that end well, fail, are aborted, stall, and are traced. The run ends in time, with an error that names what failed
// or with the right result; the pipeline runs again, and is destroyed. HIWAY_STRIDE: only each so-manieth n.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

#include "hiway/hiway.hpp"
#include "hiway/log.hpp"
#include "tests/device.hpp"
#include "tests/environment.hpp"
#include "tests/faults/faulty_device.hpp"
#include "tests/faults/nth/interpose.hpp"
#include "tests/faults/nth/named.hpp"
#include "tests/faults/nth/watchdog.hpp"

namespace {

using namespace hiway;
using namespace std::chrono_literals;
using hiway_tests::FaultyDevice;
using hiway_tests::nth::Resource;
namespace nth = hiway_tests::nth;

enum class Kind : std::uint8_t { ends_well, fails, is_aborted, stalls, is_traced };
constexpr std::array kinds{Kind::ends_well, Kind::fails, Kind::is_aborted, Kind::stalls, Kind::is_traced};
char const* name_of(Kind kind) {
  constexpr std::array names{"that ends well", "that fails", "that is aborted", "that stalls", "that is traced"};
  return names[static_cast<std::size_t>(kind)];
}

struct Twice {
  HIWAY_DEVICE long operator()(int const& x) const { return 2L * x; }
};

#if defined(HIWAY_SANITIZED)  // everything is 5 to 20 times slower
constexpr auto stall_after = 300ms;
#else
constexpr auto stall_after = 30ms;
#endif

/// CPU -> device -> CPU, half by dma; the sum is known. A cycle on the CPU spills.
class Program {
 public:
  static constexpr int numbers = 60;
  static constexpr long right = 2L * numbers * (numbers + 1) / 2;

  Program(Kind kind, std::string const& device) : kind_(kind), pipe_(config(kind, device)) {
    auto& in =
        pipe_.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 16, .movement = Movement::dma});
    auto& out = pipe_.create_tunnel<long>("doubles", Direction::gpu_to_cpu, {.capacity_items = 16});
    auto& again = pipe_.create_tunnel<long>("again", Direction::cpu_to_cpu, {.capacity_items = 2});
    pipe_.add_cpu_stage(
        "feed",
        [this](Inlet<int> feed) {
          for (int i = 1; i <= numbers; ++i) feed.put_h(i);
          while (faulty_ && kind_ == Kind::is_aborted) feed.put_h(0);
        },
        into(in));
    pipe_.add_gpu_stage("twice", Twice{}, from(in), into(out), {.blocks = 1, .threads_per_block = 32});
    pipe_.add_cpu_stage(
        "add", [this](Outlet<long> doubles, Outlet<long> turned, Inlet<long> turn) { add(doubles, turned, turn); },
        from(out, again), into(again));
  }

  /// `faulty`: as its kind is; else it ends well.
  void run(bool faulty) {
    sum_ = 0;
    faulty_ = faulty;
    pipe_.start();
    if (faulty && kind_ == Kind::is_aborted) {
      std::this_thread::sleep_for(1ms);
      pipe_.abort();
    }
    pipe_.wait();
  }
  [[nodiscard]] long sum() const { return sum_; }

 private:
  static PipelineConfig config(Kind kind, std::string const& device) {
    PipelineConfig c{.device = device};
    if (kind == Kind::stalls) {
      c.stall_after = stall_after;
      c.on_stall = OnStall::abort;
    }
    if (kind == Kind::is_traced) c.trace = "nth_fault_trace.json";
    return c;
  }
  /// Every item goes round once.
  void add(Outlet<long> doubles, Outlet<long> turned, Inlet<long> turn) {
    long seen = 0;
    for (unsigned misses = 0; !doubles.is_terminate_h();) {
      long x = 0;
      if (doubles.get_h(x)) {
        turn.put_h(x);
        ++seen;
        if (faulty_ && kind_ == Kind::fails && seen == numbers / 2) throw std::runtime_error("not wanted");
        if (faulty_ && kind_ == Kind::stalls && seen == numbers / 2) continue;  // without end_task
        doubles.end_task_h();
      } else if (turned.get_h(x)) {
        sum_ += x;
        turned.end_task_h();
      } else if (++misses % 64 == 0) {
        std::this_thread::yield();
      }
    }
  }

  Kind kind_;
  bool faulty_ = false;
  long sum_ = 0;
  Pipeline pipe_;
};

/// How the tries of one kind of fault went.
struct Tally {
  std::uint64_t tries = 0;
  std::uint64_t errors = 0;
  std::uint64_t absorbed = 0;  ///< the run did as it should
};

bool is_kinds_own(Kind kind, std::string const& text) {
  switch (kind) {
    case Kind::ends_well:
    case Kind::is_traced: return false;
    case Kind::fails: return text == "stage 'add': not wanted";
    case Kind::is_aborted: return text == "the pipeline was aborted";
    case Kind::stalls: return text.starts_with("no progress for");
  }
  return false;
}

/// A busy machine may hold a run up for as long as a stall takes.
void run_well(Program& program) {
  for (int left = 20;; --left) {
    try {
      return program.run(false);
    } catch (Aborted const& e) {
      if (left == 0 || !std::string(e.what()).starts_with("no progress for")) throw;
    }
  }
}

/// One life in which the n-th fails. `arm` and `disarm` around what may fail; the second says whether it did.
void live(Kind kind, std::string const& device, std::uint64_t n, std::function<void()> const& arm,
          std::function<bool()> const& disarm, Tally& tally, bool& fired) {
  std::optional<Program> program;
  std::optional<std::string> error;
  bool set_up = false;
  arm();
  try {
    program.emplace(kind, device);
    set_up = true;
    program->run(true);
  } catch (std::exception const& e) {
    nth::Spared const spared;
    error = e.what();
  }
  fired = disarm();
  ++tally.tries;
  std::string const where = std::string("n = ") + std::to_string(n) + " of a run " + name_of(kind);
  bool const own = error ? is_kinds_own(kind, *error) : (kind == Kind::ends_well || kind == Kind::is_traced);
  if (own) {
    tally.absorbed += fired ? 1 : 0;
    if (!error) {
      EXPECT_EQ(program->sum(), Program::right) << where << " went unnoticed";
    }
  } else {
    EXPECT_TRUE(fired) << where << ": nothing was to fail, and: " << error.value_or("no error");
    EXPECT_TRUE(error) << where << ": the run ended as if nothing had been wrong with it";
    if (error && set_up) {
      EXPECT_TRUE(nth::names_something(*error)) << where << " is not named: " << *error;
    }
    ++tally.errors;
  }
  if (program) {
    run_well(*program);
    EXPECT_EQ(program->sum(), Program::right) << where << ": the run after it";
  }
}

/// Of what there is much of.
std::uint64_t chosen_stride() {
#if defined(HIWAY_SANITIZED)
  return hiway_tests::from_environment("HIWAY_STRIDE", 7);
#else
  return hiway_tests::from_environment("HIWAY_STRIDE", 1);
#endif
}

/// Every n until none is left to fail.
void every_n(char const* what, std::string const& device, std::uint64_t stride,
             std::function<void(std::uint64_t)> const& arm, std::function<bool()> const& disarm) {
  set_log_sink([](LogLevel, std::string_view) {});
  for (Kind const kind : kinds) {
    Tally tally;
    unsigned quiet = 0;
    for (std::uint64_t n = 1; quiet < 10 && !testing::Test::HasFailure(); n += stride) {
      nth::Watchdog const watchdog(std::string(what) + ", n = " + std::to_string(n) + " of a run " + name_of(kind));
      bool fired = false;
      live(
          kind, device, n, [&] { arm(n); }, disarm, tally, fired);
      quiet = fired ? 0 : quiet + 1;
    }
    EXPECT_GT(tally.errors + tally.absorbed, 0U) << what << " of a run " << name_of(kind) << ": none failed";
    std::cout << what << " of a run " << name_of(kind) << ": " << tally.tries << " n, " << tally.errors << " errors, "
              << tally.absorbed << " absorbed" << std::endl;
  }
  set_log_sink({});
  std::remove("nth_fault_trace.json");
}

void every_n_of(Resource resource, char const* what, std::uint64_t stride) {
  every_n(
      what, hiway_tests::device(), stride, [resource](std::uint64_t n) { nth::begin(resource, n); },
      [] {
        nth::end();
        return nth::has_failed();
      });
}

TEST(NthFault, AnyAllocationMayFail) {
  HIWAY_NEEDS_DEVICE();
  every_n_of(Resource::memory, "allocation", chosen_stride());
}

#if !defined(HIWAY_TEST_ON_GPU)
TEST(NthFault, AnyCallOfTheDeviceMayFail) {
  std::optional<FaultyDevice> device;
  every_n(
      "call of the device", FaultyDevice::name, chosen_stride(),
      [&](std::uint64_t n) {
        device.reset();
        device.emplace(hiway_tests::FaultPlan{.failed_call = n});
      },
      [&] {
        bool const fired = device->calls >= device->plan.failed_call;
        device->plan.failed_call = 0;
        return fired;
      });
}

#endif

// A stage takes all the memory there is for half a second: the run ends with an error that says so, and not before it
// could.
TEST(NthFault, MemoryThatIsUsedUpForATimeEndsTheRun) {
  HIWAY_NEEDS_DEVICE();
  nth::Watchdog const watchdog("memory used up");
  Pipeline pipe({.device = hiway_tests::device(), .trace = "nth_fault_trace.json"});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_gpu, {.capacity_items = 16});
  auto& doubles = pipe.create_tunnel<long>("doubles", Direction::gpu_to_cpu, {.capacity_items = 16});
  bool greedy = true;
  long sum = 0;
  pipe.add_cpu_stage(
      "feed",
      [&](Inlet<int> feed) {
        for (int i = 1; i <= 1000; ++i) {
          if (i == 500 && greedy) {
            nth::exhaust_memory(true);
            std::this_thread::sleep_for(500ms);
            nth::exhaust_memory(false);
          }
          feed.put_h(i);
        }
      },
      into(numbers));
  // Resident: to start a kernel again, or the monitor, the emulated device needs memory, too.
  pipe.add_gpu_stage("twice", Twice{}, from(numbers), into(doubles), {.residency = Residency::resident});
  pipe.add_cpu_stage(
      "add", [&](long const& x) { sum += x; }, from(doubles));
  set_log_sink([](LogLevel, std::string_view) {});
  std::string const text = hiway_tests::text_of_error<Error>([&] { pipe.run(); });
  std::string const why = ": failed, and there was no memory left to say why";
  EXPECT_THAT(text, testing::AnyOf("the watcher of the run" + why, "stage 'add'" + why)) << "which needs some first";
  greedy = false;
  sum = 0;
  pipe.run();
  EXPECT_EQ(sum, 1001000);
  set_log_sink({});
  std::remove("nth_fault_trace.json");
}

TEST(NthFault, AnyThreadMayFailToStart) {
  HIWAY_NEEDS_DEVICE();
  every_n_of(Resource::thread, "thread", 1);
}

#if !defined(HIWAY_TEST_ON_GPU)
std::ptrdiff_t threads_now() {
  static bool const with_a_sanitizers_own = (std::thread([] {}).join(), true);  // it comes with the first thread
  (void)with_a_sanitizers_own;
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
}

TEST(NthFault, AThreadThatPrepareCannotStartIsNamedAndNoneIsLeft) {
  nth::Watchdog const watchdog("prepare");
  Pipeline pipe({.device = "simt"});
  auto& numbers = pipe.create_tunnel<int>("numbers", Direction::cpu_to_cpu);
  std::atomic<int> sum = 0;
  pipe.add_cpu_stage("feed", [](Inlet<int> out) { out.put_h(1); }, into(numbers), {.threads = 2});
  pipe.add_cpu_stage(
      "add", [&](int const& x) { sum += x; }, from(numbers));
  std::ptrdiff_t const before = threads_now();
  std::string const why = " could not be started: Resource temporarily unavailable";
  std::uint64_t n = 1;
  for (std::string const who :
       {"the monitor of tunnels from the device: its thread", "the watcher of the run: its thread",
        "stage 'feed': thread 1 of 2", "stage 'feed': thread 2 of 2", "stage 'add': thread 1 of 1"}) {
    nth::begin(Resource::thread, n++);
    EXPECT_EQ(hiway_tests::text_of_error<Error>([&] { pipe.prepare(); }), who + why);
    nth::end();
    // A thread that was joined may still be in the list for a moment.
    for (int left = 1000; threads_now() != before && left > 0; --left) std::this_thread::sleep_for(1ms);
    EXPECT_EQ(threads_now(), before) << who;
  }
  nth::begin(Resource::thread, n);
  pipe.prepare();
  pipe.run();
  nth::end();
  EXPECT_FALSE(nth::has_failed());
  EXPECT_EQ(sum, 2);
}
#endif

struct CountLanes {
  Word<std::uint32_t>* begun;
  HIWAY_DEVICE void operator()() const {
    anywhere([this](auto m) { m.fetch_add(*begun, 1u, MemoryOrder::relaxed); });
  }
};

#if !defined(HIWAY_TEST_ON_GPU)
// A launch had begun when the memory for its handle was missing: nobody waited for it, and the device was destroyed
// under it.
TEST(NthFault, ALaunchThatThrowsHasNotBegun) {
  nth::Watchdog const watchdog("a launch");
  unsigned quiet = 0;
  unsigned thrown = 0;
  for (std::uint64_t n = 1; quiet < 10; ++n) {
    Word<std::uint32_t> begun{0};
    {
      Pipeline pipe({.device = "simt"});
      nth::begin(Resource::memory, n);
      try {
        pipe.launch("count", CountLanes{&begun}, {.blocks = 1, .threads_per_block = 32});
        nth::end();
      } catch (std::exception const&) {
        nth::end();
        ++thrown;
        std::this_thread::sleep_for(5ms);
        EXPECT_EQ(ThreadMachine{}.load(begun, MemoryOrder::acquire), 0U) << "n = " << n;
      }
      quiet = nth::has_failed() ? 0 : quiet + 1;
      try {
        pipe.synchronize();
      } catch (std::exception const&) {  // a block had no memory to begin with
      }
    }
  }
  EXPECT_GT(thrown, 3U);
}
#endif

}  // namespace
