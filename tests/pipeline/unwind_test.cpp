// Stage bodies that stand in the way of the exception which leaves them when the run aborts.
#include <gmock/gmock.h>

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "hiway/log.hpp"
#include "tests/device.hpp"

namespace {

using namespace hiway;
using hiway_tests::bounded;
using hiway_tests::text_of_error;
using testing::HasSubstr;
using namespace std::chrono_literals;

enum class Last { put, put_span, put_tries, get, next, next_span, for_each, end_task, until_terminate, close };

/// Does something with its ends when it goes, as no destructor may that throws.
template <Last last>
struct AtTheEnd {
  Outlet<int> in;
  Inlet<int> out;
  HIWAY_DEVICE ~AtTheEnd() {
    int x[3] = {1, 2, 3};
    bool more = true;
    if constexpr (last == Last::put) {
      for (int i = 0; i < 100; ++i) out.put(i);
    } else if constexpr (last == Last::put_span) {
      for (int i = 0; i < 100; ++i) out.put(std::span<int const>(x));
    } else if constexpr (last == Last::put_tries) {
      for (int i = 0; i < 100; ++i) {
        while (!out.try_put(i)) {
        }
      }
    } else if constexpr (last == Last::get) {
      for (int i = 0; i < 100; ++i) more = in.get(x[0]);
    } else if constexpr (last == Last::next) {
      while (more) more = in.next(x[0]);
    } else if constexpr (last == Last::next_span) {
      while (more) more = in.next(std::span<int>(x)) != 0;
    } else if constexpr (last == Last::for_each) {
      in.for_each([](int) {});
    } else if constexpr (last == Last::end_task) {
      in.end_task();
    } else if constexpr (last == Last::until_terminate) {
      while (!in.is_terminate()) more = in.get(x[0]);
    } else {
      out.close();
    }
  }
};

#if defined(HIWAY_TEST_ON_GPU)
constexpr bool lanes_throw = false;
#else
constexpr bool lanes_throw = true;
#endif

template <Last last>
struct Body {
  static constexpr bool on_lanes = true;
  HIWAY_DEVICE void operator()(Outlet<int> in, Inlet<int> out) const {
    AtTheEnd<last> const at_the_end{in, out};
    for (int x = 0; in.next(x);) {
      out.put(x);
      in.end_task();
    }
  }
};

/// An endless source, `body` on one side, a sink that fails: everything waits for something.
template <class Body>
std::string error_with(Body body, bool on_device, unsigned executors = 1) {
  Pipeline pipe(bounded());
  auto& in =
      pipe.create_tunnel<int>("in", on_device ? Direction::cpu_to_gpu : Direction::cpu_to_cpu, {.capacity_items = 4});
  auto& out =
      pipe.create_tunnel<int>("out", on_device ? Direction::gpu_to_cpu : Direction::cpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "endless",
      [](Inlet<int> put) {
        for (int i = 0;; ++i) put.put_h(i);
      },
      into(in));
  if (on_device) {
    if constexpr (Body::on_lanes)
      pipe.add_gpu_stage("body", body, from(in), into(out), {.blocks = executors, .threads_per_block = 32});
  } else {
    pipe.add_cpu_stage("body", body, from(in), into(out), {.threads = executors});
  }
  pipe.add_cpu_stage(
      "sink",
      [](int const& x) {
        if (x >= 20) throw std::out_of_range("enough");
      },
      from(out));
  return text_of_error<StageError>([&] { pipe.run(); });
}

// The second Unwind, out of the destructor, was std::terminate.
template <Last last>
void expect_no_second_exception() {
  for (bool on_device : {false, true}) EXPECT_EQ(error_with(Body<last>{}, on_device), "stage 'sink': enough");
}
TEST(Unwinding, ADestructorMayPut) {
  HIWAY_NEEDS_DEVICE();
  expect_no_second_exception<Last::put>();
  expect_no_second_exception<Last::put_span>();
  expect_no_second_exception<Last::put_tries>();
  expect_no_second_exception<Last::close>();
}
TEST(Unwinding, ADestructorMayGet) {
  HIWAY_NEEDS_DEVICE();
  expect_no_second_exception<Last::get>();
  expect_no_second_exception<Last::next>();
  expect_no_second_exception<Last::next_span>();
  expect_no_second_exception<Last::for_each>();
  expect_no_second_exception<Last::end_task>();
  expect_no_second_exception<Last::until_terminate>();
}

struct ThrowsAndPuts {
  void operator()(Outlet<int> in, Inlet<int> out) const {
    AtTheEnd<Last::put> const at_the_end{in, out};
    int x = 0;
    while (in.next_h(x) && x < 7) in.end_task_h();
    std::this_thread::sleep_for(200ms);  // until the run aborts
    throw std::runtime_error("my own");
  }
};
TEST(Unwinding, ADestructorMayPutWhileAnExceptionOfTheStagesOwnIsInFlight) {
  HIWAY_NEEDS_DEVICE();
  PipelineConfig config = bounded(100ms);
  Pipeline pipe(config);
  auto& in = pipe.create_tunnel<int>("in", Direction::cpu_to_cpu, {.capacity_items = 4});
  pipe.add_cpu_stage(
      "endless",
      [](Inlet<int> put) {
        for (int i = 0;; ++i) put.put_h(i);
      },
      into(in));
  auto& out = pipe.create_tunnel<int>("out", Direction::cpu_to_cpu, {.capacity_items = 1});
  pipe.add_cpu_stage("body", ThrowsAndPuts{}, from(in), into(out));
  pipe.add_cpu_stage("sink", [](int const&) {}, from(out));
  EXPECT_THAT(text_of_error<Aborted>([&] { pipe.run(); }), HasSubstr("the deadline of 100 ms has passed"));
}

/// Nothing is in flight when it goes: it waits for room.
struct PutsAtTheEndOfATask {
  static constexpr bool on_lanes = false;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    for (int x = 0; in.next_h(x); in.end_task_h()) AtTheEnd<Last::put> const at_the_end{in, out};
  }
};
TEST(Unwinding, ADestructorThatCannotBeLeftIsNamedWhereTheProgramEnds) {
  HIWAY_NEEDS_DEVICE();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // Where the compiler has put the call into the destructor's own code, the runtime has no exception to tell of.
  EXPECT_DEATH((void)error_with(PutsAtTheEndOfATask{}, false),
               "the pipeline is aborting.*came out of a destructor.*declare that noexcept\\(false\\)|without an active "
               "exception");
}

