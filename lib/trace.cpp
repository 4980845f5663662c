#include "hiway/trace.hpp"

#include <algorithm>

#include "hiway/machine/thread_machine.hpp"
#include "hiway/ranges.hpp"

namespace hiway {
namespace {

// A look at the clock costs some 25 ns. Looks are at least this far apart, unless one task takes longer.
constexpr std::int64_t soon_ns = 2'000;
constexpr std::int64_t late_ns = 20'000;

std::int64_t now_ns() { return static_cast<std::int64_t>(ThreadMachine{}.now_ns()); }

void add(Word<std::uint64_t>& sum, std::int64_t ns) {
  ThreadMachine const m;
  m.store(sum, m.load(sum, MemoryOrder::relaxed) + static_cast<std::uint64_t>(ns), MemoryOrder::relaxed);
}

}  // namespace

void ThreadTrace::begin(bool records, bool source, std::vector<WaitWords>& waits) {
  owner_ = &this_thread_context();
  records_ = records;
  source_ = source;
  waits_ = waits.data();
  std::int64_t const now = now_ns();
  ThreadMachine{}.store(began_ns_, now, MemoryOrder::relaxed);
  if (!records_) return;
  until_look_ = 1;
  if (source) begin_task(0, now);
}

void ThreadTrace::end() {
  if (waits_for_room_) end_put(full_);  // the run aborts
  if (misses_ >= patience) {
    end_wait(tunnel_);
  } else {
    end_task(now_ns(), source_ ? 0 : 1);
  }
  ThreadMachine{}.store(ended_ns_, now_ns(), MemoryOrder::relaxed);
}

void ThreadTrace::begin_wait(std::uint32_t tunnel) {
  waiting_ns_ = now_ns();
  end_task(waiting_ns_, 1);
  tunnel_ = tunnel;
  push_range("waits for items");
}

void ThreadTrace::end_wait(std::uint32_t tunnel) {
  pop_range();
  std::int64_t const now = now_ns();
  add(waits_[tunnel].items_ns, now - waiting_ns_);
  record({.begin_ns = waiting_ns_, .end_ns = now, .tunnel = tunnel, .kind = TraceSlice::Kind::waits_for_items});
  if (!records_) return;
  begin_task(tunnel, now);
  ++until_look_;  // the get that ends the wait is counted after it
}

// What a source does before a put is its task. Other stages wait for room in the middle of their tasks.
void ThreadTrace::begin_put(std::uint32_t tunnel) {
  push_range("waits for room");
  waits_for_room_ = true;
  full_ = tunnel;
  waiting_ns_ = now_ns();
  if (!source_) return;
  tunnel_ = tunnel;
  end_task(waiting_ns_, 1);
  until_look_ = never;  // the put is counted here: it does not belong to the next task
}

void ThreadTrace::end_put(std::uint32_t tunnel) {
  pop_range();
  waits_for_room_ = false;
  std::int64_t const now = now_ns();
  add(waits_[tunnel].room_ns, now - waiting_ns_);
  record({.begin_ns = waiting_ns_, .end_ns = now, .tunnel = tunnel, .kind = TraceSlice::Kind::waits_for_room});
  if (source_ && records_) begin_task(tunnel, now);
}

void ThreadTrace::look(std::uint32_t tunnel) {
  if (!records_) return;
  std::int64_t const now = now_ns();
  if (source_) tunnel_ = tunnel;
  end_task(now, 0);
  begin_task(tunnel, now);
}

void ThreadTrace::begin_task(std::uint32_t tunnel, std::int64_t now) {
  in_task_ = true;
  tunnel_ = tunnel;
  looked_ns_ = now;
  window_ = until_look_ = between_looks_;
}

/// `begun`: 1 if the task of the last get, or of the next put, ends as well.
void ThreadTrace::end_task(std::int64_t now, std::uint32_t begun) {
  if (!records_ || !in_task_) return;
  in_task_ = false;
  std::uint32_t const gets = window_ - until_look_ + begun;
  std::int64_t const length = now - looked_ns_;
  record({.begin_ns = looked_ns_, .end_ns = now, .first = first_, .gets = gets, .tunnel = tunnel_});
  first_ += gets;
  if (length > late_ns) between_looks_ = 1;
  if (length < soon_ns) between_looks_ = std::min(2 * between_looks_, most_between_looks);
}

void ThreadTrace::record(TraceSlice const& slice) {
  std::int64_t const least = slice.kind == TraceSlice::Kind::task ? least_task_ns : least_wait_ns;
  if (!records_ || slice.length() < limits_ * least) return;
  slices_.push_back(slice);
  while (slices_.size() == most_slices) {
    limits_ *= 2;
    std::erase_if(slices_, [&](TraceSlice const& s) {
      return s.length() < limits_ * (s.kind == TraceSlice::Kind::task ? least_task_ns : least_wait_ns);
    });
  }
}

std::int64_t ThreadTrace::lived_ns() const {
  if (began_ns() == 0) return 0;
  return (ended_ns() != 0 ? ended_ns() : now_ns()) - began_ns();
}
std::int64_t ThreadTrace::began_ns() const { return ThreadMachine{}.load(began_ns_, MemoryOrder::relaxed); }
std::int64_t ThreadTrace::ended_ns() const { return ThreadMachine{}.load(ended_ns_, MemoryOrder::relaxed); }

}  // namespace hiway
