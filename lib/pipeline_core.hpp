// Pipeline::Core: everything behind the Pipeline facade. It is split into files by phase: pipeline.cpp (what the user
// adds), pipeline_prepare.cpp (checks and wiring), pipeline_run.cpp (start to end), pipeline_watch.cpp (the supervisor
// and the watcher of a run), pipeline_stall.cpp (what a run waits for), pipeline_stencil.cpp (stencil tunnels),
// pipeline_trace.cpp (reports).
#pragma once
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "../monitors/device_monitor.hpp"
#include "../monitors/host_monitor.hpp"
#include "../monitors/transfer.hpp"
#include "../stencil/stencil_plan.hpp"
#include "arena.hpp"
#include "hiway/pipeline.hpp"
#include "movement_table.hpp"
#include "named_failure.hpp"
#include "pipeline/end_check.hpp"
#include "pipeline/flow_plan.hpp"
#include "run_trace.hpp"
#include "stall_report.hpp"
#include "word_copies.hpp"

namespace hiway {

/// The first error of a run; later ones are dropped.
class FirstError {
 public:
  /// True if this is the first error.
  bool set(std::exception_ptr error) {
    std::scoped_lock const lock(mutex_);
    if (error_) return false;
    error_ = std::move(error);
    return true;
  }
  [[nodiscard]] std::exception_ptr get() const {
    std::scoped_lock const lock(mutex_);
    return error_;
  }
  void clear() {
    std::scoped_lock const lock(mutex_);
    error_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

[[nodiscard]] inline bool contains(std::vector<TunnelBase*> const& tunnels, TunnelBase const* tunnel) {
  return std::find(tunnels.begin(), tunnels.end(), tunnel) != tunnels.end();
}

/// A crossing tunnel's words in host memory, each in a cache line of its own.
struct BusWords {
  alignas(64) Word<std::uint64_t> published{0};
  alignas(64) Word<std::uint64_t> retired{0};
  alignas(64) Word<std::uint64_t> arrived{0};
  alignas(64) Word<std::uint32_t> closing{0};
};

/// A word of a crossing tunnel that one side tells the other.
struct ToldWord {
  Word<std::uint64_t>* word = nullptr;
  Home home = at_host;
};
/// A word at a device, in a cache line of its own.
struct DeviceWord {
  alignas(128) Word<std::uint64_t> word{0};
};

/// Capacity in items of the tunnel's spill pool, if it has one.
[[nodiscard]] std::size_t spill_items(TunnelBase const& tunnel);
/// HIWAY_STALL_AFTER; "off" is for_ever, and 0 if it is not set. *Throws* ConfigError.
[[nodiscard]] std::chrono::milliseconds stall_after_of_environment();
/// The value of the environment variable; 0 if it is not set. *Throws* ConfigError: the variable must be `what`.
[[nodiscard]] std::chrono::milliseconds milliseconds_of(char const* variable,
                                                        char const* what = "a number of milliseconds");
/// PipelineConfig::trace, or HIWAY_TRACE if that is empty.
[[nodiscard]] std::string chosen_trace(std::string const& configured);
[[nodiscard]] char const* direction_name(Direction direction);

class Pipeline::Core final : public RunInfo {
 public:
  explicit Core(PipelineConfig config);

  // ---- what open ends and stages ask (pipeline.cpp, pipeline_run.cpp)
  [[noreturn]] void refuse(std::uint32_t tunnel) override;
  [[nodiscard]] std::string stage_name(std::uint32_t id) const override;

  // ---- what the user adds (pipeline.cpp, pipeline_stencil.cpp)
  void add_tunnel(std::unique_ptr<TunnelBase> tunnel);
  void add_stencil(std::unique_ptr<StencilTunnelBase> tunnel);
  void add_cpu(CpuStageDescription description);
  void add_gpu(GpuKernelDescription description);
  void* allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device);
  InletView open_inlet(TunnelBase const& tunnel);
  OutletView open_outlet(TunnelBase const& tunnel);
  void launch(std::string_view name, DeviceKernel kernel, GpuStageOptions options);
  void synchronize();
  Latency& create_latency(std::string path, unsigned every);
  [[nodiscard]] std::string graph();
  [[nodiscard]] std::uint32_t tunnel_count() const { return static_cast<std::uint32_t>(tunnels_.size()); }
  [[nodiscard]] Backend& backend() const { return *devices_.front().backend; }
  /// The backend of the device that a buffer lies on.
  [[nodiscard]] Backend& backend_of(void const* buffer) const;
  [[nodiscard]] std::string device_names() const;
  void require_idle(char const* what) const;
  [[nodiscard]] bool has_writer(TunnelBase const& tunnel) const;
  [[nodiscard]] bool has_reader(TunnelBase const& tunnel) const;
  [[nodiscard]] OutletView whole_run_at(Home home);

  // ---- pipeline_prepare.cpp
  void prepare();

  // ---- pipeline_run.cpp
  void start();
  RunReport wait();
  bool wait_for(std::chrono::nanoseconds duration);
  void abort();
  [[nodiscard]] RunReport stats();
  /// True if the pipeline cannot be destroyed here, so its memory must be left allocated: the process was forked while
  /// the pipeline's threads ran, or the caller is a thread of its own run (exit() in a stage). Such a run is aborted.
  /// *Waits* for the run's other threads, at most 1 s.
  [[nodiscard]] bool must_be_left() noexcept;

 private:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);
  static constexpr simt::Grid one_warp{1, 32, 0};

