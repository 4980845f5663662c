#include "kept_threads.hpp"

#include <unistd.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/futex.hpp"

namespace hiway {
namespace {

// A sleeping thread starts some 10 microseconds after it was woken. So a short run is waited for awake.
constexpr auto awake = std::chrono::microseconds(50);

}  // namespace

void KeptThreads::make(std::vector<Post> posts) {
  end();
  try {
    for (Post& post : posts) members_.push_back({std::move(post)});
    complete();
  } catch (...) {
    end();
    throw;
  }
}

void KeptThreads::complete() {
  for (Member& m : members_) {
    if (!m.thread.joinable()) hire(m);
  }
}

void KeptThreads::hire(Member& member) {
  try {
    process_ = getpid();
    member.thread = std::thread([this, &member, seen = runs_.load(std::memory_order_relaxed)] { live(member, seen); });
  } catch (std::system_error const& e) {
    throw Error(member.post.who + " could not be started: " + e.code().message());
  }
}

void KeptThreads::end() {
  leave_ = true;
  runs_.fetch_add(1, std::memory_order_release);
  wake_all(runs_);
  for (Member& m : members_) {
    if (m.thread.joinable()) m.thread.join();
  }
  members_.clear();
  leave_ = false;
  process_ = 0;
}

void KeptThreads::live(Member& member, std::uint32_t seen) {
  struct AtWork {
    KeptThreads& threads;
    Member& member;
    bool done = false;
    ~AtWork() {
      member.lost = !done;  // else pthread_exit unwinds the thread
      threads.count_off();
    }
  };
  end_naps_on_time();
  for (;;) {
    sleep_while(runs_, seen);
    if (leave_) return;
    ++seen;
    wake_rest();
    AtWork now{*this, member};
    member.post.work();
    now.done = true;
  }
}

void KeptThreads::count_off() {
  if (at_work_.fetch_sub(1, std::memory_order_acq_rel) == 1) wake_all(at_work_);
}

// Waking a thread takes a microsecond or more, and the caller has kernels to launch: so it wakes one, which wakes all.
void KeptThreads::start() {
  at_work_.store(static_cast<unsigned>(members_.size()), std::memory_order_relaxed);
  all_woken_.store(false, std::memory_order_relaxed);
  runs_.fetch_add(1, std::memory_order_release);
  wake_one(runs_);
}

void KeptThreads::wake_rest() {
  if (!all_woken_.exchange(true, std::memory_order_relaxed)) wake_all(runs_);
}

void KeptThreads::await() {
  auto const until = std::chrono::steady_clock::now() + awake;
  unsigned const yields = misses_awake(Wait::automatic);
  for (unsigned misses = 0, n = 0; (n = at_work_.load(std::memory_order_acquire)) != 0; ++misses) {
    if (misses < yields && std::chrono::steady_clock::now() < until) {
      relax_thread(misses);
    } else {
      sleep_while(at_work_, n);
    }
  }
  for (Member& m : members_) {
    if (std::exchange(m.lost, false)) m.thread.join();  // what the user's code does at its end belongs to the run
  }
}

bool KeptThreads::left_behind_by_fork() const {
  pid_t const process = process_.load(std::memory_order_relaxed);
  return process != 0 && process != getpid();
}

}  // namespace hiway
