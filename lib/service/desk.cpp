// ServiceDesk. Its requests are scopes without handles (lib/scope/places.hpp). A word for each place says which request
// is there, and how it is; the others stand in places.hpp:
//
//   word (low bits)    becomes             by
//   none               waiting             the request's submitter, which has the place
//   waiting            replied             its first reply, which is then written
//   waiting, replied   ending, none        the end of its scope, which settles it in between
//   waiting, replied   expiring, expired   its deadline, which settles it in between
//   expired            none                the end of its scope, which frees the place
//
//   D1  A request is settled by the thread that takes its word from `waiting` or `replied`, once
//   D2  What is at the place is the settling thread's until leave(). The end of a scope awaits `expired`, so no other
//       request takes the place before
//   D3  A submitter makes its word `waiting`, then reads whether the service is stopped; stop() does it in the other
//       order. So stop() sees the request, or the request is refused
//   D4  A request is counted as settled before its word is `none` or `expired`, and as returned when its receiver has
//       its result. So stop() knows how many results it is to wait for once each word is `none`
#include "hiway/service/desk.hpp"

#include <array>
#include <atomic>
#include <mutex>

#include "counts.hpp"
#include "hiway/inlet/close.hpp"
#include "hiway/log.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "hiway/machine/time_left.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/scope/host.hpp"
#include "lib/named_failure.hpp"
#include "lib/pipeline_access.hpp"
#include "lib/scope/deadlines.hpp"
#include "lib/scope/places.hpp"

namespace hiway {
namespace {

using Count = ServiceCounts::Of;
using namespace std::chrono_literals;

constexpr std::uint64_t none = 0;
constexpr std::uint64_t waiting = 1;
constexpr std::uint64_t replied = 2;
constexpr std::uint64_t expiring = 3;
constexpr std::uint64_t expired = 4;
constexpr std::uint64_t ending = 5;
constexpr std::uint64_t state_mask = 7;
constexpr std::uint64_t next_request = 8;

constexpr std::uint64_t state_of(std::uint64_t word) { return word & state_mask; }
constexpr bool is_unsettled(std::uint64_t word) { return state_of(word) == waiting || state_of(word) == replied; }
constexpr std::uint64_t with_state(std::uint64_t word, std::uint64_t state) { return (word & ~state_mask) | state; }

/// How long a callback's put may wait.
constexpr auto patience_in_callbacks = 1ms;
thread_local bool in_callback = false;

std::exception_ptr deadline_exceeded() {
  return std::make_exception_ptr(DeadlineExceeded("service: no reply by the request's deadline"));
}
std::exception_ptr stopped() {
  return std::make_exception_ptr(ServiceStopped("service: it is stopped, and takes no more requests"));
}
std::exception_ptr full() {
  return std::make_exception_ptr(
      ServiceFull("service: a callback submits a request, for which there is no room; it does not wait"));
}

Scopes& scopes_of(TunnelBase const& requests, TunnelBase const& replies) {
  std::string const tunnels = "service: tunnels '" + requests.name() + "' and '" + replies.name() + "'";
  if (requests.scopes() == nullptr || requests.scopes() != replies.scopes())
    throw ConfigError(tunnels + " must have scopes of one kind");
  if (requests.from_gpu() || replies.to_gpu())
    throw ConfigError(tunnels + ": requests are put, and replies got, on the CPU");
  return *requests.scopes();
}

}  // namespace

struct detail::ServiceDesk::Core final : ScopeKeeper, Expiry {
  Core(ServiceDesk& owner, Pipeline& pipe, TunnelBase& requests, TunnelBase& replies)
      : desk(owner),
        places(ScopesAccess::places(scopes_of(requests, replies))),
        inlet(PipelineAccess::open_inlet(pipe, requests)),
        deadlines(*this, places.most_open) {}

  [[nodiscard]] std::atomic<std::uint64_t>& word(std::uint32_t place) const noexcept { return desk.word(place); }
  [[nodiscard]] std::uint32_t run() const { return StageThread{}.load(places.host.run, MemoryOrder::acquire); }
  [[nodiscard]] bool is_stopped() const { return stopped_run.load(std::memory_order_seq_cst) == run(); }

