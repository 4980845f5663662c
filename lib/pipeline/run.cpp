#include "run.hpp"

#include <algorithm>
#include <utility>

#include "dot.hpp"
#include "hiway/log.hpp"
#include "hiway/ranges.hpp"
#include "lib/scope/places.hpp"
#include "prepare.hpp"
#include "report_files.hpp"
#include "stencil_placement.hpp"

namespace hiway {
namespace {

constexpr auto patience_with_others = std::chrono::seconds(1);
constexpr auto driver_patience = std::chrono::milliseconds(200);

/// How long the watcher's current call to the driver has taken.
std::chrono::nanoseconds driver_held(RunState const& state, std::chrono::steady_clock::time_point now) {
  std::int64_t const since = state.driver_since_ns.load(std::memory_order_relaxed);
  return std::chrono::nanoseconds(since == 0 || !state.asks_driver ? 0 : ns_of(now) - since);
}

/// Kernels follow when they are started.
void let_batches_follow(Graph const& graph, CUstream_st* stream) {
  for (CpuStageDescription const& stage : graph.cpu())
    if (stage.batch) stage.batch->follow(stream);
}

std::vector<Duty> duties_of(RunOverNodes& over_nodes) {
  if (!over_nodes.has_others()) return {};
  // A node that has slept hears first that the others have given it up.
  return {[&] { return over_nodes.step_news(); }, [&] { return over_nodes.step_line(); }};
}

/// The watcher's last step in a run. It looks first for what wait() would find: then both have the same error.
void tell_end(EndNews const& news, RunErrors& errors, Snapshots& snapshots, RunOverNodes const& over_nodes) noexcept {
  if (!news.is_asked_for()) return;
  try {
    snapshots.fetch();
    errors.find_late_faults();
  } catch (...) {
    errors.fail(errors.parts.report, std::current_exception());
  }
  for (unsigned misses = 0; !over_nodes.is_settled(); ++misses) relax_thread(misses);
  news.tell(over_nodes.first_error());
}

}  // namespace

PipelineRun::PipelineRun(Layout& layout, Launches& launches)
    : layout_(layout),
      launches_(launches),
      errors_(layout),
      kernels_(layout, state_, errors_),
      snapshots_(layout, state_, kernels_),
      reports_(layout, state_),
      observer_(layout, state_, errors_, snapshots_, reports_, over_nodes_,
                [this] { write_graph_where_asked([this] { return graph(); }); }),
      start_check_(layout, state_, errors_),
      over_nodes_(layout, state_, errors_),
      threads_(layout, state_, errors_, [this] { monitors_.wake_watcher(); }),
      monitors_(layout, errors_) {
  layout_.monitors_bell.set_help([this] { kernels_.help(); });
}

PipelineRun::~PipelineRun() {
  if (!state_.running) return;
  errors_.set(errors_.known.by_destructor);
  try {
    wait();
  } catch (...) {  // the destructor's own abort
  }
}

// ---- who may call

bool PipelineRun::is_left_behind_by_fork() const {
  bool const devices =
      std::ranges::any_of(layout_.homes.devices(), [](Device const& d) { return d.backend->left_behind_by_fork(); });
  return devices || kept_.left_behind_by_fork();
}

void PipelineRun::require_own_process(char const* what) const {
  if (is_left_behind_by_fork())
    throw MisuseError(std::string(what) +
                      ": the pipeline belongs to the process that this one was forked from; make a new one here");
}

void PipelineRun::require_idle(char const* what) const {
  require_own_process(what);
  if (state_.running || waiting_) throw ConfigError(std::string(what) + " while the pipeline runs");
}

/// True on a thread of the run, or on an emulated lane: a lane that waits would hold up the other lanes of its OS
/// thread.
bool PipelineRun::is_called_by_itself() const noexcept {
  return role_of_this_thread().layout == &layout_ || simt::on_lane();
}

void PipelineRun::refuse(std::string const& who) {
  for (unsigned looks = 0; looks < 100 && state_.running && !errors_.get(); ++looks) {
    errors_.import_faults();  // the thread at fault may still be writing its record
    if (!errors_.get()) std::this_thread::yield();
  }
  if (std::exception_ptr const error = errors_.get()) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      std::throw_with_nested(Unwind(who + "the run has failed: " + e.what()));
    }
  }
  throw Unwind(who + (state_.running ? "the run has failed" : "no run is under way: start the pipeline first"));
}

