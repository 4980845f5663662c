// Pipeline::Core's run: reset, start kernels, monitors and threads, supervise, wait, report.
#include <utility>

#include "affinity.hpp"
#include "hiway/ranges.hpp"
#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr auto kernel_poll_interval = std::chrono::milliseconds(1);
constexpr auto start_patience = std::chrono::seconds(10);
constexpr auto watcher_patience = std::chrono::seconds(2);
constexpr auto glance = std::chrono::milliseconds(20);  // before the deadline: do items still move?

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

// The first error wins; then every wait is left.
void Pipeline::Core::set_error(std::exception_ptr error) {
  error_.set(std::move(error));
  ThreadMachine{}.store(host_control_->aborted, 1u, Order::release);
}

void Pipeline::Core::abort(std::exception_ptr reason) {
  if (running_) set_error(std::move(reason));
}

/// Turns what a stage's body threw into a StageError that names the stage and keeps the original nested.
void Pipeline::Core::fail_stage(std::string const& stage, std::exception_ptr error) {
  std::string what = "unknown exception";
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    what = e.what();
    try {
      std::throw_with_nested(StageError("stage '" + stage + "': " + what));
    } catch (...) {
      set_error(std::current_exception());
    }
  } catch (...) {
    try {
      std::throw_with_nested(StageError("stage '" + stage + "': " + what));
    } catch (...) {
      set_error(std::current_exception());
    }
  }
}

void Pipeline::Core::import_record(FaultRecord const& record) {
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
  set_error(record.kind == FaultKind::failed ? std::make_exception_ptr(StageError(text))
            : timed_out                      ? std::make_exception_ptr(Aborted(text))
                                             : std::make_exception_ptr(MisuseError(text)));
}

void Pipeline::Core::run_thread(std::size_t stage, unsigned thread) {
  StageState const& s = stages_[stage];
  CpuStageOptions const& options = cpu_[s.owner].options;
  this_thread_context() = {.thread = thread, .threads = s.executors, .wait = options.wait};
  ThreadLog& log = *s.threads[thread];
  push_range(s.description.name.c_str());
  log.trace.begin(trace_.has_value(), s.description.from.empty(), log.waits);
  inside_[stage].fetch_add(1, std::memory_order_relaxed);
  try {
    if (!options.pin.empty()) pin_this_thread(options.pin[thread % options.pin.size()]);
    cpu_[s.owner].body(stage_ends({stage}, thread));
  } catch (Unwind const&) {
    if (ThreadMachine{}.load(host_control_->ready, Order::acquire) != 0) import_record(host_control_->record);
  } catch (...) {
    fail_stage(s.description.name, std::current_exception());
  }
  log.trace.end();
  pop_range();
  last_thread_end_ns_.store(std::chrono::steady_clock::now().time_since_epoch().count(), std::memory_order_relaxed);
  inside_[stage].fetch_sub(1, std::memory_order_relaxed);
  threads_running_.fetch_sub(1, std::memory_order_release);
  threads_running_.notify_all();
}

// An emulated lane's body. What it throws is kept here. What a lane throws when the device aborts already may come of it, a
// warp operation without those that have left: the first fault counts, though whoever has it may not have filled its
// record. Other lanes go on without one that has left, and look at `aborted` before they use what it owed them: it is set
// before.
void Pipeline::Core::run_lane(std::size_t kernel, Control& control, std::function<void()> const& body) {
  FiberMachine const m;
  try {
    return body();
  } catch (Unwind const&) {
    if (m.load(control.ready, Order::acquire) != 0) import_record(control.record);
  } catch (...) {
    if (!is_aborted(m, control)) {
      std::string const stage = stage_name(simt::lane_mark());
      fail_stage(stage.empty() ? gpu_[kernel].name : stage, std::current_exception());
      record_fault(m, control, FaultKind::failed, simt::lane_mark(), no_id, 0);  // F1; the error is kept already
    }
  }
  simt::order_leaving();
}

void Pipeline::Core::start() {
  require_idle("start");
  prepare();
  synchronize();
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
  running_ = true;
  started_ = std::chrono::steady_clock::now();
  inside_ = std::vector<std::atomic<unsigned>>(stages_.size());
  next_kernel_poll_ = started_;
  all_started_ = false;
  deadline_passed_ = false;
  before_deadline_.clear();
  stall_watch_ = StallWatch(config_.stall_after);
  next_look_ = started_;
  next_sample_ = started_;
  growth_watch_ = StallWatch(config_.grow_after);
  next_growth_look_ = started_;
  signals_seen_ = report_signals();
  // Supervisor and watcher first: a launch that waits for something is ended by it, too.
  start_monitors();
  try {
    start_kernels();
  } catch (...) {
    set_error(std::current_exception());
  }
  kernels_started_.store(true, std::memory_order_release);
  start_threads();
}

