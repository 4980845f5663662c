// Pipeline::Core's run: reset, start monitors, kernels and threads, wait, report.
#include <cxxabi.h>
#include <unistd.h>

#include <system_error>
#include <utility>

#include "affinity.hpp"
#include "hiway/log.hpp"
#include "hiway/ranges.hpp"
#include "lib/report_signal.hpp"
#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr auto patience_with_others = std::chrono::seconds(1);

}  // namespace

char const* Pipeline::Core::movement_name(TunnelState const& t) {
  if (!t.crosses()) return "memory";
  switch (t.movement) {
    case Movement::automatic: break;
    case Movement::dma: return "dma";
    case Movement::direct: return "direct";
    case Movement::managed: return "managed";
  }
  return "automatic";
}

std::string Pipeline::Core::stage_name(std::uint32_t id) const {
  return id < stages_.size() ? stages_[id].description.name : std::string();
}
std::string Pipeline::Core::tunnel_name(std::uint32_t id) const {
  return id < tunnels_.size() ? tunnels_[id].tunnel->name() : std::string();
}

Pipeline::Core::ThreadRole& Pipeline::Core::role_of_this_thread() noexcept {
  thread_local ThreadRole role;
  return role;
}

/// True on a thread of the run, or on an emulated lane: a lane that waits would hold up the other lanes of its OS
/// thread.
bool Pipeline::Core::is_called_by_own_run() const noexcept {
  return role_of_this_thread().core == this || simt::on_lane();
}

// The first error wins. Setting one makes every wait end.
void Pipeline::Core::set_error(std::exception_ptr error) noexcept {
  error_.set(std::move(error));
  ThreadMachine{}.store(host_control_->aborted, 1u, Order::release);
}

// A run becomes live and ends under this lock, so a late abort cannot hit the next run.
void Pipeline::Core::abort() {
  require_own_process("abort");
  std::scoped_lock const lock(snapshots_);
  if (live_) set_error(aborted_by_user_);
}

bool Pipeline::Core::left_behind_by_fork() const {
  bool const devices = std::ranges::any_of(devices_, [](Device const& d) { return d.backend->left_behind_by_fork(); });
  return devices || (running_ && process_ != getpid());
}

void Pipeline::Core::require_own_process(char const* what) const {
  if (left_behind_by_fork())
    throw MisuseError(std::string(what) +
                      ": the pipeline belongs to the process that this one was forked from; make a new one here");
}

std::exception_ptr Pipeline::Core::error_of(FaultRecord const& record) const {
  std::string text;
  if (!stage_name(record.stage).empty()) text += "stage '" + stage_name(record.stage) + "': ";
  bool const timed_out = record.kind == FaultKind::time_out_too_short;
  text += record.kind == FaultKind::failed && record.message[0] != '\0' ? record.message : fault_text(record.kind);
  if (timed_out) text += " (end_time_out is " + std::to_string(config_.end_time_out.count()) + " us)";
  if (!tunnel_name(record.tunnel).empty()) {
    text += ": tunnel '" + tunnel_name(record.tunnel) + "', ";
    bool const place = record.kind == FaultKind::set_twice || record.kind == FaultKind::outside_matrix;
    text += place       ? fault_place(record.item)
            : timed_out ? std::to_string(record.item) + " not ended"
                        : "item " + std::to_string(record.item);
  }
  return record.kind == FaultKind::failed ? std::make_exception_ptr(StageError(text))
         : timed_out                      ? std::make_exception_ptr(Aborted(text))
                                          : std::make_exception_ptr(MisuseError(text));
}

void Pipeline::Core::import_record(FaultRecord const& record) noexcept {
  try {
    set_error(error_of(record));
  } catch (...) {
    NamedFailure const& part = record.stage < stages_.size() ? stages_[record.stage].failure : parts_.supervisor;
    set_error(part.without_memory());
  }
}

