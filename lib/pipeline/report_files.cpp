#include "report_files.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "hiway/error.hpp"
#include "hiway/log.hpp"
#include "hiway/output_file.hpp"
#include "lib/text.hpp"

namespace hiway {
namespace {

/// Calls `write(path)` if the variable names a file.
void write_where_asked(char const* variable, std::function<void(std::string const&)> const& write) noexcept {
  if (!names_a_file(variable)) return;
  at_the_end([&] { write(std::string(std::getenv(variable))); });
}

/// The picture that Graphviz makes of the file `dot`; none if it fails.
std::optional<std::string> drawn(std::string const& dot) {
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, dot.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  std::string arguments[] = {"dot", "-Tsvg"};
  char* list[] = {arguments[0].data(), arguments[1].data(), nullptr};
  pid_t child = 0;
  bool const spawned = posix_spawnp(&child, "dot", &actions, nullptr, list, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  std::string picture;
  char part[1 << 14];
  for (ssize_t got = 1; spawned && got != 0;) {
    got = ::read(pipe_ends[0], part, sizeof part);
    if (got > 0) picture.append(part, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  ::close(pipe_ends[0]);
  int status = 0;  // stays 0 if the program ignores SIGCHLD: then there is no status
  while (spawned && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || picture.empty()) return std::nullopt;
  return picture;
}

}  // namespace

bool names_a_file(char const* variable) noexcept {
  char const* const asked = std::getenv(variable);
  return asked != nullptr && *asked != '\0';
}

void at_the_end(std::function<void()> const& write) noexcept {
  try {
    write();
  } catch (std::exception const& e) {
    log(LogLevel::warning, e.what());
  } catch (...) {
    log(LogLevel::warning, "unknown exception");
  }
}

void write_or_throw(std::string const& path, std::string const& text, char const* what) {
  if (std::string const why = write_file(path, text); !why.empty())
    throw ConfigError(std::string(what) + ": '" + path + "' cannot be written: " + why);
}

void write_graph_where_asked(std::function<std::string()> const& graph) noexcept {
  write_where_asked("HIWAY_GRAPH", [&](std::string const& path) {
    if (!path.ends_with(".svg")) return write_or_throw(path, graph(), "HIWAY_GRAPH");
    std::string const dot = path + ".dot";
    write_or_throw(dot, graph(), "HIWAY_GRAPH");
    if (std::optional<std::string> const picture = drawn(dot)) return write_or_throw(path, *picture, "HIWAY_GRAPH");
    log(LogLevel::warning, "HIWAY_GRAPH: '" + path + "' needs Graphviz' program dot; the graph is in '" + dot + "'");
  });
}

void write_stats_where_asked(RunReport const& report, std::function<std::string()> const& prometheus) noexcept {
  write_where_asked("HIWAY_STATS", [&](std::string const& path) {
    std::string const text = path.ends_with(".json")   ? to_json(report) + "\n"
                             : path.ends_with(".prom") ? prometheus()
                                                       : to_text(report);
    if (path != "-") return write_or_throw(path, text, "HIWAY_STATS");
    std::fputs(text.c_str(), stderr);
  });
}

}  // namespace hiway
