// Handles of scopes: what Scope, which a program holds, refers to. Each place keeps a state, which its next scope uses
// again. So opening, putting, closing and ending a scope with handles take no memory and wait for no other thread, but
// for those that call then() or cancel() of the same scope just then.
//
// All about a state is in one word:
//
//   bits          set by                        cleared by
//   reserve (32)  the opener, a put without     a put takes its part; the close takes the rest
//   handles (27)  a copy                        a handle that goes
//   kept          its place's first scope       its place, which takes another state
//   locked        a thread, for what is beside  the same
//   closed        close, the last handle        the next scope
//   over          the end: no call is left      the next scope
//   ended         the end, after the place is free; then the next scope clears it
//
//   H1  The reserve is added to outstanding before it is in the word (S4, S5). A put takes its value from it by one
//       step that fails once the scope is closed; the close takes the rest, and gives it back with the hold. So no put
//       comes for a scope that has ended, nor for the next one at its place, and few puts touch outstanding
//   H2  The last handle closes by the step with which it goes
//   H3  What lies beside the word is of the thread that has set `locked`. A close waits for that: the reserve grows
//       under it. A state is locked from the step that makes it a new scope's until its place is open
//   H4  After `over` nothing touches the place through the state. So the place is free before `ended`
//   H5  A state without handles that has ended is the opener's that has its place: the step that made it so releases,
//       the opener acquires. If it is not so yet, the place takes another state, and the step that leaves the old one
//       ended, not kept and without handles deletes it
//   H6  A deadline's number is at the place until the scope is over. So the thread that gives up finds it there, under
//       the state's lock, or the deadline is not this scope's. It finds the state under `replacing_`
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "deadlines.hpp"
#include "places.hpp"

namespace hiway::detail {

/// What a scope's handles and its place share. It outlives the scope for handles that ask for its outcome.
class ScopeState {
 public:
  using Then = std::function<void(std::exception_ptr)>;
  /// What is added to outstanding at once, for puts.
  static constexpr std::uint64_t lot = std::uint64_t{1} << 44;

  /// Of a new scope, with one handle; locked.
  ScopeState(Scopes::Places& places, std::uint32_t place) noexcept : word_(new_scope), places_(places), place_(place) {}
  ScopeState(ScopeState const&) = delete;
  ScopeState& operator=(ScopeState const&) = delete;

  // ---- for its place
  /// Makes it a new scope's, with one handle; locked. False if the last one's handles are left, or it still ends. The
  /// caller has the place.
  [[nodiscard]] bool begin_again() noexcept;
  /// Its place is open.
  void opened() noexcept;
  /// What its place hears.
  void end(std::exception_ptr const& error) noexcept;
  /// Closes it after its run: it ends now, whatever is outstanding; with `error` if it had none.
  void abandon(std::exception_ptr const& error) noexcept;
  /// Its place takes another one.
  void let_go() noexcept;

  // ---- for its handles
  [[nodiscard]] Scopes::Places& places() const { return places_; }
  [[nodiscard]] std::uint32_t place() const { return place_; }
  /// One handle more.
  void copy() noexcept { word_.fetch_add(one_handle, std::memory_order_relaxed); }
  /// One handle fewer.
  void drop() noexcept;
  /// Takes a value for an item; false if the scope is closed.
  [[nodiscard]] bool take(std::uint64_t value) noexcept;
  /// Calling it again does nothing.
  void close() noexcept;
  /// Of a scope that has ended it does nothing.
  void cancel(std::exception_ptr const& error) noexcept;
  /// From now on it has the deadline of this number; 0: none. False if it has ended.
  [[nodiscard]] bool take_deadline(std::uint64_t number) noexcept;
  /// Its deadline of this number has come, unless it has another one by now (H6).
  void expire(std::uint64_t number) noexcept;
  void then(Then f);
  [[nodiscard]] bool has_ended() const { return (word_.load(std::memory_order_acquire) & ended) != 0; }
  /// Once it has ended.
  [[nodiscard]] std::exception_ptr const& error() const { return error_; }