// A thread ended by pthread_exit is counted, too.
void Pipeline::Core::run_thread(std::size_t stage, unsigned thread) {
  struct Leaving {
    Core& core;
    std::size_t stage;
    ~Leaving() {
      auto const now = std::chrono::steady_clock::now();
      core.last_thread_end_ns_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
      core.inside_[stage].fetch_sub(1, std::memory_order_relaxed);
      core.threads_running_.fetch_sub(1, std::memory_order_release);
      core.threads_running_.notify_all();
    }
  };
  role_of_this_thread() = {.core = this};
  inside_[stage].fetch_add(1, std::memory_order_relaxed);
  Leaving const leaving{*this, stage};
  NamedFailure const& part = stages_[stage].failure;
  try {
    run_body(stage, thread);
  } catch (Unwind const&) {
    if (ThreadMachine{}.load(host_control_->ready, Order::acquire) != 0) import_record(host_control_->record);
  } catch (abi::__forced_unwind const&) {
    fail(part, thread_ended_itself_);
    throw;
  } catch (...) {
    fail(part, std::current_exception());
  }
  try {
    stages_[stage].threads[thread]->trace.end();
  } catch (...) {
    fail(part, std::current_exception());
  }
  pop_range();
}

void Pipeline::Core::run_body(std::size_t stage, unsigned thread) {
  StageState const& s = stages_[stage];
  CpuStageOptions const& options = cpu_[s.owner].options;
  this_thread_context() = {.thread = thread, .threads = s.executors, .wait = options.wait};
  push_range(s.description.name.c_str());
  ThreadLog& log = *s.threads[thread];
  log.trace.begin(trace_.has_value(), s.description.from.empty(), log.waits);
  if (!options.pin.empty()) pin_this_thread(options.pin[thread % options.pin.size()]);
  cpu_[s.owner].body(stage_ends({stage}, thread));
}

// An emulated lane's body; keeps what it throws. If a lane throws while the device already aborts, that may be a
// consequence, such as a warp operation that misses lanes that have left. So only the first fault counts, although its
// lane may not have filled the record yet. When a lane has left, the others go on without it. They check `aborted`
// before they use what it owed them, and it is set before the lane leaves.
void Pipeline::Core::run_lane(std::size_t kernel, Control& control, std::function<void()> const& body) {
  FiberMachine const m;
  try {
    return body();
  } catch (Unwind const&) {
    if (m.load(control.ready, Order::acquire) != 0) import_record(control.record);
  } catch (...) {
    if (!is_aborted(m, control)) {
      std::size_t const stage = simt::lane_mark();
      fail(stage < stages_.size() ? stages_[stage].failure : stages_[stages_of(true, kernel).front()].failure,
           std::current_exception());
      record_fault(m, control, FaultKind::failed, simt::lane_mark(), no_id, 0);  // F1; fail() has kept the error
    }
  }
  simt::order_leaving();
}

void Pipeline::Core::start() {
  require_idle("start");
  try {
    prepare();
    synchronize();
    reset_run();
    running_ = true;
    // Supervisor and watcher start first, so that they can also end a launch that waits for something.
    start_monitors();
  } catch (...) {  // nothing else of the run has started yet
    std::exception_ptr const error = parts_.start.of(std::current_exception());
    monitors_.clear();
    running_ = false;
    ThreadMachine{}.store(host_control_->aborted, 1u, Order::release);
    std::rethrow_exception(error);
  }
  {
    std::scoped_lock const lock(snapshots_);
    live_ = true;
  }
  // From here on every failure becomes the run's error.
  try {
    start_kernels();
  } catch (...) {
    fail(parts_.start, std::current_exception());
  }
  kernels_started_.store(true, std::memory_order_release);
  start_threads();
}

