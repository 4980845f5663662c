// Pipeline: owns tunnels, stages and buffers; checks, starts and ends a run. Stencil tunnels and segments are declared
// here only: a program that makes one includes hiway/stencil/stencil_tunnel.hpp or hiway/segment/segment.hpp, or
// hiway/hiway.hpp, which includes both.
#pragma once
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/backend.hpp"
#include "hiway/batch.hpp"
#include "hiway/batch/batch_form.hpp"
#include "hiway/batch/batch_stage.hpp"
#include "hiway/durations.hpp"
#include "hiway/group.hpp"
#include "hiway/latency.hpp"
#include "hiway/memory.hpp"
#include "hiway/persistent.hpp"
#include "hiway/report.hpp"
#include "hiway/scope/scopes.hpp"
#include "hiway/segment/segment_config.hpp"
#include "hiway/stage.hpp"
#include "hiway/stage_by_ticket.hpp"
#include "hiway/stage_description.hpp"
#include "hiway/stencil/create.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

namespace segment {
template <class Tree, class Source, Shape shape>
class Segment;
namespace detail {
template <class Source>
struct SourceTraits;
}  // namespace detail
}  // namespace segment

/// Owns tunnels, stages and buffers; checks, starts and ends a run.
class Pipeline final : public StencilTunnels, private OpenEnds, private BufferAccess {
 public:
  /// *Throws* NoDevice when the requested device does not exist.
  explicit Pipeline(PipelineConfig config = {});
  /// Aborts a run under way and waits for it.
  ~Pipeline();
  Pipeline(Pipeline const&) = delete;
  Pipeline& operator=(Pipeline const&) = delete;

  /// Makes a tunnel of items of type T: trivially copyable, at most 64 KiB, alignment at most 128. A pipeline has at
  /// most 65,536 tunnels. *Throws* ConfigError. *Lifetime*: the pipeline's.
  template <class T>
  Tunnel<T>& create_tunnel(std::string_view name, Direction direction, TunnelConfig config = {}) {
    return make_tunnel<T, T>(name, direction, config, nullptr);
  }
  /// The same with `.scopes = &scopes`: each item belongs to one of these scopes.
  template <class T>
  Tunnel<Scoped<T>>& create_tunnel(std::string_view name, Direction direction, ScopedTunnelConfig config) {
    return make_tunnel<T, Scoped<T>>(name, direction, config.rest(), config.scopes.get());
  }

  /// The same with `.order = Order::restored`.
  template <class T>
  RestoredTunnel<T>& create_tunnel(std::string_view name, Direction direction, RestoredTunnelConfig const& config) {
    return static_cast<RestoredTunnel<T>&>(add_tunnel(std::make_unique<RestoredTunnel<T>>(
        static_cast<OpenEnds&>(*this), std::string(name), direction, config.rest(), tunnel_count())));
  }

  /// Makes a kind of scopes, for tunnels with scopes. *Throws* ConfigError.
  /// *Lifetime*: the pipeline's.
  Scopes& create_scopes(std::string_view name, ScopesConfig config = {});

  /// Adds a stage that runs on CPU threads. `body` has any of the three forms (stage.hpp); all threads call it at once.
  template <class F, class... Is, class... Os>
  void add_cpu_stage(std::string_view name, F body, From<Is...> in, Into<Os...> out, CpuStageOptions options = {}) {
    if constexpr (Form<F, From<Is...>, Into<Os...>>::fits) {
      // The body is shared, not copied, among the threads: a stage is one object.
      using Runner = StageRunner<CpuBody<F&>, From<Is...>, Into<Os...>>;
      auto shared = std::make_shared<F>(std::move(body));
      CpuStageDescription d{detail::describe<F>(name, in, out), options, {}};
      d.body = [shared](StageEnds const& all) {
        Runner runner{CpuBody<F&>{*shared}};
        Ends<Runner> const ends = make_ends<Runner>(all);
        run_persistent(StageThread{}, runner, ends);
      };
      add_cpu(std::move(d));
    }
  }
  template <class F, class... Is>
  void add_cpu_stage(std::string_view name, F body, From<Is...> in, CpuStageOptions options = {}) {
    add_cpu_stage(name, std::move(body), in, Into<>(NoTunnels{}), options);
  }
  template <class F, class... Os>
  void add_cpu_stage(std::string_view name, F body, Into<Os...> out, CpuStageOptions options = {}) {
    add_cpu_stage(name, std::move(body), From<>(NoTunnels{}), out, options);
  }