void Pipeline::Core::start_kernels() {
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (device(home).monitor == nullptr) continue;
    kernels_.push_back({backend(home).start("device monitor", monitor_kernel(home), monitor_grid(home)), home});
  }
  for (std::size_t k : start_order_) {
    Home const home = home_of(gpu_[k].options.device);
    DeviceKernel kernel = gpu_[k].kernel.bind(stage_ends(stages_of(true, k), 0));
    kernel.lane_body = [this, k, control = control(home), body = kernel.lane_body] { run_lane(k, *control, body); };
    kernels_.push_back(
        {backend(home).start(kernel_title(gpu_[k]), kernel, grids_[k]), home, gpu_[k].kernel.close_behind ? k : npos});
  }
}

// What a user's own kernel has left open is closed when it has left. Not by a launch behind it in its stream, which would
// wait there, in the driver's hands, for the whole run.
void Pipeline::Core::close_behind_own_kernels() {
  for (Started& s : kernels_) {
    if (s.close_behind == npos || s.done) continue;
    try {
      if (!s.kernel->done()) continue;
      std::size_t const k = std::exchange(s.close_behind, npos);
      s.kernel = backend(s.home).start(kernel_title(gpu_[k]), close_kernel(k), one_warp);
    } catch (...) {
      set_error(kernel_failed(std::current_exception(), s.home));
      s.done = true;
    }
  }
}

namespace {

/// One step of both relays. True also when somebody else has moved them: who is helped stays awake.
bool relay(Relays& relays, std::uint64_t& seen) {
  ThreadMachine const m;
  tell_if_free(m, relays.tells);
  hear_if_free(m, relays.hears);
  std::uint64_t const sum = m.load(relays.tells.to, Order::relaxed) + m.load(relays.hears.to, Order::relaxed);
  return std::exchange(seen, sum) != sum;
}

}  // namespace

void Pipeline::Core::start_monitors() {
  std::vector<Duty> to_device;
  std::vector<Duty> from_device;
  from_device.emplace_back([this] { return supervise(); });
  for (TunnelState const& t : tunnels_) {
    if (t.host_relays == nullptr) continue;
    (t.put_home == at_host ? to_device : from_device)
        .emplace_back([relays = t.host_relays, seen = std::uint64_t{0}]() mutable { return relay(*relays, seen); });
  }
  for (Drain* drain : host_drains_)
    to_device.emplace_back([this, drain] { return step(ThreadMachine{}, *drain, *host_control_); });
  for (BusDirection direction : {BusDirection::to_device, BusDirection::from_device}) {
    for (Device const& d : devices_) {
      TransferLine* const line = d.lines[static_cast<std::size_t>(direction)].get();
      if (line == nullptr) continue;
      (direction == BusDirection::to_device ? to_device : from_device).emplace_back([line] {
        return line->step(ThreadMachine{});
      });
    }
  }
  std::vector<Duty> watching;
  watching.emplace_back([this] { return watch(); });
  for (std::vector<Duty>* duties : {&to_device, &from_device, &watching}) {  // the watcher goes last: others wake it
    if (duties->empty()) continue;
    monitors_.push_back(std::make_unique<HostMonitor>(
        std::move(*duties), [this] { return over(); },
        [this](std::exception_ptr error) { monitor_failed(std::move(error)); },
        duties == &watching ? Wait::automatic : config_.monitor_wait));
  }
  watcher_ = monitors_.back().get();
  for (auto const& monitor : monitors_) monitor->start();
}

// A duty that is left because the run aborts says nothing new.
void Pipeline::Core::monitor_failed(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (Unwind const&) {
  } catch (...) {
    set_error(error);
  }
}

void Pipeline::Core::start_threads() {
  auto missing = threads_running_.load(std::memory_order_relaxed);
  try {
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].gpu) continue;
      for (unsigned t = 0; t < stages_[s].executors; ++t) {
        threads_.emplace_back([this, s, t] { run_thread(s, t); });
        --missing;
      }
    }
  } catch (...) {  // the system has no more threads
    set_error(std::current_exception());
    threads_running_.fetch_sub(missing, std::memory_order_release);
  }
}

