#include "run_kernels.hpp"

#include <algorithm>
#include <utility>

#include "monitor_tables.hpp"
#include "views.hpp"

namespace hiway {
namespace {

constexpr auto poll_interval = std::chrono::milliseconds(1);
/// A copy is under way, of whose arrival the host does not hear: a monitor that has waited for it for long, and left,
/// comes back so often.
constexpr auto between_launches_for_copies = std::chrono::milliseconds(1);

}  // namespace

// An emulated lane's body; keeps what it throws. If a lane throws while the device already aborts, that may be a
// consequence, such as a warp operation that misses lanes that have left. So only the first fault counts, although its
// lane may not have filled the record yet. When a lane has left, the others go on without it. They check `aborted`
// before they use what it owed them, and it is set before the lane leaves.
void RunKernels::run_lane(std::size_t kernel, Control& control, std::function<void()> const& body) {
  FiberMachine const m;
  try {
    return body();
  } catch (Unwind const&) {
    errors_.import_fault(m, control);
  } catch (...) {
    if (!is_aborted(m, control)) {
      Prepared const& prepared = layout_.prepared;
      std::size_t const marked = simt::lane_mark();
      std::size_t const stage =
          marked < prepared.stages.size() ? marked : stages_of_kernel(prepared.stages, kernel).front();
      errors_.fail(prepared.places[stage].failure, std::current_exception());
      record_fault(m, control, FaultKind::failed, simt::lane_mark(), no_id, 0);  // F1; fail() has kept the error
    }
  }
  simt::order_leaving();
}

RunKernels::Started RunKernels::start_one(std::string name, DeviceKernel kernel, simt::Grid grid, Home home,
                                          std::optional<CUstream_st*> after) {
  Started started{.kernel = nullptr, .failure{NamedFailure::Part::library, std::move(name)}, .home = home};
  started.launch = kernel;
  started.grid = grid;
  kernel.after = after;
  try {
    started.kernel = layout_.homes.backend(home).start(started.failure.who(), kernel, grid);
  } catch (...) {
    std::rethrow_exception(started.failure.of(std::current_exception()));
  }
  return started;
}

void RunKernels::start(std::optional<CUstream_st*> after) {
  std::scoped_lock const lock(mutex_);
  next_poll_ = state_.started;
  Homes& homes = layout_.homes;
  kernels_.reserve(homes.device_count() + layout_.graph.kernels().size());
  for (Home const home : homes.device_homes()) {
    if (homes.device(home).monitor == nullptr) continue;
    simt::Grid const grid = monitor_grid(layout_, home);
    std::uint64_t const host_counts = homes.device(home).counts.sum();
    kernels_.push_back(start_one("device monitor", monitor_kernel(layout_, home), grid, home, after));
    kernels_.back().monitor = true;
    kernels_.back().host_counts = host_counts;
    kernels_.back().news = homes.device(home).monitor_news;
  }
  for (std::size_t const k : layout_.prepared.start_order) {
    DeclaredKernel const& declared = layout_.graph.kernels()[k];
    StageKernel const& own = declared.description.kernel;
    kernels_.push_back(start_one(declared.title(), kernel_of(k), layout_.prepared.grids[k], declared.home, after));
    if (own.close_behind) kernels_.back().close_behind = k;
    kernels_.back().news = layout_.prepared.slices[k].news;
    kernels_.back().fed = fed_by_the_host(k);
  }
}

std::vector<PlacedTunnel const*> RunKernels::fed_by_the_host(std::size_t kernel) const {
  std::vector<PlacedTunnel const*> fed;
  for (std::size_t const stage : stages_of_kernel(layout_.prepared.stages, kernel)) {
    for (TunnelBase const* const base : layout_.prepared.stages[stage].description.from) {
      PlacedTunnel const& t = layout_.placement.tunnels()[base->id()];
      if (t.bus.put_relays != nullptr) fed.push_back(&t);
    }
  }
  return fed;
}

DeviceKernel RunKernels::kernel_of(std::size_t k) {
  DeclaredKernel const& declared = layout_.graph.kernels()[k];
  DeviceKernel kernel =
      declared.description.kernel.bind(stage_ends(layout_, stages_of_kernel(layout_.prepared.stages, k), 0));
  Control* const control = layout_.homes.control(declared.home);
  kernel.lane_body = [this, k, control, body = kernel.lane_body] { run_lane(k, *control, body); };
  return kernel;
}

/// Starts the next launch of each kernel that yields, if it may start. On a GPU it is queued in the stream while one
/// runs.
bool RunKernels::start_next_slices() {
  bool started = false;
  for (Started& s : kernels_) {
    if (s.done || !comes_back(s)) continue;
    try {
      started = start_next_slice(s) || started;
    } catch (...) {
      s.done = true;
      std::exception_ptr const own = name_all_on(s.home, s.failure.of(std::current_exception()));
      std::exception_ptr const of_a_stage = s.monitor ? ask_all() : nullptr;  // it may have taken down the monitor
      errors_.set(of_a_stage ? of_a_stage : own);
    }
  }
  return started;
}

bool RunKernels::start_next_slice(Started& s) { return may_start_next(s) && launch_next(s); }

/// False if the device must first be through with the launch before it.
bool RunKernels::launch_next(Started& s) {
  if (s.monitor) s.host_counts = layout_.homes.device(s.home).counts.sum();  // before the launch
  s.launched_at = std::chrono::steady_clock::now();
  if (!s.kernel->then(s.failure.who(), s.launch, s.grid)) {
    if (!s.kernel->done()) return false;
    s.kernel = layout_.homes.backend(s.home).start(s.failure.who(), s.launch, s.grid);
  }
  ThreadMachine{}.store(s.news->launched, ++s.launched, MemoryOrder::release);
  return true;
}

// A monitor that is away, and the kernels that have items now: to wait until the monitor calls these would take as long
// again. What fails the watcher will find, too; here it may fail because the calling thread must not call CUDA.
void RunKernels::help() noexcept {
  if (!state_.kernels_started.load(std::memory_order_acquire) || state_.finishing.load(std::memory_order_acquire))
    return;
  std::unique_lock const lock(mutex_, std::try_to_lock);
  if (!lock) return;
  try {
    for (Started& monitor : kernels_) {
      if (!monitor.monitor || monitor.done || !comes_back(monitor) || !is_gone(monitor) || !has_news_for(monitor))
        continue;
      for (Started& s : kernels_) {
        if (s.home == monitor.home && !s.monitor && !s.done && comes_back(s) && is_gone(s) && has_items_for(s))
          launch_next(s);
      }
      launch_next(monitor);
    }
  } catch (...) {
  }
}

bool RunKernels::has_items_for(Started const& s) const {
  ThreadMachine const m;
  return std::ranges::any_of(s.fed, [&](PlacedTunnel const* t) {
    return m.load(t->put.ring.words->claimed, MemoryOrder::relaxed) != t->bus.put_relays->hears.link.peek(m);
  });
}

bool RunKernels::is_gone(Started const& s) {
  return ThreadMachine{}.load(s.news->gone, MemoryOrder::acquire) == s.launched;
}

bool RunKernels::may_start_next(Started const& s) const {
  bool const is_next = ThreadMachine{}.load(s.news->next, MemoryOrder::acquire) > s.launched;
  if (s.monitor) return is_next || (is_gone(s) && has_news_for(s));
  // In turns no launch waits for the one before it: it would hold up others in the GPU's own queues.
  return is_next && (is_gone(s) || !layout_.prepared.in_turns);
}

/// The host has news for a monitor that has left, or it left while a kernel was called.
bool RunKernels::has_news_for(Started const& monitor) const {
  HostCounts const& counts = layout_.homes.device(monitor.home).counts;
  bool const is_due = std::chrono::steady_clock::now() - monitor.launched_at >= between_launches_for_copies;
  return counts.sum() != monitor.host_counts || (is_due && !counts.are_answered()) ||
         std::ranges::any_of(kernels_, [&](Started const& s) {
           return !s.monitor && s.home == monitor.home && s.news != nullptr && !is_gone(s);
         });
}

std::optional<KernelNow> RunKernels::of(Stage const& stage) const {
  std::unique_lock const lock(mutex_, std::try_to_lock);
  if (!lock) return std::nullopt;
  auto const& order = layout_.prepared.start_order;
  auto const place = std::ranges::find(order, stage.owner) - order.begin();
  auto const monitors =
      std::ranges::count_if(layout_.homes.devices(), [](Device const& d) { return d.monitor != nullptr; });
  auto const kernel = static_cast<std::size_t>(place + monitors);
  if (kernel >= kernels_.size() || kernels_[kernel].done) return std::nullopt;
  return KernelNow{kernels_[kernel].kernel->lanes_in_sync_block()};
}

bool RunKernels::poll_when_due(std::chrono::steady_clock::time_point now) {
  if (!state_.kernels_started.load(std::memory_order_acquire) || state_.kernels_done.load(std::memory_order_relaxed))
    return false;
  std::scoped_lock const lock(mutex_);
  DriverCall const call(state_);
  close_behind_own_kernels();
  bool const started = start_next_slices();
  bool const finishing = state_.finishing.load(std::memory_order_acquire);
  if (!finishing && now < next_poll_) return started;
  next_poll_ = now + poll_interval;
  poll(finishing);
  return started;
}

// Closes what a user's own kernel left open, once that kernel has ended. A launch queued after it in its stream would
// do the same, but would wait in the driver for the whole run.
void RunKernels::close_behind_own_kernels() {
  for (Started& s : kernels_) {
    if (s.close_behind == npos || s.done) continue;
    try {
      if (!s.kernel->done()) continue;
      std::size_t const k = std::exchange(s.close_behind, npos);
      std::string const title = layout_.graph.kernels()[k].title();
      s.kernel = layout_.homes.backend(s.home).start(title, close_kernel(layout_, k), close_grid);
    } catch (...) {
      s.done = true;
      errors_.set(name_all_on(s.home, s.failure.of(std::current_exception())));
    }
  }
}

/// It yields, and is not through: also when all has ended, its blocks have yet to return. Of a run that aborts a
/// kernel that is away stays away; but a monitor tells those that are there.
bool RunKernels::comes_back(Started const& kernel) const {
  ThreadMachine const m;
  if (kernel.news == nullptr || m.load(kernel.news->over, MemoryOrder::relaxed) != 0) return false;
  return !is_aborted(m, *layout_.homes.host().control) || (kernel.monitor && has_kernels_at(kernel.home));
}
bool RunKernels::has_kernels_at(Home home) const {
  return std::ranges::any_of(kernels_, [&](Started const& s) { return !s.monitor && s.home == home && !s.done; });
}

/// The failure of a kernel, if it has failed.
std::exception_ptr RunKernels::ask(Started& kernel) {
  if (kernel.done || kernel.close_behind != npos) return nullptr;
  std::exception_ptr failure = kernel.kernel->failure();
  // In turns there may be hundreds, and to ask the driver of each would take the watcher's time. One that fails takes
  // down the monitor, too.
  bool const asks = !layout_.prepared.in_turns || kernel.monitor || !comes_back(kernel);
  try {
    kernel.done = asks && kernel.kernel->done() && !comes_back(kernel);
  } catch (...) {
    kernel.done = true;
    failure = std::current_exception();
  }
  // A failed monitor cannot tell the emulated device that the run aborts, so this does.
  if (failure && kernel.monitor && layout_.homes.backend(kernel.home).is_host())
    ThreadMachine{}.store(layout_.homes.control(kernel.home)->aborted, 1u, MemoryOrder::release);
  return failure ? kernel.failure.of(failure) : nullptr;
}

/// Asks each kernel whether it has left. The monitors come last, because they are the least likely cause. Returns the
/// first failure, if any.
std::exception_ptr RunKernels::ask_all() {
  std::exception_ptr first;
  for (auto kernel = kernels_.rbegin(); kernel != kernels_.rend(); ++kernel) {
    std::exception_ptr const failure = ask(*kernel);
    if (failure && !first) first = name_all_on(kernel->home, failure);
  }
  return first;
}

void RunKernels::poll(bool finishing) {
  if (std::exception_ptr const error = ask_all()) {
    std::exception_ptr const of_earlier = ask_all();  // it may have taken down kernels that were asked before it
    errors_.set(of_earlier ? of_earlier : error);
  }
  if (finishing && std::ranges::all_of(kernels_, &Started::done)) {
    state_.kernels_done.store(true, std::memory_order_release);
  }
}

// A kernel's failure takes down its device's whole context. Every kernel there reports the failure, and none says that
// it was its own.
std::exception_ptr RunKernels::name_all_on(Home home, std::exception_ptr error) const {
  std::string names;
  std::size_t there = 0;
  for (DeclaredKernel const& k : layout_.graph.kernels()) {
    if (k.home != home) continue;
    ++there;
    names += (names.empty() ? "" : " or ") + k.title();
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

}  // namespace hiway