 private:
  class Lock;
  /// The reserve's unit: all that is put from outside has a multiple of it.
  static constexpr std::uint64_t unit = value_at_host;
  static constexpr std::uint64_t reserve_mask = (std::uint64_t{1} << 32) - 1;
  static constexpr std::uint64_t one_handle = std::uint64_t{1} << 32;
  static constexpr std::uint64_t handles_mask = ((std::uint64_t{1} << 27) - 1) << 32;
  static constexpr std::uint64_t kept = std::uint64_t{1} << 59;
  static constexpr std::uint64_t locked = std::uint64_t{1} << 60;
  static constexpr std::uint64_t closed = std::uint64_t{1} << 61;
  static constexpr std::uint64_t over = std::uint64_t{1} << 62;
  static constexpr std::uint64_t ended = std::uint64_t{1} << 63;
  static constexpr std::uint64_t new_scope = lot / unit | one_handle | kept | locked;

  /// Waits while a thread has set `locked`; the word as it is then.
  [[nodiscard]] std::uint64_t unlocked_word(std::uint64_t seen) const noexcept;
  static std::uint64_t reserve_in(std::uint64_t word) { return (word & reserve_mask) * unit; }
  static std::uint64_t closed_word(std::uint64_t word) { return (word & ~reserve_mask) | closed; }
  /// Closes it; what was left of the reserve. None: it is closed.
  [[nodiscard]] std::optional<std::uint64_t> take_rest() noexcept;
  /// Takes what is to be called. If that is nothing, the scope is over: true.
  [[nodiscard]] bool is_over_with(std::exception_ptr const& error, Then& first, std::vector<Then>& more) noexcept;
  void add_lot() noexcept;
  void delete_if_unused(std::uint64_t word) noexcept;

  alignas(64) std::atomic<std::uint64_t> word_;
  Scopes::Places& places_;
  std::uint32_t const place_;
  // Of the thread that has set `locked`; `error_` until the scope is over.
  bool has_more_ = false;
  bool has_deadline_ = false;
  std::exception_ptr error_;
  Then first_;
  std::vector<Then> more_;
};

/// Keeps the scopes that have handles.
class ScopeHandles final : public ScopeKeeper, Expiry {
 public:
  explicit ScopeHandles(Scopes::Places& places);
  ~ScopeHandles();
  ScopeHandles(ScopeHandles const&) = delete;
  ScopeHandles& operator=(ScopeHandles const&) = delete;

  /// A new scope with one handle, or null if all places are taken or no run is under way.
  [[nodiscard]] ScopeState* try_open();
  /// The state at the place; null if none has been there. It may be gone unless the caller has a value of its scope.
  [[nodiscard]] ScopeState* state(std::uint32_t place) const {
    return at_[place].state.load(std::memory_order_relaxed);
  }
  /// Gives the scope a deadline instead of the one that it has, or takes it from it. *Throws* std::bad_alloc, or
  /// std::system_error if there can be no thread.
  void set_deadline(ScopeState& state, Deadline const& deadline);
  /// The number of the deadline of the scope at the place, 0 if it has none.
  [[nodiscard]] std::atomic<std::uint64_t>& deadline(std::uint32_t place) const { return at_[place].deadline; }
  /// After a run: ends those that are open.
  void abandon_all(std::exception_ptr const& error) noexcept;

 private:
  struct At {
    std::atomic<ScopeState*> state{nullptr};  ///< its opener changes it, under `replacing_`
    std::atomic<std::uint64_t> deadline{0};   ///< the number of its scope's (H6)
  };
  void ended(std::uint32_t place, std::exception_ptr const& error) noexcept override;
  [[nodiscard]] bool is_waiting(PlacedWord scope) const noexcept override {
    return deadline(scope.place).load(std::memory_order_relaxed) == scope.word;
  }
  void expire(PlacedWord scope) noexcept override;
  /// Another state for a place that the caller has.
  [[nodiscard]] ScopeState& replace(std::uint32_t place);

  Scopes::Places& places_;
  std::mutex replacing_;
  std::unique_ptr<At[]> at_;  ///< of each place
  std::atomic<std::uint64_t> last_deadline_{0};
  Deadlines deadlines_;  ///< its thread uses the others
};

}  // namespace hiway::detail