/// Resets everything that the last run may have changed.
void Pipeline::Core::reset_run() {
  error_.clear();
  start_trace();
  for (Device& d : devices_) {
    for (auto const& line : d.lines) {
      if (line) line->reset();  // before the words that its copies set
    }
  }
  host_words_->reset();
  host_plan_->reset();
  for (Device& d : devices_) {
    d.words->reset();
    d.plan->reset();
  }
  for (GpuKernelDescription const& k : gpu_) {
    if (k.kernel.data) k.kernel.data->start(backend(home_of(k.options.device)));
  }
  ended_ = false;
  kernels_done_ = false;
  last_thread_end_ns_ = 0;
  monitors_.clear();
  threads_.clear();
  kernels_.clear();
  kernels_started_ = false;
  finishing_ = false;
  unsigned threads = 0;
  for (StageState const& stage : stages_) threads += stage.gpu ? 0 : stage.executors;
  threads_running_ = threads;
  threads_.reserve(threads);
  inside_ = std::vector<std::atomic<unsigned>>(stages_.size());
  started_ = std::chrono::steady_clock::now();
  next_kernel_poll_ = started_;
  all_started_ = false;
  driver_since_ns_ = 0;
  driver_held_ = std::chrono::nanoseconds(0);
  deadline_passed_ = false;
  before_deadline_.clear();
  next_sample_ = started_;
  growth_watch_ = StallWatch(config_.grow_after);
  next_growth_look_ = started_;
  start_stall_watch();
  asks_driver_ = false;
  for (Home home = own_device; home < own_device + devices_.size(); ++home)
    asks_driver_ = asks_driver_ || is_asked_of_driver(home);
  copies_ = std::make_shared<WordCopies>(unseen_words());
  process_ = getpid();
  ThreadMachine{}.store(host_control_->aborted, 0u, Order::release);  // open ends may be used from now on
}

Pipeline::Core::Started Pipeline::Core::start_kernel(std::string name, DeviceKernel const& kernel, simt::Grid grid,
                                                     Home home) {
  Started started{.kernel = nullptr, .failure{NamedFailure::Part::library, std::move(name)}, .home = home};
  try {
    started.kernel = backend(home).start(started.failure.who(), kernel, grid);
  } catch (...) {
    std::rethrow_exception(started.failure.of(std::current_exception()));
  }
  return started;
}

void Pipeline::Core::start_kernels() {
  kernels_.reserve(devices_.size() + gpu_.size());
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (device(home).monitor == nullptr) continue;
    kernels_.push_back(start_kernel("device monitor", monitor_kernel(home), monitor_grid(home), home));
    kernels_.back().monitor = true;
  }
  for (std::size_t k : start_order_) {
    Home const home = home_of(gpu_[k].options.device);
    DeviceKernel kernel = gpu_[k].kernel.bind(stage_ends(stages_of(true, k), 0));
    kernel.lane_body = [this, k, control = control(home), body = kernel.lane_body] { run_lane(k, *control, body); };
    kernels_.push_back(start_kernel(kernel_title(gpu_[k]), kernel, grids_[k], home));
    if (gpu_[k].kernel.close_behind) kernels_.back().close_behind = k;
  }
}

namespace {

/// One step of both relays. True also if another thread has moved them, so that a monitor whose work others do stays
/// awake.
bool relay(Relays& relays, std::uint64_t& seen) {
  ThreadMachine const m;
  tell_if_free(m, relays.tells);
  hear_if_free(m, relays.hears);
  std::uint64_t const sum = m.load(relays.tells.to, Order::relaxed) + m.load(relays.hears.to, Order::relaxed);
  return std::exchange(seen, sum) != sum;
}

}  // namespace

void Pipeline::Core::start_monitors() {
  struct Post {
    NamedFailure const& part;
    std::vector<Duty> duties{};
  };
  Post to_device{parts_.to_device};
  Post from_device{parts_.from_device};
  Post supervisor{parts_.supervisor};
  Post watcher{parts_.watcher};
  for (TunnelState const& t : tunnels_) {
    if (t.host_relays == nullptr) continue;
    (t.put_home == at_host ? to_device : from_device)
        .duties.emplace_back(
            [relays = t.host_relays, seen = std::uint64_t{0}]() mutable { return relay(*relays, seen); });
  }
  for (Drain* drain : host_drains_)
    to_device.duties.emplace_back([this, drain] { return step(ThreadMachine{}, *drain, *host_control_); });
  bool asks_driver = false;
  for (BusDirection direction : {BusDirection::to_device, BusDirection::from_device}) {
    bool const to = direction == BusDirection::to_device;
    for (Device const& d : devices_) {
      TransferLine* const line = d.lines[static_cast<std::size_t>(direction)].get();
      if (line == nullptr) continue;
      (to ? to_device : from_device).duties.emplace_back([line] { return line->step(ThreadMachine{}); });
      asks_driver = asks_driver || (!to && !d.backend->is_host());
    }
  }
  // The supervisor shares a thread with a monitor, unless a call to the driver may hold that thread up.
  std::vector<Duty>& with = (asks_driver ? supervisor : from_device).duties;
  with.insert(with.begin(), [this] { return supervise(); });
  watcher.duties.emplace_back([this] { return watch(); });
  std::vector<NamedFailure const*> parts;
  for (Post* const post : {&to_device, &from_device, &supervisor, &watcher}) {  // the watcher last: others wake it
    if (post->duties.empty()) continue;
    parts.push_back(&post->part);
    monitors_.push_back(std::make_unique<HostMonitor>(
        std::move(post->duties), [this] { return over(); },
        [this, &part = post->part](std::exception_ptr error) { monitor_failed(part, error); },
        post == &watcher ? Wait::automatic : config_.monitor_wait));
  }
  watcher_ = monitors_.back().get();
  for (std::size_t i = 0; i < monitors_.size(); ++i) {
    try {
      monitors_[i]->start();
    } catch (std::system_error const& e) {
      throw Error(parts[i]->who() + ": its thread could not be started: " + e.code().message());
    } catch (...) {
      std::rethrow_exception(parts[i]->of(std::current_exception()));
    }
  }
}

