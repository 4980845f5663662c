#include "cli/processes.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iostream>
#include <optional>
#include <random>
#include <system_error>

namespace cli {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int cannot_start = 127;  // as shells have it
constexpr std::chrono::seconds time_to_end{2};

sigset_t set_of(std::initializer_list<int> signals_in_it) {
  sigset_t set;
  sigemptyset(&set);
  for (int const one : signals_in_it) sigaddset(&set, one);
  return set;
}

/// SIGINT, SIGTERM and SIGCHLD wait until they are asked for.
class HeldSignals {
 public:
  HeldSignals() {
    struct sigaction as_usual {};
    as_usual.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &as_usual, nullptr);  // where it is ignored, the system keeps no status
    sigprocmask(SIG_BLOCK, &held_, &before_);
  }
  ~HeldSignals() { restore(); }
  HeldSignals(HeldSignals const&) = delete;
  HeldSignals& operator=(HeldSignals const&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  /// The next one; none at the time limit.
  [[nodiscard]] std::optional<siginfo_t> next(std::optional<nanoseconds> limit) const {
    siginfo_t info{};
    timespec const time{limit ? limit->count() / 1'000'000'000 : 0, limit ? limit->count() % 1'000'000'000 : 0};
    int const got = limit ? sigtimedwait(&held_, &info, &time) : sigwaitinfo(&held_, &info);
    return got > 0 ? std::optional(info) : std::nullopt;
  }

 private:
  sigset_t held_ = set_of({SIGINT, SIGTERM, SIGCHLD});
  sigset_t before_{};
};

struct Process {
  pid_t id = 0;
  int node = 0;
};

int status_of(int waited) { return WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited); }

std::string text_of(int waited) {
  if (WIFEXITED(waited)) return "ended with " + std::to_string(WEXITSTATUS(waited));
  return "was ended by signal " + std::to_string(WTERMSIG(waited)) + " (" + strsignal(WTERMSIG(waited)) + ")";
}

class Nodes {
 public:
  Nodes(int nodes, std::vector<std::string> const& words) : nodes_(nodes), words_(words) {
    for (std::string& word : words_) arguments_.push_back(word.data());
    arguments_.push_back(nullptr);
  }

  int run();

 private:
  [[nodiscard]] int start(int node);
  [[noreturn]] void become(int node, int report, pid_t parent) const;
  void take_ended();
  void pass_on(siginfo_t const& info);
  void end_all();
  void send(int signal) const;
  [[nodiscard]] std::optional<nanoseconds> time_left() const;

  int nodes_;
  std::vector<std::string> words_;
  std::vector<char*> arguments_;
  std::string meet_ = "local:hiway-launch-" + std::to_string(getpid()) + "-" + std::to_string(std::random_device{}());
  HeldSignals held_;
  std::vector<Process> running_;
  bool passed_on_ = false;
  int status_ = 0;                                   // the first that is not 0
  std::optional<steady_clock::time_point> kill_at_;  // then the others have no time left
};

int Nodes::run() {
  for (int node = 0; node < nodes_ && status_ == 0; ++node) {
    int const error = start(node);
    if (error == 0) continue;
    std::cerr << "hiway: cannot start '" << words_.front() << "': " << std::generic_category().message(error) << "\n";
    status_ = cannot_start;
    end_all();
  }
  for (;;) {
    take_ended();
    if (running_.empty()) return status_;
    if (auto const info = held_.next(time_left())) {
      pass_on(*info);
    } else if (kill_at_ && steady_clock::now() >= *kill_at_) {
      send(SIGKILL);
      kill_at_.reset();
    }
  }
}

/// 0, or why the program cannot be started: the child says it, and says nothing once it has become the program.
int Nodes::start(int node) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) != 0) return errno;
  pid_t const parent = getpid();
  pid_t const child = fork();
  if (child == 0) become(node, report[1], parent);
  int error = child < 0 ? errno : 0;
  close(report[1]);
  if (child > 0) {
    ssize_t got = 0;
    do {
      got = read(report[0], &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got == sizeof error) {
      waitpid(child, nullptr, 0);
    } else {
      running_.push_back({child, node});
    }
  }
  close(report[0]);
  return error;
}

void Nodes::become(int node, int report, pid_t parent) const {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(cannot_start);  // it was gone before
  held_.restore();
  setenv("HIWAY_NODES", std::to_string(nodes_).c_str(), 1);
  setenv("HIWAY_NODE", std::to_string(node).c_str(), 1);
  setenv("HIWAY_MEET", meet_.c_str(), 1);
  int const nothing = node > 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);  // node 0 alone reads what is typed
  execvp(arguments_.front(), arguments_.data());
  int const error = errno;
  static_cast<void>(!write(report, &error, sizeof error));
  _exit(cannot_start);
}

void Nodes::take_ended() {
  int waited = 0;
  for (pid_t id = 0; (id = waitpid(-1, &waited, WNOHANG)) > 0;) {
    auto const ended = std::find_if(running_.begin(), running_.end(), [&](Process const& one) { return one.id == id; });
    if (ended == running_.end()) continue;
    int const node = ended->node;
    running_.erase(ended);
    if (status_ != 0 || status_of(waited) == 0) continue;
    status_ = status_of(waited);
    if (!passed_on_) std::cerr << "hiway: node " << node << " " << text_of(waited) << "\n";
    end_all();
  }
}

/// A key of the terminal sends the signal to the programs, too.
void Nodes::pass_on(siginfo_t const& info) {
  if (info.si_signo == SIGCHLD) return;
  passed_on_ = true;
  if (info.si_code <= 0) send(info.si_signo);
}

void Nodes::end_all() {
  send(SIGTERM);
  kill_at_ = steady_clock::now() + time_to_end;
}

void Nodes::send(int signal) const {
  for (Process const& one : running_) kill(one.id, signal);
}

std::optional<nanoseconds> Nodes::time_left() const {
  if (!kill_at_) return std::nullopt;
  return std::max(nanoseconds(0), std::chrono::duration_cast<nanoseconds>(*kill_at_ - steady_clock::now()));
}

}  // namespace

int run_nodes(int nodes, std::vector<std::string> const& words) { return Nodes(nodes, words).run(); }

}  // namespace cli
