// A spinning process is this program, started again under a name that no command line has: it shares no memory with the
// bench, and none of the device's files or threads are in it. It tells by one byte through its stdout that it spins.
#include "bench/spinning.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view spinning_name = "hiway-bench-spins";
constexpr auto start_limit = std::chrono::seconds(20);

[[noreturn]] void spin(pid_t parent) noexcept {
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);  // it went before the line above
  char const spins = 1;
  if (write(STDOUT_FILENO, &spins, 1) != 1) _exit(1);
  (void)close(STDOUT_FILENO);
  std::atomic<unsigned> turns = 0;
  while (getppid() == parent) {
    for (unsigned i = 0; i != 1'000'000; ++i) turns.fetch_add(1, std::memory_order_relaxed);
  }
  _exit(0);
}

class FileActions {
 public:
  explicit FileActions(int told) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, told, STDOUT_FILENO);
    for (int const file : {STDIN_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&actions_, file, "/dev/null", O_RDWR, 0);
  }
  FileActions(FileActions const&) = delete;
  FileActions& operator=(FileActions const&) = delete;
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  [[nodiscard]] posix_spawn_file_actions_t const* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

/// 0, or the error's number.
int start(std::string const& program, int told, pid_t& pid) {
  std::string name{spinning_name};
  std::string parent = std::to_string(getpid());
  char* arguments[] = {name.data(), parent.data(), nullptr};
  return posix_spawn(&pid, program.c_str(), FileActions(told).get(), nullptr, arguments, environ);
}

/// How many of `count` have told that they spin, when all have, or no more will.
unsigned told_through(int pipe, unsigned count) {
  auto const until = Clock::now() + start_limit;
  unsigned told = 0;
  std::array<char, 256> bytes{};
  while (told < count) {
    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd waits{pipe, POLLIN, 0};
    int const ready = left > 0 ? poll(&waits, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) break;
    ssize_t const got = read(pipe, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    told += static_cast<unsigned>(got);
  }
  return told;
}

}  // namespace

void spin_where_asked(int argc, char const* const* argv) noexcept {
  if (argc != 2 || argv[0] != spinning_name) return;
  std::string_view const word = argv[1];
  pid_t parent = 0;
  (void)std::from_chars(word.data(), word.data() + word.size(), parent);
  spin(parent);
}

SpinningProcesses::SpinningProcesses(unsigned count, std::string const& program) {
  if (count == 0) return;
  auto const failed = [&](std::string const& why) {
    end();
    return std::runtime_error(std::to_string(count) + " spinning processes cannot be started: " + why);
  };
  pids_.reserve(count);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw failed(std::strerror(errno));
  int error = 0;
  for (pid_t pid = 0; pids_.size() != count && error == 0;) {
    error = start(program, ends[1], pid);
    if (error == 0) pids_.push_back(pid);
  }
  (void)close(ends[1]);
  unsigned const told = error == 0 ? told_through(ends[0], count) : 0;
  (void)close(ends[0]);
  if (error != 0) throw failed(program + ": " + std::strerror(error));
  if (told != count) throw failed("only " + std::to_string(told) + " of them began to spin");
}

SpinningProcesses::~SpinningProcesses() { end(); }

bool SpinningProcesses::all_spin() const noexcept {
  for (pid_t const pid : pids_) {
    siginfo_t ended{};
    if (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
      return false;
  }
  return true;
}

void SpinningProcesses::end() noexcept {
  for (pid_t const pid : pids_) (void)kill(pid, SIGKILL);
  for (pid_t const pid : pids_) {
    while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pids_.clear();
}

}  // namespace bench
