#include "snapshots.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "stencil_placement.hpp"

namespace hiway {
namespace {

constexpr auto stats_patience = std::chrono::milliseconds(100);

}  // namespace

void Snapshots::begin() {
  state_.asks_driver =
      std::ranges::any_of(layout_.homes.device_homes(), [&](Home home) { return is_asked_of_driver(home); });
  copies_ = std::make_shared<WordCopies>(unseen());
}

void Snapshots::set_live() {
  std::scoped_lock const lock(mutex_);
  live_ = true;
}

void Snapshots::end_live() {
  {
    std::scoped_lock const lock(mutex_);
    live_ = false;
  }
  came_.notify_all();
}

bool Snapshots::is_asked_of_driver(Home home) const {
  return layout_.homes.device(home).monitor != nullptr && !layout_.homes.backend(home).is_host();
}

/// Copies in which no device's words are seen.
WordCopies Snapshots::unseen() const {
  WordCopies none;
  for (Home const home : layout_.homes.device_homes()) {
    if (is_asked_of_driver(home)) none.expect(home);
  }
  return none;
}

PipelineSnapshot Snapshots::take(std::chrono::nanoseconds driver_held) {
  std::scoped_lock const lock(mutex_);
  bool const held = driver_held.count() != 0;  // the copies are old, and the kernels are the watcher's
  PipelineSnapshot seen = held ? read(unseen()) : read_counters({layout_, state_, *copies_, &kernels_});
  seen.asks_driver = state_.asks_driver;
  seen.driver_held = driver_held;
  return seen;
}

bool Snapshots::are_wanted() {
  std::scoped_lock const lock(mutex_);
  return asked_ != served_;
}

// Asks the driver nothing until the kernels have started: a launch that waits for something may hold the driver.
void Snapshots::fetch() {
  std::uint64_t asked = 0;
  {
    std::scoped_lock const lock(mutex_);
    asked = asked_;
  }
  auto fetched = std::make_shared<WordCopies>(unseen());
  for (Home const home : layout_.homes.device_homes()) {
    DriverCall const call(state_);
    if (!is_asked_of_driver(home) || !state_.kernels_started.load(std::memory_order_acquire)) continue;
    std::vector<std::span<std::byte const>> spans = layout_.homes.words(home).words();
    std::ranges::copy(layout_.homes.plan(home).words(), std::back_inserter(spans));
    for (PlacedTunnel const& t : layout_.placement.tunnels()) {
      if (t.stencil_base != nullptr && t.put.home == home) spans.push_back(std::as_bytes(set_words(t)));
    }
    FailedTasksPlace const& failed = layout_.homes.failed_tasks(home);  // copied again, after `ready`
    spans.push_back(std::as_bytes(std::span(failed.firsts, failed.stages)));
    fetched->fetch(home, layout_.homes.backend(home), spans);
  }
  {
    std::scoped_lock const lock(mutex_);
    copies_ = std::move(fetched);
    served_ = asked;
  }
  came_.notify_all();
}

/// Fresh copies if the watcher brings them in time; otherwise copies in which no device is seen.
std::shared_ptr<WordCopies const> Snapshots::fresh(std::unique_lock<std::mutex>& held,
                                                   std::function<void()> const& wake_watcher) {
  ThreadRole const& role = role_of_this_thread();
  if (!state_.asks_driver || (role.layout == &layout_ && role.observes))
    return copies_;  // the thread that fetches must not wait for itself
  std::uint64_t const asked = ++asked_;
  wake_watcher();
  bool const came = came_.wait_for(held, stats_patience, [&] { return served_ >= asked || !live_; });
  return came ? copies_ : std::make_shared<WordCopies>(unseen());
}

}  // namespace hiway
