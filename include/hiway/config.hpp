// What every other header uses: macros that mark stage code, and the configuration of tunnels, stages and pipelines.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// HIWAY_DEVICE marks stage code: the same source runs on a GPU, on the emulated device and on CPU threads.
// HIWAY_NO_SPACE_CHECK goes before a machine's own functions: nvcc would otherwise refuse their host bodies in stage
// code.
// HIWAY_KERNEL marks a function for add_kernel_stage: a __global__ function if nvcc compiles it, else an ordinary one
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

// Marks a function that must be inlined: an emulated lane tells by its place in the code which lanes are converged with
// it. And what a CPU thread does in most puts of one item: called, it would take twice as long.
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

class Cluster;
class MemoryResource;
class Scopes;

/// Those that a tunnel's items belong to.
class ScopesOf {
 public:
  ScopesOf(Scopes* scopes) : scopes_(scopes) {}
  [[nodiscard]] Scopes* get() const { return scopes_; }

 private:
  Scopes* scopes_;
};

/// A kind of scopes (docs/services.md).
struct ScopesConfig {
  /// How many may be open at once, at most 2^20; open_h() waits while there are as many.
  std::size_t most_open = 64;
};

/// Where a tunnel's items are put and where they are got.
enum class Direction : std::uint8_t { cpu_to_cpu, cpu_to_gpu, gpu_to_cpu, gpu_to_gpu };
/// How items cross the bus (ignored by tunnels that do not cross it).
/// direct: items lie in pinned host memory; stages store and load them there. dma: a monitor copies batches.
/// managed: like direct, but items lie in unified memory, which the driver maps or moves (the paper's way; for
/// comparison). automatic: direct or dma, by a table of item size, direction, and whether the pipeline's tunnels cross
/// the bus both ways: the built-in table, or the file that HIWAY_MOVEMENT_TABLE names. Between two devices it is direct
/// if the table has no row for them. The choice is made at the first prepare(); or, from the tunnels made so far, when
/// an open end on the device is asked for. TunnelReport gives the choice and the reason.
enum class Movement : std::uint8_t { automatic, dma, direct, managed };
/// How lanes of a GPU stage share a claim on a queue. none: each lane claims for itself. warp: one claim for each
/// converged group of lanes. block: groups of the same block that come at the same time also share one claim.
/// block_scan: the same, by the paper's bi-directional scan. Open ends and a user's own kernels use warp instead of
/// block and block_scan. automatic: warp; in a stage of at least 65,536 threads like block, while claims take long or
/// find nothing (docs/adr/0019).
enum class Grouping : std::uint8_t { automatic, none, warp, block, block_scan };
/// What a put into a full tunnel does. automatic: spill inside a cycle or a group, else wait. The last three never
/// wait, also inside a cycle: drop_newest drops the put's item; drop_oldest drops the oldest item in the tunnel, whose
/// task counts as ended, and puts; fail ends the run with an error (tunnel_full). TunnelReport::dropped counts.
enum class WhenFull : std::uint8_t { automatic, wait, spill, drop_newest, drop_oldest, fail };
/// Whether a put that finds no room drops an item or ends the run.
HIWAY_DEVICE constexpr bool drops_or_fails(WhenFull when_full) { return when_full >= WhenFull::drop_newest; }
/// What several reading stages of a tunnel get. share: each item goes to one of them. each: every reading stage, and
/// every open outlet, gets every item (docs/adr/0063).
enum class Readers : std::uint8_t { share, each };
/// tracked: the library's own end check. time_out: the paper's basic scheme, for comparison only. A tunnel then ends
/// when its writers have closed and nothing has moved in any tunnel for PipelineConfig::end_time_out. That is unsound:
/// if a task takes longer, the run ends with an error (Aborted).
enum class EndDetection : std::uint8_t { tracked, time_out };
/// How a CPU thread waits. automatic: spins, then yields, then naps; the naps get longer as the wait goes on. spin:
/// stays on its core, for the shortest wait; needs a core of its own. yield: lets other threads run, and never naps.
/// sleep: naps at once.
enum class Wait : std::uint8_t { automatic, spin, yield, sleep };
/// What follows a stall report. abort: wait() throws Aborted with the report's text.
enum class OnStall : std::uint8_t { go_on, abort };

