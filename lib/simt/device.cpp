// Device and Launch: the emulated device's interface. dispatcher.hpp starts blocks, lane_scheduler.hpp runs lanes.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "dispatcher.hpp"
#include "hiway/cpus.hpp"
#include "hiway/error.hpp"
#include "hiway/launch/simt.hpp"
#include "lane_scheduler.hpp"
#include "launch_record.hpp"
#include "sanitizers.hpp"

namespace hiway::simt {
namespace {

constexpr std::size_t least_stack_bytes = 16 * 1024;

// nvcc compiles the host body of a function that is only __device__ to exit(1). So exit() on a lane means that the lane
// called such a function.
void report_exit_on_lane() {
  LaneScheduler const* const scheduler = LaneScheduler::of_this_thread();
  if (scheduler == nullptr || scheduler->lane() == nullptr) return;
  Block const& block = *scheduler->lane()->block;
  std::fprintf(
      stderr,
      "hiway: launch \"%s\" called exit() on lane %u of block %u of the emulated device: its functor, or what it "
      "calls, is marked __device__ only; mark it HIWAY_DEVICE\n",
      block.placed.launch->name().c_str(), scheduler->lane()->thread, block.placed.index);
  std::_Exit(2);
}

void report_exits_on_lanes() {
  static bool const registered = std::atexit(report_exit_on_lane) == 0;
  static_cast<void>(registered);
}

void refuse_on_lane(char const* call) {
  if (on_lane()) throw WrongDevice(std::string(call) + " is called on an emulated lane; it needs a CPU thread");
}

void add_problem(std::string& problems, std::string const& problem) {
  problems += problems.empty() ? problem : "; " + problem;
}

DeviceLimits checked(DeviceLimits limits) {
  std::string problems;
  if (limits.processors == 0) add_problem(problems, "processors is 0");
  if (limits.blocks_per_processor == 0) add_problem(problems, "blocks_per_processor is 0");
  if (limits.lanes_per_processor < warp_lanes)
    add_problem(problems, "lanes_per_processor is less than a warp: " + std::to_string(limits.lanes_per_processor));
  if (limits.stack_bytes < least_stack_bytes)
    add_problem(problems, "stack_bytes is less than " + std::to_string(least_stack_bytes) + ": " +
                              std::to_string(limits.stack_bytes));
  if (!problems.empty()) throw ConfigError("emulated device: " + problems);
  if (limits.os_threads == 0) limits.os_threads = std::clamp(available_cpus() / 2, 1u, 8u);
  return limits;
}

void check(std::string_view name, DeviceLimits const& limits, Grid const& grid, bool has_body) {
  std::string problems;
  if (!has_body) add_problem(problems, "it has no body");
  if (grid.blocks == 0) add_problem(problems, "blocks is 0");
  if (grid.threads_per_block == 0) add_problem(problems, "threads_per_block is 0");
  if (block_occupancy(grid).warps > limits.lanes_per_processor / warp_lanes)
    add_problem(problems, "a block of " + std::to_string(grid.threads_per_block) +
                              " lanes does not fit a processor of " + std::to_string(limits.lanes_per_processor) +
                              " lanes");
  if (grid.shared_bytes > limits.shared_bytes_per_processor)
    add_problem(problems, "a block's shared memory of " + std::to_string(grid.shared_bytes) +
                              " bytes does not fit a processor's of " +
                              std::to_string(limits.shared_bytes_per_processor) + " bytes");
  if (!problems.empty()) throw ConfigError("launch \"" + std::string(name) + "\": " + problems);
}

}  // namespace

struct Launch::State {
  explicit State(LaunchRecord& held) : record(held) {}
  ~State() { record.let_go(); }
  State(State const&) = delete;
  State& operator=(State const&) = delete;

  LaunchRecord& record;
};

bool Launch::done() const { return state_ == nullptr || state_->record.done(); }

std::exception_ptr Launch::start_failure() const {
  return state_ == nullptr ? nullptr : state_->record.start_failure();
}

void Launch::wait() const {
  refuse_on_lane("Launch::wait");
  if (state_ != nullptr) state_->record.wait();
}

unsigned Launch::lanes_in_sync_block() const noexcept {
  return state_ == nullptr ? 0 : state_->record.lanes_in_sync_block();
}

struct Device::State {
  explicit State(DeviceLimits const& checked_limits)
      : limits(checked_limits), dispatcher(checked_limits, checked_limits.os_threads) {}

  // Called by the first launch: the constructor starts no threads.
  void start_workers() {
    std::lock_guard const lock(mutex);
    while (workers.size() < limits.os_threads) {
      if (schedulers.size() == workers.size())
        schedulers.emplace_back(dispatcher, schedulers.size(), limits.stack_bytes);
      start_worker();
    }
    process.store(getpid(), std::memory_order_relaxed);
  }
  void start_worker() {
    try {
      workers.emplace_back([scheduler = &schedulers.back()] { scheduler->run(); });
    } catch (std::system_error const& e) {
      throw Error("emulated device: thread " + std::to_string(workers.size() + 1) + " of " +
                  std::to_string(limits.os_threads) + " could not be started: " + e.code().message());
    }
  }

  DeviceLimits const limits;
  Dispatcher dispatcher;
  std::mutex mutex;  // guards the members that follow
  std::deque<LaneScheduler> schedulers;
  std::deque<std::thread> workers;
  std::atomic<pid_t> process{0};  ///< that has the workers
};

Device::Device(DeviceLimits limits) : state_(std::make_unique<State>(checked(limits))) {}

Device::~Device() {
  report_exit_on_lane();  // exit() destroys a static device first, if that is older than the handler
  if (!state_->dispatcher.idle()) {
    std::fputs("hiway: an emulated device is destroyed while a launch runs on it\n", stderr);
    std::abort();
  }
  state_->dispatcher.stop();
  for (std::thread& worker : state_->workers) worker.join();
}

Launch Device::launch(std::string_view name, Grid grid, std::function<void()> body) {
  refuse_on_lane("Device::launch");
  check(name, state_->limits, grid, static_cast<bool>(body));
  report_exits_on_lanes();
  state_->start_workers();
  Launch launch;
  auto record = std::make_unique<LaunchRecord>(std::string(name), grid, std::move(body));
  launch.state_ = std::make_shared<Launch::State>(*record);
  state_->dispatcher.submit(*record.release());  // two holders from here on: the Launch and the blocks
  return launch;
}

unsigned Device::resident_blocks(Grid grid) const noexcept {
  return static_cast<unsigned>(blocks_that_fit(state_->limits, {}, grid));
}

bool Device::left_behind_by_fork() const noexcept {
  pid_t const process = state_->process.load(std::memory_order_relaxed);
  return process != 0 && process != getpid();
}

DeviceLimits const& Device::limits() const noexcept { return state_->limits; }

void sanitizer::copy_unseen(void* to, void const* from, std::size_t bytes) {
  auto const* const words = static_cast<std::uint32_t const*>(from);
  for (std::size_t i = 0; i < bytes / sizeof(std::uint32_t); ++i) {
    // Not std::atomic_ref: its code could come from a file that TSan looks at.
    std::uint32_t const bits = __atomic_load_n(words + i, __ATOMIC_RELAXED);
    std::memcpy(static_cast<std::byte*>(to) + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace hiway::simt
