// Pipeline::Core's two looks at a run under way.
//
//   supervisor   handles errors of the device, the end, and throttles of a pipeline without a device. It asks the
//                driver nothing.
//   watcher      asks the driver whether kernels have left, and for copies of the devices' words. Then it observes:
//                deadline, stalls, samples of a trace. It has a thread of its own, because a CUDA call of the process
//                may hold the driver up until kernels have left, and kernels may need the monitors to leave
//                (docs/adr/0009).
//
//   word              written by             read by
//   driver_since_ns_  the watcher            the supervisor
//   observing_        a mutex of the observer's own fields
//
//   W1  No call to the driver is made under observing_ or snapshots_. While the driver holds the watcher up, the
//       supervisor observes in its place, and stats() returns; both without the devices' words.
//   W2  No exception ends a look. It becomes the run's error, and the look is taken again. The code that ends an
//       aborting run allocates nothing.
#include <utility>

#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr auto kernel_poll_interval = std::chrono::milliseconds(1);
constexpr auto start_patience = std::chrono::seconds(10);
constexpr auto driver_patience = std::chrono::milliseconds(200);
constexpr auto glance = std::chrono::milliseconds(20);  // looked at this long before the deadline: do items still move?

std::int64_t ns_of(std::chrono::steady_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

}  // namespace

Pipeline::Core::DriverCall::DriverCall(std::atomic<std::int64_t>& since_ns) : since_ns_(since_ns) {
  since_ns_.store(ns_of(std::chrono::steady_clock::now()), std::memory_order_relaxed);
}
Pipeline::Core::DriverCall::~DriverCall() { since_ns_.store(0, std::memory_order_relaxed); }

bool Pipeline::Core::supervise() noexcept {
  ThreadMachine const m;
  role_of_this_thread() = {.core = this, .observes = true};
  bool moved = false;
  try {
    if (!error_.get()) import_faults();
    look_for_the_end();
    moved = host_throttles_ != nullptr && !flow_.cycles.empty() && step(m, *host_throttles_, m.now_ns());
    auto const now = std::chrono::steady_clock::now();
    check_started(now);
    if (std::chrono::nanoseconds const held = driver_held(now); held > driver_patience) {  // W1
      if (std::unique_lock const looks(observing_, std::try_to_lock); looks) observe(now, held);
    }
  } catch (...) {  // W2
    fail(parts_.supervisor, std::current_exception());
  }
  bool const finishing = is_aborted(m, *host_control_) || ended_.load(std::memory_order_relaxed);
  if (finishing && !finishing_.exchange(true, std::memory_order_release)) watcher_->wake();
  return moved;
}

void Pipeline::Core::look_for_the_end() {
  if (ended_.load(std::memory_order_relaxed)) return;
  ThreadMachine const m;
  bool const aborting = is_aborted(m, *host_control_);
  bool const ended = host_check_ != nullptr
                         ? !aborting && check_round(m, *host_check_, *host_control_) == CheckResult::ended
                         : m.load(device(checker_).notice->ended, Order::acquire) != 0;
  if (ended) ended_.store(true, std::memory_order_release);
}

bool Pipeline::Core::watch() noexcept {
  role_of_this_thread() = {.core = this, .observes = true};
  try {
    auto const now = std::chrono::steady_clock::now();
    poll_kernels_when_due(now);
    if (asks_driver_ && needs_copies(now)) fetch_copies();
  } catch (...) {  // W2
    fail(parts_.watcher, std::current_exception());
  }
  if (std::unique_lock const looks(observing_, std::try_to_lock); looks)
    observe(std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
  return false;
}

void Pipeline::Core::poll_kernels_when_due(std::chrono::steady_clock::time_point now) {
  if (!kernels_started_.load(std::memory_order_acquire) || kernels_done_.load(std::memory_order_relaxed)) return;
  DriverCall const call(driver_since_ns_);
  close_behind_own_kernels();
  bool const finishing = finishing_.load(std::memory_order_acquire);
  if (!finishing && now < next_kernel_poll_) return;
  next_kernel_poll_ = now + kernel_poll_interval;
  poll_kernels(finishing);
}

/// How long the watcher's current call to the driver has taken.
std::chrono::nanoseconds Pipeline::Core::driver_held(std::chrono::steady_clock::time_point now) const {
  std::int64_t const since = driver_since_ns_.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(since == 0 || !asks_driver_ ? 0 : ns_of(now) - since);
}

bool Pipeline::Core::needs_copies(std::chrono::steady_clock::time_point now) {
  {
    std::scoped_lock const lock(snapshots_);
    if (copies_asked_ != copies_served_) return true;
  }
  std::scoped_lock const lock(observing_);
  return deadline_is_due(now) || sample_is_due(now) || show_is_due(now) || growth_is_due(now) || stall_look_is_due(now);
}

/// Takes every look that is due. Called under observing_. `driver_held` is 0 on the watcher.
void Pipeline::Core::observe(std::chrono::steady_clock::time_point now, std::chrono::nanoseconds driver_held) noexcept {
  driver_held_ = driver_held;
  try {
    check_deadline(now);
    sample(now);
    show(now);
    grow_tunnels(now);
    report_stalls(now);
  } catch (...) {  // W2
    fail(parts_.watcher, std::current_exception());
  }
}

// Closes what a user's own kernel left open, once that kernel has ended. A launch queued after it in its stream would
// do the same, but would wait in the driver for the whole run.
void Pipeline::Core::close_behind_own_kernels() {
  for (Started& s : kernels_) {
    if (s.close_behind == npos || s.done) continue;
    try {
      if (!s.kernel->done()) continue;
      std::size_t const k = std::exchange(s.close_behind, npos);
      s.kernel = backend(s.home).start(kernel_title(gpu_[k]), close_kernel(k), one_warp);
    } catch (...) {
      s.done = true;
      set_error(kernel_failed(s.failure.of(std::current_exception()), s.home));
    }
  }
}

/// The failure of a kernel, if it has failed.
std::exception_ptr Pipeline::Core::ask_kernel(Started& kernel) {
  if (kernel.done || kernel.close_behind != npos) return nullptr;
  std::exception_ptr failure = kernel.kernel->failure();
  try {
    kernel.done = kernel.kernel->done();
  } catch (...) {
    kernel.done = true;
    failure = std::current_exception();
  }
  // A failed monitor cannot tell the emulated device that the run aborts, so this does.
  if (failure && kernel.monitor && backend(kernel.home).is_host())
    ThreadMachine{}.store(control(kernel.home)->aborted, 1u, Order::release);
  return failure ? kernel.failure.of(failure) : nullptr;
}

/// Asks each kernel whether it has left. The monitors come last, because they are the least likely cause. Returns the
/// first failure, if any.
std::exception_ptr Pipeline::Core::ask_kernels() {
  std::exception_ptr first;
  for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) {
    std::exception_ptr const failure = ask_kernel(*kernel);
    if (failure && !first) first = kernel_failed(failure, kernel->home);
  }
  return first;
}