// A kernel's failure takes its device's whole context down: every kernel there reports it, and none says that it was its
// own.
std::exception_ptr Pipeline::Core::kernel_failed(std::exception_ptr error, Home home) const {
  std::string names;
  std::size_t there = 0;
  for (StageState const& s : stages_) {
    if (!s.gpu || s.home != home || stages_of(true, s.owner).front() != static_cast<std::size_t>(&s - stages_.data()))
      continue;
    ++there;
    names += (names.empty() ? "" : " or ") + kernel_title(gpu_[s.owner]);
  }
  if (there < 2) return error;
  try {
    std::rethrow_exception(error);
  } catch (CudaError const& e) {
    return std::make_exception_ptr(CudaError("a kernel failed, of " + names + ": " + e.what()));
  } catch (...) {
    return error;
  }
}

// All persistent kernels must run at once. The residency check promises it; a tool that runs kernels one after another
// breaks it.
void Pipeline::Core::check_started(std::chrono::steady_clock::time_point now) {
  if (checker_ == at_host || all_started_ || ended_.load(std::memory_order_relaxed)) return;
  ThreadMachine const m;
  std::vector<std::string> missing;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    DeviceNotice& notice = *device(home).notice;
    if (device(home).monitor == nullptr) continue;
    std::uint32_t const started = m.load(notice.stages_started, Order::acquire);
    if (m.load(notice.alive, Order::acquire) == 0)
      missing.push_back("the device monitor" + (devices_.size() > 1 ? " of " + device_name(home) : std::string()));
    std::uint32_t index = 0;
    for (StageState const& s : stages_) {
      if (s.home == home && index++ >= started) missing.push_back("stage '" + s.description.name + "'");
    }
  }
  all_started_ = missing.empty();
  if (all_started_ || now - started_ < start_patience) return;
  std::string const what =
      missing.front() + " has not started on the device after " + std::to_string(start_patience.count()) +
      " s: its kernel waits for another (a profiler or debugger may run kernels one after another)";
  set_error(std::make_exception_ptr(Error(what)));
}

std::exception_ptr Pipeline::Core::deadline_error(std::string const& why) const {
  return std::make_exception_ptr(
      Aborted("the deadline of " + std::to_string(config_.deadline.count()) + " ms has passed" + why));
}

// Whether a run that is too slow has stalled or moves on, one moment cannot tell: a glance before the deadline does.
void Pipeline::Core::check_deadline(std::chrono::steady_clock::time_point now) {
  if (config_.deadline.count() <= 0 || deadline_passed_ || kernels_done_.load(std::memory_order_relaxed)) return;
  auto const left = config_.deadline - (now - started_);
  bool const passed = left.count() < 0;
  if (left > glance || (!passed && !before_deadline_.empty())) return;
  deadline_passed_ = passed;
  if (error_.get()) return;
  PipelineSnapshot const seen = snapshot();
  Progress counters = progress(seen);
  if (passed) {
    set_error(deadline_error(counters == before_deadline_ ? ": " + find_waits(seen).front() : ", items still moved"));
  }
  before_deadline_ = std::move(counters);
}

// The supervisor: errors of the device, the end, a deadline whose watcher is held up, and the end check and throttles of
// a pipeline without a device. It asks nothing of the driver.
bool Pipeline::Core::supervise() {
  ThreadMachine const m;
  if (!error_.get()) import_faults();
  bool const aborting = is_aborted(m, *host_control_);
  if (!ended_.load(std::memory_order_relaxed)) {
    bool const ended = host_check_ != nullptr
                           ? !aborting && check_round(m, *host_check_, *host_control_) == CheckResult::ended
                           : m.load(device(checker_).notice->ended, Order::acquire) != 0;
    if (ended) ended_.store(true, std::memory_order_release);
  }
  bool const moved = host_throttles_ != nullptr && !cycles_.empty() && step(m, *host_throttles_, m.now_ns());
  auto const now = std::chrono::steady_clock::now();
  bool const watcher_held_up = config_.deadline.count() > 0 && now - started_ > config_.deadline + watcher_patience;
  if (watcher_held_up && !kernels_done_ && !error_.get()) set_error(deadline_error(""));
  check_started(now);
  if (!finishing_.load(std::memory_order_relaxed) && (aborting || ended_.load(std::memory_order_relaxed))) {
    finishing_.store(true, std::memory_order_release);
    watcher_->wake();
  }
  return moved;
}

