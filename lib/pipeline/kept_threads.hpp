// KeptThreads: the threads of a pipeline, kept between its runs (docs/adr/0045). Each has a post: the work that it does
// once in each run. Between two runs it sleeps.
//
//   word          written by                               read by
//   runs_         the owner, which starts a run with it    sleeping threads
//   leave_        the owner, before runs_                  threads that runs_ has woken
//   all_woken_    the owner, before runs_; the first       the owner, and threads that have begun
//                 that calls wake_rest()
//   at_work_      the owner, before runs_; each thread     who awaits the run's end
//                 as the last thing of its work
//   Member::lost  its thread, before at_work_              the owner, after the run's end
//   process_      the owner                                any
//
//   K1  A thread touches nothing but these words from its at_work_ on until the next runs_. So what a post works on may
//       change or go between two runs.
//   K2  Every thread of a run counts itself off at_work_, once: one that ends itself (pthread_exit) does so on its way
//       out. Its member has no thread then, and complete() makes another.
//   K3  Outside of a run each member has a thread that sleeps, or is on its way to sleep, or it has none.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace hiway {

/// *Threads*: one at a time, the owner; any where a function says so.
class KeptThreads {
 public:
  struct Post {
    std::string who;             ///< names the thread in an error
    std::function<void()> work;  ///< throws nothing
  };

  KeptThreads() = default;
  /// No run is under way.
  ~KeptThreads() { end(); }
  KeptThreads(KeptThreads const&) = delete;
  KeptThreads& operator=(KeptThreads const&) = delete;

  /// Makes a thread for each post, in place of those that there are. *Throws* Error that names the post whose thread
  /// could not be started, std::bad_alloc; then there is no thread.
  void make(std::vector<Post> posts);
  /// Makes threads for posts that have lost theirs. *Throws* as make(); the threads that there are stay.
  void complete();
  /// All leave, and are waited for. *Waits* also for what the user's code does at the end of a thread.
  void end();
  [[nodiscard]] bool empty() const { return members_.empty(); }

  /// Every thread does its work once. All posts have threads. One is woken, and wakes the others.
  void start();
  /// Wakes the others if that one has not done so yet: it may have no CPU. *Threads*: any.
  void wake_rest();
  /// *Waits* until every thread has done its work, or has ended. All that the threads did is visible then.
  void await();

  /// True if the threads are those of the process that this one was forked from. *Threads*: any.
  [[nodiscard]] bool left_behind_by_fork() const;

 private:
  struct Member {
    Post post;
    std::thread thread{};
    bool lost = false;  ///< the thread has ended itself
  };

  void hire(Member& member);
  void live(Member& member, std::uint32_t seen);
  void count_off();

  std::atomic<std::uint32_t> runs_{0};
  std::atomic<bool> all_woken_{false};  ///< in this run
  std::atomic<unsigned> at_work_{0};
  std::atomic<pid_t> process_{0};  ///< the process that has the threads; 0: there are none
  bool leave_ = false;
  std::deque<Member> members_;
};

}  // namespace hiway
