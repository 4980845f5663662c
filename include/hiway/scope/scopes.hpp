// Scopes and Scope: how a program opens a scope, puts for it, and hears of its end. The rules stand in word.hpp.
#pragma once
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hiway/config.hpp"
#include "hiway/deadline.hpp"
#include "hiway/durations.hpp"
#include "hiway/error.hpp"
#include "hiway/scope/table.hpp"

namespace hiway {

struct ScopesAccess;

/// The error of a scope: the message of fail_scope_h or fail_scope_d.
struct ScopeFailed : Error {
  using Error::Error;
};

/// The error of a scope that has been cancelled.
struct ScopeCancelled : Error {
  using Error::Error;
};

namespace detail {
class ScopeState;
}  // namespace detail

/// A part of a run's work. Copies are the same scope; when the last one goes, it is closed. *Threads*: any.
class Scope {
 public:
  Scope() = default;
  Scope(Scope const& other) noexcept;
  Scope(Scope&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Scope& operator=(Scope other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Scope();

  /// Nothing more is put for it from outside. Calling it again does nothing.
  void close_h();
  /// Ends it with ScopeCancelled, once its tasks have ended: stages drop its items that wait, but for those in value
  /// form, whose results the next stage drops. More may still be put. Calling it again does nothing.
  void cancel();
  /// If it has not ended by then, it is cancelled, with DeadlineExceeded. `deadline`: a duration, a time of any clock,
  /// or `{}` for none; the last one counts. *Throws* std::system_error if there can be no thread.
  void set_deadline(Deadline deadline);
  /// *Waits* until every task of it has ended; close it first. *Throws* its error: ScopeFailed, ScopeCancelled, or
  /// Aborted if the run has failed, with the run's error nested. In a stage it throws Unwind when the run aborts.
  void wait() const;
  /// *Waits* at most this long; true when it has ended (call wait() for its outcome).
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> duration) const {
    return wait_at_most(at_most_for_ever(duration));
  }
  /// Calls `f()`, or `f(std::exception_ptr)` with its error or null, once, when it has ended: on the thread of the
  /// library's that finds that, or at once on this one if it has ended. `f` must be short, and neither wait nor throw.
  template <class F>
  void then(F f) const {
    if constexpr (std::invocable<F&, std::exception_ptr>) {
      call_then(std::move(f));
    } else {
      call_then([f = std::move(f)](std::exception_ptr const&) mutable { f(); });
    }
  }
  /// Its place: scope_index() of its tasks. Another scope may have it later.
  [[nodiscard]] std::uint32_t index() const;

 private:
  friend class Scopes;
  friend std::uint64_t detail::word_from_outside(Scope const& scope, InletView const& inlet);
  explicit Scope(detail::ScopeState& state) : state_(&state) {}
  [[nodiscard]] bool wait_at_most(std::chrono::nanoseconds duration) const;
  void call_then(std::function<void(std::exception_ptr)> f) const;

  detail::ScopeState* state_ = nullptr;  ///< it has this handle
};

/// A pipeline's scopes of one kind, made by Pipeline::create_scopes. *Threads*: any.
class Scopes final : private ScopeEnds {
 public:
  struct Places;  // lib/scope/places.hpp

  Scopes(std::string name, ScopesConfig config);
  ~Scopes();
  Scopes(Scopes const&) = delete;
  Scopes& operator=(Scopes const&) = delete;

  [[nodiscard]] std::string const& name() const;
  [[nodiscard]] std::size_t most_open() const;

  /// Opens a scope. *Waits* while `most_open` are open. *Throws* Aborted when no run is under way, or it has failed.
  [[nodiscard]] Scope open_h();
  /// The same, but does not wait: none if `most_open` are open.
  [[nodiscard]] std::optional<Scope> try_open_h();

 private:
  friend struct ScopesAccess;
  friend class Scope;
  friend std::uint64_t detail::word_from_outside(Scope const& scope, InletView const& inlet);
  void end_scope(std::uint32_t place) noexcept override;
  void fail_scope(std::uint32_t place, char const* message) noexcept override;
  void note_task(std::uint32_t place, std::uint32_t stage) noexcept override;

  std::unique_ptr<Places> places_;
};

}  // namespace hiway