// A duty that ends because the run aborts adds no error.
void Pipeline::Core::monitor_failed(NamedFailure const& part, std::exception_ptr const& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (Unwind const&) {
  } catch (...) {
    fail(part, error);
  }
}

void Pipeline::Core::start_threads() {
  auto missing = threads_running_.load(std::memory_order_relaxed);
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].gpu) continue;
    for (unsigned t = 0; t < stages_[s].executors; ++t) {
      try {
        start_thread(s, t);
        --missing;
      } catch (...) {
        fail(stages_[s].failure, std::current_exception());
        threads_running_.fetch_sub(missing, std::memory_order_release);
        return;
      }
    }
  }
}

void Pipeline::Core::start_thread(std::size_t stage, unsigned thread) {
  try {
    threads_.emplace_back([this, stage, thread] { run_thread(stage, thread); });
  } catch (std::system_error const& e) {
    throw Error("thread " + std::to_string(thread + 1) + " of " + std::to_string(stages_[stage].executors) +
                " could not be started: " + e.code().message());
  }
}

bool Pipeline::Core::over() const {
  return threads_running_.load(std::memory_order_acquire) == 0 && kernels_done_.load(std::memory_order_acquire);
}

bool Pipeline::Core::wait_for(std::chrono::nanoseconds duration) {
  require_own_process("wait_for");
  auto const until = std::chrono::steady_clock::now() + duration;
  for (unsigned misses = 0; running_; ++misses) {
    if (over()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    relax_thread(misses);
  }
  return true;
}

/// Imports the faults that the device monitors have reported, and the host's own.
void Pipeline::Core::import_faults() noexcept {
  ThreadMachine const m;
  for (Device const& d : devices_) {
    if (m.load(d.notice->faulted, Order::acquire) != 0) import_record(d.notice->record);
  }
  if (m.load(host_control_->ready, Order::acquire) != 0) import_record(host_control_->record);
}

// Imports faults that came too late for the monitors. A stage may fail after every tunnel has ended, or have no tunnel
// at all: then its kernels leave, and the watcher may see that before the supervisor looks again. A put into an open
// end may come after the whole run has ended: then no monitor is left to report its fault.
void Pipeline::Core::import_late_faults() {
  import_faults();
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    bool const open_there = std::ranges::any_of(tunnels_, [&](TunnelState const& t) {
      return (t.open_inlets != 0 && t.put_home == home) || (!t.open_outlets.empty() && t.get_home == home);
    });
    if (!open_there) continue;
    Control const control = words(home).fetch(this->control(home));
    if (control.ready.bits != 0) import_record(control.record);
  }
}

