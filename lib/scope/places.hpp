// What a kind of scopes is made of: a place for each that may be open, and the mail of each device. A scope is opened
// at a place by a keeper, which hears of its end: the handles of a program (handles.hpp), a service. In a run that goes
// well and is not traced, opening, putting, closing and ending a scope take no lock and no memory.
//
//   word                   written by                         read by
//   outstanding[place]     S1 of scope/word.hpp; the sweep    the same
//   keeper[place]          the opener; the end clears it      the end, the sweep
//   live                   start and end of a run             openers
//
//   K1  The hold is one bit of `outstanding`, and only the opener takes it back. So what makes `outstanding` 0 is the
//       last of all, the opener included, and it alone calls ended(): the place stays the scope's until then
//   K2  After a run the sweep takes from `outstanding` all but the hold, for what was lost. If the opener has closed,
//       the sweep ends the scope; else the opener does when it closes. A thread of the user's own may give a value
//       back after the sweep: then less than the hold is left, and the opener ends the scope all the same
//   K3  An opener stores the keeper, then reads `live`; the sweep comes after `live` is false, and reads keepers. So
//       each scope is seen by the sweep, or its opener sees that the run has ended (open() is false). That it sees also
//       if the next run has begun, by the run's number, which it reads first: the sweep may have taken its value
//   K4  An error is left under `failing` before the value that would let the scope end is given back
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cancelled_words.hpp"
#include "free_places.hpp"
#include "hiway/scope/scopes.hpp"
#include "hiway/termination/words.hpp"
#include "lib/snapshot.hpp"
#include "lib/word_copies.hpp"
#include "times.hpp"

namespace hiway {

class Homes;
struct PlacedTunnel;

namespace detail {

class ScopeHandles;

/// Opens scopes, and hears of their ends.
class ScopeKeeper {
 public:
  /// All of the scope is over. The keeper gives the place back (Places::free), now or later. *Threads*: any, once for
  /// each scope; often one that must go on soon.
  virtual void ended(std::uint32_t place, std::exception_ptr const& error) noexcept = 0;

 protected:
  ~ScopeKeeper() = default;
};

}  // namespace detail

struct Scopes::Places {
  Places(std::string named, ScopesConfig config, ScopeEnds& ends);
  ~Places();
  Places(Places const&) = delete;
  Places& operator=(Places const&) = delete;

  /// Of the opener (S5), in `outstanding`.
  static constexpr std::uint64_t hold = std::uint64_t{1} << 63;

  /// Takes a place for a scope. None: all are taken, or no run is under way. `again`: the caller waits for one, and its
  /// first try gave none (FreePlaces::take_of_few).
  [[nodiscard]] std::optional<std::uint32_t> take(bool again = false) noexcept;
  /// Opens a scope at a place that the caller has taken, with a hold and `value` for an item that it puts then. False:
  /// the run has ended meanwhile; the caller closes or abandons the scope all the same.
  [[nodiscard]] bool open(std::uint32_t place, detail::ScopeKeeper& keeper, std::uint64_t value) noexcept;
  /// Adds a further item's value. Only between open() and close().
  void add(std::uint32_t place, std::uint64_t value) noexcept;
  /// The opener puts no more, and gives `rest` back of what it has added; it does not use the place again.
  void close(std::uint32_t place, std::uint64_t rest = 0) noexcept;
  /// The same for a scope of which nothing is in the run; it ends now, with `error` if it had none.
  void abandon(std::uint32_t place, std::exception_ptr const& error) noexcept;
  /// The scope will end with `error`, if it has none yet. The caller has a value of the scope's, or its hold.
  void fail(std::uint32_t place, std::exception_ptr const& error,
            detail::ScopeOutcome outcome = detail::ScopeOutcome::failed) noexcept;
  /// The caller's subtraction has made `outstanding` 0.
  void end(std::uint32_t place) noexcept;
  /// Whether a scope is there (K3).
  [[nodiscard]] bool has_scope(std::uint32_t place) const noexcept;
  /// Stages drop what waits of the scope, which ends with `error` if it has none yet. The caller knows that the place
  /// is still the scope's.
  void cancel(std::uint32_t place, std::exception_ptr const& error) noexcept;
  // The words of a place were written last by another thread, on another CPU. These have them brought before they are
  // needed, and wait for nothing.
  /// The calling thread will probably open or end a scope there before long.
  void expect(std::uint32_t place) const noexcept;
  /// It will probably end it, and give the place back.
  void expect_end(std::uint32_t place) const noexcept;
  /// Of a scope that has ended, or a place without one.
  void free(std::uint32_t place) noexcept;

  /// Why take() gives none although some are free. *Throws* std::bad_alloc.
  [[nodiscard]] std::exception_ptr refusal();
  /// Reads the mail of all devices. True if there was any, or another thread reads it.
  bool hear() noexcept;
  /// `traced_stages`: how many stages the run has, if it is traced; else 0.
  void begin_run(std::size_t traced_stages) noexcept;
  /// After all stages have returned: ends all scopes, but those that their openers are still to close.
  void end_run(std::exception_ptr const& error) noexcept;

  [[nodiscard]] ScopesReport report() const;
  /// Those that are open, the longest first, `most` at most.
  [[nodiscard]] std::vector<OpenScopeAge> oldest(std::size_t most) const;

  std::string name;
  std::size_t most_open;
  std::atomic<bool> live{false};  ///< a run is under way
  std::unique_ptr<ScopeCount[]> counts;
  detail::FreePlaces free_places;
  detail::CancelledWords cancelled;
  detail::ScopeTimes times;
  std::unique_ptr<detail::ScopeHandles> handles;
  ScopeTable host;  ///< at the host

  std::mutex failing;
  std::exception_ptr run_error;  ///< of the last run; guarded by `failing`

  struct Mail {
    Home home;
    ScopeTable* table;       ///< at the device
    ScopeMail view;          ///< where its letters are
    std::uint64_t read = 0;  ///< letters; guarded by `reading`
  };
  std::vector<std::unique_ptr<Mail>> mails;  ///< one for each device; changed between runs only
  std::mutex reading;
  bool may_hear = false;  ///< a run is under way, or its last letters are read; guarded by `reading`

 private:
  bool hear_all() noexcept;
  void sweep(std::uint32_t place, std::exception_ptr const& error) noexcept;
};

/// For the pipeline, and for what opens scopes without handles.
struct ScopesAccess {
  [[nodiscard]] static Scopes::Places& places(Scopes& scopes) { return *scopes.places_; }
  /// Places the words at the homes that have none yet.
  static void place(Scopes& scopes, Homes& homes);
  /// At the ends of a tunnel, if it has scopes.
  static void name_at(PlacedTunnel const& tunnel, Homes& homes);
  [[nodiscard]] static ScopeTable* table(Scopes& scopes, Home home);
  static void begin_run(Scopes& scopes, std::size_t traced_stages) noexcept {
    scopes.places_->begin_run(traced_stages);
  }
  static bool hear(Scopes& scopes) noexcept { return scopes.places_->hear(); }
  [[nodiscard]] static bool has_mail(Scopes const& scopes) { return !scopes.places_->mails.empty(); }
  /// Ends all that are open: with the run's error, or well.
  static void end_run(Scopes& scopes, std::exception_ptr const& error) noexcept { scopes.places_->end_run(error); }
};

}  // namespace hiway
