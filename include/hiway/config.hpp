// The words every other header uses: marks of stage code, configuration of tunnels, stages and pipelines.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// HIWAY_DEVICE marks stage code: the same source runs on a GPU, on the emulated device and on CPU threads.
// HIWAY_NO_SPACE_CHECK goes before a machine's own words, whose host body nvcc would otherwise refuse in stage code.
// HIWAY_KERNEL marks a function for add_kernel_stage: a __global__ function where nvcc compiles it, else an ordinary one
// that the emulated device calls in every lane.
#if defined(__CUDACC__)
#define HIWAY_DEVICE __host__ __device__
#define HIWAY_KERNEL __global__
#define HIWAY_NO_SPACE_CHECK _Pragma("nv_exec_check_disable")
#else
#define HIWAY_DEVICE
#define HIWAY_KERNEL
#define HIWAY_NO_SPACE_CHECK
#endif

// What must be part of its caller: an emulated lane knows by its place in the code who is converged with it.
#if defined(__GNUC__)
#define HIWAY_PART_OF_CALLER __attribute__((always_inline))
#else
#define HIWAY_PART_OF_CALLER
#endif

// Around code that leaves an item unset in lanes that got none: g++ cannot see that those lanes never read it.
#if defined(__GNUC__) && !defined(__clang__)
#define HIWAY_ITEMS_MAY_LOOK_UNSET                                                           \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wmaybe-uninitialized\"") \
      _Pragma("GCC diagnostic ignored \"-Wuninitialized\"")
#define HIWAY_ITEMS_END _Pragma("GCC diagnostic pop")
#else
#define HIWAY_ITEMS_MAY_LOOK_UNSET
#define HIWAY_ITEMS_END
#endif

