// ThreadTrace: what the CPU threads of stages did with their time. Each thread writes its own: how long it waited for which
// tunnel, always; and in a traced run (PipelineConfig::trace) when, as slices.
//
//   a hit          got()                    the wait, if there was one, is over; now and then a look at the clock
//   a miss         missed()                 a wait, from the sixteenth in a row on: shorter ones cost less than the clock
//   a full tunnel  begin_put, end_put       around the tries of one put
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/machine/machine.hpp"

namespace hiway {

/// How long the calling thread waited for one tunnel, in nanoseconds; others may read it meanwhile.
struct alignas(16) WaitWords {
  Word<std::uint64_t> items_ns{0};
  Word<std::uint64_t> room_ns{0};
};

/// What a thread did, from the steady clock's `begin_ns` to `end_ns`.
struct TraceSlice {
  enum class Kind : std::uint8_t { task, waits_for_items, waits_for_room };
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t first = 0;   ///< task: how many gets (of a source: puts) the thread had done before
  std::uint32_t gets = 0;    ///< task: how many lie in the slice
  std::uint32_t tunnel = 0;  ///< that the items came from (a source: go to), or that was waited for
  Kind kind = Kind::task;
  [[nodiscard]] std::int64_t length() const { return end_ns - begin_ns; }
};

/// *Threads*: its own; slices() when that has ended, the others at any time.
class ThreadTrace {
 public:
  /// Shorter ones are in no slice. Where slices become too many, the limits double and the short ones are dropped.
  static constexpr std::int64_t least_task_ns = 100'000;
  static constexpr std::int64_t least_wait_ns = 10'000;
  static constexpr std::size_t most_slices = std::size_t{1} << 15;

  /// The thread begins. source: it gets nothing, so its puts are looked at. `waits`: one for each tunnel.
  void begin(bool records, bool source, std::vector<WaitWords>& waits);
  void end();

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
  /// From begin() to end(), or to now; 0 before.
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

  unsigned misses_ = 0;
  unsigned until_look_ = never;  ///< gets, or puts
  bool source_ = false;
  bool records_ = false;
  bool in_task_ = false;
  bool waits_for_room_ = false;
  unsigned between_looks_ = 1;
  unsigned window_ = 1;          ///< what until_look_ began with
  std::uint32_t tunnel_ = 0;     ///< of the task, or of the wait
  std::uint32_t full_ = 0;       ///< of the wait for room
  std::uint64_t first_ = 0;      ///< the task's number
  std::int64_t looked_ns_ = 0;   ///< when it began; with it those of the gets behind it
  std::int64_t waiting_ns_ = 0;  ///< since
  WaitWords* waits_ = nullptr;
  mutable Word<std::int64_t> began_ns_{0};
  mutable Word<std::int64_t> ended_ns_{0};
  std::vector<TraceSlice> slices_;
  std::int64_t limits_ = 1;  ///< times the least lengths
};

}  // namespace hiway