/// The types of Order's values. RestoredOrder has no default: by that the compiler tells RestoredTunnelConfig from
/// TunnelConfig.
struct AnyOrder {};
class RestoredOrder {
 public:
  constexpr explicit RestoredOrder(int) {}
};
/// In which order readers see what a stage has made of a tunnel's items. any: as its lanes or threads have put it.
/// restored: as the items were put into the tunnel that the stage gets from (RestoredTunnelConfig).
struct Order {
  static constexpr AnyOrder any{};
  static constexpr RestoredOrder restored{0};
};

/// One tunnel. *Errors*: a capacity of 0, or a batch larger than the capacity, is a ConfigError at create_tunnel.
struct TunnelConfig {
  /// Items in the tunnel at once, both sides of the bus together; any number from 1 to 2^30.
  std::size_t capacity_items = 1024;
  std::size_t batch_items = 0;                ///< dma: items that make a batch; 0: the library chooses, more under load
  std::chrono::microseconds flush_after{50};  ///< dma: a smaller batch leaves after this time
  Movement movement = Movement::automatic;
  Grouping grouping = Grouping::automatic;
  /// Rings that share the tunnel's capacity, a power of two up to 64; for many blocks that put and get at the same
  /// time. A block or CPU thread puts only into one of the rings; it gets from its own ring first, then from others.
  /// Not for tunnels across the bus (docs/adr/0021).
  unsigned shards = 1;
  /// For one item at a time, as fast as possible. Needs an end on the device, direct movement, and items of at most 12
  /// bytes. Each item carries a tag that says it is there, so a waiting reader looks at nothing else. With tags spans
  /// cost more, and so do many blocks that stream through one tunnel. What a GPU stage wrote elsewhere before it put
  /// such an item is guaranteed visible with the item only after a __threadfence(), or across the bus a
  /// __threadfence_system(). From a CPU to the GPU only if a single stage of one warp reads the tunnel: more readers
  /// would compete for the bus (docs/adr/0023). Between GPUs, see docs/multi_gpu.md.
  bool low_latency = false;
  /// drop_oldest: for items of at most 256 bytes, one shard, and all stages at one home: the CPU, or one device. What
  /// drops or fails stages no puts, so single puts by CPU threads cost more (docs/choosing.md).
  WhenFull when_full = WhenFull::automatic;
  /// Items that may be spilled at once; one more ends the run with an error. 0: the library chooses. No effect if no
  /// put into the tunnel spills.
  std::size_t spill_items = 0;
  /// A plan proves that with this capacity every wait for room ends (plan::Rings, hiway/plan/tunnels.hpp). So a put
  /// waits inside a cycle, too, and items keep their order.
  bool planned = false;
  /// Limit up to which the tunnel grows; 0: it never grows. For cpu_to_cpu tunnels of one shard. When stages wait for
  /// each other in a circle, and nothing has moved in the whole pipeline for PipelineConfig::grow_after, the smallest
  /// full tunnel of the circle doubles its capacity. A put waits inside a cycle, too, and items keep their order. Slots
  /// for this many items exist from the beginning, and all of them are used in turn (Parks, docs/adr/0031).
  std::size_t grow_to_items = 0;
  /// For Order::restored see RestoredTunnelConfig.
  [[no_unique_address]] AnyOrder order = Order::any;
  Readers readers = Readers::share;
  /// Puts may have a key (PutOptions::key). For tunnels from CPU to CPU that one stage reads, outside cycles. Its
  /// threads share `capacity_items` more, for what has a key.
  bool keyed = false;
  /// A CPU stage in item or value form that gets from several tunnels takes from that of the highest number first.
  int priority = 0;
};