  /// Adds a stage that runs in a persistent kernel; `body` is a trivially copyable struct at namespace scope, marked
  /// HIWAY_DEVICE.
  template <class F, class... Is, class... Os, class Unit = ThisUnit>
  void add_gpu_stage(std::string_view name, F body, From<Is...> in, Into<Os...> out, GpuStageOptions options = {}) {
    add_gpu_stage_of<Unit>(name, std::move(body), in, out, options);
  }
  template <class F, class... Is, class Unit = ThisUnit>
  void add_gpu_stage(std::string_view name, F body, From<Is...> in, GpuStageOptions options = {}) {
    add_gpu_stage_of<Unit>(name, std::move(body), in, Into<>(NoTunnels{}), options);
  }
  template <class F, class... Os, class Unit = ThisUnit>
  void add_gpu_stage(std::string_view name, F body, Into<Os...> out, GpuStageOptions options = {}) {
    add_gpu_stage_of<Unit>(name, std::move(body), From<>(NoTunnels{}), out, options);
  }

  /// Adds a stage that works on batches, for libraries and kernels that exist: `body(Batch<I const> in, Batch<O>...
  /// out, Stream stream)` gives the stream what is to be done and returns; it does not wait (batch.hpp). It gets from
  /// one tunnel, and puts into any number. Without `from` the body is called until it makes nothing. A CPU thread calls
  /// it, for one batch after another. If the tunnels have scopes, a batch is of one (BatchOptions). *Throws*
  /// ConfigError.
  template <class F, class... Is, class... Os>
  void add_batch_stage(std::string_view name, F body, From<Is...> in, Into<Os...> out, BatchOptions options = {}) {
    using Batches = BatchForm<F, From<Is...>, Into<Os...>>;
    if constexpr (Batches::fits) {
      add_batches<sizeof...(Is), sizeof...(Os)>(detail::describe_ends(name, in, out), options,
                                                Batches::call(std::move(body)));
    }
  }
  template <class F, class... Is>
  void add_batch_stage(std::string_view name, F body, From<Is...> in, BatchOptions options = {}) {
    add_batch_stage(name, std::move(body), in, Into<>(NoTunnels{}), options);
  }
  template <class F, class... Os>
  void add_batch_stage(std::string_view name, F body, Into<Os...> out, BatchOptions options = {}) {
    add_batch_stage(name, std::move(body), From<>(NoTunnels{}), out, options);
  }

  /// Adds several item-form stages in one persistent kernel; each warp works on the stage that has most work.
  template <class... Fs, class... Ins, class... Outs, class Unit = ThisUnit>
  void add_gpu_group(std::string_view name, GpuStageOptions options, StageSpec<Fs, Ins, Outs>... stages) {
    add_gpu_group_of<Unit>(name, options, stages...);
  }
  template <class... Fs, class... Ins, class... Outs, class Unit = ThisUnit>
  void add_gpu_group(std::string_view name, StageSpec<Fs, Ins, Outs>... stages) {
    add_gpu_group_of<Unit>(name, GpuStageOptions{}, stages...);
  }