// ---- bodies that catch everything and go on

struct UntilTerminate {
  static constexpr bool on_lanes = lanes_throw;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    while (!in.is_terminate()) {
      try {
        int x = 0;
        if (!in.get(x)) continue;
        out.put(x);
        in.end_task();
      } catch (...) {
      }
    }
  }
};
struct WhileNext {
  static constexpr bool on_lanes = lanes_throw;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    for (;;) {
      try {
        int x = 0;
        if (!in.next(x)) break;
        out.put(x);
        in.end_task();
      } catch (std::exception const&) {
      }
    }
  }
};
struct InForEach {
  static constexpr bool on_lanes = lanes_throw;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    in.for_each([&](int x) {
      try {
        out.put(x);
      } catch (std::exception const&) {
      }
    });
  }
};

// They went round for ever, and wait() waited for them.
template <class Body>
void expect_an_end() {
  for (bool on_device : {false, true}) {
    if (lanes_throw || !on_device) {
      EXPECT_EQ(error_with(Body{}, on_device, 2), "stage 'sink': enough");
    }
  }
}
TEST(Unwinding, ABodyThatCatchesEverythingEndsWhenItsLoopAsksForMore) {
  HIWAY_NEEDS_DEVICE();
  expect_an_end<UntilTerminate>();
  expect_an_end<WhileNext>();
  expect_an_end<InForEach>();
}

/// What the library said, once its test is over.
struct Said {
  Said() {
    set_log_sink([this](LogLevel, std::string_view text) {
      std::scoped_lock const lock(mutex);
      all.emplace_back(text);
    });
  }
  ~Said() { set_log_sink({}); }
  [[nodiscard]] std::vector<std::string> of_catchers() {
    std::scoped_lock const lock(mutex);
    std::vector<std::string> found;
    for (std::string const& s : all) {
      if (s.find("Unwind") != std::string::npos) found.push_back(s);
    }
    return found;
  }
  std::mutex mutex;
  std::vector<std::string> all;
};
Said* said = nullptr;

/// Asks for nothing: only what is said ends it, as the test has it.
struct PutsForEver {
  static constexpr bool on_lanes = lanes_throw;
  void operator()(Outlet<int> in, Inlet<int> out) const {
    auto const begun = std::chrono::steady_clock::now();
    for (;;) {
      try {
        int x = 0;
        (void)in.next(x);
        out.put(x);
        in.end_task();
      } catch (...) {
        if (!said->of_catchers().empty() || std::chrono::steady_clock::now() - begun > 30s) return;
      }
    }
  }
};
TEST(Unwinding, ABodyThatCatchesEverythingAndPutsForEverIsNamedOnce) {
  HIWAY_NEEDS_DEVICE();
  for (bool on_device : {false, true}) {
    if (on_device && !lanes_throw) continue;
    Said here;
    said = &here;
    EXPECT_EQ(error_with(PutsForEver{}, on_device, 2), "stage 'sink': enough");
    EXPECT_THAT(here.of_catchers(),
                testing::ElementsAre("stage 'body' has caught hiway::Unwind 1000 times and goes on, so the run cannot "
                                     "end: let it pass, and catch your own exceptions by their type"));
  }
}

}  // namespace
