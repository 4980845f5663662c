#include "bench/perftest.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace bench {
namespace {

using std::chrono::steady_clock;

constexpr char const* program = "ucx_perftest";
constexpr auto between_looks = std::chrono::milliseconds(2);

[[noreturn]] void fail(char const* what) { throw std::system_error(errno, std::generic_category(), what); }

/// Starts it with `words`; what it prints goes to `output`, what it complains of nowhere. It ends with this process.
pid_t start(std::vector<std::string> words, int output) {
  std::vector<char*> arguments;
  words.insert(words.begin(), program);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int const nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) fail("/dev/null");
  pid_t const child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(nowhere, STDIN_FILENO);
    dup2(output < 0 ? nowhere : output, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execvp(program, arguments.data());
    _exit(127);
  }
  int const error = errno;
  close(nowhere);
  errno = error;
  if (child < 0) fail(program);
  return child;
}

std::uint16_t free_port() {
  int const socket_of_port = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_of_port < 0) fail("a socket");
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t bytes = sizeof any;
  bool const bound = bind(socket_of_port, reinterpret_cast<sockaddr const*>(&any), bytes) == 0 &&
                     getsockname(socket_of_port, reinterpret_cast<sockaddr*>(&any), &bytes) == 0;
  int const error = errno;
  close(socket_of_port);
  errno = error;
  if (!bound) fail("a free port");
  return ntohs(any.sin_port);
}

/// What a client prints, and how it ends.
std::pair<std::string, int> run(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("a pipe");
  pid_t const child = start(std::move(words), ends[1]);
  close(ends[1]);
  std::string text;
  std::array<char, 4096> some{};
  for (ssize_t n = 0; (n = read(ends[0], some.data(), some.size())) > 0 || (n < 0 && errno == EINTR);) {
    if (n > 0) text.append(some.data(), static_cast<std::size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return {text, status};
}

/// Its last line: iterations, and of one of them the median time, the average and the overall one, in us; MiB/s average
/// and overall; a second average and overall.
bool read_figures(std::string const& text, PerftestFigures& figures) {
  std::istringstream lines(text);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  std::istringstream words(last);
  std::vector<double> numbers;
  for (std::string word; std::getline(words, word, ',');) numbers.push_back(std::strtod(word.c_str(), nullptr));
  if (numbers.size() < 8 || numbers.back() <= 0) return false;
  figures.p50_us = numbers[1];
  figures.per_second = numbers[7];
  return true;
}

}  // namespace

bool has_perftest() {
  char const* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

PerftestServer::PerftestServer() : port_(free_port()), process_(start({"-p", std::to_string(port_)}, -1)) {}

PerftestServer::~PerftestServer() {
  auto const until = steady_clock::now() + std::chrono::seconds(30);
  while (waitpid(process_, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(between_looks);
    if (steady_clock::now() > until) kill(process_, SIGKILL);
  }
}

PerftestFigures ask_perftest(std::string const& host, std::uint16_t port, PerftestRequest const& request) {
  PerftestFigures figures;
  auto const until = steady_clock::now() + std::chrono::seconds(5);
  for (;;) {
    auto const [text, status] =
        run({host, "-p", std::to_string(port), "-t", request.test, "-s", std::to_string(request.bytes), "-n",
             std::to_string(request.iterations), "-w", std::to_string(request.iterations / 10 + 1), "-f", "-v"});
    figures.wrong.clear();
    if (status == 0 && read_figures(text, figures)) return figures;
    figures.wrong = std::string(program) + " " + request.test + " gives no figures, and ends with " +
                    std::to_string(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    if (steady_clock::now() > until) return figures;
    std::this_thread::sleep_for(10 * between_looks);  // the server may not listen yet
  }
}

}  // namespace bench
