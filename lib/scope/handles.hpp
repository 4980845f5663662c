// Handles of scopes: what Scope, which a program holds, refers to.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "places.hpp"

namespace hiway::detail {

/// What a scope's handles and its place share. It outlives the scope for handles that ask for its outcome.
class ScopeState {
 public:
  using Then = std::function<void(std::exception_ptr)>;

  ScopeState(Scopes::Places& places, std::uint32_t place) : places_(places), place_(place) {}

  [[nodiscard]] Scopes::Places& places() const { return places_; }
  [[nodiscard]] std::uint32_t place() const { return place_; }
  /// Adds to what is outstanding; false if the scope is closed, or has ended.
  [[nodiscard]] bool add(std::uint64_t value);
  /// Calling it again does nothing.
  void close() noexcept;
  /// The same after its run: it ends now, whatever is outstanding; with `error` if it had none.
  void abandon(std::exception_ptr const& error) noexcept;
  /// Of a scope that has ended it does nothing.
  void cancel() noexcept;
  void then(Then f);
  /// What its place hears. The place is free before `has_ended`: late handles do not count at it.
  void end(std::exception_ptr const& error) noexcept;
  [[nodiscard]] bool has_ended() const { return ended_.load(std::memory_order_acquire); }
  /// Once it has ended.
  [[nodiscard]] std::exception_ptr const& error() const { return error_; }

 private:
  /// True once: the caller takes the hold back.
  [[nodiscard]] bool closes() noexcept;

  Scopes::Places& places_;
  std::uint32_t const place_;
  std::atomic<bool> ended_{false};  ///< released after `error_`
  // Guarded by `mutex_`; `error_` until it has ended.
  std::mutex mutex_;
  bool closed_ = false;
  std::exception_ptr error_;
  std::vector<Then> thens_;
};

/// What all handles of a scope share: the last one closes it.
class OpenScope {
 public:
  explicit OpenScope(std::shared_ptr<ScopeState> state) : state_(std::move(state)) {}
  ~OpenScope() { state_->close(); }
  OpenScope(OpenScope const&) = delete;
  OpenScope& operator=(OpenScope const&) = delete;

  [[nodiscard]] ScopeState& state() const { return *state_; }

 private:
  std::shared_ptr<ScopeState> state_;
};

/// Keeps the scopes that have handles.
class ScopeHandles final : public ScopeKeeper {
 public:
  explicit ScopeHandles(Scopes::Places& places);

  /// A new scope, or null if all places are taken or no run is under way.
  [[nodiscard]] std::shared_ptr<ScopeState> try_open();
  /// After a run: ends those that are open.
  void abandon_all(std::exception_ptr const& error) noexcept;

 private:
  struct Slot {
    std::mutex mutex;
    std::shared_ptr<ScopeState> state;
  };
  void ended(std::uint32_t place, std::exception_ptr const& error) noexcept override;

  Scopes::Places& places_;
  std::unique_ptr<Slot[]> slots_;
};

}  // namespace hiway::detail