  /// What a stencil tunnel has besides its two plain tunnels, once it is placed.
  struct StencilState {
    StencilTunnelBase* tunnel = nullptr;
    PutBoard* put_board = nullptr;
    GetBoard* get_board = nullptr;
    Word<std::uint32_t>* set = nullptr;  ///< at the producers' home; one for each buffer and region
    std::optional<RegionCopies> copies;  ///< dma
    std::vector<HeardWord> heard;        ///< words that the producers' device monitor hears
  };
  /// A device that the pipeline runs on, and its words.
  struct Device {
    int number = -1;  ///< GpuStageOptions::device; -1: PipelineConfig::device
    std::unique_ptr<Backend> backend;
    // For the pipeline's life.
    std::unique_ptr<Arena> words;
    Control* control = nullptr;
    DeviceNotice* notice = nullptr;            ///< at the host
    Word<std::uint32_t>* all_ended = nullptr;  ///< every unit has ended
    // Made by prepare().
    std::unique_ptr<Arena> plan;
    MonitorTable* monitor = nullptr;  ///< null: the pipeline uses nothing here
    /// By BusDirection: lines that copy to the device, and from it; null where there is none.
    std::unique_ptr<TransferLine> lines[2];
  };
  /// A tunnel, and its memory once the homes of its ends are known. From then on the memory does not move, so open ends
  /// stay valid.
  struct TunnelState {
    std::unique_ptr<TunnelBase> tunnel;
    Home put_home = at_host;
    Home get_home = at_host;
    bool placed = false;
    Ring put_ring;             ///< the whole ring, or the outbox
    Ring get_ring;             ///< the whole ring, or the inbox
    std::size_t capacity = 0;  ///< in items, at present: a run may let it grow
    Ring* spill = nullptr;     ///< at the producers' home; prepare() gives it memory if a writer spills
    EndWords* put_end = nullptr;
    EndWords* get_end = nullptr;             ///< the same object if both ends have one home
    Word<std::uint32_t>* closing = nullptr;  ///< at the host
    ToldWord published;
    ToldWord arrived;
    ToldWord retired;
    BusWords* bus = nullptr;                     ///< of a tunnel that crosses
    Relays* host_relays = nullptr;               ///< of the half-ring at the host, if there is one
    Movement movement = Movement::automatic;     ///< of a tunnel that crosses; automatic until it is settled
    std::string why;                             ///< why this movement was chosen
    Word<std::uint32_t>* open_closed = nullptr;  ///< at the producers' home: how many open inlets were closed
    std::uint32_t open_inlets = 0;
    std::vector<OutletPort*> open_outlets;   ///< at the consumers' home
    Word<std::uint64_t>* drained = nullptr;  ///< counts the items drained from the spill pool, if it is drained
    bool spills_to_host = false;             ///< the pool's items are in host memory: the device had too little
    std::size_t route = npos;                ///< dma: its index in its transfer line
    Home line_home = at_host;                ///< dma: the device whose line it is
    std::optional<StencilState> stencil{};
    /// If its stage runs on several devices: the tunnels of the further devices.
    std::vector<std::uint32_t> branches{};
    /// Those devices, the first one's included; empty for a tunnel that is a branch itself.
    std::vector<int> branch_devices{};