namespace hiway {

/// Where a tunnel's items are put and where they are got.
enum class Direction : std::uint8_t { cpu_to_cpu, cpu_to_gpu, gpu_to_cpu, gpu_to_gpu };
/// Who carries items across the bus (ignored by tunnels that do not cross it).
/// direct: items lie in pinned host memory, stages store and load them there. dma: a monitor copies batches.
/// managed: like direct, but items lie in memory that moves to whoever touches it (the paper's unified memory; for
/// comparison). automatic: direct or dma, by a table of item size, direction, and whether the pipeline's tunnels cross the
/// bus both ways: the built-in one, or the file that HIWAY_MOVEMENT_TABLE names; between two devices direct, where the table
/// has no row for that. It is chosen at the first prepare(), or, by the tunnels made so far, when an open end on the device
/// is asked for. TunnelReport says what and why.
enum class Movement : std::uint8_t { automatic, dma, direct, managed };
/// How lanes of a GPU stage share a claim on a queue. none: each claims for itself. warp: one claim for each converged
/// group of lanes. block: such groups of a block's warps that come at the same time share one, too; block_scan: the same
/// by the paper's bi-directional scan. Open ends and a user's own kernels: warp instead of these two. automatic: warp; from
/// 65,536 threads of a stage on like block, while claims take long or find nothing (docs/adr/0019).
enum class Grouping : std::uint8_t { automatic, none, warp, block, block_scan };
/// What a put into a full tunnel does. automatic: spill inside a cycle or a group, else wait.
enum class WhenFull : std::uint8_t { automatic, wait, spill };
/// tracked: the library's own end check. time_out: the paper's basic scheme, for comparison only: a tunnel ends when its
/// writers have closed and nothing has moved in it for PipelineConfig::end_time_out. That is unsound, for a task may take
/// longer: then the run ends with an error (Aborted).
enum class EndDetection : std::uint8_t { tracked, time_out };
/// How a CPU thread waits. automatic: spins, then yields, then naps, the longer the longer it waits. spin: stays on its
/// core, for the shortest wait; needs a core of its own. yield: lets others run, and never naps. sleep: naps at once.
enum class Wait : std::uint8_t { automatic, spin, yield, sleep };
/// What follows a stall report. abort: wait() throws Aborted with the report's text.
enum class OnStall : std::uint8_t { go_on, abort };

/// One tunnel. *Errors*: a capacity of 0, or a batch larger than the capacity, is a ConfigError at create_tunnel.
struct TunnelConfig {
  std::size_t capacity_items =
      1024;  ///< items in the tunnel at once, both sides of the bus together; any number from 1 to 2^30
  std::size_t batch_items = 0;                ///< dma: items that start a copy; 0: the library chooses, more under load
  std::chrono::microseconds flush_after{50};  ///< dma: a smaller batch leaves after this time
  Movement movement = Movement::automatic;
  Grouping grouping = Grouping::automatic;
  /// Rings that share the tunnel's capacity, a power of two up to 64; for many blocks that put and get at the same time. A
  /// block, or CPU thread, that writes has the room of one of them; one that reads takes from its own first, then from others.
  /// Not for tunnels across the bus (docs/adr/0021).
  unsigned shards = 1;
  /// For one item at a time, as fast as can be; with an end on the device, direct, items of at most 12 bytes: each carries a
  /// tag that says it is there, so that who waits for it looks at nothing else. Spans cost more, and many blocks that stream
  /// through one tunnel. What a GPU stage wrote elsewhere before it put such an item need not be there when the item is, but
  /// behind a __threadfence(), across the bus a __threadfence_system(). From a CPU to the GPU only where one stage of one
  /// warp reads the tunnel: more would take the bus from each other (docs/adr/0023). Between GPUs, see docs/multi_gpu.md.
  bool low_latency = false;
  WhenFull when_full = WhenFull::automatic;
  /// Items that lie spilled at once; one more ends the run with an error. 0: the library chooses. Nothing where no put
  /// into the tunnel spills.
  std::size_t spill_items = 0;
  /// A plan proves that with this capacity every wait for room ends (plan::Rings, hiway/plan/tunnels.hpp): a put waits inside
  /// a cycle, too, and items keep their order.
  bool planned = false;
  /// cpu_to_cpu, of one shard: when stages wait for each other in a circle, and nothing has moved in the whole pipeline for
  /// PipelineConfig::grow_after, the smallest full tunnel of the circle doubles its capacity, up to so many items; 0: never.
  /// A put waits inside a cycle, too, and items keep their order. Slots for so many are there from the beginning, and all of
  /// them are used in turn (Parks, docs/adr/0031).
  std::size_t grow_to_items = 0;
};

/// Which places of a matrix have a task. inside: those where the whole stencil lies in the matrix. clipped: all; at the
/// edges the stencil is cut off.
enum class StencilEdges : std::uint8_t { inside, clipped };
/// When the places of a frame become tasks. when_ready: each when the last region that it needs has come. put_back: all with
/// the first region; those that are not ready go round until they are (the paper's way, for comparison).
enum class StencilTasks : std::uint8_t { when_ready, put_back };

/// One stencil tunnel: a stream of matrices, each of which crosses once, by regions. *Errors*: an extent of 0, a stencil or a
/// region larger than the matrix is a ConfigError at create_stencil_tunnel.
struct StencilConfig {
  std::uint32_t width = 0;  ///< of the matrix, in values
  std::uint32_t height = 0;
  std::uint32_t stencil_width = 3;  ///< in values; of an even extent the centre is the second of the two in the middle
  std::uint32_t stencil_height = 3;
  std::uint32_t region_width =
      0;  ///< what is moved at once, in values; 0: the library chooses. The last ones may be smaller
  std::uint32_t region_height = 0;
  std::uint32_t frames = 1;   ///< matrices of a run, numbered from 0
  std::uint32_t buffers = 0;  ///< matrices under way at once: a put into a later one waits; 0: two, or one of one
  StencilEdges edges = StencilEdges::inside;
  StencilTasks tasks = StencilTasks::when_ready;
  Movement movement = Movement::automatic;  ///< of the values; not managed
};

/// A CPU stage.
struct CpuStageOptions {
  unsigned threads = 1;    ///< that run the stage's body
  std::vector<int> pin{};  ///< CPUs: thread i runs on the i-th alone, behind the last on the first again; empty: on any
  Wait wait = Wait::automatic;  ///< of its threads, inside the library's calls
};

/// A GPU stage. 0: the library chooses.
struct GpuStageOptions {
  unsigned blocks = 0;
  unsigned threads_per_block = 0;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  int device = -1;               ///< the GPU's number, or an emulated device's; -1: the pipeline's (docs/multi_gpu.md)
  /// Not empty: the stage runs on each of these, all alike, with `blocks` on each; its items are shared out as they are
  /// asked for. Its tunnels then have a branch for each: their other ends are CPU stages, or stages on the same devices.
  std::vector<int> devices{};
};
/// GpuStageOptions::devices: every GPU of the machine; where the pipeline is emulated, two devices.
inline std::vector<int> const all_devices{-1};

/// The extent of a grid or a block, for add_kernel_stage: a number, or CUDA's dim3.
struct Extent {
  unsigned x, y = 1, z = 1;
  Extent(unsigned count) : x(count) {}
  template <class Dim3>
  requires requires(Dim3 const& d) { d.x + d.y + d.z; }
  Extent(Dim3 const& d) : x(d.x), y(d.y), z(d.z) {}
};

/// A pipeline. Every duration may be as long as its type holds: a hundred years are for ever.
struct PipelineConfig {
  std::string device =
      "auto";  ///< "simt", "cuda:N", or "auto": HIWAY_RUN_ON if set, else the first usable GPU, else simt
  std::chrono::milliseconds deadline{0};  ///< a run that takes longer is aborted; 0: none, negative: a ConfigError
  /// After so long without progress the run prints on stderr which stages wait for what, once for each stall. 0: the
  /// milliseconds in HIWAY_STALL_AFTER if set ("off": never), else one line after 10 s. SIGUSR1 asks for the same at any
  /// time (take_report_signal, hiway/report.hpp).
  std::chrono::milliseconds stall_after{0};
  OnStall on_stall = OnStall::go_on;
  /// Of tunnels with grow_to_items. A stage that works for longer may be taken for one that waits, and its full tunnel grow
  /// without need.
  std::chrono::milliseconds grow_after{10};
  /// A file for each run's trace, which the next run replaces: Chrome's JSON, for Perfetto or `hiway report`. Empty: the one
  /// that HIWAY_TRACE names, if set; else none (docs/tracing.md).
  std::string trace{};
  EndDetection end_detection = EndDetection::tracked;
  /// EndDetection::time_out only: how long nothing may have moved in a tunnel whose writers have closed, at most an hour.
  /// The paper: ten times one task.
  std::chrono::microseconds end_time_out{1000};
  Wait monitor_wait = Wait::automatic;  ///< of the CPU threads that carry items across the bus and notice the end
  bool warn_of_cycles = true;           ///< on stderr at prepare(): tunnels in a cycle that may spill, and have no plan
};

}  // namespace hiway
