// Deadlines: a thread that gives up scopes, or a service's requests, at their deadlines. It is made for the first one.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "hiway/deadline.hpp"

namespace hiway {

/// What has a deadline: a scope, or a request, at a place. Its word differs from those of earlier and later ones there.
struct PlacedWord {
  std::uint32_t place;
  std::uint64_t word;
};

/// Implemented by what gives up.
class Expiry {
 public:
  [[nodiscard]] virtual bool is_waiting(PlacedWord of) const noexcept = 0;
  /// The deadline has come; perhaps `of` is over.
  virtual void expire(PlacedWord of) noexcept = 0;

 protected:
  ~Expiry() = default;
};

/// *Threads*: any, but for the destructor.
class Deadlines {
 public:
  /// `most` are waiting at once.
  Deadlines(Expiry& expiry, std::size_t most) : expiry_(expiry), most_(most) {}
  ~Deadlines();
  Deadlines(Deadlines const&) = delete;
  Deadlines& operator=(Deadlines const&) = delete;

  /// *Throws* std::bad_alloc, or std::system_error if there can be no thread.
  void add(Deadline::Clock::time_point at, PlacedWord of);

 private:
  struct Entry {
    Deadline::Clock::time_point at;
    PlacedWord of;
  };
  static bool later(Entry const& a, Entry const& b) { return a.at > b.at; }
  void drop_those_over();
  void run() noexcept;

  Expiry& expiry_;
  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;        ///< guarded by mutex_, as the entries
  std::vector<Entry> heap_;  ///< the earliest first; with some that are over
  std::thread thread_;
};

}  // namespace hiway
