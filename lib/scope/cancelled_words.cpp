#include "cancelled_words.hpp"

#include <algorithm>

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail {

std::vector<std::uint64_t> CancelledWords::submit(std::uint32_t place, std::uint64_t value) noexcept {
  std::vector<std::uint64_t> numbers;
  for (Device& d : devices_) {
    try {
      for (unsigned misses = 0; d.submitted - d.stream->completed() >= CopyStream::most_under_way; ++misses)
        relax_thread(misses);
      WordCopy const word{&d.pots[place].cancelled, value};
      d.submitted = d.stream->submit({}, std::span(&word, 1));
    } catch (...) {  // a device that has failed: nothing of it runs any more
    }
    numbers.push_back(d.submitted);
  }
  return numbers;
}

void CancelledWords::set(std::uint32_t place) noexcept {
  std::scoped_lock const lock(mutex_);
  static_cast<void>(submit(place, 1));
}

void CancelledWords::clear_and_free(std::uint32_t place) noexcept {
  std::scoped_lock const lock(mutex_);
  leaving_.push_back({place, submit(place, 0)});
  any_leaving_.store(true, std::memory_order_release);
}

bool CancelledWords::are_clear(Leaving const& leaving) {
  for (std::size_t i = 0; i < devices_.size(); ++i)
    if (devices_[i].stream->completed() < leaving.submissions[i]) return false;
  return true;
}

bool CancelledWords::free_some() noexcept {
  if (!any_leaving_.load(std::memory_order_acquire)) return false;
  std::scoped_lock const lock(mutex_);
  auto const clear = std::ranges::partition(leaving_, [&](Leaving const& l) {
    try {
      return !are_clear(l);
    } catch (...) {
      return false;
    }
  });
  bool const any = !clear.empty();
  for (Leaving const& l : clear) free_places_.give(l.place);
  leaving_.erase(clear.begin(), clear.end());
  any_leaving_.store(!leaving_.empty(), std::memory_order_release);
  return any;
}

void CancelledWords::end_run() noexcept {
  for (unsigned misses = 0; any_leaving_.load(std::memory_order_acquire); ++misses) {
    if (!free_some()) relax_thread(misses);
  }
}

}  // namespace hiway::detail
