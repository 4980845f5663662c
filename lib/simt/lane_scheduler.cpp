#include "lane_scheduler.hpp"

#include <sched.h>

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "sanitizers.hpp"

namespace hiway::simt {
namespace {

// Accesses between two yields. Odd, so that forced yields fall sometimes before and sometimes after an access (the
// fiber machine has a schedule point on either side).
constexpr unsigned access_budget = 61;

// Idle rounds in a row before the worker is drowsy.
constexpr unsigned rounds_awake = 64;
// How many passes of main a lane may be parked; far more than the device monitor needs to look at every tunnel once.
constexpr unsigned longest_parking = 1024;

thread_local LaneScheduler* this_scheduler = nullptr;

std::string place(Lane const& lane) {
  return "launch \"" + lane.block->placed.launch->name() + "\", warp " + std::to_string(lane.thread / warp_lanes) +
         ": lane ";
}

std::string of_block(Lane const& lane) { return " of block " + std::to_string(lane.block->placed.index) + " "; }

[[noreturn]] void throw_failure(Lane& lane, std::string const& waits_in) {
  Lane::Failure const failure = std::exchange(lane.failure, Lane::Failure::none);
  if (failure == Lane::Failure::partner_left)
    throw MisuseError(place(lane) + std::to_string(lane.meeting.gone_lane) + of_block(lane) + "exited while lanes " +
                      hex(lane.meeting.abandoned) + " wait for it in " + waits_in);
  throw MisuseError(place(lane) + std::to_string(lane.in_warp()) + of_block(lane) + "waits in " + waits_in +
                    ", and every other lane of its block has exited or waits, too: nobody can go on");
}

}  // namespace

LaneScheduler::~LaneScheduler() {
  while (Fiber* const fiber = unused_.pop()) delete static_cast<Lane*>(fiber);
}

LaneScheduler* LaneScheduler::of_this_thread() noexcept { return this_scheduler; }

Lane* LaneScheduler::lane() const noexcept { return running_ == main_ ? nullptr : static_cast<Lane*>(running_); }

// ---- on main --------------------------------------------------------------------------------------------------------

void LaneScheduler::run() {
  Fiber main{Fiber::ThisThread{}};
  main_ = running_ = &main;
  this_scheduler = this;
  detail::thread_runs_lanes = true;
  for (;;) {
    tidy();
    while (auto placed = dispatcher_.try_take(worker_)) start(*placed);
    if (ready_.empty() && parked_.empty()) {  // S6
      auto placed = dispatcher_.take(worker_);
      if (!placed) break;
      start(*placed);
      continue;
    }
    idle();
    ready_.push(main);  // S2
    run_next();
  }
  detail::thread_runs_lanes = false;
  this_scheduler = nullptr;
  main_ = running_ = nullptr;
}

bool LaneScheduler::drowsy() const noexcept { return idle_rounds_ >= rounds_awake; }

void LaneScheduler::idle() {
  if (drowsy() && ready_.empty()) {
    nap(idle_rounds_++ - rounds_awake);
    passes_ = 0;
  } else if (drowsy()) {
    if (++passes_ < longest_parking) return;
    idle_rounds_ = 0;
  } else if (waits_ >= ready_.size()) {
    sched_yield();
    waits_ = 0;
    passes_ = 0;
    ++idle_rounds_;
  }
  ready_.append(parked_);
}

void LaneScheduler::start(PlacedBlock const& placed) {
  Grid const& grid = placed.launch->grid();
  std::unique_ptr<Block> block;
  try {
    block = std::make_unique<Block>();
    block->placed = placed;
    if (grid.shared_bytes != 0) {
      block->shared.reset(static_cast<std::byte*>(::operator new (grid.shared_bytes, std::align_val_t{128})));
      std::memset(block->shared.get(), 0, grid.shared_bytes);
    }
    block->warps.resize(block_occupancy(grid).warps);
    block->lanes.reserve(grid.threads_per_block);
    for (unsigned thread = 0; thread < grid.threads_per_block; ++thread) {
      Fiber* const recycled = unused_.pop();
      block->lanes.push_back(recycled != nullptr ? static_cast<Lane*>(recycled) : new Lane(stack_bytes_));
    }
  } catch (...) {  // no memory: the launch fails, the device goes on
    placed.launch->keep_start_failure(std::current_exception());
    if (block) {
      for (Lane* const lane : block->lanes) unused_.push(*lane);
    }
    end(placed);
    return;
  }
  for (unsigned thread = 0; thread < grid.threads_per_block; ++thread) {
    Lane& lane = *block->lanes[thread];
    lane.block = block.get();
    lane.thread = thread;
    lane.mark = 0;
    lane.run = nullptr;
    lane.misses = 0;
    lane.scope = {};
    lane.unwinds = 0;
    lane.accesses_left = access_budget;
    lane.wait = Lane::Wait::none;
    lane.failure = Lane::Failure::none;
    lane.meeting = {};
    lane.prepare(&LaneScheduler::lane_entry);
    block->warp_of(lane).launch_lane(lane.meeting);
    ready_.push(lane);
  }
  block->live = block->runnable = grid.threads_per_block;
  idle_rounds_ = 0;
  block.release();  // its lanes own it now; the last one hands it to tidy()
}

void LaneScheduler::end(PlacedBlock const& placed) {
  dispatcher_.ended(placed);  // first: whoever sees the launch done finds its place free
  placed.launch->block_ended();
}

void LaneScheduler::tidy() {
  while (Fiber* const fiber = left_.pop()) {
    fiber->retire();
    unused_.push(*fiber);
  }
  while (ended_ != nullptr) {
    Block& block = *ended_;
    ended_ = block.next_ended;
    PlacedBlock const placed = block.placed;
    sanitizer::acquire(&block.exit_order);  // lanes' accesses to its room come before the delete
    delete &block;
    end(placed);
  }
}

// ---- on a lane ------------------------------------------------------------------------------------------------------

void LaneScheduler::lane_entry(Fiber& fiber) {
  auto& lane = static_cast<Lane&>(fiber);
  lane.block->placed.launch->run_lane();
  this_scheduler->leave(lane);
}

void LaneScheduler::run_next() {
  Fiber& self = *running_;
  Fiber& next = *ready_.pop();  // S2
  if (&next == &self) return;
  running_ = &next;
  self.switch_to(next);
}

void LaneScheduler::wait(unsigned misses) {
  Lane& self = *lane();
  if (misses == 0) idle_rounds_ = 0;
  if (!drowsy()) {
    ++waits_;
    give_way(self);
  } else {
    self.accesses_left = access_budget;
    parked_.push(self);
    run_next();
  }
}

void LaneScheduler::schedule_point() {
  Lane& self = *lane();
  if (--self.accesses_left != 0) return;
  waits_ = 0;
  give_way(self);
}

void LaneScheduler::give_way(Lane& lane) {
  lane.accesses_left = access_budget;  // S4
  ready_.push(lane);
  run_next();
}

// Only sync orders memory, as on a GPU; the other operations exchange values and order nothing.
std::uint64_t LaneScheduler::meet(WarpOperation operation, std::uint32_t mask, std::uint64_t value,
                                  unsigned source_lane) {
  Lane& self = *lane();
  Warp& warp = self.block->warp_of(self);
  Meeting& meeting = self.meeting;
  meeting = {.operation = operation, .mask = mask, .value = value, .source_lane = source_lane};
  if (std::string const wrong = warp.why_not(self.in_warp(), meeting); !wrong.empty())
    throw MisuseError(place(self) + std::to_string(self.in_warp()) + of_block(self) + wrong);

  std::uint32_t const completed = warp.join(self.in_warp());
  if (operation == WarpOperation::sync) sanitizer::release(meeting.order);
  if (completed == 0) {
    wait_in(self, Lane::Wait::warp);
    if (self.failure != Lane::Failure::none) throw_failure(self, describe(operation, mask));
  } else {
    Lane* const* const lanes = self.block->lanes.data() + (self.thread - self.in_warp());
    for (unsigned i = 0; i < warp_lanes; ++i)
      if ((completed >> i & 1) != 0 && lanes[i] != &self) wake(*lanes[i], Lane::Failure::none);
  }
  if (operation == WarpOperation::sync) sanitizer::acquire(meeting.order);
  return meeting.result;
}

// In a quarter of the calls the lane converges alone, so that code meets every part of a warp.
std::uint32_t LaneScheduler::converge(void const* place) {
  Lane& self = *lane();
  alone_ = alone_ * 1664525u + 1013904223u;
  if (alone_ >> 30 == 0) return std::uint32_t{1} << self.in_warp();
  Warp& warp = self.block->warp_of(self);
  self.converged = 0;
  if (warp.gather(self.in_warp(), place)) {
    give_way(self);
    std::uint32_t const lanes = warp.close_gathering(self.in_warp());
    Lane* const* const all = self.block->lanes.data() + (self.thread - self.in_warp());
    for (unsigned i = 0; i < warp_lanes; ++i)
      if ((lanes >> i & 1) != 0) all[i]->converged = lanes;
  } else {
    while (self.converged == 0) give_way(self);
  }
  return self.converged;
}

void LaneScheduler::sync_block() {
  Lane& self = *lane();
  Block& block = *self.block;
  char* const order = &block.barrier_order[block.barrier_phase % 2];
  sanitizer::release(order);
  if (block.barrier.size() + 1 == block.live) {
    wake_barrier(block);
  } else {
    block.barrier.push(self);
    block.placed.launch->stands_in_sync_block();
    wait_in(self, Lane::Wait::barrier);
    block.placed.launch->goes_on();
    if (self.failure != Lane::Failure::none) throw_failure(self, "sync_block");
  }
  sanitizer::acquire(order);
}

void LaneScheduler::wait_in(Lane& lane, Lane::Wait wait) {
  lane.wait = wait;
  if (--lane.block->runnable == 0) fail_waiters(*lane.block);  // B3
  run_next();
}

void LaneScheduler::wake(Lane& lane, Lane::Failure failure) {
  lane.wait = Lane::Wait::none;
  lane.failure = failure;
  ++lane.block->runnable;
  ready_.push(lane);
}

void LaneScheduler::wake_barrier(Block& block) {
  ++block.barrier_phase;
  while (Fiber* const fiber = block.barrier.pop()) wake(static_cast<Lane&>(*fiber), Lane::Failure::none);
}

void LaneScheduler::fail_waiters(Block& block) {
  block.barrier.clear();
  for (Warp& warp : block.warps) warp.abandon_all();
  for (Lane* const lane : block.lanes)
    if (lane->wait != Lane::Wait::none) wake(*lane, Lane::Failure::nobody_can_run);
}

void LaneScheduler::leave(Lane& lane) {
  Block& block = *lane.block;
  sanitizer::release(&block.exit_order);
  --block.live;
  --block.runnable;
  std::uint32_t const abandoned = block.warp_of(lane).leave(lane.in_warp());
  Lane* const* const lanes = block.lanes.data() + (lane.thread - lane.in_warp());
  for (unsigned i = 0; i < warp_lanes; ++i)
    if ((abandoned >> i & 1) != 0) wake(*lanes[i], Lane::Failure::partner_left);

  if (block.live == 0) {
    sanitizer::acquire(&block.exit_order);
    block.shared.reset();  // here every lane's accesses are known to be over
    block.next_ended = std::exchange(ended_, &block);
  } else if (block.barrier.size() == block.live) {  // lanes that exit are not waited for
    wake_barrier(block);
  } else if (block.runnable == 0) {
    fail_waiters(block);  // B3
  }
  left_.push(lane);
  idle_rounds_ = 0;
  running_ = ready_.pop();  // S2
  lane.leave_to(*running_);
}

// ---- what stage code and the fiber machine call ---------------------------------------------------------------------

namespace {

LaneScheduler& scheduler_here(char const* call) {
  LaneScheduler* const scheduler = this_scheduler;
  if (scheduler == nullptr || scheduler->lane() == nullptr)
    throw WrongDevice(std::string("hiway::simt::") + call + " is called on a CPU thread; it needs an emulated lane");
  return *scheduler;
}

Lane& lane_here(char const* call) { return *scheduler_here(call).lane(); }

}  // namespace

constinit thread_local bool detail::thread_runs_lanes = false;
bool detail::a_lane_runs() noexcept { return this_scheduler->lane() != nullptr; }

LaneId lane_id() noexcept {
  Lane const& lane = lane_here("lane_id");
  PlacedBlock const& placed = lane.block->placed;
  Grid const& grid = placed.launch->grid();
  return {.thread = lane.thread, .threads = grid.threads_per_block, .block = placed.index, .blocks = grid.blocks};
}

std::byte* shared_memory() noexcept { return lane_here("shared_memory").block->shared.get(); }

std::size_t shared_memory_bytes() noexcept {
  return lane_here("shared_memory_bytes").block->placed.launch->grid().shared_bytes;
}

void wait(unsigned misses) { scheduler_here("wait").wait(misses); }

void yield() { scheduler_here("yield").wait(0); }

void schedule_point() { scheduler_here("schedule_point").schedule_point(); }

std::uint64_t meet(WarpOperation operation, std::uint32_t mask, std::uint64_t value, unsigned source_lane) {
  return scheduler_here("meet").meet(operation, mask, value, source_lane);
}

std::uint32_t converge() { return scheduler_here("converge").converge(__builtin_return_address(0)); }

// By value: a caller that wrote through a reference would show TSan a race with the lane that had this record before.
std::uint32_t lane_mark() noexcept { return lane_here("lane_mark").mark; }
void set_lane_mark(std::uint32_t mark) noexcept { lane_here("set_lane_mark").mark = mark; }
Control const* lane_run() noexcept { return lane_here("lane_run").run; }
void set_lane_run(Control const* run) noexcept { lane_here("set_lane_run").run = run; }

unsigned& lane_misses() noexcept { return lane_here("lane_misses").misses; }
LaneScope lane_scope() noexcept { return lane_here("lane_scope").scope; }
void set_lane_scope(LaneScope scope) noexcept { lane_here("set_lane_scope").scope = scope; }
unsigned count_lane_unwind() noexcept { return ++lane_here("count_lane_unwind").unwinds; }

std::uint32_t live_lanes() noexcept {
  Lane& lane = lane_here("live_lanes");
  return lane.block->warp_of(lane).live();
}

void sync_block() { scheduler_here("sync_block").sync_block(); }

std::uint64_t share_in_block(std::uint64_t value) {
  Lane const& lane = lane_here("share_in_block");
  sync_block();
  if (lane.thread == 0) lane.block->shared_value = value;
  sync_block();
  return lane.block->shared_value;
}

void order_leaving() noexcept {
  Block& block = *lane_here("order_leaving").block;
  sanitizer::release(&block.barrier_order[block.barrier_phase % 2]);
}

void* block_room() noexcept { return lane_here("block_room").block->room; }

bool on_own_stack(void const* address) noexcept { return lane_here("on_own_stack").holds(address); }

}  // namespace hiway::simt