    [[nodiscard]] bool crosses() const { return put_home != get_home; }
    /// For a tunnel that crosses: its direction, seen from line_home.
    [[nodiscard]] BusDirection direction() const {
      return get_home != at_host ? BusDirection::to_device : BusDirection::from_device;
    }
  };
  /// A kernel of the run.
  struct Started {
    std::unique_ptr<RunningKernel> kernel;
    NamedFailure failure;
    Home home = own_device;
    bool monitor = false;  ///< it is a device monitor
    /// Index into gpu_: this is a user's own kernel, and what it left open is not closed yet.
    std::size_t close_behind = npos;
    bool done = false;  ///< it has ended, or failed
  };
  struct ThreadLog {
    ThreadTrace trace;
    std::vector<WaitWords> waits;  ///< for each tunnel
  };
  /// A stage, CPU or GPU, with its words.
  struct StageState {
    StageDescription description;
    NamedFailure failure;
    bool gpu = false;
    Home home = at_host;
    std::size_t owner = 0;   ///< index into cpu_ or gpu_
    unsigned executors = 0;  ///< threads or blocks
    StageWords* words = nullptr;
    std::vector<OutletPort*> outlet_ports;               ///< for each tunnel in `from`: an array of `executors`
    std::vector<InletPort*> inlet_ports;                 ///< for each tunnel in `into`: an array of `executors`
    std::vector<Word<std::uint32_t>*> closed_executors;  ///< for each tunnel in `into`
    std::vector<std::unique_ptr<ThreadLog>> threads;     ///< of a CPU stage
  };

  // pipeline.cpp
  template <class Test>
  [[nodiscard]] bool any_stage(Test&& test) const {
    auto const in_kernel = [&](GpuKernelDescription const& k) {
      return std::any_of(k.stages.begin(), k.stages.end(), test);
    };
    return std::any_of(cpu_.begin(), cpu_.end(), [&](CpuStageDescription const& c) { return test(c.stage); }) ||
           std::any_of(gpu_.begin(), gpu_.end(), in_kernel);
  }
  [[nodiscard]] Device& device(Home home) { return devices_.at(home - own_device); }
  [[nodiscard]] Device const& device(Home home) const { return devices_.at(home - own_device); }
  [[nodiscard]] Backend& backend(Home home) const { return *device(home).backend; }
  [[nodiscard]] Arena& words(Home home) { return home == at_host ? *host_words_ : *device(home).words; }
  [[nodiscard]] Arena& plan(Home home) { return home == at_host ? *host_plan_ : *device(home).plan; }
  void give_words(Device& device);
  Home home_of(int number);
  [[nodiscard]] std::string device_name(Home home) const;
  /// The relays of a half-ring of the tunnel.
  [[nodiscard]] static Relays make_relays(TunnelState const& t, Ring const& half);
  /// `capacity` is that of each shard.
  Ring make_ring(TunnelBase const& tunnel, RingPart part, std::byte* items, std::size_t capacity, Arena& arena,
                 unsigned shards = 1, bool tagged = false);
  [[nodiscard]] Control* control(Home home) const { return home == at_host ? host_control_ : device(home).control; }
  void invalidate();
  void place(TunnelState& t);
  [[nodiscard]] bool is_reached(Home home, Home from) const;
  [[nodiscard]] ToldWord place_told(Home teller, Home hearer, Word<std::uint64_t>& at_the_host);
  [[nodiscard]] std::byte* place_direct(TunnelState& t, std::size_t slots);
  void place_for_dma(TunnelState& t);
  void place_as_it_is(TunnelState& t);
  [[nodiscard]] std::vector<int> devices_of(GpuStageOptions const& options) const;
  void add_on_each(GpuKernelDescription const& description, std::vector<int> const& devices);
  void note_open(TunnelBase const& tunnel);
  void branch_out(TunnelBase const& tunnel, std::vector<int> const& devices);
  [[nodiscard]] StageDescription with_branches(StageDescription stage) const;
  [[nodiscard]] Home end_home(TunnelBase const& tunnel, bool puts);
  void tell_arrivals(TunnelState& t);
  void settle_movement(TunnelState& t);
  [[nodiscard]] bool is_read_alone(TunnelState const& t) const;
  void check_tagged(std::vector<std::string>& found) const;
  [[nodiscard]] Grouping chosen_grouping(StageState const& stage, TunnelBase const& tunnel) const;