// ---- start

void PipelineRun::prepare() {
  require_idle("prepare");
  if (layout_.prepared.is_current && !kept_.empty()) return kept_.complete();
  try {
    over_nodes_.together([this] {
      launches_.synchronize();
      kept_.end();
      hiway::prepare(layout_);
      make_threads();
    });
    over_nodes_.connect();
  } catch (...) {
    layout_.prepared.is_current = false;
    throw;
  }
}

void PipelineRun::make_threads() {
  std::vector<KeptThreads::Post> posts;
  monitors_.make({.supervise = [this] { return supervise(); },
                  .watch = [this] { return watch(); },
                  .is_over = [this] { return is_over(); },
                  .at_end = [this] { state_.waiting_streams.end_run(); },
                  .after_end =
                      [this] {
                        for (auto const& scopes : layout_.scopes) ScopesAccess::end_run(*scopes, errors_.get());
                        tell_end(state_.end_news, errors_, snapshots_, over_nodes_);
                      },
                  .over_nodes = duties_of(over_nodes_),
                  .pauses_over_nodes = {.nap = [this](auto const& over, auto time,
                                                      bool heeds) { return over_nodes_.nap(over, time, heeds); },
                                        .rest = [this] { over_nodes_.rest(); }},
                  .is_over_on_nodes = [this] { return is_over() && over_nodes_.is_settled(); }},
                 posts);
  threads_.add_posts(posts);
  kept_.make(std::move(posts));
}

void PipelineRun::start(std::optional<CUstream_st*> after) {
  require_idle("start");
  try {
    prepare();
    over_nodes_.begin([this] {
      launches_.synchronize();
      reset();
    });
    if (after) {
      start_check_.wait_for_a_stream();
      let_batches_follow(layout_.graph, *after);
    }
  } catch (...) {
    std::exception_ptr const error = errors_.parts.start.of(std::current_exception());
    ThreadMachine{}.store(layout_.homes.host().control->aborted, 1u, MemoryOrder::release);
    for (auto const& scopes : layout_.scopes) ScopesAccess::end_run(*scopes, error);
    std::rethrow_exception(error);
  }
  // From here on every failure becomes the run's error.
  state_.range = start_range("hiway run");
  state_.running = true;
  state_.waiting_streams.begin_run();
  snapshots_.set_live();
  // Supervisor and watcher run while kernels are launched, so that they can also end a launch that waits for something.
  kept_.start();
  try {
    kernels_.start(after);
  } catch (...) {
    errors_.fail(errors_.parts.start, std::current_exception());
  }
  state_.kernels_started.store(true, std::memory_order_release);
  kept_.wake_rest();  // the one that was woken may have no CPU yet
}

void PipelineRun::finished_on(CUstream_st* stream) {
  require_own_process("finished_on");
  if (!layout_.homes.backend().is_host()) state_.waiting_streams.add(stream);
}

/// Resets everything that the last run may have changed.
void PipelineRun::reset() {
  errors_.clear();
  reports_.begin();
  layout_.homes.reset();
  for (DeclaredKernel const& k : layout_.graph.kernels()) {
    if (auto const& data = k.description.kernel.data) data->start(layout_.homes.backend(k.home));
  }
  threads_.begin(reports_.is_traced());
  kernels_.clear();
  state_.reset(layout_.prepared.stages.size(), threads_.count());
  start_check_.begin();
  snapshots_.begin();
  observer_.begin();
  state_.end_news.begin_run();
  std::size_t const traced_stages = reports_.is_traced() ? layout_.prepared.stages.size() : 0;
  for (auto const& scopes : layout_.scopes) ScopesAccess::begin_run(*scopes, traced_stages);
  // Open ends may be used from now on.
  ThreadMachine{}.store(layout_.homes.host().control->aborted, 0u, MemoryOrder::release);
}

