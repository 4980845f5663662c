#include "handles.hpp"

#include <utility>

namespace hiway::detail {

// ---- one scope

bool ScopeState::add(std::uint64_t value) {
  std::scoped_lock const lock(mutex_);
  if (closed_ || ended_.load(std::memory_order_relaxed)) return false;
  places_.add(place_, value);
  return true;
}

bool ScopeState::closes() noexcept {
  std::scoped_lock const lock(mutex_);
  return !std::exchange(closed_, true);
}

void ScopeState::close() noexcept {
  if (closes()) places_.close(place_);
}

void ScopeState::abandon(std::exception_ptr const& error) noexcept {
  if (closes()) places_.abandon(place_, error);
}

void ScopeState::cancel() noexcept {
  std::scoped_lock const lock(mutex_);
  if (!ended_.load(std::memory_order_relaxed)) places_.cancel(place_);
}

void ScopeState::then(Then f) {
  {
    std::scoped_lock const lock(mutex_);
    if (!ended_.load(std::memory_order_relaxed)) {
      thens_.push_back(std::move(f));
      return;
    }
  }
  f(error_);
}

void ScopeState::end(std::exception_ptr const& error) noexcept {
  for (std::vector<Then> thens;; thens.clear()) {
    {
      std::scoped_lock const lock(mutex_);
      if (thens_.empty()) {
        error_ = error;
        places_.free(place_);
        ended_.store(true, std::memory_order_release);
        return;
      }
      thens.swap(thens_);
    }
    for (Then const& f : thens) f(error);
  }
}

// ---- all of them

ScopeHandles::ScopeHandles(Scopes::Places& places)
    : places_(places), slots_(std::make_unique<Slot[]>(places.most_open)) {}

std::shared_ptr<ScopeState> ScopeHandles::try_open() {
  std::optional<std::uint32_t> const place = places_.take();
  if (!place) return nullptr;
  std::shared_ptr<ScopeState> state;
  try {
    state = std::make_shared<ScopeState>(places_, *place);
  } catch (...) {
    places_.free(*place);
    throw;
  }
  {
    std::scoped_lock const lock(slots_[*place].mutex);
    slots_[*place].state = state;
  }
  if (!places_.open(*place, *this, 0)) state->close();
  return state;
}

void ScopeHandles::abandon_all(std::exception_ptr const& error) noexcept {
  for (std::size_t i = 0; i < places_.most_open; ++i) {
    std::shared_ptr<ScopeState> state;
    {
      std::scoped_lock const lock(slots_[i].mutex);
      state = slots_[i].state;
    }
    if (state) state->abandon(error);
  }
}

void ScopeHandles::ended(std::uint32_t place, std::exception_ptr const& error) noexcept {
  std::shared_ptr<ScopeState> state;
  {
    std::scoped_lock const lock(slots_[place].mutex);
    state = std::move(slots_[place].state);
  }
  state->end(error);
}

}  // namespace hiway::detail
