#include "hiway/log.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

namespace hiway {
namespace {

constexpr std::pair<std::string_view, int> levels[] = {
    {"off", 0}, {"error", 1}, {"warning", 2}, {"info", 3}, {"debug", 4}};
constexpr int as_without_it = 3;

void say(std::string_view text) {
  std::string const line = "hiway: " + std::string(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

int chosen_level() {
  char const* const asked = std::getenv("HIWAY_LOG");
  if (asked == nullptr || *asked == '\0') return as_without_it;
  for (auto const& [name, level] : levels) {
    if (name == asked) return level;
  }
  say("HIWAY_LOG must be off, error, warning, info or debug: '" + std::string(asked) + "'");
  return as_without_it;
}

struct Log {
  std::mutex mutex;
  LogSink sink;
};
Log& the_log() {
  static Log& log = *new Log;  // messages may come after main
  return log;
}

}  // namespace

void set_log_sink(LogSink sink) {
  std::scoped_lock const lock(the_log().mutex);
  the_log().sink = std::move(sink);
}

bool logs(LogLevel level) noexcept {
  static int const most = chosen_level();
  return static_cast<int>(level) < most;
}

void log(LogLevel level, std::string_view text) noexcept {
  if (!logs(level)) return;
  try {
    std::scoped_lock const lock(the_log().mutex);
    if (the_log().sink) {
      the_log().sink(level, text);
    } else {
      say(text);
    }
  } catch (...) {  // a message is not worth a run
  }
}

}  // namespace hiway
