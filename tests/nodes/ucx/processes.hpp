// Several nodes, a process each, that reach each other by UCX. The test's own process never calls UCX: it forks.
#pragma once
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "lib/nodes/ucx/port.hpp"
#include "tests/nodes/together.hpp"

namespace hiway_tests {

using std::chrono::steady_clock;

/// What UCX may use.
struct Way {
  char const* name;
  char const* transports;
};
inline void PrintTo(Way const& way, std::ostream* to) { *to << way.name; }
inline Way const tcp{"Tcp", "tcp,self"};
inline Way const shared_memory{"SharedMemory", "shm,tcp,self"};

#if defined(HIWAY_SANITIZED)
constexpr unsigned patience = 5;  // times as long as elsewhere
#else
constexpr unsigned patience = 1;
#endif

/// In a process: a node that has met the others.
struct Node {
  hiway::detail::nodes::Meeting& meeting;
  hiway::detail::nodes::Port port{meeting.node(), meeting.size()};

  [[nodiscard]] int number() const { return meeting.node(); }
  [[nodiscard]] static steady_clock::time_point soon() {
    return steady_clock::now() + patience * std::chrono::seconds(10);
  }
  void connect() { port.connect(meeting.exchange(port.introduction()), soon()); }
  /// What the others give for `mine`, by node.
  template <class T>
  std::vector<T> exchange(T const& mine) {
    std::vector<T> all;
    for (auto const& bytes : meeting.exchange(std::as_bytes(std::span(&mine, 1)))) {
      std::memcpy(&all.emplace_back(), bytes.data(), sizeof(T));
    }
    return all;
  }
  /// Until all nodes call it. Others may need this one's progress until then.
  void leave_together() {
    std::atomic<bool> all{false};
    std::string error;
    std::thread waits([&] {
      error = error_of([&] { (void)meeting.exchange({}); });
      all = true;
    });
    while (!all) {
      if (!port.progress()) usleep(20);
    }
    waits.join();
    if (!error.empty()) throw std::runtime_error(error);
  }
};

/// What a process says it expects, and is not so: the test prints it.
inline void expect(bool true_one, std::string const& what) {
  if (!true_one) throw std::runtime_error("not so: " + what);
}
/// progress() until `done()`.
template <class Done>
void progress_until(Node& node, std::string const& what, Done done,
                    std::chrono::seconds most = std::chrono::seconds(10)) {
  auto const until = steady_clock::now() + patience * most;
  for (unsigned n = 1; !done(); ++n) {
    if (!node.port.progress() && n % 64 == 0) usleep(20);
    if (n % 1024 == 0) expect(steady_clock::now() < until, "in time: " + what);
  }
}

/// Runs body(number) in `size` processes: what each says; "killed" if it was, "exit 66" if a sanitizer ended it; "ran
/// too long" after 50 seconds, or five times as many under a sanitizer.
inline std::vector<std::string> in_forked(int size, std::function<std::string(int)> const& body) {
  struct Process {
    pid_t id;
    int said;
  };
  std::vector<Process> processes;
  for (int k = 0; k < size; ++k) {
    int ends[2];
    if (pipe(ends) != 0) return {"no pipe"};
    pid_t const id = fork();
    if (id == 0) {
      alarm(50 * patience);
      std::string const said = body(k);
      ssize_t const written = write(ends[1], said.data(), said.size());
      _exit(written == static_cast<ssize_t>(said.size()) ? 0 : 1);
    }
    close(ends[1]);
    processes.push_back({id, ends[0]});
  }
  std::vector<std::string> all;
  for (Process const& process : processes) {
    std::string& said = all.emplace_back();
    char text[4096];
    for (ssize_t got = 0; (got = read(process.said, text, sizeof text)) > 0;)
      said.append(text, static_cast<std::size_t>(got));
    close(process.said);
    int status = 0;
    waitpid(process.id, &status, 0);
    if (WIFSIGNALED(status))
      said += WTERMSIG(status) == SIGKILL   ? "killed"
              : WTERMSIG(status) == SIGALRM ? "ran too long"
                                            : "signal " + std::to_string(WTERMSIG(status));
    else if (WEXITSTATUS(status) != 0)
      said += "exit " + std::to_string(WEXITSTATUS(status));
  }
  return all;
}

/// Runs body(node) in a process for each node. What each throws, or how it ended.
template <class Body>
std::vector<std::string> in_processes(Way way, int size, Body body) {
  hiway::detail::nodes::Listener const listener(fresh_name());
  return in_forked(size, [&](int k) {
    setenv("UCX_TLS", way.transports, 1);
    setenv("UCX_NET_DEVICES", "lo", 1);
    auto run = [&](hiway::detail::nodes::Meeting& meeting) {
      Node node{meeting};
      body(node);
    };
    return error_of_node(listener, k, size, run);
  });
}

class OverUcx : public testing::TestWithParam<Way> {};
inline std::string name_of_way(testing::TestParamInfo<Way> const& way) { return way.param.name; }

}  // namespace hiway_tests