// ---- while it runs

bool PipelineRun::supervise() noexcept {
  ThreadMachine const m;
  role_of_this_thread() = {.layout = &layout_, .observes = true};
  Prepared const& prepared = layout_.prepared;
  bool moved = false;
  try {
    if (!errors_.get()) errors_.import_faults();
    look_for_the_end();
    moved = prepared.check.throttles != nullptr && !prepared.flow.cycles.empty() &&
            step(m, *prepared.check.throttles, m.now_ns());
    auto const now = std::chrono::steady_clock::now();
    start_check_.look(now);
    std::chrono::nanoseconds const held = driver_held(state_, now);
    if (held > driver_patience) observer_.try_observe(now, held);  // W1
  } catch (...) {                                                  // W2
    errors_.fail(errors_.parts.supervisor, std::current_exception());
  }
  bool const aborting = is_aborted(m, *layout_.homes.host().control);
  bool const finishing = aborting || state_.ended.load(std::memory_order_relaxed);
  if (finishing && !state_.finishing.exchange(true, std::memory_order_release)) monitors_.wake_watcher();
  if (aborting) state_.end_news.stop();
  return moved;
}

void PipelineRun::look_for_the_end() {
  if (state_.ended.load(std::memory_order_relaxed)) return;
  ThreadMachine const m;
  EndCheckPlace const& check = layout_.prepared.check;
  Control& control = *layout_.homes.host().control;
  bool const aborting = is_aborted(m, control);
  bool const ended = check.host_table != nullptr
                         ? !aborting && check_round(m, *check.host_table, control) == CheckResult::ended
                         : m.load(layout_.homes.device(check.checker).notice->ended, MemoryOrder::acquire) != 0;
  if (ended) state_.ended.store(true, std::memory_order_release);
}

bool PipelineRun::watch() noexcept {
  role_of_this_thread() = {.layout = &layout_, .observes = true};
  bool started = false;
  try {
    auto const now = std::chrono::steady_clock::now();
    started = kernels_.poll_when_due(now);
    if (state_.asks_driver && (snapshots_.are_wanted() || observer_.is_due(now))) snapshots_.fetch();
  } catch (...) {  // W2
    errors_.fail(errors_.parts.watcher, std::current_exception());
  }
  observer_.try_observe(std::chrono::steady_clock::now(), std::chrono::nanoseconds(0));
  return started;
}

// A run becomes live and ends under the lock, so a late abort cannot hit the next run.
void PipelineRun::abort() {
  require_own_process("abort");
  auto const held = snapshots_.hold();
  if (snapshots_.is_live()) errors_.set(errors_.known.by_user);
}

void PipelineRun::while_live(char const* what, std::function<void()> const& f) {
  require_own_process(what);
  auto const held = snapshots_.hold();
  if (snapshots_.is_live()) f();
}

// The report of a live run is made under the lock, so the run's end and the next start wait for it.
RunReport PipelineRun::stats() {
  require_own_process("stats");
  auto held = snapshots_.hold();
  if (!snapshots_.is_live()) return report_;
  auto const copies = snapshots_.fresh(held, [this] { monitors_.wake_watcher(); });
  if (!snapshots_.is_live()) return report_;
  return reports_.of(snapshots_.read(*copies), std::chrono::steady_clock::now());
}

std::string PipelineRun::graph() { return dot_of(graph_part({})); }

DotPart PipelineRun::graph_part(std::string const& prefix) {
  RunReport const now = stats();
  std::vector<std::size_t> capacity;
  {
    auto const held = snapshots_.hold();  // a tunnel may grow during a run
    for (PlacedTunnel const& t : layout_.placement.tunnels()) capacity.push_back(t.capacity);
  }
  return dot_part_of(layout_.graph, layout_.homes, {now, state_.running, capacity}, prefix);
}

