#include "times.hpp"

#include <algorithm>
#include <bit>
#include <ctime>

#include "free_places.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway::detail {
namespace {

std::int64_t now_ns() noexcept { return static_cast<std::int64_t>(ThreadMachine{}.now_ns()); }

// A time and its place in one word, which compares by the time: 44 bits of 64 ns, 20 of place.
constexpr unsigned place_bits = 20;
constexpr unsigned time_shift = 6;
constexpr std::uint64_t longest = (std::uint64_t{1} << (64 - place_bits)) - 1;

std::uint64_t slow_word(std::uint32_t place, std::uint64_t ns) {
  return std::min(ns >> time_shift, longest) << place_bits | place;
}
std::uint64_t time_in(std::uint64_t slow) { return slow >> place_bits << time_shift; }
std::uint32_t place_in(std::uint64_t slow) {
  return static_cast<std::uint32_t>(slow & ((std::uint64_t{1} << place_bits) - 1));
}

// The lowest bits of the time at which a scope was opened.
constexpr std::int64_t timed = 1;              ///< by the fine clock
constexpr std::int64_t stands_for_others = 2;  ///< it is one of eight
constexpr std::int64_t time_bits = timed | stands_for_others;

constexpr std::uint64_t one_in = 8;
constexpr std::int64_t long_ns = 16'000'000;  ///< some ticks of the coarse clock

/// The steady clock, up to a tick late: some 5 ns.
std::int64_t coarse_ns() noexcept {
#if defined(CLOCK_MONOTONIC_COARSE)
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
#else
  return now_ns();
#endif
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

}  // namespace

// ---- buckets

std::size_t TimeBuckets::bucket_of(std::uint64_t ns) noexcept {
  if (ns < parts) return ns;
  unsigned const bit = static_cast<unsigned>(std::bit_width(ns)) - 1;
  std::size_t const part = (ns >> (bit - 3)) % parts;
  return std::min((bit - 2) * parts + part, bucket_count - 1);
}

std::uint64_t TimeBuckets::time_of(std::size_t bucket) noexcept {
  if (bucket < parts) return bucket;
  std::size_t const shift = bucket / parts - 1;
  std::uint64_t const width = std::uint64_t{1} << shift;
  return (parts + bucket % parts) * width + width / 2;
}

void TimeBuckets::add_to(Sums& sums) const noexcept {
  for (std::size_t b = 0; b < bucket_count; ++b) sums[b] += counts_[b].load(std::memory_order_relaxed);
}

std::uint64_t TimeBuckets::quantile(Sums const& sums, double fraction) {
  std::uint64_t all = 0;
  for (std::uint64_t const n : sums) all += n;
  if (all == 0) return 0;
  auto rank = static_cast<std::uint64_t>(fraction * static_cast<double>(all - 1) + 0.5);
  std::size_t bucket = 0;
  while (rank >= sums[bucket]) rank -= sums[bucket++];
  return time_of(bucket);
}

// ---- scopes

ScopeTimes::Line& ScopeTimes::own_line() noexcept { return lines_[number_of_this_thread() % lines_.size()]; }

std::uint64_t ScopeTimes::sum(std::atomic<std::uint64_t> Line::*count) const noexcept {
  std::uint64_t all = 0;
  for (Line const& line : lines_) all += (line.*count).load(std::memory_order_acquire);
  return all;
}

std::int64_t ScopeTimes::open() noexcept {
  std::uint64_t const before = own_line().opened.fetch_add(1, std::memory_order_relaxed);
  if (before < first_ones || records_.load(std::memory_order_relaxed)) return (now_ns() & ~time_bits) | timed;
  if (before % one_in != 0) return coarse_ns() & ~time_bits;
  return (now_ns() & ~time_bits) | timed | stands_for_others;
}

void ScopeTimes::end(std::uint32_t place, std::int64_t opened_ns, ScopeOutcome outcome) noexcept {
  bool const is_timed = (opened_ns & timed) != 0;
  std::int64_t const now = is_timed ? now_ns() : coarse_ns();
  std::int64_t const length = std::max<std::int64_t>(0, now - opened_ns);
  auto const ns = static_cast<std::uint64_t>(length);
  Line& line = own_line();
  if (outcome == ScopeOutcome::failed) line.failed.fetch_add(1, std::memory_order_relaxed);
  if (outcome == ScopeOutcome::cancelled) line.cancelled.fetch_add(1, std::memory_order_relaxed);
  if (is_timed || length >= long_ns) {
    bool const others = (opened_ns & stands_for_others) != 0 && length < long_ns;
    line.times.add(ns, others ? one_in : 1);
    std::uint64_t const slow = slow_word(place, ns);
    for (std::uint64_t seen = line.slowest.load(std::memory_order_relaxed);
         slow > seen && !line.slowest.compare_exchange_weak(seen, slow, std::memory_order_relaxed);) {
    }
  }
  if (records_.load(std::memory_order_relaxed)) record({opened_ns, now, place, outcome, {}});
  line.ended.fetch_add(1, std::memory_order_release);  // what counts it as ended counts it as opened, too
}

void ScopeTimes::waited(std::int64_t ns) noexcept {
  Line& line = own_line();
  line.waits.fetch_add(1, std::memory_order_relaxed);
  line.wait_ns.fetch_add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, ns)), std::memory_order_relaxed);
}

