// Places of scopes: taken and given back, and the ends of the scopes there (lib/scope/places.hpp).
#include "lib/scope/places.hpp"

#include <gmock/gmock.h>

#include <array>
#include <chrono>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "hiway/machine/stage_thread.hpp"
#include "hiway/scope/host.hpp"
#include "hiway/scope/mail.hpp"
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

TEST(FreePlaces, AreAllFoundByAThreadThatLooksAtAFewEachTime) {
  for (std::size_t const count : {1, 64, 1024, 16384}) {
    FreePlaces free(count);
    std::set<std::uint32_t> taken;
    for (std::size_t tries = 0; taken.size() < count && tries < 100 * count; ++tries) {
      if (auto const place = free.take_of_few()) taken.insert(*place);
    }
    EXPECT_EQ(taken.size(), count);
    EXPECT_EQ(free.take_of_few(), std::nullopt);
  }
}

TEST(FreePlaces, SayWhatComesSoon) {
  for (std::size_t const count : {1, 3, 64, 1000}) {
    FreePlaces free(count);
    std::vector<std::uint32_t> taken;
    std::vector<std::uint32_t> soon;
    while (auto const place = free.take()) {
      taken.push_back(*place);
      soon.push_back(free.soon(*place));
    }
    std::size_t said = 0;
    for (std::size_t i = 0; i < taken.size(); ++i) {
      if (soon[i] == taken[i]) continue;  // few are left beside it
      ++said;
      ASSERT_LT(i + 2, taken.size());
      ASSERT_EQ(soon[i], taken[i + 2]);
    }
    EXPECT_EQ(said > count / 2, count == 1000);
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

/// Copies to one device. They complete when the test says so, or one at each look.
class Copies final : public CopyStream {
 public:
  std::uint64_t submit(std::span<Copy const>, std::span<WordCopy const> words) override {
    if (failed) throw Error("no power");
    EXPECT_LT(submitted_.size() - completed_, most_under_way);
    submitted_.emplace_back(words.begin(), words.end());
    return submitted_.size();
  }
  std::uint64_t completed() override {
    if (failed) throw Error("no power");
    std::uint64_t const seen = completed_;
    if (one_a_look) complete();
    return seen;
  }
  void complete() {
    if (completed_ == submitted_.size()) return;
    for (WordCopy const& w : submitted_[completed_++]) StageThread{}.store(*w.word, w.value, MemoryOrder::relaxed);
  }

  bool one_a_look = false;
  bool failed = false;

 private:
  std::vector<std::vector<WordCopy>> submitted_;
  std::uint64_t completed_ = 0;
};

/// The words of two places at one device.
struct CopiesTo {
  explicit CopiesTo(detail::CancelledWords& words) {
    auto made = std::make_unique<Copies>();
    copies = made.get();
    words.add(std::move(made), pots.data());
  }
  [[nodiscard]] std::uint64_t at(std::size_t place) {
    return StageThread{}.load(pots[place].cancelled, MemoryOrder::relaxed);
  }

  Copies* copies;
  std::array<ScopePot, 2> pots{};
};

TEST(CancelledWords, FreeAPlaceOnceAllDevicesHaveClearedIt) {
  FreePlaces free(1);
  detail::CancelledWords words(free);
  CopiesTo a(words);
  CopiesTo b(words);
  std::uint32_t const place = free.take().value();
  EXPECT_FALSE(words.step());
  words.set(place);
  for (CopiesTo* d : {&a, &b}) {
    d->copies->complete();
    EXPECT_EQ(d->at(place), 1u);
  }
  words.clear_and_free(place);
  for (CopiesTo* d : {&a, &b}) {
    EXPECT_TRUE(words.step());
    EXPECT_EQ(free.take(), std::nullopt);
    EXPECT_EQ(d->at(place), 1u);
    d->copies->complete();
  }
  EXPECT_TRUE(words.step());
  EXPECT_EQ(free.take(), place);
  EXPECT_EQ(a.at(place) + b.at(place), 0u);
  EXPECT_FALSE(words.step());
}

TEST(CancelledWords, FreeAPlaceAtOnceWithoutDevices) {
  FreePlaces free(1);
  detail::CancelledWords words(free);
  std::uint32_t const place = free.take().value();
  words.set(place);
  words.clear_and_free(place);
  EXPECT_EQ(free.take(), place);
}

/// A copy may complete between two looks of one step.
TEST(CancelledWords, AreFreeAfterARun) {
  FreePlaces free(1);
  detail::CancelledWords words(free);
  CopiesTo device(words);
  device.copies->one_a_look = true;
  std::uint32_t const place = free.take().value();
  words.clear_and_free(place);
  words.end_run();
  EXPECT_EQ(free.take(), place);
}

TEST(CancelledWords, AreFreeOnce) {
  FreePlaces free(1);
  detail::CancelledWords words(free);
  CopiesTo device(words);
  std::uint32_t const place = free.take().value();
  words.clear_and_free(place);
  device.copies->complete();
  EXPECT_TRUE(words.step());
  EXPECT_EQ(free.take(), place);
  words.set(place);
  EXPECT_TRUE(words.step());
  EXPECT_EQ(free.take(), std::nullopt);
}

TEST(CancelledWords, SubmitNoMoreThanMayBeUnderWay) {
  FreePlaces free(1);
  detail::CancelledWords words(free);
  CopiesTo device(words);
  for (std::uint64_t i = 0; i < CopyStream::most_under_way; ++i) words.set(0);
  device.copies->one_a_look = true;
  words.set(0);
}

TEST(CancelledWords, OfADeviceThatHasFailedCountAsClear) {
  FreePlaces free(2);
  detail::CancelledWords words(free);
  CopiesTo device(words);
  std::array<std::uint32_t, 2> const taken{free.take().value(), free.take().value()};
  words.clear_and_free(taken[0]);
  device.copies->failed = true;
  words.clear_and_free(taken[1]);
  EXPECT_TRUE(words.step());
  EXPECT_TRUE(free.take().has_value());
  EXPECT_TRUE(free.take().has_value());
  EXPECT_FALSE(words.step());
}

/// Counts the ends of its scopes.
struct Keeper final : detail::ScopeKeeper, ScopeEnds {
  explicit Keeper(std::size_t most_open) : places("jobs", {.most_open = most_open}, *this), ends(most_open) {
    places.begin_run(0);
  }
  void ended(std::uint32_t place, std::exception_ptr const& error) noexcept override {
    ++ends[place];
    if (error) ++failed;
    if (keeps_text) last = what_of(error);
    if (at_end) at_end();
    places.free(place);
  }
  void end_scope(std::uint32_t place) noexcept override { places.end(place); }
  void fail_scope(std::uint32_t, char const*) noexcept override {}
  void note_task(std::uint32_t, std::uint32_t) noexcept override {}
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
  std::function<void()> at_end;
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
  k.places.add(open, 7);
  k.give_back(open, 7);
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
  k.places.begin_run(0);
  EXPECT_TRUE(k.places.take().has_value());
}

/// A thread of the user's own may give back late.
TEST(Places, EndWhenTheirOpenerClosesAlsoIfAValueComesAfterTheSweep) {
  Keeper k(1);
  std::uint32_t const place = k.places.take().value();
  EXPECT_TRUE(k.places.open(place, k, 5));
  k.places.end_run(error_of("no power"));
  k.give_back(place, 5);
  EXPECT_EQ(k.ends[place], 0);
  k.places.close(place);
  EXPECT_EQ(k.ends[place], 1);
}

/// Letters of one device to `places`.
struct Letters {
  explicit Letters(Scopes::Places& places) : slots(ScopeMail::slot_count), texts(ScopeMail::slot_count) {
    mail.letters = slots.data();
    mail.texts = texts.data();
    mail.read = &read;
    places.mails.push_back(std::make_unique<Scopes::Places::Mail>());
    places.mails.back()->view = mail;
  }
  void send(std::uint32_t place, std::uint64_t value) {
    detail::mail_value(StageThread{}, mail, control, place, value);
  }

  std::vector<TaggedSlot> slots;
  std::vector<ScopeText> texts;
  Word<std::uint64_t> read;
  Control control;
  ScopeMail mail;
};
std::uint64_t outstanding(Keeper& k, std::uint32_t place) {
  return StageThread{}.load(k.places.counts[place].outstanding, MemoryOrder::relaxed);
}

/// One thread reads a letter of each of two scopes when the run ends, which takes their values.
TEST(Places, AreSweptOnceTheMailHasBeenRead) {
  Keeper k(2);
  Letters letters(k.places);
  std::uint32_t const ends_first = k.places.take().value();
  std::uint32_t const open = k.places.take().value();
  EXPECT_TRUE(k.places.open(ends_first, k, 5));
  EXPECT_TRUE(k.places.open(open, k, 7));
  k.places.close(ends_first);
  letters.send(ends_first, 5);
  letters.send(open, 3);
  std::promise<void> reads;
  k.at_end = [&] {
    reads.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(outstanding(k, open), Scopes::Places::hold + 7);
  };
  std::thread reader([&] { k.places.hear(); });
  reads.get_future().wait();
  k.places.end_run(error_of("no power"));
  reader.join();
  EXPECT_EQ(outstanding(k, open), Scopes::Places::hold);
  EXPECT_EQ(k.ends[ends_first], 1);
}

TEST(Places, AreHeardOfByOneThreadAtATime) {
  Keeper k(2);
  Letters letters(k.places);
  std::uint32_t const ends_first = k.places.take().value();
  std::uint32_t const open = k.places.take().value();
  EXPECT_TRUE(k.places.open(ends_first, k, 5));
  EXPECT_TRUE(k.places.open(open, k, 7));
  k.places.close(ends_first);
  letters.send(ends_first, 5);
  letters.send(open, 3);
  k.at_end = [&] {
    std::thread other([&] { EXPECT_TRUE(k.places.hear()); });
    other.join();
  };
  EXPECT_TRUE(k.places.hear());
  EXPECT_EQ(outstanding(k, open), Scopes::Places::hold + 4);
  EXPECT_FALSE(k.places.hear());
}

TEST(Places, ReadNoMailAfterTheRun) {
  Keeper k(1);
  Letters letters(k.places);
  std::uint32_t const place = k.places.take().value();
  EXPECT_TRUE(k.places.open(place, k, 5));
  k.places.end_run(error_of("no power"));
  letters.send(place, 5);
  EXPECT_FALSE(k.places.hear());
  EXPECT_EQ(outstanding(k, place), Scopes::Places::hold);
}

TEST(Places, OfCancelledScopesAreFreeAfterTheRun) {
  Keeper k(2);
  CopiesTo device(k.places.cancelled);
  device.copies->one_a_look = true;
  std::uint32_t const place = k.places.take().value();
  EXPECT_TRUE(k.places.open(place, k, 0));
  k.places.cancel(place, std::make_exception_ptr(ScopeCancelled("the scope has been cancelled")));
  k.places.close(place);
  EXPECT_EQ(k.last, "the scope has been cancelled");
  EXPECT_EQ(k.free_ones(), 1u);
  k.places.end_run(nullptr);
  EXPECT_EQ(k.free_ones(), 2u);
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
    k.places.begin_run(0);
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
