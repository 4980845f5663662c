// Handles of scopes without a pipeline: states, reserves, and how they end (lib/scope/handles.hpp).
#include "lib/scope/handles.hpp"

#include <gmock/gmock.h>

#include <array>
#include <thread>
#include <vector>

#include "hiway/inlet/view.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/host.hpp"
#include "lib/named_failure.hpp"

namespace {

using namespace hiway;
using detail::scope_place;
using detail::scope_value;
using detail::ScopeState;

/// Scopes of a run, and an inlet to a device for them.
struct OneRun {
  explicit OneRun(std::size_t most_open) : scopes("jobs", {.most_open = most_open}) {
    places.host.control = &control;
    end.scopes = &places.host;
    end.scope_road = ScopeRoad::to_device;
    inlet.end = &end;
    inlet.control = &control;
    places.begin_run(false);
  }
  ~OneRun() { places.end_run(nullptr); }

  /// A put for the scope: the item's word.
  [[nodiscard]] std::uint64_t put(Scope const& scope) const { return detail::word_from_outside(scope, inlet); }
  [[nodiscard]] bool takes_puts(Scope const& scope) const {
    try {
      end_task(put(scope));
      return true;
    } catch (Error const&) {
      return false;
    }
  }
  void end_task(std::uint64_t word) const {
    detail::give_back(StageThread{}, places.host, scope_place(word), scope_value(word));
  }
  [[nodiscard]] std::size_t free_ones() const {
    std::vector<std::uint32_t> taken;
    while (auto const place = places.free_places.take()) taken.push_back(*place);
    for (std::uint32_t const place : taken) places.free(place);
    return taken.size();
  }