/// A tunnel with Order::restored, of type RestoredTunnel<T>. One stage in value form writes it, which gets from one
/// tunnel: `into(tunnel)`. Its results are at most 256 bytes, and a result waits until those before it have room. One
/// that stays at one home has room for its capacity rounded up to a power of two. *Errors*: see docs/choosing.md.
struct RestoredTunnelConfig {
  std::size_t capacity_items = TunnelConfig{}.capacity_items;
  std::size_t batch_items = TunnelConfig{}.batch_items;
  std::chrono::microseconds flush_after = TunnelConfig{}.flush_after;
  Movement movement = TunnelConfig{}.movement;
  Grouping grouping = TunnelConfig{}.grouping;
  unsigned shards = TunnelConfig{}.shards;
  bool low_latency = TunnelConfig{}.low_latency;
  WhenFull when_full = TunnelConfig{}.when_full;
  std::size_t spill_items = TunnelConfig{}.spill_items;
  bool planned = TunnelConfig{}.planned;
  std::size_t grow_to_items = TunnelConfig{}.grow_to_items;
  int priority = TunnelConfig{}.priority;
  RestoredOrder order;  ///< the last, as it has no default: else nvcc finds `{.priority = 1}` to be one of these, too

  /// All but the order.
  [[nodiscard]] TunnelConfig rest() const {
    return {capacity_items, batch_items, flush_after,   movement, grouping,       shards, low_latency, when_full,
            spill_items,    planned,     grow_to_items, {},       Readers::share, false,  priority};
  }
};

/// One put (Inlet::put_h).
struct PutOptions {
  /// Items of one key go to one thread of the reading stage, in the order in which each thread puts them. For tunnels
  /// with TunnelConfig::keyed.
  std::optional<std::uint64_t> key{};
};

/// A tunnel with scopes, of type Tunnel<Scoped<T>>. `scopes` has no default: by that the compiler tells the two sorts
/// of tunnels apart, and stages of tunnels without scopes have no code for them.
struct ScopedTunnelConfig {
  std::size_t capacity_items = TunnelConfig{}.capacity_items;
  std::size_t batch_items = TunnelConfig{}.batch_items;
  std::chrono::microseconds flush_after = TunnelConfig{}.flush_after;
  Movement movement = TunnelConfig{}.movement;
  Grouping grouping = TunnelConfig{}.grouping;
  unsigned shards = TunnelConfig{}.shards;
  bool low_latency = TunnelConfig{}.low_latency;
  WhenFull when_full = TunnelConfig{}.when_full;
  std::size_t spill_items = TunnelConfig{}.spill_items;
  bool planned = TunnelConfig{}.planned;
  std::size_t grow_to_items = TunnelConfig{}.grow_to_items;
  Readers readers = TunnelConfig{}.readers;
  bool keyed = TunnelConfig{}.keyed;
  int priority = TunnelConfig{}.priority;
  ScopesOf scopes;  ///< `&scopes` (Pipeline::create_scopes): each item belongs to one of these

  /// All but the scopes.
  [[nodiscard]] TunnelConfig rest() const {
    return {capacity_items, batch_items, flush_after,   movement, grouping, shards, low_latency, when_full,
            spill_items,    planned,     grow_to_items, {},       readers,  keyed,  priority};
  }
};

/// Which places of a matrix have a task. inside: those where the whole stencil lies in the matrix. clipped: all places;
/// at the edges the stencil is cut off.
enum class StencilEdges : std::uint8_t { inside, clipped };
/// When the places of a frame become tasks. when_ready: each when the last region that it needs has come. put_back: all
/// with the first region; a task that is not ready is put back until it is (the paper's way, for comparison).
enum class StencilTasks : std::uint8_t { when_ready, put_back };