// ---- end

bool PipelineRun::wait_for(std::chrono::nanoseconds duration) {
  require_own_process("wait_for");
  auto const until = std::chrono::steady_clock::now() + duration;
  for (unsigned misses = 0; state_.running; ++misses) {
    if (is_over() && over_nodes_.is_settled()) return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    relax_thread(misses);
  }
  return true;
}

RunReport PipelineRun::wait() {
  require_own_process("wait");
  if (!state_.running) throw ConfigError("wait: the pipeline was not started");
  if (is_called_by_itself())
    throw MisuseError(
        "wait: called on a thread of the run itself (a stage, a log sink, on_end or a stop callback), which it would "
        "wait for");
  if (waiting_.exchange(true)) throw ConfigError("wait: another thread waits for this run already");
  struct Waiting {
    std::atomic<bool>& flag;
    ~Waiting() { flag = false; }
  } const waiting{waiting_};
  if (!state_.running) throw ConfigError("wait: the pipeline was not started");  // another thread waited meanwhile
  kept_.await();
  auto const end = std::chrono::steady_clock::now();
  finish();
  RunReport report;
  try {
    if (errors_.get()) {
      PipelineSnapshot const seen = observer_.snapshot();
      observer_.log_failed_tasks(seen);
      if (reports_.is_traced()) at_the_end([&] { leave_files(end, reports_.of(seen, end)); });
    } else {
      make_reports(end);
      report = report_;
    }
  } catch (...) {
    errors_.fail(errors_.parts.report, std::current_exception());
  }
  std::exception_ptr const error = over_nodes_.first_error();
  if (error) state_.end_news.stop();
  state_.end_news.end_run();
  if (error) std::rethrow_exception(error);
  return report;
}

/// Called after threads, monitors and kernels have left. Imports faults that no monitor has reported.
void PipelineRun::finish() {
  try {
    launches_.synchronize();  // waits for launches that use open ends
  } catch (...) {
    errors_.fail(errors_.parts.start, std::current_exception());
  }
  snapshots_.end_live();
  stop_range(state_.range);
  state_.running = false;
  observer_.end();
  try {
    snapshots_.fetch();
    kernels_.clear();
    errors_.find_late_faults();
  } catch (...) {
    errors_.fail(errors_.parts.report, std::current_exception());
  }
}

/// Called for a run that has ended well.
void PipelineRun::make_reports(Time end) {
  for (DeclaredKernel const& k : layout_.graph.kernels()) {
    if (auto const& data = k.description.kernel.data) data->finish(layout_.homes.backend(k.home));
  }
  PipelineSnapshot const seen = observer_.snapshot();
  observer_.log_failed_tasks(seen);
  RunReport report = reports_.at_end(seen, end);
  {
    auto const held = snapshots_.hold();
    report_ = std::move(report);
  }
  leave_files(end, report_);
}

void PipelineRun::leave_files(Time end, RunReport const& report) {
  RunFiles{layout_,  state_,      errors_,
           reports_, over_nodes_, [this](std::string const& prefix) {
             return graph_part(prefix); }}
      .leave(end, report);
}

bool PipelineRun::must_be_left() noexcept {
  if (is_left_behind_by_fork()) return true;
  if (!state_.running || !is_called_by_itself()) return false;
  log(LogLevel::warning,
      "the pipeline is destroyed on a thread of its own run, as by exit() in a stage: the run is aborted");
  errors_.set(errors_.known.by_destructor);
  auto const until = std::chrono::steady_clock::now() + patience_with_others;
  constexpr unsigned this_one = 1;  // the calling thread, which cannot leave
  for (unsigned misses = 0; std::chrono::steady_clock::now() < until; ++misses) {
    if (state_.threads_running.load(std::memory_order_acquire) <= this_one &&
        state_.kernels_done.load(std::memory_order_acquire))
      break;
    relax_thread(misses);
  }
  return true;
}

}  // namespace hiway
