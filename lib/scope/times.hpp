// ScopeTimes: how many scopes of a kind were opened, how they ended, and how long each was open. A thread counts in one
// of a few lines, so threads seldom meet.
//
// A look at the clock takes 25 to 50 ns, a tenth of what a service's request takes. So of many scopes one in eight is
// timed by it, and stands for eight. The others are timed by the kernel's coarse clock, which is up to 4 ms late: of
// these only what takes 16 ms or more counts. In a traced run each scope is timed. What a scope's time is read from
// stands in its two lowest bits.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "hiway/report.hpp"
#include "hiway/scope/table.hpp"
#include "visits.hpp"

namespace hiway::detail {

/// Counts times in buckets whose width is an eighth of the power of two below: a quantile is off by a sixteenth at
/// most. *Threads*: any.
class TimeBuckets {
  static constexpr unsigned parts = 8;         ///< buckets of a power of two
  static constexpr unsigned longest_bit = 43;  ///< some hours; what takes longer is in the last bucket
  static constexpr std::size_t bucket_count = (longest_bit - 1) * parts;

 public:
  using Sums = std::array<std::uint64_t, bucket_count>;

  void add(std::uint64_t ns, std::uint64_t times = 1) noexcept {
    counts_[bucket_of(ns)].fetch_add(times, std::memory_order_relaxed);
  }
  void add_to(Sums& sums) const noexcept;
  /// Below it lies this fraction, 0 to 1, of what `sums` has counted; 0 if that is nothing.
  [[nodiscard]] static std::uint64_t quantile(Sums const& sums, double fraction);

 private:
  [[nodiscard]] static std::size_t bucket_of(std::uint64_t ns) noexcept;
  /// In the middle of the bucket.
  [[nodiscard]] static std::uint64_t time_of(std::size_t bucket) noexcept;

  std::array<std::atomic<std::uint64_t>, bucket_count> counts_{};
};

/// A scope that has ended; times are of the steady clock.
struct ScopeRecord {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t place = 0;
  ScopeOutcome outcome = ScopeOutcome::well;
  std::vector<ScopeVisit> visits;
  [[nodiscard]] std::int64_t length() const { return end_ns - begin_ns; }
};

/// *Threads*: any, but for begin_run() and end_run().
class ScopeTimes {
 public:
  static constexpr std::size_t most_records = std::size_t{1} << 14;

  /// So many scopes of each line are timed before one in eight is.
  static constexpr std::uint64_t first_ones = 1024;

  /// Counts a scope. Returns the time, by the steady clock.
  [[nodiscard]] std::int64_t open() noexcept;
  void end(std::uint32_t place, std::int64_t opened_ns, ScopeOutcome outcome) noexcept;
  /// An opener has waited for a place.
  void waited(std::int64_t ns) noexcept;

  /// Forgets the last run, but for scopes that are open.
  void begin_run(bool traced) noexcept;
  /// Of a traced run; `records()` have them.
  ScopeVisits visits;

  /// From then on nothing is recorded.
  void end_run() noexcept;
  /// All but what a kind of scopes says itself.
  [[nodiscard]] ScopesReport report() const;
  /// Of a run that is traced and has ended. If there were more than fit, the longest.
  [[nodiscard]] std::vector<ScopeRecord> records();

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> opened{0};  ///< in all runs, as `ended` and `times`: a scope may end after its run
    std::atomic<std::uint64_t> ended{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> cancelled{0};
    std::atomic<std::uint64_t> waits{0};
    std::atomic<std::uint64_t> wait_ns{0};
    std::atomic<std::uint64_t> slowest{0};  ///< slow_word
    TimeBuckets times;
  };
  [[nodiscard]] Line& own_line() noexcept;
  [[nodiscard]] std::uint64_t sum(std::atomic<std::uint64_t> Line::*count) const noexcept;
  [[nodiscard]] TimeBuckets::Sums times() const noexcept;
  void record(ScopeRecord const& one) noexcept;
  void keep_the_longest();

  std::array<Line, 16> lines_;
  // Of earlier runs.
  std::uint64_t opened_before_ = 0;
  std::uint64_t ended_before_ = 0;
  TimeBuckets::Sums times_before_{};
  std::atomic<bool> records_{false};
  std::mutex mutex_;
  std::vector<ScopeRecord> kept_;  ///< guarded by `mutex_`, as `least_ns_`
  std::int64_t least_ns_ = 0;      ///< what is shorter is not kept
};

/// How long an opener waits for a place; counted when it goes, if there was a miss.
class PlaceWait {
 public:
  explicit PlaceWait(ScopeTimes& times) : times_(times) {}
  ~PlaceWait();
  PlaceWait(PlaceWait const&) = delete;
  PlaceWait& operator=(PlaceWait const&) = delete;
  void miss() noexcept;

 private:
  ScopeTimes& times_;
  std::int64_t since_ns_ = 0;
};

}  // namespace hiway::detail