/// One stencil tunnel: a stream of matrices, each of which crosses once, region by region. *Errors*: an extent of 0, or
/// a stencil or region larger than the matrix, is a ConfigError at create_stencil_tunnel.
struct StencilConfig {
  std::uint32_t width = 0;  ///< of the matrix, in values
  std::uint32_t height = 0;
  std::uint32_t stencil_width = 3;  ///< in values; if even, the centre is the second of the two in the middle
  std::uint32_t stencil_height = 3;
  /// A region is what is moved at once, in values; 0: the library chooses. The last regions may be smaller.
  std::uint32_t region_width = 0;
  std::uint32_t region_height = 0;
  std::uint32_t frames = 1;   ///< matrices of a run, numbered from 0
  std::uint32_t buffers = 0;  ///< matrices under way at once (a put into a later one waits); 0: 2, at most `frames`
  StencilEdges edges = StencilEdges::inside;
  StencilTasks tasks = StencilTasks::when_ready;
  Movement movement = Movement::automatic;  ///< of the values; not managed
};

/// A stencil tunnel with scopes, of type Tunnel<Scoped<StencilOf<T>>>; `scopes` as in ScopedTunnelConfig.
struct ScopedStencilConfig {
  std::uint32_t width = StencilConfig{}.width;
  std::uint32_t height = StencilConfig{}.height;
  std::uint32_t stencil_width = StencilConfig{}.stencil_width;
  std::uint32_t stencil_height = StencilConfig{}.stencil_height;
  std::uint32_t region_width = StencilConfig{}.region_width;
  std::uint32_t region_height = StencilConfig{}.region_height;
  std::uint32_t frames = StencilConfig{}.frames;
  std::uint32_t buffers = StencilConfig{}.buffers;
  StencilEdges edges = StencilConfig{}.edges;
  StencilTasks tasks = StencilConfig{}.tasks;
  Movement movement = StencilConfig{}.movement;
  ScopesOf scopes;  ///< `&scopes`: each region, and each task, belongs to one of these

  /// All but the scopes.
  [[nodiscard]] StencilConfig rest() const {
    return {width,  height,  stencil_width, stencil_height, region_width, region_height,
            frames, buffers, edges,         tasks,          movement};
  }
};

/// A CPU stage.
struct CpuStageOptions {
  unsigned threads = 1;  ///< threads that run the stage's body
  /// CPUs: thread i runs only on the i-th of these, starting over after the last; empty: on any.
  std::vector<int> pin{};
  Wait wait = Wait::automatic;  ///< how its threads wait inside the library's calls
  int node = -1;                ///< the node that it runs on (docs/nodes.md); -1: node 0
  std::vector<int> nodes{};     ///< if not empty: the nodes, all of which run it in the same way
};

/// Whether a GPU stage's kernel stays on the device for the whole run (docs/guest.md).
enum class Residency : std::uint8_t {
  /// yielding, if all GPU stages of the pipeline are in item or value form or groups and could not tell: operator() is
  /// const, no dynamic shared memory, no low-latency tunnel, one device; else resident. HIWAY_RESIDENCY changes it.
  automatic,
  resident,
  /// It leaves between tasks when PipelineConfig::slice is over, or when nothing moves, and comes back when there is
  /// work. For stages in item or value form, groups and segments, on one device. Each time it begins with the functor
  /// as it was given. A body that puts keeps its kernel until there is room; a returned result does not.
  yielding,
};

/// A GPU stage. 0: the library chooses.
struct GpuStageOptions {
  unsigned blocks = 0;
  unsigned threads_per_block = 0;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block
  int device = -1;               ///< the GPU's number, or an emulated device's; -1: the pipeline's (docs/multi_gpu.md)
  /// If not empty, the stage runs on each of these devices in the same way, with `blocks` blocks on each; its items are
  /// shared out on demand. Its tunnels then have a branch for each device: their other ends are CPU stages, or stages
  /// on the same devices.
  std::vector<int> devices{};
  int node = -1;             ///< the node that it runs on, as in CpuStageOptions
  std::vector<int> nodes{};  ///< if not empty: the nodes, all of which run it in the same way
  Residency residency = Residency::automatic;
};
/// For GpuStageOptions::devices: every GPU of the machine; two devices if the pipeline is emulated.
inline std::vector<int> const all_devices{-1};
/// For the options `nodes`: every node of the cluster.
inline std::vector<int> const all_nodes{-1};