  // pipeline_prepare.cpp
  void number_stages();
  void find_homes(std::vector<std::string>& found);
  [[nodiscard]] std::vector<std::string> problems() const;
  void check_problems(std::vector<std::string> const& problems) const;
  [[nodiscard]] FlowGraph flow_graph() const;
  void warn_of_cycles() const;
  /// As the last prepare() found; that of a tunnel which was added since is empty.
  [[nodiscard]] FlowPlan::Tunnel flow(TunnelState const& t) const {
    return t.tunnel->id() < flow_.tunnels.size() ? flow_.tunnels[t.tunnel->id()] : FlowPlan::Tunnel{};
  }
  void choose_grids(std::vector<std::string>& found);
  void load_kernels(std::vector<std::string>& problems);
  void give_spill_memory();
  std::byte* place_spilled(TunnelState& t, std::size_t bytes);
  void place_stage_words();
  [[nodiscard]] CountedGraph counted_graph();
  [[nodiscard]] TerminationTable build_termination(Home home, std::vector<std::vector<UnitNews>>& news);
  [[nodiscard]] ThrottleTable build_throttles();
  void build_lines();
  [[nodiscard]] Arena& told_plan(Home teller, Home hearer);
  void build_monitors();
  void build_monitor(Home home, TerminationTable const& termination);
  [[nodiscard]] DeviceKernel monitor_kernel(Home home) const;
  [[nodiscard]] simt::Grid monitor_grid(Home home) const { return {1, backend(home).monitor_threads(), 0}; }
  [[nodiscard]] DeviceKernel close_kernel(std::size_t k) const;
  template <class View>
  void add_branches(std::vector<View>& views, std::vector<TunnelBase*> const& own) const;
  [[nodiscard]] StageEnds stage_ends(std::vector<std::size_t> const& stages, unsigned executor) const;
  [[nodiscard]] static bool past_caches(TunnelState const& t);
  [[nodiscard]] InletView inlet_view(StageState const& stage, std::size_t index, unsigned executor) const;
  [[nodiscard]] OutletView outlet_view(StageState const& stage, std::size_t index, unsigned executor) const;
  [[nodiscard]] std::vector<std::size_t> stages_of(bool gpu, std::size_t owner) const;
  [[nodiscard]] std::vector<std::size_t> writers(std::uint32_t tunnel) const;
  [[nodiscard]] std::vector<std::size_t> readers(std::uint32_t tunnel) const;
  [[nodiscard]] bool is_used(Home home) const;