void Pipeline::Core::poll_kernels(bool finishing) {
  if (std::exception_ptr const error = ask_kernels()) {
    std::exception_ptr const of_earlier = ask_kernels();  // it may have taken down kernels that were asked before it
    set_error(of_earlier ? of_earlier : error);
  }
  if (finishing && std::ranges::all_of(kernels_, &Started::done)) {
    kernels_done_.store(true, std::memory_order_release);
    kernels_done_.notify_all();
  }
}

// A kernel's failure takes down its device's whole context. Every kernel there reports the failure, and none says that
// it was its own.
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

// All persistent kernels must run at once. The residency check ensures it, but a tool that runs kernels one after
// another breaks it.
void Pipeline::Core::check_started(std::chrono::steady_clock::time_point now) {
  if (checker_ == at_host || all_started_ || ended_.load(std::memory_order_relaxed)) return;
  all_started_ = have_all_started();
  if (all_started_ || now - started_ < start_patience || error_.get()) return;
  std::string const what =
      first_not_started() + " has not started on the device after " + std::to_string(start_patience.count()) +
      " s: its kernel waits for another (a profiler or debugger may run kernels one after another)";
  set_error(std::make_exception_ptr(Error(what)));
}

bool Pipeline::Core::have_all_started() const {
  ThreadMachine const m;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (device(home).monitor == nullptr) continue;
    DeviceNotice& notice = *device(home).notice;
    auto const stages = std::ranges::count_if(stages_, [home](StageState const& s) { return s.gpu && s.home == home; });
    if (m.load(notice.alive, Order::acquire) == 0) return false;
    if (m.load(notice.stages_started, Order::acquire) < static_cast<std::uint32_t>(stages)) return false;
  }
  return true;
}

std::string Pipeline::Core::first_not_started() const {
  ThreadMachine const m;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    if (device(home).monitor == nullptr) continue;
    DeviceNotice& notice = *device(home).notice;
    std::uint32_t const started = m.load(notice.stages_started, Order::acquire);
    if (m.load(notice.alive, Order::acquire) == 0)
      return "the device monitor" + (devices_.size() > 1 ? " of " + device_name(home) : std::string());
    std::uint32_t index = 0;
    for (StageState const& s : stages_) {
      if (s.home == home && index++ >= started) return "stage '" + s.description.name + "'";
    }
  }
  return "a kernel";
}

std::exception_ptr Pipeline::Core::deadline_error(std::string const& why) const {
  return std::make_exception_ptr(
      Aborted("the deadline of " + std::to_string(config_.deadline.count()) + " ms has passed" + why));
}

bool Pipeline::Core::deadline_is_due(std::chrono::steady_clock::time_point now) const {
  if (config_.deadline.count() <= 0 || deadline_passed_ || kernels_done_.load(std::memory_order_relaxed)) return false;
  auto const left = config_.deadline - (now - started_);
  return left.count() < 0 || (left <= glance && before_deadline_.empty());
}

// One moment cannot tell whether a slow run has stalled or still moves, so there is a look shortly before the deadline,
// too.
void Pipeline::Core::check_deadline(std::chrono::steady_clock::time_point now) {
  if (!deadline_is_due(now)) return;
  bool const passed = now - started_ > config_.deadline;
  deadline_passed_ = passed;
  if (error_.get()) return;
  PipelineSnapshot const seen = snapshot();
  Progress counters = progress(seen);
  if (passed) {
    bool const still = counters == before_deadline_ || driver_held_.count() != 0;
    set_error(deadline_error(still ? ": " + find_waits(seen).front() : ", items still moved"));
  }
  before_deadline_ = std::move(counters);
}

}  // namespace hiway
