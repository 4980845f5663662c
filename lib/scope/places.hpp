// What a kind of scopes is made of: a place for each that may be open, and the mail of each device.
#pragma once
#include <atomic>
#include <boost/lockfree/stack.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "hiway/scope/scopes.hpp"
#include "lib/word_copies.hpp"

namespace hiway {

class Homes;

namespace detail {

/// What a scope's handles and its place share. It outlives the scope for handles that ask for its outcome.
struct ScopeState {
  explicit ScopeState(std::uint32_t at) : place(at) {}

  /// Adds to what is outstanding; false if the scope is closed, or has ended.
  [[nodiscard]] bool add(ScopeCount& count, std::uint64_t value);
  /// Closes it; true if nothing is outstanding.
  [[nodiscard]] bool close(ScopeCount& count);

  std::uint32_t const place;
  std::shared_ptr<ScopeState> self;  ///< while its place refers to it
  std::atomic<bool> ended{false};    ///< released after `error`
  // Guarded by `mutex`; `error` until it has ended.
  std::mutex mutex;
  bool closed = false;
  std::exception_ptr error;
  std::vector<std::function<void(std::exception_ptr)>> thens;
};

/// What all handles of a scope share: the last one closes it.
class OpenScope {
 public:
  OpenScope(Scopes::Places& places, std::shared_ptr<ScopeState> state) : places_(places), state_(std::move(state)) {}
  ~OpenScope() { close(); }
  OpenScope(OpenScope const&) = delete;
  OpenScope& operator=(OpenScope const&) = delete;

  void close();
  [[nodiscard]] ScopeState& state() const { return *state_; }
  [[nodiscard]] Scopes::Places& places() const { return places_; }

 private:
  Scopes::Places& places_;
  std::shared_ptr<ScopeState> state_;
};

}  // namespace detail

struct Scopes::Places {
  Places(std::string named, ScopesConfig config, ScopeEnds& ends);

  /// The hold of an open scope (S5).
  static constexpr std::uint64_t hold = 1;

  /// A place with a new scope, or null if all are taken.
  [[nodiscard]] std::shared_ptr<detail::ScopeState> try_open();
  /// Ends the scope at the place, if that has not been done.
  void end(std::uint32_t place, std::exception_ptr const& error) noexcept;
  /// Reads the mail of all devices. True if there was any, or another thread reads it.
  bool hear() noexcept;

  std::string name;
  std::size_t most_open;
  std::atomic<bool> live{false};  ///< a run is under way
  std::unique_ptr<ScopeCount[]> counts;
  std::unique_ptr<std::atomic<detail::ScopeState*>[]> states;  ///< null: the place is free
  boost::lockfree::stack<std::uint32_t> free_places;
  ScopeTable host;  ///< at the host

  struct Mail {
    Home home;
    ScopeTable* table;                ///< at the device
    ScopeMail slots;                  ///< where its slots are
    std::atomic<std::uint64_t> read;  ///< letters
  };
  std::vector<std::unique_ptr<Mail>> mails;  ///< one for each device; changed between runs only
  std::mutex reading;
};

/// For the pipeline.
struct ScopesAccess {
  /// Places the words at the homes that have none yet.
  static void place(Scopes& scopes, Homes& homes);
  [[nodiscard]] static ScopeTable* table(Scopes& scopes, Home home);
  static void begin_run(Scopes& scopes) noexcept;
  static bool hear(Scopes& scopes) noexcept { return scopes.places_->hear(); }
  [[nodiscard]] static bool has_mail(Scopes const& scopes) { return !scopes.places_->mails.empty(); }
  /// Ends all that are open: with the run's error, or well.
  static void end_run(Scopes& scopes, std::exception_ptr const& error) noexcept;
};

}  // namespace hiway