  // pipeline_run.cpp
  [[nodiscard]] bool over() const;
  void reset_run();
  void start_monitors();
  void monitor_failed(NamedFailure const& part, std::exception_ptr const& error) noexcept;
  void start_kernels();
  [[nodiscard]] Started start_kernel(std::string name, DeviceKernel const& kernel, simt::Grid grid, Home home);
  void start_threads();
  void start_thread(std::size_t stage, unsigned thread);
  void run_thread(std::size_t stage, unsigned thread);
  void run_body(std::size_t stage, unsigned thread);
  void run_lane(std::size_t kernel, Control& control, std::function<void()> const& body);
  void import_record(FaultRecord const& record) noexcept;
  [[nodiscard]] std::exception_ptr error_of(FaultRecord const& record) const;
  void import_faults() noexcept;
  void import_late_faults();
  void set_error(std::exception_ptr error) noexcept;
  /// Makes what `part` threw the run's error.
  void fail(NamedFailure const& part, std::exception_ptr const& cause) noexcept { set_error(part.of(cause)); }
  void require_own_process(char const* what) const;
  [[nodiscard]] bool left_behind_by_fork() const;
  void finish_run();
  void make_reports(std::chrono::steady_clock::time_point end);
  [[nodiscard]] RunReport make_report(std::chrono::steady_clock::time_point end);
  [[nodiscard]] static std::string kernel_title(GpuKernelDescription const& k) {
    return (k.stages.size() > 1 ? "group '" : "stage '") + k.name + "'";
  }
  [[nodiscard]] std::string tunnel_name(std::uint32_t id) const;
  [[nodiscard]] static char const* movement_name(TunnelState const& t);

  // pipeline_watch.cpp
  /// The calling thread's role in a pipeline.
  struct ThreadRole {
    Core const* core = nullptr;  ///< the pipeline whose stage, supervisor or watcher it runs, or null
    bool observes = false;       ///< it is the supervisor or the watcher
  };
  [[nodiscard]] static ThreadRole& role_of_this_thread() noexcept;
  [[nodiscard]] bool is_called_by_own_run() const noexcept;
  bool supervise() noexcept;
  bool watch() noexcept;
  void look_for_the_end();
  /// While it lives, records when the watcher's call to the driver began.
  class DriverCall {
   public:
    explicit DriverCall(std::atomic<std::int64_t>& since_ns);
    ~DriverCall();
    DriverCall(DriverCall const&) = delete;
    DriverCall& operator=(DriverCall const&) = delete;

   private:
    std::atomic<std::int64_t>& since_ns_;
  };
  void poll_kernels_when_due(std::chrono::steady_clock::time_point now);
  void observe(std::chrono::steady_clock::time_point now, std::chrono::nanoseconds driver_held) noexcept;
  [[nodiscard]] std::chrono::nanoseconds driver_held(std::chrono::steady_clock::time_point now) const;
  [[nodiscard]] bool needs_copies(std::chrono::steady_clock::time_point now);
  void close_behind_own_kernels();
  [[nodiscard]] std::exception_ptr ask_kernel(Started& kernel);
  [[nodiscard]] std::exception_ptr ask_kernels();
  void poll_kernels(bool finishing);
  [[nodiscard]] std::exception_ptr kernel_failed(std::exception_ptr error, Home home) const;
  [[nodiscard]] std::exception_ptr deadline_error(std::string const& why) const;
  void check_started(std::chrono::steady_clock::time_point now);
  [[nodiscard]] bool have_all_started() const;
  [[nodiscard]] std::string first_not_started() const;
  [[nodiscard]] bool deadline_is_due(std::chrono::steady_clock::time_point now) const;
  void check_deadline(std::chrono::steady_clock::time_point now);

  // pipeline_stencil.cpp
  void place_stencil(TunnelState& t);
  [[nodiscard]] std::string incomplete_frame_of(TunnelState const& t);
  void check_frames();
  [[nodiscard]] StencilReport stencil_report(TunnelState const& t);

