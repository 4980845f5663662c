// What a lane of the emulated device may ask of the device. Declared here for stage code and the fiber machine,
// implemented in lib/simt. Nothing in this header is used on a GPU.
#pragma once
#include <cstddef>
#include <cstdint>

#include "hiway/machine/machine.hpp"

namespace hiway {
struct Control;
}

namespace hiway::simt {

/// Where a lane stands in its launch (CUDA's words).
struct LaneId {
  unsigned thread = 0;   ///< in the block
  unsigned threads = 0;  ///< of the block
  unsigned block = 0;
  unsigned blocks = 0;
};

/// The operations at which lanes of one warp meet.
enum class WarpOperation : std::uint8_t { sync, ballot, shuffle, match };

namespace detail {
extern constinit thread_local bool thread_runs_lanes;
[[nodiscard]] bool a_lane_runs() noexcept;
}  // namespace detail
/// True on an emulated lane, false on a CPU thread.
[[nodiscard]] inline bool on_lane() noexcept { return detail::thread_runs_lanes && detail::a_lane_runs(); }
/// *Threads*: on a lane only, like everything below.
[[nodiscard]] LaneId lane_id() noexcept;
/// The block's shared memory, zeroed at launch, aligned to 128 bytes.
[[nodiscard]] std::byte* shared_memory() noexcept;
[[nodiscard]] std::size_t shared_memory_bytes() noexcept;

/// Lets other lanes run. A waiting lane calls it in every round of its wait; `misses` is the number of rounds before
/// that brought nothing. While every lane of an OS thread has `misses` above 0, the thread naps, and longer as that
/// goes on.
void wait(unsigned misses);
/// wait(0): a lane that calls it keeps its OS thread awake.
void yield();
/// A schedule point: the fiber machine calls it before and after every access to a shared word.
void schedule_point();

/// Lanes of `mask` meet in one operation and leave with its result: for sync 0, for ballot the mask of lanes whose
/// value is not 0, for shuffle the value of `source_lane`, for match the mask of lanes with an equal value.
/// *Errors*: MisuseError when the calling lane is not in `mask`, when `mask` names an exited or absent lane, when lanes
/// of one mask are in different operations, when two masks wait for each other, or when the shuffle's source is not in
/// `mask`.
std::uint64_t meet(WarpOperation operation, std::uint32_t mask, std::uint64_t value, unsigned source_lane);
/// An arbitrary part of the warp's lanes that are at this call at the same place of the code: those that come while the
/// first of them lets others run, or the calling lane alone. Every lane in the result gets the same result.
[[nodiscard]] std::uint32_t converge();
/// A number that belongs to the lane's own code: which stage of a group it is in. 0 at launch.
[[nodiscard]] std::uint32_t lane_mark() noexcept;
void set_lane_mark(std::uint32_t mark) noexcept;
/// Likewise: the control of its run; null at launch.
[[nodiscard]] Control const* lane_run() noexcept;
void set_lane_run(Control const* run) noexcept;
/// Likewise: gets in a row that brought nothing. 0 at launch.
[[nodiscard]] unsigned& lane_misses() noexcept;
/// Likewise: the scope of its task; none at launch.
[[nodiscard]] LaneScope lane_scope() noexcept;
void set_lane_scope(LaneScope scope) noexcept;
/// Counts one more Unwind thrown because the run aborts. Returns how many that makes since launch.
unsigned count_lane_unwind() noexcept;
/// The warp's lanes that were launched and have not exited.
[[nodiscard]] std::uint32_t live_lanes() noexcept;
/// All lanes of the block that have not exited meet.
void sync_block();
/// The same; all lanes leave with the value of the block's first lane.
std::uint64_t share_in_block(std::uint64_t value);
/// Called by a lane that leaves because the run aborts: lanes that later pass sync_block() without it still see all its
/// writes. A lane that just returns gives no such order, as a GPU promises none.
void order_leaving() noexcept;
/// The block's memory for words of the library itself, zeroed at launch, aligned to 16 bytes.
inline constexpr std::size_t block_room_bytes = 2048;
[[nodiscard]] void* block_room() noexcept;
/// True for an address on the lane's own stack.
[[nodiscard]] bool on_own_stack(void const* address) noexcept;

}  // namespace hiway::simt