RunReport Pipeline::Core::wait() {
  require_own_process("wait");
  if (!running_) throw ConfigError("wait: the pipeline was not started");
  if (is_called_by_own_run())
    throw MisuseError("wait: called on a thread of the run itself (a stage, or a log sink), which it would wait for");
  if (waiting_.exchange(true)) throw ConfigError("wait: another thread waits for this run already");
  struct Waiting {
    std::atomic<bool>& flag;
    ~Waiting() { flag = false; }
  } const waiting{waiting_};
  if (!running_) throw ConfigError("wait: the pipeline was not started");  // another thread waited for it meanwhile
  for (unsigned n = 0; (n = threads_running_.load(std::memory_order_acquire)) != 0;)
    threads_running_.wait(n, std::memory_order_acquire);
  kernels_done_.wait(false, std::memory_order_acquire);
  threads_.clear();
  auto const end = std::chrono::steady_clock::now();
  finish_run();
  RunReport report;
  try {
    if (error_.get()) {
      if (trace_) write_trace(end, nullptr);
    } else {
      make_reports(end);
      report = report_;
    }
  } catch (...) {
    fail(parts_.report, std::current_exception());
  }
  if (std::exception_ptr const error = error_.get()) std::rethrow_exception(error);
  return report;
}

/// Called after threads and kernels have left. Ends the monitors, and imports faults that no monitor has reported.
void Pipeline::Core::finish_run() {
  try {
    synchronize();  // waits for launches that use open ends
  } catch (...) {
    fail(parts_.start, std::current_exception());
  }
  {
    std::scoped_lock const lock(snapshots_);
    live_ = false;  // from here on stats() does not wake the watcher
  }
  copies_came_.notify_all();
  monitors_.clear();
  running_ = false;
  driver_held_ = std::chrono::nanoseconds(0);
  try {
    fetch_copies();
    kernels_.clear();
    if (!error_.get()) import_late_faults();
    if (!error_.get()) check_frames();
  } catch (...) {
    fail(parts_.report, std::current_exception());
  }
}

/// Called for a run that has ended well.
void Pipeline::Core::make_reports(std::chrono::steady_clock::time_point end) {
  for (GpuKernelDescription const& k : gpu_) {
    if (k.kernel.data) k.kernel.data->finish(backend(home_of(k.options.device)));
  }
  RunReport report = make_report(end);
  {
    std::scoped_lock const lock(snapshots_);
    report_ = std::move(report);
  }
  write_graph();
  write_stats();
  if (trace_) write_trace(end, &report_);
}

bool Pipeline::Core::must_be_left() noexcept {
  if (left_behind_by_fork()) return true;
  if (!running_ || !is_called_by_own_run()) return false;
  log(LogLevel::warning,
      "the pipeline is destroyed on a thread of its own run, as by exit() in a stage: the run is aborted");
  set_error(aborted_by_destructor_);
  auto const until = std::chrono::steady_clock::now() + patience_with_others;
  constexpr unsigned this_one = 1;  // the calling thread, which cannot leave
  for (unsigned misses = 0; std::chrono::steady_clock::now() < until; ++misses) {
    if (threads_running_.load(std::memory_order_acquire) <= this_one && kernels_done_.load(std::memory_order_acquire))
      break;
    relax_thread(misses);
  }
  return true;
}

/// Called for a run that has ended well.
RunReport Pipeline::Core::make_report(std::chrono::steady_clock::time_point end) {
  PipelineSnapshot const seen = snapshot();
  if (!seen.device_seen) throw Error("report: the device's counters could not be read");
  RunReport report = report_of(seen, end);
  for (std::size_t i = 0; i < tunnels_.size(); ++i) {
    TunnelState const& t = tunnels_[i];
    TunnelReport& r = report.tunnels[i];
    r.holds = 0;  // the credit for the last items may not have been reported
    if (std::size_t const cycle = flow(t).throttled_by; cycle != FlowPlan::none)
      r.throttled = plan(checker_).fetch(cycle_records_ + cycle).state.times;
    if (t.route != npos)
      r.batches = device(t.line_home).lines[static_cast<std::size_t>(t.direction())]->batches(t.route);
    if (t.stencil) report.stencils.push_back(stencil_report(t));
  }
  std::int64_t last_item = 0;
  for (StageState const& s : stages_) {
    if (s.gpu) continue;
    for (OutletPort const* ports : s.outlet_ports) {
      for (unsigned i = 0; i < s.executors; ++i) last_item = std::max(last_item, ports[i].idle_since_ns);
    }
  }
  std::int64_t const last_end = last_thread_end_ns_.load(std::memory_order_relaxed);
  if (last_item != 0 && last_end > last_item)
    report.end_detection_us = static_cast<double>(last_end - last_item) / 1000.0;
  return report;
}

}  // namespace hiway