  // ---- how a request ends
  void settle(std::uint32_t place, std::exception_ptr const& error) noexcept;
  /// Takes the request for its deadline; false if it is settled otherwise.
  [[nodiscard]] bool takes_for_deadline(PlacedWord request) noexcept;
  void settle_expired(std::uint32_t place) noexcept;
  void expire(PlacedWord request) noexcept override;
  void ended(std::uint32_t place, std::exception_ptr const& error) noexcept override;
  [[nodiscard]] bool is_waiting(PlacedWord request) const noexcept override {
    std::uint64_t const seen = word(request.place).load(std::memory_order_relaxed);
    return is_unsettled(seen) && with_state(seen, waiting) == request.word;
  }

  ServiceDesk& desk;
  Scopes::Places& places;
  InletView const inlet;
  ServiceCounts counts;
  std::atomic<std::uint64_t> stopped_run{~std::uint64_t{0}};
  std::mutex stopping;
  bool has_ended = false;  ///< the service's own run; guarded by `stopping`
  Deadlines deadlines;     ///< its thread uses the others
};

// ---- how a request ends

/// Gives the receiver its result. The calling thread has taken the word from `waiting` (D1).
void detail::ServiceDesk::Core::settle(std::uint32_t place, std::exception_ptr const& error) noexcept {
  bool const was_in_callback = std::exchange(in_callback, true);
  desk.settle(place, error);
  in_callback = was_in_callback;
  counts.add(Count::returned);  // D4
}

void detail::ServiceDesk::leave(std::uint32_t place) noexcept {
  std::atomic<std::uint64_t>& word = this->word(place);
  std::uint64_t const now = word.load(std::memory_order_relaxed);
  if (state_of(now) == expiring) {
    word.store(with_state(now, expired), std::memory_order_release);  // D2
  } else {
    word.store(with_state(now, none), std::memory_order_release);  // D4
    core_->places.free(place);
  }
}

bool detail::ServiceDesk::Core::takes_for_deadline(PlacedWord request) noexcept {
  std::atomic<std::uint64_t>& word = this->word(request.place);
  std::uint64_t seen = request.word;
  while (!word.compare_exchange_strong(seen, with_state(seen, expiring))) {  // D1
    if (!is_unsettled(seen) || with_state(seen, waiting) != request.word) return false;
  }
  return true;
}

void detail::ServiceDesk::Core::settle_expired(std::uint32_t place) noexcept {
  counts.add(Count::expired);  // D4
  settle(place, deadline_exceeded());
}

void detail::ServiceDesk::Core::expire(PlacedWord request) noexcept {
  if (!takes_for_deadline(request)) return;
  places.cancel(request.place, deadline_exceeded());  // its scope's place until it is settled (D2)
  settle_expired(request.place);
}

void detail::ServiceDesk::Core::ended(std::uint32_t place, std::exception_ptr const& error) noexcept {
  std::atomic<std::uint64_t>& word = this->word(place);
  std::uint64_t seen = word.load(std::memory_order_relaxed);
  while (is_unsettled(seen)) {
    if (!word.compare_exchange_strong(seen, with_state(seen, ending))) continue;  // D1
    bool const has_reply = state_of(seen) == replied;
    counts.add(!error && has_reply ? Count::answered : Count::failed);  // D4
    if (error || has_reply) return settle(place, error);
    return settle(place, std::make_exception_ptr(NoReply("service: the request's tasks have ended without a reply")));
  }
  for (unsigned misses = 0; state_of(seen) == expiring; ++misses) {  // D2
    relax_thread(misses);
    seen = word.load(std::memory_order_acquire);
  }
  word.store(with_state(seen, none), std::memory_order_relaxed);
  places.free(place);
}

void detail::require_no_callback(char const* call) {
  if (in_callback) throw MisuseError("service: " + std::string(call) + " in a callback, which it would wait for");
}

void detail::log_thrown_by_callback() noexcept {
  try {
    log(LogLevel::warning, "service: a callback has thrown, which is dropped: " + what_of(std::current_exception()));
  } catch (...) {  // there is no memory for the message
  }
}

// ---- how a request begins

detail::ServiceDesk::ServiceDesk(Pipeline& pipe, TunnelBase& requests, TunnelBase& replies)
    : core_(std::make_unique<Core>(*this, pipe, requests, replies)) {}
detail::ServiceDesk::~ServiceDesk() = default;

std::size_t detail::ServiceDesk::place_count() const { return core_->places.most_open; }
InletView const& detail::ServiceDesk::inlet() const { return core_->inlet; }

std::chrono::nanoseconds detail::ServiceDesk::patience(Deadline const& deadline) const {
  return in_callback ? std::min<std::chrono::nanoseconds>(deadline.left(), patience_in_callbacks) : deadline.left();
}

std::optional<std::uint32_t> detail::ServiceDesk::admit(Deadline const& deadline, std::exception_ptr& error) {
  require_thread();
  Core& core = *core_;
  core.counts.add(Count::submitted);
  TimeLeft time(deadline.left());
  PlaceWait wait(core.places.times);
  for (unsigned misses = 0;; ++misses) {
    Count refused = Count::refused;
    if (core.is_stopped()) {
      error = stopped();
    } else if (!deadline.is_never() && !time.is_left()) {
      error = deadline_exceeded();
      refused = Count::too_late;
    } else if (auto const place = core.places.take(misses != 0)) {
      __builtin_prefetch(&core.word(core.places.free_places.soon(*place)), 1);
      return place;
    } else if (!core.places.live.load(std::memory_order_acquire)) {
      error = core.places.refusal();
    } else if (in_callback) {
      error = full();
    } else {
      pause_thread(64);  // some 2 us, for the same reason as few places are looked at
      wait.miss();
      time.relax(misses);
      continue;
    }
    core.counts.add(refused);
    return std::nullopt;
  }
}

std::optional<std::uint64_t> detail::ServiceDesk::open(std::uint32_t place, Deadline const& deadline) {
  Core& core = *core_;
  std::uint64_t const word = with_state(core.word(place).load(std::memory_order_relaxed) + next_request, waiting);
  core.word(place).store(word, std::memory_order_seq_cst);  // D3
  std::uint64_t const value = value_from_outside(core.inlet.end->scope_road);
  bool const is_live = core.places.open(place, core, value);
  std::exception_ptr error;
  try {
    if (!is_live) {
      error = core.places.refusal();
    } else if (core.is_stopped()) {
      error = stopped();
    } else if (!deadline.is_never()) {
      core.deadlines.add(deadline.at(), {place, word});
    }
  } catch (...) {
    error = std::current_exception();
  }
  if (!error) return scope_word(place, value);
  core.places.abandon(place, error);
  return std::nullopt;
}

void detail::ServiceDesk::sent(std::uint32_t place, Put result) noexcept {
  Core& core = *core_;
  switch (result) {
    case Put::done:
    case Put::aborted:  // the value is lost, as all are in this run
      return core.places.close(place);
    case Put::closed: return core.places.abandon(place, stopped());
    case Put::full:
      if (in_callback) return core.places.abandon(place, full());
      if (core.takes_for_deadline({place, with_state(core.word(place).load(std::memory_order_relaxed), waiting)}))
        core.settle_expired(place);
      return core.places.abandon(place, nullptr);
  }
}

bool detail::ServiceDesk::claims_reply(std::uint32_t place) noexcept {
  core_->places.expect_end(place);
  std::uint64_t seen = word(place).load(std::memory_order_relaxed);
  return state_of(seen) == waiting &&
         word(place).compare_exchange_strong(seen, with_state(seen, replied), std::memory_order_relaxed);
}

// ---- all of them

void detail::ServiceDesk::stop() {
  require_no_callback("stop()");
  Core& core = *core_;
  std::scoped_lock const lock(core.stopping);
  if (!core.places.live.load(std::memory_order_acquire) || core.is_stopped()) return;
  core.stopped_run.store(core.run(), std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < core.places.most_open; ++i) {
    for (unsigned misses = 0; state_of(core.word(i).load(std::memory_order_seq_cst)) != none; ++misses)
      relax_thread(misses);  // D3
  }
  std::uint64_t const settled =
      core.counts.sum(Count::answered) + core.counts.sum(Count::failed) + core.counts.sum(Count::expired);
  for (unsigned misses = 0; core.counts.sum(Count::returned) < settled; ++misses) relax_thread(misses);
  if (core.places.live.load(std::memory_order_acquire)) close(StageThread{}, core.inlet);
}

void detail::ServiceDesk::end_run(Pipeline& own) {
  std::scoped_lock const lock(core_->stopping);
  if (!std::exchange(core_->has_ended, true)) static_cast<void>(own.wait());
}

ServiceStats detail::ServiceDesk::stats() const {
  ServiceCounts const& counts = core_->counts;
  ServiceStats s;
  s.answered = counts.sum(Count::answered);
  s.failed = counts.sum(Count::failed) + counts.sum(Count::refused);
  s.expired = counts.sum(Count::expired) + counts.sum(Count::too_late);
  s.submitted = counts.sum(Count::submitted);  // last: it is no less than the others' sum
  s.under_way = s.submitted - s.answered - s.failed - s.expired;
  return s;
}

}  // namespace hiway
