#include "cancelled_words.hpp"

#include <algorithm>

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail {

std::uint64_t CancelledWords::completed(Device const& device) noexcept {
  try {
    return device.stream->completed();
  } catch (...) {
    return device.submitted;
  }
}

std::vector<std::uint64_t> CancelledWords::submit(std::uint32_t place, std::uint64_t value) noexcept {
  std::vector<std::uint64_t> numbers;
  for (Device& d : devices_) {
    for (unsigned misses = 0; d.submitted - completed(d) >= CopyStream::most_under_way; ++misses) relax_thread(misses);
    WordCopy const word{&d.pots[place].cancelled, value};
    try {
      d.submitted = d.stream->submit({}, std::span(&word, 1));
    } catch (...) {  // nothing of a device that has failed runs any more
    }
    numbers.push_back(d.submitted);
  }
  under_way_.store(true, std::memory_order_release);
  return numbers;
}

void CancelledWords::set(std::uint32_t place) noexcept {
  std::scoped_lock const lock(mutex_);
  static_cast<void>(submit(place, 1));
}

void CancelledWords::clear_and_free(std::uint32_t place) noexcept {
  if (devices_.empty()) return free_places_.give(place);
  std::scoped_lock const lock(mutex_);
  leaving_.push_back({place, submit(place, 0)});
}

bool CancelledWords::are_clear(Leaving const& leaving) noexcept {
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (completed(devices_[i]) < leaving.submissions[i]) return false;
  return true;
}

bool CancelledWords::step() noexcept {
  if (!under_way_.load(std::memory_order_acquire)) return false;
  std::scoped_lock const lock(mutex_);
  auto const clear = std::ranges::partition(leaving_, [&](Leaving const& l) { return !are_clear(l); });
  for (Leaving const& l : clear) free_places_.give(l.place);
  leaving_.erase(clear.begin(), clear.end());
  bool const none = std::ranges::all_of(devices_, [&](Device const& d) { return completed(d) == d.submitted; });
  if (none && leaving_.empty()) under_way_.store(false, std::memory_order_release);
  return true;
}

void CancelledWords::end_run() noexcept {
  for (unsigned misses = 0; step(); ++misses) relax_thread(misses);
}

}  // namespace hiway::detail