  // pipeline_trace.cpp
  void start_trace();
  [[nodiscard]] bool sample_is_due(std::chrono::steady_clock::time_point now) const;
  void sample(std::chrono::steady_clock::time_point now);
  void trace_event(std::string category, std::string name, std::string text);
  [[nodiscard]] TunnelReport tunnel_report(PipelineSnapshot const& seen, std::size_t tunnel) const;
  [[nodiscard]] StageReport stage_report(std::size_t stage, std::uint64_t tasks, double run_seconds) const;
  [[nodiscard]] RunReport report_of(PipelineSnapshot const& seen, std::chrono::steady_clock::time_point now) const;
  [[nodiscard]] std::size_t capacity_of(TunnelState const& t);
  void write_graph() noexcept;
  void write_stats() const noexcept;
  [[nodiscard]] bool show_is_due(std::chrono::steady_clock::time_point now) const;
  void show(std::chrono::steady_clock::time_point now);
  void write_trace(std::chrono::steady_clock::time_point end, RunReport const* report) noexcept;
  void write_trace_of(std::chrono::steady_clock::time_point end, RunReport const& report);

  // pipeline_stall.cpp: called by the watcher
  void start_stall_watch();
  [[nodiscard]] bool has_left() const;
  [[nodiscard]] bool stall_look_is_due(std::chrono::steady_clock::time_point now) const;
  void report_stalls(std::chrono::steady_clock::time_point now);
  [[nodiscard]] bool growth_is_due(std::chrono::steady_clock::time_point now) const;
  void grow_tunnels(std::chrono::steady_clock::time_point now);
  void grow(TunnelState& t);
  /// *Threads*: the observer; any when no run is under way.
  [[nodiscard]] PipelineSnapshot snapshot();
  enum class Kernels : std::uint8_t { asked, not_asked };
  [[nodiscard]] PipelineSnapshot read_counters(WordCopies const& copies, Kernels kernels);
  [[nodiscard]] WordCopies unseen_words() const;
  [[nodiscard]] bool is_asked_of_driver(Home home) const;
  void fetch_copies();
  [[nodiscard]] static std::span<Word<std::uint32_t>> set_words(TunnelState const& t);
  [[nodiscard]] std::shared_ptr<WordCopies const> copies_for_stats(std::unique_lock<std::mutex>& snapshots);

  PipelineConfig config_;
  struct BufferMemory {
    Home home;  ///< the home whose backend allocated it
    Memory memory;
    std::byte* address;
    std::size_t bytes;
  };

  // Kept for the pipeline's life: devices, tunnels and control. Arenas are declared after devices_, so they are
  // destroyed before the device that allocated their memory.
  std::deque<Device> devices_;  ///< the pipeline's own device first
  std::vector<BufferMemory> buffers_;
  std::unique_ptr<Arena> host_words_;
  std::unique_ptr<Arena> managed_items_;
  Control* host_control_ = nullptr;
  bool device_asks_ = false;                       ///< the pipeline's own device asks for the end of the whole run
  Word<std::uint32_t>* host_all_ended_ = nullptr;  ///< every unit has ended
  std::vector<TunnelState> tunnels_;
  std::unordered_set<std::string_view> tunnel_names_;
  std::optional<MovementTable> movement_table_;  ///< read when a tunnel first needs it
  std::vector<CpuStageDescription> cpu_;
  std::vector<GpuKernelDescription> gpu_;
  bool tunnels_may_grow_ = false;
  std::mutex open_names_lock_;
  std::map<std::uint32_t, std::string> open_names_;  ///< names of tunnels with open ends; any thread may ask for them
  std::deque<Latency> latencies_;

  // Made by prepare(), dropped when the user adds something.
  bool prepared_ = false;
  std::unique_ptr<Arena> host_plan_;
  std::vector<StageState> stages_;
  FlowPlan flow_;
  std::vector<simt::Grid> grids_;  ///< for each kernel
  std::vector<std::size_t> start_order_;
  Home checker_ = at_host;                   ///< the first device that is used, or the host
  TerminationTable* host_check_ = nullptr;   ///< only if nothing of the pipeline is on a device
  ThrottleTable* host_throttles_ = nullptr;  ///< likewise
  CycleRecord* cycle_records_ = nullptr;     ///< at the checker's home
  std::vector<Drain*> host_drains_;