// The watcher: everything that asks the driver while kernels run. It has a thread of its own, because a tool that looks
// at every call may hold one up until kernels have left, and kernels may need the monitors to leave (docs/adr/0009).
bool Pipeline::Core::watch() {
  auto const now = std::chrono::steady_clock::now();
  bool const finishing = finishing_.load(std::memory_order_acquire);
  if (kernels_started_.load(std::memory_order_acquire) && !kernels_done_.load(std::memory_order_relaxed)) {
    close_behind_own_kernels();
    if (finishing || now >= next_kernel_poll_) {
      next_kernel_poll_ = now + kernel_poll_interval;
      poll_kernels(finishing);
    }
  }
  check_deadline(now);
  sample(now);
  show(now);
  grow_tunnels(now);
  report_stalls(now);
  return false;
}

/// Asks each kernel whether it has left, the monitors last, which are the last to blame. The first failure, if any.
std::exception_ptr Pipeline::Core::ask_kernels() {
  std::exception_ptr first;
  for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) {
    try {
      kernel->done = kernel->done || (kernel->close_behind == npos && kernel->kernel->done());
    } catch (...) {
      kernel->done = true;
      if (!first) first = kernel_failed(std::current_exception(), kernel->home);
    }
  }
  return first;
}

void Pipeline::Core::poll_kernels(bool finishing) {
  if (std::exception_ptr const error = ask_kernels()) {
    std::exception_ptr const of_earlier = ask_kernels();  // it may have taken down some that were asked before it
    set_error(of_earlier ? of_earlier : error);
  }
  if (finishing && std::ranges::all_of(kernels_, &Started::done)) {
    kernels_done_.store(true, std::memory_order_release);
    kernels_done_.notify_all();
  }
}

bool Pipeline::Core::over() const {
  return threads_running_.load(std::memory_order_acquire) == 0 && kernels_done_.load(std::memory_order_acquire);
}

bool Pipeline::Core::wait_for(std::chrono::nanoseconds duration) {
  auto const until = std::chrono::steady_clock::now() + duration;
  for (unsigned misses = 0; running_; ++misses) {
    if (over()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    relax_thread(misses);
  }
  return true;
}

/// What the device monitors have told, and the host's own.
void Pipeline::Core::import_faults() {
  ThreadMachine const m;
  for (Device const& d : devices_) {
    if (m.load(d.notice->faulted, Order::acquire) != 0) import_record(d.notice->record);
  }
  if (m.load(host_control_->ready, Order::acquire) != 0) import_record(host_control_->record);
}

// A stage that fails when every tunnel has ended, as any does where there is none: its kernels leave, and the watcher may see
// that before the supervisor looks again. A put into an open end after the whole run had ended: no monitor was left to tell.
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
  if (!running_) throw ConfigError("wait: the pipeline was not started");
  for (unsigned n = 0; (n = threads_running_.load(std::memory_order_acquire)) != 0;)
    threads_running_.wait(n, std::memory_order_acquire);
  kernels_done_.wait(false, std::memory_order_acquire);
  threads_.clear();
  auto const end = std::chrono::steady_clock::now();
  try {
    synchronize();  // launches that use open ends
  } catch (...) {
    set_error(std::current_exception());
  }
  monitors_.clear();
  {
    std::scoped_lock const lock(snapshots_);
    running_ = false;
  }
  kernels_.clear();
  if (!error_.get()) import_late_faults();
  if (!error_.get()) {
    try {
      check_frames();
    } catch (...) {
      set_error(std::current_exception());
    }
  }
  if (std::exception_ptr const error = error_.get()) {
    if (trace_) write_trace(end, report_of(snapshot(), end));
    std::rethrow_exception(error);
  }
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
  if (trace_) write_trace(end, report_);
  return report_;
}

/// Of a run that has ended well.
RunReport Pipeline::Core::make_report(std::chrono::steady_clock::time_point end) {
  PipelineSnapshot const seen = snapshot();
  if (!seen.device_seen) throw Error("report: the device's counters could not be read");
  RunReport report = report_of(seen, end);
  for (std::size_t i = 0; i < tunnels_.size(); ++i) {
    TunnelState const& t = tunnels_[i];
    TunnelReport& r = report.tunnels[i];
    r.holds = 0;  // the last items' room may not have been told of
    if (t.throttled_by != npos) r.throttled = plan(checker_).fetch(cycle_records_ + t.throttled_by).state.times;
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
