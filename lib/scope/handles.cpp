#include "handles.hpp"

#include <utility>

#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail {

// ---- one scope

/// Has what lies beside the word (H3).
class ScopeState::Lock {
 public:
  explicit Lock(ScopeState& state) noexcept : state_(state) {
    for (unsigned misses = 0; (state_.word_.fetch_or(locked, std::memory_order_acquire) & locked) != 0; ++misses)
      relax_thread(misses);
  }
  ~Lock() { state_.word_.fetch_xor(locked | added_, std::memory_order_release); }
  Lock(Lock const&) = delete;
  Lock& operator=(Lock const&) = delete;

  [[nodiscard]] bool is_over() const { return (state_.word_.load(std::memory_order_relaxed) & over) != 0; }
  /// Sets `over` as it unlocks.
  void make_over() { added_ = over; }

 private:
  ScopeState& state_;
  std::uint64_t added_ = 0;
};

bool ScopeState::begin_again() noexcept {
  constexpr std::uint64_t in_use = handles_mask | ended;
  if ((word_.load(std::memory_order_acquire) & in_use) != ended) return false;  // H5
  word_.store(new_scope, std::memory_order_relaxed);
  return true;
}

void ScopeState::opened() noexcept {
  word_.store(new_scope & ~locked, std::memory_order_release);  // H3: no other thread changes it before
}

std::uint64_t ScopeState::unlocked_word(std::uint64_t seen) const noexcept {
  for (unsigned misses = 0; (seen & locked) != 0; ++misses) {
    relax_thread(misses);
    seen = word_.load(std::memory_order_relaxed);
  }
  return seen;
}

void ScopeState::add_lot() noexcept {
  Lock const lock(*this);
  std::uint64_t const seen = word_.load(std::memory_order_relaxed);
  if ((seen & closed) != 0 || (seen & reserve_mask) >= lot / unit) return;
  places_.add(place_, lot);  // H1
  word_.fetch_add(lot / unit, std::memory_order_relaxed);
}

bool ScopeState::take(std::uint64_t value) noexcept {
  std::uint64_t const part = value / unit;
  std::uint64_t seen = word_.load(std::memory_order_relaxed);
  while ((seen & closed) == 0) {
    if ((seen & reserve_mask) < part) {
      add_lot();
      seen = word_.load(std::memory_order_relaxed);
    } else if (word_.compare_exchange_weak(seen, seen - part, std::memory_order_relaxed)) {  // H1
      return true;
    }
  }
  return false;
}

std::optional<std::uint64_t> ScopeState::take_rest() noexcept {
  std::uint64_t seen = unlocked_word(word_.load(std::memory_order_relaxed));
  while ((seen & closed) == 0) {
    if (word_.compare_exchange_weak(seen, closed_word(seen), std::memory_order_acq_rel)) return reserve_in(seen);
    seen = unlocked_word(seen);
  }
  return std::nullopt;
}

void ScopeState::close() noexcept {
  if (auto const rest = take_rest()) places_.close(place_, *rest);
}

void ScopeState::abandon(std::exception_ptr const& error) noexcept {
  if (take_rest()) places_.abandon(place_, error);
}

void ScopeState::drop() noexcept {
  std::uint64_t seen = unlocked_word(word_.load(std::memory_order_relaxed));
  for (;;) {
    bool const closes = (seen & (handles_mask | closed)) == one_handle;
    std::uint64_t const next = (closes ? closed_word(seen) : seen) - one_handle;
    if (word_.compare_exchange_weak(seen, next, std::memory_order_acq_rel))
      return closes ? places_.close(place_, reserve_in(seen)) : delete_if_unused(next);  // H2, H5
    seen = unlocked_word(seen);
  }
}

void ScopeState::cancel(std::exception_ptr const& error) noexcept {
  Lock const lock(*this);
  if (!lock.is_over()) places_.cancel(place_, error);  // H4
}

bool ScopeState::take_deadline(std::uint64_t number) noexcept {
  Lock const lock(*this);
  if (lock.is_over()) return false;
  has_deadline_ = number != 0;
  places_.handles->deadline(place_).store(number, std::memory_order_relaxed);  // H6
  return true;
}