  /// Parts of every run that may fail by themselves.
  struct Parts {
    NamedFailure to_device{NamedFailure::Part::library, "the monitor of tunnels to the device"};
    NamedFailure from_device{NamedFailure::Part::library, "the monitor of tunnels from the device"};
    NamedFailure supervisor{NamedFailure::Part::library, "the supervisor of the run"};
    NamedFailure watcher{NamedFailure::Part::library, "the watcher of the run"};
    NamedFailure start{NamedFailure::Part::library, "the start of the run"};
    NamedFailure report{NamedFailure::Part::library, "the report of the run"};
  };
  Parts const parts_;
  std::exception_ptr const aborted_by_user_ = std::make_exception_ptr(Aborted("the pipeline was aborted"));
  std::exception_ptr const aborted_by_destructor_ =
      std::make_exception_ptr(Aborted("the pipeline was destroyed while it ran"));
  std::exception_ptr const thread_ended_itself_ =
      std::make_exception_ptr(Error("its thread has ended itself (pthread_exit), or was cancelled"));

  // One run.
  std::atomic<bool> running_{false};
  std::atomic<bool> waiting_{false};  ///< a thread is in wait()
  std::atomic<pid_t> process_{0};     ///< the process that started the last run
  FirstError error_;
  std::vector<std::unique_ptr<HostMonitor>> monitors_;
  HostMonitor* watcher_ = nullptr;  ///< one of them
  std::vector<std::jthread> threads_;
  std::vector<Started> kernels_;
  std::unique_ptr<RunningKernel> launched_;  ///< the last kernel by launch(), with all before it
  Home launched_on_ = own_device;
  std::set<std::tuple<Home, void const*, unsigned, std::size_t>> prepared_launches_;
  std::atomic<bool> ended_{false};            ///< every unit has ended
  std::atomic<bool> kernels_started_{false};  ///< once true, only the watcher touches kernels_
  std::atomic<bool> finishing_{false};        ///< the run has ended or is aborting: kernels are about to leave
  std::atomic<bool> kernels_done_{false};
  std::atomic<unsigned> threads_running_{0};
  std::vector<std::atomic<unsigned>> inside_;  ///< threads in each stage's code
  std::atomic<std::int64_t> last_thread_end_ns_{0};
  std::chrono::steady_clock::time_point started_;
  bool all_started_ = false;  ///< only the supervisor uses it
  bool asks_driver_ = false;  ///< the run has a device whose memory can only be read through its driver
  std::chrono::steady_clock::time_point next_kernel_poll_;  ///< only the watcher uses it
  std::atomic<std::int64_t> driver_since_ns_{0};  ///< when the watcher's call to the driver began; 0: it is in none
  // Only the observer uses these: the watcher, or the supervisor while a call to the driver holds the watcher up.
  std::mutex observing_;
  std::chrono::nanoseconds driver_held_{0};  ///< how long the driver has held the watcher up
  bool deadline_passed_ = false;
  Progress before_deadline_;
  StallWatch stall_watch_{std::chrono::nanoseconds(0)};
  std::chrono::steady_clock::time_point next_look_;
  StallWatch growth_watch_{std::chrono::nanoseconds(0)};
  std::chrono::steady_clock::time_point next_growth_look_;
  bool hinted_ = false;
  unsigned signals_seen_ = 0;
  std::optional<RunTrace> trace_;
  std::chrono::steady_clock::time_point next_sample_;
  /// Guards what follows. Also keeps a live run from ending while stats() reads it.
  std::mutex snapshots_;
  bool live_ = false;                         ///< a run and its watcher are active
  std::shared_ptr<WordCopies const> copies_;  ///< the last copies that were fetched
  std::uint64_t copies_asked_ = 0;            ///< how many copies stats() has asked for
  std::uint64_t copies_served_ = 0;
  std::condition_variable copies_came_;
  std::chrono::milliseconds show_every_{0};  ///< HIWAY_WATCH
  std::chrono::steady_clock::time_point next_show_;
  RunReport report_;

 public:
  ~Core();
};

}  // namespace hiway