// ---- a run

void ScopeTimes::begin_run(bool traced) noexcept {
  opened_before_ = sum(&Line::opened);
  ended_before_ = sum(&Line::ended);
  times_before_ = times();
  for (Line& line : lines_) {
    for (auto* const count : {&line.failed, &line.cancelled, &line.waits, &line.wait_ns, &line.slowest})
      count->store(0, std::memory_order_relaxed);
  }
  std::scoped_lock const lock(mutex_);
  kept_.clear();
  least_ns_ = 0;
  records_.store(traced, std::memory_order_relaxed);
}

void ScopeTimes::end_run() noexcept { records_.store(false, std::memory_order_relaxed); }

TimeBuckets::Sums ScopeTimes::times() const noexcept {
  TimeBuckets::Sums sums{};
  for (Line const& line : lines_) line.times.add_to(sums);
  return sums;
}

ScopesReport ScopeTimes::report() const {
  ScopesReport r;
  TimeBuckets::Sums in_run = times();
  for (std::size_t b = 0; b < in_run.size(); ++b) in_run[b] -= times_before_[b];
  std::uint64_t const ended = sum(&Line::ended);  // before what was opened
  std::uint64_t const opened = sum(&Line::opened);
  r.ended = ended - ended_before_;
  r.opened = opened - opened_before_;
  r.open = opened - ended;
  r.failed = sum(&Line::failed);
  r.cancelled = sum(&Line::cancelled);
  r.waits = sum(&Line::waits);
  r.wait_seconds = static_cast<double>(sum(&Line::wait_ns)) / 1e9;
  std::uint64_t slowest = 0;
  for (Line const& line : lines_) slowest = std::max(slowest, line.slowest.load(std::memory_order_relaxed));
  std::uint64_t const most = time_in(slowest);  // a bucket reaches beyond it
  r.median_us = us(std::min(most, TimeBuckets::quantile(in_run, 0.5)));
  r.p99_us = us(std::min(most, TimeBuckets::quantile(in_run, 0.99)));
  r.slowest_us = us(most);
  r.slowest_place = place_in(slowest);
  return r;
}

// ---- of a traced run

void ScopeTimes::record(ScopeRecord const& one) noexcept {
  try {
    std::vector<ScopeVisit> seen = visits.take(one.place);
    std::scoped_lock const lock(mutex_);
    if (one.length() < least_ns_) return;
    kept_.push_back(one);
    kept_.back().visits = std::move(seen);
    if (kept_.size() >= most_records) keep_the_longest();
  } catch (...) {  // no memory: a trace lacks it
  }
}

void ScopeTimes::keep_the_longest() {
  auto const half = kept_.begin() + static_cast<std::ptrdiff_t>(kept_.size() / 2);
  std::ranges::nth_element(kept_, half, std::ranges::greater{}, &ScopeRecord::length);
  least_ns_ = half->length();
  kept_.erase(half, kept_.end());
}

std::vector<ScopeRecord> ScopeTimes::records() {
  std::scoped_lock const lock(mutex_);
  return kept_;
}

// ---- waits

void PlaceWait::miss() noexcept {
  if (since_ns_ == 0) since_ns_ = now_ns();
}

PlaceWait::~PlaceWait() {
  if (since_ns_ != 0) times_.waited(now_ns() - since_ns_);
}

}  // namespace hiway::detail
