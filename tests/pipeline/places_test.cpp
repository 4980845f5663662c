// Places of scopes: taken and given back, and the ends of the scopes there (lib/scope/places.hpp).
#include "lib/scope/places.hpp"

#include <gmock/gmock.h>

#include <array>
#include <set>
#include <thread>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/host.hpp"
#include "lib/named_failure.hpp"

namespace {

using namespace hiway;
using detail::FreePlaces;
using ::testing::HasSubstr;

TEST(FreePlaces, GiveEachPlaceOnce) {
  for (std::size_t const count : {1, 2, 15, 16, 17, 64, 1000, 1024, 1025, 70000}) {
    FreePlaces free(count);
    std::set<std::uint32_t> taken;
    while (auto const place = free.take()) ASSERT_TRUE(*place < count && taken.insert(*place).second) << *place;
    ASSERT_EQ(taken.size(), count);
    free.give(static_cast<std::uint32_t>(count - 1));
    EXPECT_EQ(free.take(), count - 1);
    EXPECT_EQ(free.take(), std::nullopt);
  }
}

TEST(FreePlaces, GiveAPlaceToOneThread) {
  for (std::size_t const count : {3, 40}) {
    FreePlaces free(count);
    std::array<int, 40> uses{};  // guarded by its place
    std::array<std::atomic<bool>, 40> taken{};
    std::vector<std::thread> threads;
    for (int t = 0; t < 24; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50'000; ++i) {
          auto const place = free.take();
          if (!place) continue;
          EXPECT_FALSE(taken[*place].exchange(true, std::memory_order_relaxed));
          ++uses[*place];
          taken[*place].store(false, std::memory_order_relaxed);
          free.give(*place);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    std::size_t left = 0;
    while (free.take()) ++left;
    EXPECT_EQ(left, count);
  }
}

/// Counts the ends of its scopes.
struct Keeper final : detail::ScopeKeeper, ScopeEnds {
  explicit Keeper(std::size_t most_open) : places("jobs", {.most_open = most_open}, *this), ends(most_open) {
    places.begin_run();
  }
  void ended(std::uint32_t place, std::exception_ptr const& error) noexcept override {
    ++ends[place];
    if (error) ++failed;
    if (keeps_text) last = what_of(error);
    places.free(place);
  }
  void end_scope(std::uint32_t place) noexcept override { places.end(place); }
  void fail_scope(std::uint32_t, char const*) noexcept override {}
  void give_back(std::uint32_t place, std::uint64_t value) {
    detail::give_back(StageThread{}, places.host, place, value);
  }
  [[nodiscard]] std::size_t free_ones() {
    std::vector<std::uint32_t> taken;
    while (auto const place = places.free_places.take()) taken.push_back(*place);
    for (std::uint32_t const place : taken) places.free(place);
    return taken.size();
  }

  Scopes::Places places;
  std::vector<std::atomic<int>> ends;
  std::atomic<int> failed{0};
  bool keeps_text = true;  ///< one thread alone opens and ends
  std::string last;
};

std::exception_ptr error_of(char const* text) { return std::make_exception_ptr(Error(text)); }

TEST(Places, EndAScopeOnceItIsClosedAndAllIsGivenBack) {
  Keeper k(1);
  for (bool const closes_first : {false, true}) {
    std::uint32_t const place = k.places.take().value();
    EXPECT_EQ(k.places.take(), std::nullopt);
    EXPECT_TRUE(k.places.open(place, k, 5));
    k.places.add(place, 7);
    k.give_back(place, 5);
    closes_first ? k.places.close(place) : k.give_back(place, 7);
    EXPECT_EQ(k.ends[place].exchange(0), 0);
    closes_first ? k.give_back(place, 7) : k.places.close(place);
    EXPECT_EQ(k.ends[place].exchange(0), 1);
    EXPECT_EQ(k.free_ones(), 1u);
  }
  EXPECT_EQ(k.failed, 0);
}

TEST(Places, EndAScopeWithItsFirstErrorAndTheNextOneWithout) {
  Keeper k(1);
  std::uint32_t const place = k.places.take().value();
  EXPECT_TRUE(k.places.open(place, k, 1));
  k.places.fail(place, error_of("first"));
  k.places.fail(place, error_of("second"));
  k.places.abandon(place, error_of("third"));
  EXPECT_EQ(k.last, "first");
  EXPECT_TRUE(k.places.open(k.places.take().value(), k, 1));
  k.places.close(place);
  k.give_back(place, 1);
  EXPECT_EQ(k.last, "");
  EXPECT_TRUE(k.places.open(k.places.take().value(), k, 1));
  k.places.abandon(place, error_of("own"));
  EXPECT_EQ(k.last, "own");
  EXPECT_EQ(k.ends[place], 3);
}

TEST(Places, OfARunThatHasFailedEndOnceWhatIsLost) {
  Keeper k(4);
  std::uint32_t const closed = k.places.take().value();
  std::uint32_t const open = k.places.take().value();
  std::uint32_t const late = k.places.take().value();
  EXPECT_TRUE(k.places.open(closed, k, 5));
  k.places.close(closed);
  EXPECT_TRUE(k.places.open(open, k, 5));
  k.places.end_run(error_of("no power"));
  EXPECT_EQ(k.ends[closed], 1);
  EXPECT_EQ(k.last, "the scope's run has failed: no power");
  EXPECT_EQ(k.ends[open], 0);
  k.places.close(open);
  EXPECT_EQ(k.ends[open], 1);
  EXPECT_FALSE(k.places.open(late, k, 5));
  k.places.abandon(late, error_of("late"));
  EXPECT_EQ(k.last, "late");
  EXPECT_EQ(k.failed, 3);
  EXPECT_EQ(k.free_ones(), 4u);
  EXPECT_EQ(k.places.take(), std::nullopt);
  EXPECT_THAT(what_of(k.places.refusal()), HasSubstr("no run is under way, the last one has failed: no power"));
  k.places.begin_run();
  EXPECT_TRUE(k.places.take().has_value());
}

/// Opens scopes of one value, and gives it back or leaves it to be lost, while runs begin and end.
TEST(Places, EndEachScopeOnceWhileRunsFail) {
  Keeper k(8);
  k.keeps_text = false;
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  std::atomic<int> opened{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        auto const place = k.places.take();
        if (!place) continue;
        ++opened;
        bool const is_live = k.places.open(*place, k, 3);
        if (!is_live || (i + t) % 3 == 0) {
          k.places.abandon(*place, error_of("not put"));
        } else {
          k.places.close(*place);  // what it has put is lost
        }
      }
    });
  }
  for (int run = 0; run < 2000; ++run) {
    if (run % 20 == 0) std::this_thread::yield();
    k.places.end_run(error_of("failed"));
    k.places.begin_run();
  }
  done = true;
  for (std::thread& t : threads) t.join();
  k.places.end_run(error_of("failed"));
  int ends = 0;
  for (auto const& n : k.ends) ends += n;
  EXPECT_EQ(ends, opened);
  EXPECT_EQ(k.failed, opened);
  EXPECT_GT(opened, 100);
  EXPECT_EQ(k.free_ones(), 8u);
}

}  // namespace