void ScopeState::expire(std::uint64_t number) noexcept {
  Lock const lock(*this);
  if (places_.handles->deadline(place_).load(std::memory_order_relaxed) != number) return;  // H6
  places_.cancel(place_, std::make_exception_ptr(DeadlineExceeded("the scope has not ended by its deadline")));
}

void ScopeState::then(Then f) {
  {
    Lock const lock(*this);
    if (!lock.is_over()) {
      if (first_) {
        more_.push_back(std::move(f));
        has_more_ = true;
      } else {
        first_ = std::move(f);
      }
      return;
    }
  }
  f(error_);
}

bool ScopeState::is_over_with(std::exception_ptr const& error, Then& first, std::vector<Then>& more) noexcept {
  Lock lock(*this);
  if (!first_) {
    if (std::exchange(has_deadline_, false)) places_.handles->deadline(place_).store(0, std::memory_order_relaxed);
    error_ = error;
    lock.make_over();
    return true;
  }
  first.swap(first_);
  if (std::exchange(has_more_, false)) more.swap(more_);
  return false;
}

void ScopeState::end(std::exception_ptr const& error) noexcept {
  for (;;) {
    Then first;
    std::vector<Then> more;
    if (is_over_with(error, first, more)) break;
    first(error);
    for (Then const& f : more) f(error);
  }
  places_.free(place_);                                                        // H4
  delete_if_unused(word_.fetch_or(ended, std::memory_order_acq_rel) | ended);  // H5
}

void ScopeState::let_go() noexcept { delete_if_unused(word_.fetch_and(~kept, std::memory_order_acq_rel) & ~kept); }

void ScopeState::delete_if_unused(std::uint64_t word) noexcept {
  if ((word & (handles_mask | kept | ended)) == ended) delete this;
}

// ---- all of them

ScopeHandles::ScopeHandles(Scopes::Places& places)
    : places_(places), at_(std::make_unique<At[]>(places.most_open)), deadlines_(*this, places.most_open) {}

ScopeHandles::~ScopeHandles() {
  std::scoped_lock const lock(replacing_);  // the deadlines' thread may be at work
  for (std::uint32_t i = 0; i < places_.most_open; ++i)
    if (ScopeState* const kept = at_[i].state.exchange(nullptr, std::memory_order_relaxed)) kept->let_go();
}

ScopeState& ScopeHandles::replace(std::uint32_t place) {
  auto made = std::make_unique<ScopeState>(places_, place);
  std::scoped_lock const lock(replacing_);
  ScopeState* const old = state(place);
  at_[place].state.store(made.get(), std::memory_order_relaxed);
  if (old != nullptr) old->let_go();
  return *made.release();
}

ScopeState* ScopeHandles::try_open() {
  std::optional<std::uint32_t> const place = places_.take();
  if (!place) return nullptr;
  ScopeState* opened = state(*place);
  try {
    if (opened == nullptr || !opened->begin_again()) opened = &replace(*place);
  } catch (...) {
    places_.free(*place);
    throw;
  }
  bool const is_live = places_.open(*place, *this, ScopeState::lot);
  opened->opened();
  if (!is_live) opened->close();
  return opened;
}

void ScopeHandles::abandon_all(std::exception_ptr const& error) noexcept {
  std::scoped_lock const lock(replacing_);
  for (std::uint32_t i = 0; i < places_.most_open; ++i) {
    if (!places_.has_scope(i)) continue;
    if (ScopeState* const kept = state(i)) kept->abandon(error);
  }
}

void ScopeHandles::set_deadline(ScopeState& state, Deadline const& deadline) {
  std::uint64_t const number = deadline.is_never() ? 0 : last_deadline_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!state.take_deadline(number) || number == 0) return;
  try {
    deadlines_.add(deadline.at(), {state.place(), number});
  } catch (...) {
    static_cast<void>(state.take_deadline(0));
    throw;
  }
}

void ScopeHandles::expire(PlacedWord scope) noexcept {
  std::scoped_lock const lock(replacing_);
  if (!is_waiting(scope)) return;
  if (ScopeState* const its = state(scope.place)) its->expire(scope.word);
}

void ScopeHandles::ended(std::uint32_t place, std::exception_ptr const& error) noexcept { state(place)->end(error); }

}  // namespace hiway::detail
