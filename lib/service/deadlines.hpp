// Deadlines: a thread that gives up requests at their deadlines. It is made for the first request that has one.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "hiway/service/deadline.hpp"

namespace hiway {

/// A request at a place. Its word differs from those of earlier and later ones there.
struct PlacedRequest {
  std::uint32_t place;
  std::uint64_t word;
};

/// Implemented by the service.
class Expiry {
 public:
  [[nodiscard]] virtual bool is_waiting(PlacedRequest request) const noexcept = 0;
  /// The request's deadline has come; it may have been settled.
  virtual void expire(PlacedRequest request) noexcept = 0;

 protected:
  ~Expiry() = default;
};

/// *Threads*: any, but for the destructor.
class Deadlines {
 public:
  /// `most` requests are waiting at once.
  Deadlines(Expiry& expiry, std::size_t most) : expiry_(expiry), most_(most) {}
  ~Deadlines();
  Deadlines(Deadlines const&) = delete;
  Deadlines& operator=(Deadlines const&) = delete;

  /// *Throws* std::bad_alloc, or std::system_error if there can be no thread.
  void add(Deadline::Clock::time_point at, PlacedRequest request);

 private:
  struct Entry {
    Deadline::Clock::time_point at;
    PlacedRequest request;
  };
  static bool later(Entry const& a, Entry const& b) { return a.at > b.at; }
  void drop_settled();
  void run() noexcept;

  Expiry& expiry_;
  std::size_t const most_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ends_ = false;        ///< guarded by mutex_, as the entries
  std::vector<Entry> heap_;  ///< the earliest first; with some that have been settled
  std::thread thread_;
};

}  // namespace hiway