  /// Adds a stage that is a user's own kernel: a HIWAY_KERNEL function of one Outlet<T> per from(...), one Inlet<T> per
  /// into(...), then `arguments`. It is started once, as shape.grid blocks of shape.block threads, which must all be
  /// resident. thread_index() counts along x first, then y, then z. Its inlets close when the kernel has ended. If nvcc
  /// compiles it, only a GPU runs it; otherwise only the emulated device does. It reports a failure by fail_d of one of
  /// its ends. *Throws* ConfigError.
  template <class... Ps, class... Is, class... Os, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), From<Is...> in, Into<Os...> out,
                        KernelShape shape, Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, in, out, shape, arguments...);
  }
  template <class... Ps, class... Is, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), From<Is...> in, KernelShape shape,
                        Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, in, Into<>(NoTunnels{}), shape, arguments...);
  }
  template <class... Ps, class... Os, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), Into<Os...> out, KernelShape shape,
                        Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, From<>(NoTunnels{}), out, shape, arguments...);
  }
  template <class... Ps, class... Is, class... Os, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), From<Is...> in, Into<Os...> out, Extent grid,
                        Extent block, Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, in, out, {grid, block}, arguments...);
  }
  template <class... Ps, class... Is, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), From<Is...> in, Extent grid, Extent block,
                        Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, in, Into<>(NoTunnels{}), {grid, block}, arguments...);
  }
  template <class... Ps, class... Os, class... Args, class Unit = ThisUnit>
  void add_kernel_stage(std::string_view name, void (*kernel)(Ps...), Into<Os...> out, Extent grid, Extent block,
                        Args... arguments) {
    add_kernel_stage_of<Unit>(name, kernel, From<>(NoTunnels{}), out, {grid, block}, arguments...);
  }

  /// Adds a stage that is a segment: a tree of nodes in one persistent kernel, declared in segment/segment.hpp. It
  /// takes its items from `source` (load, indices, generate, or from(tunnel)). *Throws* ConfigError. *Lifetime* of the
  /// result: the pipeline's.
  template <segment::Shape shape = segment::Shape{}, class Source, class Tree, class Unit = ThisUnit>
  segment::Segment<Tree, Source, shape>& add_segment(std::string_view name, Source source, Tree tree,
                                                     segment::SegmentConfig config = {}) {
    using Made = segment::Segment<Tree, Source, shape>;
    using Code = typename Made::Code;
    auto* const code = static_cast<Code*>(allocate_buffer(Memory::device, 1, sizeof(Code), config.device));
    auto made = std::make_shared<Made>(std::string(name), source, tree, config, Made::collect(tree), code);
    StageKernel kernel = stage_kernel<typename Made::Runner, Unit>(typename Made::Runner{code});
    kernel.data = made;
    add_gpu({std::string(name),
             {detail::describe_ends(name, segment::detail::SourceTraits<Source>::ends(source), Made::tunnels_of(tree))},
             {.blocks = config.blocks,
              .threads_per_block = config.threads_per_block,
              .device = config.device,
              .node = config.node,
              .nodes = config.nodes,
              .residency = config.residency},
             std::move(kernel)});
    return *made;
  }

  /// Memory for the stages on `device` (-1: the pipeline's): `count` uninitialized elements, or a copy of `source`. Not
  /// while a run is under way. *Throws* ConfigError, NoDevice or CudaError.
  template <class T>
  Buffer<T>& create_buffer(std::size_t count, int device = -1) {
    T* const memory = static_cast<T*>(allocate_buffer(Memory::device, count, sizeof(T), device));
    auto buffer = std::make_shared<Buffer<T>>(static_cast<BufferAccess&>(*this), memory, count);
    buffers_.push_back(buffer);
    return *buffer;
  }
  template <class T>
  Buffer<T>& create_buffer(std::span<T const> source, int device = -1) {
    Buffer<T>& buffer = create_buffer<T>(source.size(), device);
    buffer.copy_in(source);
    return buffer;
  }

  /// A buffer in memory of the user's, of `device` or reached from there. The pipeline does not free it. *Lifetime* of
  /// the memory: until the pipeline's last use.
  template <class T>
  Buffer<T>& create_buffer(View<T> memory, int device = -1) {
    note_buffer(memory.data, memory.size * sizeof(T), device);
    auto buffer = std::make_shared<Buffer<T>>(static_cast<BufferAccess&>(*this), memory.data, memory.size);
    buffers_.push_back(buffer);
    return *buffer;
  }

  /// Makes a path whose items are timed: call begin_h() where it begins and end_h() where it ends; the item carries the
  /// stamp in between. One of `every` items is sampled. Each run starts without samples; results are in
  /// RunReport::latencies. *Throws* ConfigError while a run is under way.
  /// *Lifetime*: the pipeline's.
  Latency& create_latency(std::string path, unsigned every = 64);

  /// Pinned host memory: `count` uninitialized elements. Copies between it and a buffer use the whole bus; copies of
  /// other host memory go through the driver's own memory. *Throws* like create_buffer. *Lifetime*: the pipeline's.
  template <class T>
  std::span<T> create_host_buffer(std::size_t count) {
    static_assert(std::is_trivially_copyable_v<T>, "hiway: create_host_buffer<T>: T must be trivially copyable");
    return {static_cast<T*>(allocate_buffer(Memory::pinned, count, sizeof(T))), count};
  }

  /// Starts an ordinary kernel: `body()` on every thread of options.blocks x options.threads_per_block. Launches run
  /// one after another. The call does not wait for this launch; on the emulated device it waits for the one before. It
  /// may be called during a run, too: a launch may use open ends.
  /// *Threads*: one at a time. *Throws* ConfigError when an extent is 0.
  template <class F, class Unit = ThisUnit>
  void launch(std::string_view name, F body, GpuStageOptions options) {
    constexpr bool may_run = detail::runs_in_kernels<F>;
    static_assert(
        may_run || !detail::is_closure<F>,
        "hiway: launch: this lambda cannot run on a GPU: mark it HIWAY_DEVICE, capture by value, and give nvcc "
        "--extended-lambda; or write a trivially copyable struct at namespace scope");
    static_assert(may_run || detail::is_closure<F>,
                  "hiway: launch: the functor is copied into the kernel and must be trivially copyable");
    if constexpr (may_run)
      launch_kernel(name, device_kernel<LaunchBody<F>, Unit>(LaunchBody<F>{std::move(body)}), options);
  }
  /// *Waits* until every launch is done. *Throws* its first error.
  void synchronize();

  /// Checks the pipeline, allocates, loads kernels and makes the CPU threads, so that a later run does not. start()
  /// calls it if the program has not. The threads are kept from run to run. *Throws* ConfigError with all problems in
  /// one message, CudaError, Error that names the thread that could not be started.
  void prepare();
  /// prepare(), then starts every stage and returns. *Throws* like prepare(), and when a run is under way.
  void start();
  /// The same; kernels and batch stages of the run wait for the work that the stream has now. CPU stages do not wait.
  /// On an emulated device nothing waits.
  void start(CUstream_st* after);
  /// Later work of the stream waits until the run has ended, well or not. The call itself does not wait. *Throws*
  /// CudaError. *Threads*: any.
  void finished_on(CUstream_st* stream);
  /// *Waits* until the run has ended. *Throws* the run's first error: StageError (a stage failed; it is named, its own
  /// exception nested), MisuseError, CudaError, Aborted.
  RunReport wait();
  /// *Waits* at most this long; true when the run has ended (call wait() for its outcome). A hundred years or more mean
  /// for ever.
  template <class Rep, class Period>
  [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> duration) {
    return wait_at_most(at_most_for_ever(duration));
  }
  /// start() and wait(). May be called again: tunnels then start empty.
  RunReport run();
  /// Calls `f` once in each run, when its stages have returned: with the error that wait() will throw, or null. The
  /// last function given counts; an empty one: none. It is called on a thread of the library's, before wait() returns,
  /// and may call stats(), but not wait() or start(). What it throws is logged and dropped. That a report cannot be
  /// made, wait() alone says. *Throws* ConfigError while a run is under way.
  void on_end(std::function<void(std::exception_ptr)> f);
  /// Of the run under way, else of the next; each has its own. Requested within milliseconds when the run fails or is
  /// aborted: for sources that wait outside of the library. Callbacks run on a thread of the library's: they must be
  /// short. *Threads*: any.
  [[nodiscard]] std::stop_token stop_token() const;
  /// Takes nothing more from outside in the run under way: open inlets of CPU threads are closed, so later puts throw
  /// Drained, and offers are `closed`. What is there is finished, and the run ends once stages that are sources have
  /// returned. It does not wait. *Threads*: any, at any time.
  void drain();
  /// Takes nothing from outside until resume(): puts at open inlets of CPU threads wait, and offers are `full`. What is
  /// there goes on. Of the run under way. *Threads*: any, at any time.
  void pause();
  void resume();
  /// Ends a run under way: every wait in it ends, and wait() throws Aborted. *Threads*: any, at any time.
  void abort();

  /// The last run's report; during a run, what it has done so far. *Threads*: any, while it runs.
  [[nodiscard]] RunReport stats() const;
  /// The graph of stages and tunnels in Graphviz' dot language, with the numbers of stats() once there are any.
  [[nodiscard]] std::string graph() const;
  [[nodiscard]] std::uint32_t tunnel_count() const override;
  /// The device it runs on, "simt" or "cuda:N"; if there are several, all their names.
  [[nodiscard]] std::string device() const;

 private:
  class Core;
  friend struct PipelineAccess;

  template <class T, class Carried>
  Tunnel<Carried>& make_tunnel(std::string_view name, Direction direction, TunnelConfig const& config, Scopes* scopes) {
    return static_cast<Tunnel<Carried>&>(add_tunnel(std::make_unique<Tunnel<Carried>>(
        static_cast<OpenEnds&>(*this), std::string(name), direction, config, tunnel_count(), scopes)));
  }
  template <unsigned Outlets, unsigned Inlets>
  void add_batches(StageDescription stage, BatchOptions const& options, BatchStage::Body call) {
    TunnelBase const* const from = stage.from.empty() ? nullptr : stage.from.front();
    auto batch = std::make_shared<BatchStage>(stage.name, from, stage.into, options, std::move(call));
    auto const run = [batch](StageEnds const& all) {
      BatchRunner<Outlets, Inlets> runner{batch.get()};
      auto const ends = make_ends<BatchRunner<Outlets, Inlets>>(all);
      run_persistent(StageThread{}, runner, ends);
    };
    CpuStageOptions const one_thread;
    add_cpu({std::move(stage), one_thread, run, batch});
  }

  // The Unit parameter keeps instantiations of units compiled with and without nvcc apart (launch/cuda.cuh).
  template <class Unit, class F, class... Is, class... Os>
  void add_gpu_stage_of(std::string_view name, F body, From<Is...> in, Into<Os...> out, GpuStageOptions options) {
    constexpr bool may_run = detail::runs_in_kernels<F>;
    static_assert(may_run || !detail::is_closure<F>,
                  "hiway: add_gpu_stage: this lambda cannot run on a GPU: mark it HIWAY_DEVICE, capture by value, and "
                  "give nvcc --extended-lambda; or write a trivially copyable struct at namespace scope");
    static_assert(may_run || detail::is_closure<F>,
                  "hiway: add_gpu_stage: the functor is copied into the kernel and must be trivially copyable");
    if constexpr (!may_run) {
      return;
    } else if constexpr (Form<F, From<Is...>, Into<Os...>>::fits) {
      using Runner = StageRunner<F, From<Is...>, Into<Os...>>;
      add_gpu({std::string(name),
               {detail::describe<F>(name, in, out)},
               options,
               stage_kernel<Runner, Unit>(Runner{std::move(body)})});
    }
  }
  template <class Unit, class... Ps, class... Is, class... Os, class... Args>
  void add_kernel_stage_of(std::string_view name, void (*kernel)(Ps...), From<Is...> in, Into<Os...> out,
                           KernelShape const& shape, Args... arguments) {
    static_assert(!detail::names_scopes<From<Is...>> && !detail::names_scopes<Into<Os...>>,
                  "hiway: add_kernel_stage: its tunnels cannot have scopes");
    using Kernel = void (*)(Ps...);
    constexpr bool callable = std::is_invocable_v<Kernel, Outlet<Is>..., Inlet<Os>..., Args...>;
    static_assert(callable,
                  "hiway: add_kernel_stage: the kernel takes one Outlet<T> per from(...), then one Inlet<T> per "
                  "into(...), then the arguments given, by value");
    check_shape(name, shape);
    GpuStageOptions const options{.blocks = static_cast<unsigned>(shape.grid.count()),
                                  .threads_per_block = static_cast<unsigned>(shape.block.count()),
                                  .shared_bytes = shape.shared_bytes};
    if constexpr (callable && std::is_same_v<Unit, NvccUnit>) {
      StageDescription d = detail::describe_ends(name, in, out);
      d.own_kernel = true;
      add_gpu({std::string(name), {std::move(d)}, options, own_kernel(in, out, kernel, shape, arguments...)});
    } else if constexpr (callable) {
      using Runner = StageRunner<CallKernel<Kernel, Args...>, From<Is...>, Into<Os...>>;
      add_gpu({std::string(name),
               {detail::describe_ends(name, in, out)},
               options,
               stage_kernel<Runner, Unit>(Runner{{kernel, {arguments...}}})});
    }
  }
  template <class Unit, class... Fs, class... Ins, class... Outs>
  void add_gpu_group_of(std::string_view name, GpuStageOptions options, StageSpec<Fs, Ins, Outs> const&... stages) {
    auto runner = make_group(stages...);
    add_gpu({std::string(name),
             {detail::describe<Fs>(stages.name, stages.in, stages.out)...},
             options,
             stage_kernel<decltype(runner), Unit>(runner)});
  }

  bool wait_at_most(std::chrono::nanoseconds duration);
  TunnelBase& add_tunnel(std::unique_ptr<TunnelBase> tunnel);
  void add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) override;
  void add_cpu(CpuStageDescription description);
  void add_gpu(GpuKernelDescription description);
  void* allocate_buffer(Memory memory, std::size_t count, std::size_t item_bytes, int device = -1);
  void note_buffer(void* memory, std::size_t bytes, int device);
  void launch_kernel(std::string_view name, DeviceKernel kernel, GpuStageOptions options);
  InletView open_inlet(TunnelBase& tunnel, OpenEndOptions const& options) override;
  OutletView open_outlet(TunnelBase& tunnel, OpenEndOptions const& options) override;
  void copy_in(void* device, void const* host, std::size_t bytes) override;
  void copy_out(void* host, void const* device, std::size_t bytes) override;

  std::unique_ptr<Core> core_;
  std::vector<std::shared_ptr<void>> buffers_;
};

}  // namespace hiway
