// ThreadTrace: what the CPU threads of stages did with their time. Each thread writes a trace of its own: always how
// long it waited for each tunnel, and in a traced run (PipelineConfig::trace) also when, as slices.
//
//   a hit          got()                    the wait, if there was one, is over; now and then a look at the clock
//   a miss         missed()                 the sixteenth in a row starts a wait: shorter ones cost less than the clock
//   a full tunnel  begin_put, end_put       around the tries of one put
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/machine/machine.hpp"
#include "hiway/machine/thread_machine.hpp"

namespace hiway {

/// How long the calling thread waited for one tunnel, in nanoseconds; other threads may read it meanwhile.
struct alignas(16) WaitWords {
  Word<std::uint64_t> items_ns{0};
  Word<std::uint64_t> room_ns{0};
};

/// What a thread did, from the steady clock's `begin_ns` to `end_ns`.
struct TraceSlice {
  enum class Kind : std::uint8_t { task, waits_for_items, waits_for_room };
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t first = 0;   ///< task: number of gets (source: puts) by the thread before the slice
  std::uint32_t gets = 0;    ///< task: number of gets (source: puts) in the slice
  std::uint32_t tunnel = 0;  ///< tunnel that the items came from (source: go to), or that was waited for
  Kind kind = Kind::task;
  [[nodiscard]] std::int64_t length() const { return end_ns - begin_ns; }
};

/// *Threads*: the traced thread only, so a stage's end asks is_own() first. const members from any thread, slices()
/// only after the traced thread has ended.
class ThreadTrace {
 public:
  /// Shorter tasks and waits get no slice. When there are too many slices, the limits double and the short ones are
  /// dropped.
  static constexpr std::int64_t least_task_ns = 100'000;
  static constexpr std::int64_t least_wait_ns = 10'000;
  static constexpr std::size_t most_slices = std::size_t{1} << 15;

  /// The thread begins. `records`: the run is traced. `source`: the thread gets nothing, so its puts are traced.
  /// `waits`: one for each tunnel.
  void begin(bool records, bool source, std::vector<WaitWords>& waits);
  void end();
  /// The calling thread is the traced one.
  [[nodiscard]] bool is_mine() const { return owner_ == &this_thread_context(); }

  /// got() changes nothing now.
  [[nodiscard]] bool ignores_hits() const { return misses_ == 0 && !records_; }
  void got(std::uint32_t tunnel) {
    if (misses_ >= patience) end_wait(tunnel);
    misses_ = 0;
    if (--until_look_ == 0) look(tunnel);
  }
  void missed(std::uint32_t tunnel) {
    if (++misses_ == patience) begin_wait(tunnel);
  }
  void put(std::uint32_t tunnel) {
    if (source_ && --until_look_ == 0) look(tunnel);
  }
  void begin_put(std::uint32_t tunnel);
  void end_put(std::uint32_t tunnel);

  [[nodiscard]] std::vector<TraceSlice> const& slices() const { return slices_; }
  /// Time from begin() to end(), or to now; 0 before begin().
  [[nodiscard]] std::int64_t lived_ns() const;
  [[nodiscard]] std::int64_t began_ns() const;
  [[nodiscard]] std::int64_t ended_ns() const;

 private:
  static constexpr unsigned patience = 16;
  static constexpr unsigned never = ~0U;
  static constexpr unsigned most_between_looks = 64;

  void begin_wait(std::uint32_t tunnel);
  void end_wait(std::uint32_t tunnel);
  void look(std::uint32_t tunnel);
  void begin_task(std::uint32_t tunnel, std::int64_t now);
  void end_task(std::int64_t now, std::uint32_t begun);
  void record(TraceSlice const& slice);

  void const* owner_ = nullptr;
  unsigned misses_ = 0;
  unsigned until_look_ = never;  ///< gets (source: puts) until the next look at the clock
  bool source_ = false;
  bool records_ = false;
  bool in_task_ = false;
  bool waits_for_room_ = false;
  unsigned between_looks_ = 1;
  unsigned window_ = 1;          ///< value of until_look_ at the last look
  std::uint32_t tunnel_ = 0;     ///< tunnel of the task, or of the wait for items
  std::uint32_t full_ = 0;       ///< tunnel of the wait for room
  std::uint64_t first_ = 0;      ///< number of the slice's first task
  std::int64_t looked_ns_ = 0;   ///< when the slice's first task began
  std::int64_t waiting_ns_ = 0;  ///< when the wait began
  WaitWords* waits_ = nullptr;
  mutable Word<std::int64_t> began_ns_{0};
  mutable Word<std::int64_t> ended_ns_{0};
  std::vector<TraceSlice> slices_;
  std::int64_t limits_ = 1;  ///< factor on the least lengths
};

namespace detail {

/// Whether an end belongs to the calling thread: a stage's body may let other threads use its ends, and what an end
/// keeps for its stage's thread (trace, hand) is not for them. Open ends belong to no thread.
template <class Port>
[[nodiscard]] bool is_own(Port const& port) {
  return port.trace != nullptr && port.trace->is_mine();
}

}  // namespace detail

}  // namespace hiway
