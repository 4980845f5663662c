#include "bench/turn_limit.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>

namespace bench {
namespace {

std::atomic<unsigned> under_way{0};  // turns of the whole program

/// Counts one from now until the last copy goes.
std::shared_ptr<void> one_under_way() {
  ++under_way;
  return {nullptr, [](void*) { --under_way; }};
}

/// Destructors of what a turn still uses might wait for it: a program that ends meanwhile does so without them.
void end_without_turns() {
  static std::once_flag once;
  std::call_once(once, [] {
    (void)std::atexit([] {
      if (under_way == 0) return;
      std::cout.flush();
      (void)std::fflush(nullptr);
      std::_Exit(EXIT_FAILURE);
    });
  });
}

Turn not_ended(std::string wrong) { return {.value = 0, .right = false, .wrong = std::move(wrong), .ended = false}; }

}  // namespace

Turn TurnLimit::run(std::function<Turn()> turn, Clock::time_point until) {
  if (Clock::now() >= until) return not_ended("the row's time is up");
  if (goes_on()) return not_ended("not run: an earlier turn has not ended");
  std::packaged_task<Turn()> task([turn = std::move(turn), mark = one_under_way()]() mutable {
    auto const until_its_result_is_there = std::move(mark);  // so goes_on() and the program's end agree
    return turn();
  });
  std::future<Turn> made = task.get_future();
  std::thread thread(std::move(task));
  if (made.wait_until(until) == std::future_status::ready) {
    thread.join();
    return made.get();
  }
  end_without_turns();
  thread.detach();
  late_ = std::move(made);
  given_up_ = false;
  return not_ended("not ended when the row's time was up");
}

void TurnLimit::let_it_end(Clock::time_point until) {
  if (goes_on() && !given_up_) given_up_ = late_.wait_until(until) != std::future_status::ready;
}

bool TurnLimit::goes_on() const {
  return late_.valid() && late_.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

Variant within(std::shared_ptr<TurnLimit> const& limit, TurnLimit::Clock::time_point until, Variant variant) {
  return {std::move(variant.name), [limit, until, turn = std::move(variant.turn)] { return limit->run(turn, until); },
          [limit, facts = std::move(variant.facts)] {
            return facts && !limit->goes_on() ? facts() : Json::object();  // a turn that goes on still writes them
          }};
}

}  // namespace bench