/// An open end of a tunnel.
struct OpenEndOptions {
  int node = -1;             ///< the node whose threads call it, as in CpuStageOptions
  std::vector<int> nodes{};  ///< if not empty: the nodes, each of which has one
};

/// The extent of a grid or a block, for add_kernel_stage: a number, or CUDA's dim3.
struct Extent {
  unsigned x, y = 1, z = 1;
  Extent(unsigned count) : x(count) {}
  template <class Dim3>
  requires requires(Dim3 const& d) { d.x + d.y + d.z; }
  Extent(Dim3 const& d) : x(d.x), y(d.y), z(d.z) {}
  [[nodiscard]] std::uint64_t count() const { return std::uint64_t{x} * y * z; }
};

/// How a user's own kernel is started (add_kernel_stage).
struct KernelShape {
  Extent grid;
  Extent block;
  std::size_t shared_bytes = 0;  ///< dynamic shared memory of a block; more than 48 KiB, too
};

/// A pipeline. A duration may be as long as its type holds: a hundred years or more mean for ever.
struct PipelineConfig {
  /// "simt", "cuda:N", or "auto": HIWAY_RUN_ON if set, else the first usable GPU, else simt.
  std::string device = "auto";
  std::chrono::milliseconds deadline{0};  ///< a run that takes longer is aborted; 0: none, negative: a ConfigError
  /// After this long without progress the run prints on stderr which stages wait for what, once per stall. 0: the
  /// milliseconds in HIWAY_STALL_AFTER if set ("off": never), else one line after 10 s. SIGUSR1 asks for the same
  /// report at any time (take_report_signal, hiway/report.hpp).
  std::chrono::milliseconds stall_after{0};
  OnStall on_stall = OnStall::go_on;
  /// For tunnels with grow_to_items: how long nothing must move before one grows. A stage that works for longer may be
  /// taken for one that waits, and its full tunnel then grows without need.
  std::chrono::milliseconds grow_after{10};
  /// The file for a run's trace: Chrome's JSON, for Perfetto or `hiway report`. The next run replaces it. Empty: the
  /// file that HIWAY_TRACE names, if set; else none (docs/tracing.md).
  std::string trace{};
  EndDetection end_detection = EndDetection::tracked;
  /// EndDetection::time_out only: a tunnel whose writers have closed ends after nothing has moved for this long, at
  /// most an hour. The paper takes ten times the length of one task.
  std::chrono::microseconds end_time_out{1000};
  /// How the CPU threads wait that carry items across the bus and notice the end.
  Wait monitor_wait = Wait::automatic;
  bool warn_of_cycles = true;  ///< prepare() names on stderr the tunnels in a cycle that may spill and have no plan
  /// The nodes that the pipeline is declared and run on, by each of them in the same way; null: this process alone
  /// (docs/nodes.md). prepare(), start() and wait() then wait for all nodes. *Lifetime*: longer than the pipeline's.
  Cluster* cluster = nullptr;
  /// A node that has said nothing for this long has failed, and the run ends.
  std::chrono::milliseconds node_silence{1000};
  /// How long a yielding kernel (Residency) stays on the device at most, but for the task that it is at; more than 0.
  std::chrono::nanoseconds slice{std::chrono::milliseconds(2)};
  /// How many SMs of each device the pipeline's kernels and its monitor take at most, by the number of their blocks: 0,
  /// or more than there are: all. Stages that fit no longer do not take turns then.
  unsigned multiprocessors = 0;
  /// Where the library takes its device memory and its pinned memory from (memory.hpp); null: from CUDA, or of the
  /// emulated device from `new`. *Lifetime*: longer than the pipeline's.
  MemoryResource* memory = nullptr;
};

}  // namespace hiway