  Scopes scopes;
  Scopes::Places& places = ScopesAccess::places(scopes);
  Control control;
  EndWords end;
  InletView inlet;
};

TEST(ScopeHandles, UseThePlacesStateAgain) {
  OneRun run(1);
  ScopeState* const first = run.places.handles->try_open();
  first->drop();
  EXPECT_EQ(run.places.handles->try_open(), first);
  ScopeState* const copied = first;
  copied->copy();
  first->drop();
  first->close();
  ASSERT_TRUE(first->has_ended());
  ScopeState* const second = run.places.handles->try_open();
  EXPECT_NE(second, first) << "a handle of the last scope is left";
  copied->drop();
  second->drop();
}

TEST(ScopeHandles, UseTheStateAgainOnceItHasEnded) {
  OneRun run(1);
  Scope job = run.scopes.open_h();
  std::uint64_t const word = run.put(job);
  std::uint32_t const place = job.index();
  job = Scope();
  ScopeState* const state = run.places.handles->state(place);
  EXPECT_FALSE(state->begin_again());
  run.end_task(word);
  EXPECT_EQ(run.places.handles->try_open(), state);
  state->drop();
}

/// Ends a state of the test's.
struct StateKeeper final : detail::ScopeKeeper {
  explicit StateKeeper(ScopeState& kept) : state(kept) {}
  void ended(std::uint32_t, std::exception_ptr const& error) noexcept override { state.end(error); }
  ScopeState& state;
};

TEST(ScopeHandles, AreAbandonedOnceTheirPlaceIsOpen) {
  OneRun run(1);
  std::uint32_t const place = run.places.take().value();
  auto* const state = new ScopeState(run.places, place);
  StateKeeper keeper(*state);
  std::atomic<bool> returned{false};
  std::thread other([&] {
    state->abandon(nullptr);
    returned = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(returned);
  EXPECT_TRUE(run.places.open(place, keeper, ScopeState::lot));
  state->opened();
  other.join();
  EXPECT_TRUE(state->has_ended());
  state->drop();
  state->let_go();
}

TEST(ScopeHandles, KeepTheirOutcomeWhileThePlaceHasOtherScopes) {
  auto run = std::make_unique<OneRun>(1);
  Scope failed = run->scopes.open_h();
  run->places.fail(failed.index(), std::make_exception_ptr(ScopeFailed("no")));
  failed.close_h();
  Scope good = run->scopes.open_h();
  good.close_h();
  Scope const open = run->scopes.open_h();
  run.reset();
  EXPECT_THROW(failed.wait(), ScopeFailed);
  EXPECT_NO_THROW(good.wait());
  EXPECT_NO_THROW(open.wait());
}

TEST(ScopeHandles, TakeTheNextScopesErrorForNone) {
  OneRun run(1);
  for (bool const fails : {true, false}) {
    Scope job = run.scopes.open_h();
    if (fails) run.places.fail(job.index(), std::make_exception_ptr(ScopeFailed("no")));
    std::exception_ptr error;
    job.then([&](std::exception_ptr const& e) { error = e; });
    job.close_h();
    EXPECT_EQ(error != nullptr, fails);
  }
}

TEST(ScopeHandles, CloseWithTheLastOne) {
  OneRun run(2);
  int ended = 0;
  Scope first = run.scopes.open_h();
  first.then([&] { ++ended; });
  Scope second = first;
  Scope third;
  third = second;
  first = Scope();
  second = run.scopes.open_h();
  EXPECT_EQ(ended, 0);
  EXPECT_TRUE(run.takes_puts(third));
  third = std::move(second);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(run.free_ones(), 1u);
}

TEST(ScopeHandles, CloseOnce) {
  OneRun run(1);
  for (bool const item_ends_first : {true, false}) {
    Scope job = run.scopes.open_h();
    std::uint64_t const word = run.put(job);
    Scope const outcome = job;
    job.close_h();
    job.close_h();
    if (item_ends_first) run.end_task(word);
    job = Scope();
    EXPECT_EQ(outcome.wait_for(std::chrono::nanoseconds(0)), item_ends_first);
    if (!item_ends_first) run.end_task(word);
    EXPECT_TRUE(outcome.wait_for(std::chrono::nanoseconds(0)));
  }
  std::uint64_t word = 0;
  {
    Scope job = run.scopes.open_h();
    word = run.put(job);
    job.close_h();
  }
  EXPECT_EQ(run.free_ones(), 0u);
  run.end_task(word);
  EXPECT_EQ(run.free_ones(), 1u);
}

/// More than the reserve that a scope begins with, and all at once.
TEST(ScopeHandles, PutMoreThanTheReserve) {
  OneRun run(1);
  Scope job = run.scopes.open_h();
  std::vector<std::uint64_t> words(3 * ScopeState::lot / detail::value_to_device + 1);
  for (std::uint64_t& word : words) word = run.put(job);
  job.close_h();
  for (std::uint64_t const word : words) {
    EXPECT_FALSE(job.wait_for(std::chrono::nanoseconds(0)));
    EXPECT_EQ(scope_value(word), detail::value_to_device);
    run.end_task(word);
  }
  EXPECT_TRUE(job.wait_for(std::chrono::nanoseconds(0)));
}

TEST(ScopeHandles, TakeNothingOnceClosed) {
  OneRun run(1);
  Scope job = run.scopes.open_h();
  std::uint64_t const word = run.put(job);
  job.close_h();
  EXPECT_FALSE(run.takes_puts(job));
  run.end_task(word);
  EXPECT_FALSE(run.takes_puts(job));
  Scope const next = run.scopes.open_h();
  EXPECT_EQ(next.index(), job.index());
  EXPECT_FALSE(run.takes_puts(job));
  EXPECT_TRUE(run.takes_puts(next));
}

TEST(ScopeHandles, CallAllInTheirOrder) {
  OneRun run(1);
  std::vector<int> calls;
  Scope job = run.scopes.open_h();
  for (int i = 0; i < 3; ++i) job.then([&, i] { calls.push_back(i); });
  job.then([&] { job.then([&] { calls.push_back(9); }); });
  job.close_h();
  EXPECT_THAT(calls, ::testing::ElementsAre(0, 1, 2, 9));
}

/// The place is free when the scope has ended, not while it is told.
TEST(ScopeHandles, FreeThePlaceBeforeTheEnd) {
  OneRun run(1);
  Scope job = run.scopes.open_h();
  job.then([&] { EXPECT_EQ(run.free_ones(), 0u); });
  job.close_h();
  EXPECT_EQ(run.free_ones(), 1u);
}

TEST(ScopeHandles, LeaveTheNextScopeAloneWhenCancelledLate) {
  OneRun run(1);
  Scope job = run.scopes.open_h();
  job.close_h();
  Scope const next = run.scopes.open_h();
  job.cancel();
  EXPECT_EQ(StageThread{}.load(run.places.counts[next.index()].cancelled, MemoryOrder::relaxed), 0u);
}

TEST(ScopeHandles, EndWithTheirRun) {
  OneRun run(2);
  Scope lost = run.scopes.open_h();
  Scope open = run.scopes.open_h();
  std::uint64_t const word = run.put(lost);
  static_cast<void>(word);
  lost.close_h();
  run.places.end_run(std::make_exception_ptr(Error("failed")));
  EXPECT_THROW(open.wait(), Aborted);
  EXPECT_THROW(lost.wait(), Aborted);
  EXPECT_FALSE(run.takes_puts(open));
  EXPECT_EQ(run.free_ones(), 2u);
  run.places.begin_run(false);
}

/// Many threads have handles of few scopes: they copy them, put, close, ask to be called, and drop them at any moment.
/// Each item's task ends on another thread. All scopes end once.
TEST(ScopeHandles, OfManyThreadsEndEachScopeOnce) {
  OneRun run(3);
  constexpr int rounds = 20'000;
  std::array<std::atomic<int>, 3> here{};
  std::atomic<int> calls{0};
  std::atomic<int> asked{0};
  std::array<std::atomic<std::uint64_t>, 64> items{};
  std::atomic<bool> done{false};
  std::thread tasks([&] {
    while (true) {
      bool const last = done.load();
      for (auto& item : items)
        if (std::uint64_t const word = item.exchange(0)) run.end_task(word);
      if (last) return;
    }
  });
  auto const send = [&](std::uint64_t word) {
    for (std::size_t i = 0;; ++i) {
      std::uint64_t none = 0;
      if (items[i % items.size()].compare_exchange_strong(none, word)) return;
    }
  };
  auto const use = [&](Scope scope, int i) {
    try {
      for (int n = i % 3; n > 0; --n) send(run.put(scope));
    } catch (Error const&) {  // the other thread has closed it
    }
    ++asked;
    scope.then([&] { ++calls; });
    if (i % 5 == 0) scope.cancel();
    if (i % 4 == 0) scope.close_h();
  };
  std::vector<std::thread> threads;
  std::array<std::atomic<Scope*>, 2> left{};
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        Scope own = run.scopes.open_h();
        int const others = here[own.index()]++;
        EXPECT_EQ(others, 0) << "two scopes have one place";
        own.then([&, place = own.index()] { --here[place]; });
        delete left[t].exchange(new Scope(own));
        use(own, i);
        if (Scope* const other = left[1 - t].exchange(nullptr)) {
          use(*other, i + 1);
          delete other;
        }
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (auto& scope : left) delete scope.exchange(nullptr);
  done = true;
  tasks.join();
  EXPECT_EQ(calls, asked);
  EXPECT_EQ(run.free_ones(), 3u);
}

/// Threads open, put and drop while runs fail: none is left open, and each is called once.
TEST(ScopeHandles, EndEachScopeOnceWhileRunsFail) {
  std::exception_ptr const failed = std::make_exception_ptr(Error("failed"));  // not the threads' to delete
  OneRun run(4);
  std::atomic<bool> done{false};
  std::atomic<int> opened{0};
  std::atomic<int> called{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        try {
          std::optional<Scope> job = run.scopes.try_open_h();
          if (!job) continue;
          ++opened;
          job->then([&] { ++called; });
          if ((i + t) % 2 == 0) static_cast<void>(run.put(*job));  // is lost
        } catch (Error const&) {                                   // no run is under way
        }
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    if (i % 20 == 0) std::this_thread::yield();
    run.places.end_run(failed);
    run.places.begin_run(false);
  }
  done = true;
  for (std::thread& t : threads) t.join();
  run.places.end_run(failed);
  EXPECT_EQ(called, opened);
  EXPECT_GT(opened, 100);
  EXPECT_EQ(run.free_ones(), 4u);
  run.places.begin_run(false);
}

}  // namespace
