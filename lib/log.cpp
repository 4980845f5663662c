// Messages go to stderr, or to the program's sink. The sink is the user's code: it may log, run pipelines and set
// another sink. So no lock of the log is held while it is called.
//
//   One at a time: if a thread logs while another is in the sink, it leaves its message in `waiting`. The thread in the
//   sink delivers it when the sink has returned. A message that the sink itself logs goes to stderr; otherwise it would
//   recur.
//   Lifetime: set_log_sink() waits until no other thread is in the sink that it replaces.
#include "hiway/log.hpp"

#include <pthread.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace hiway {
namespace {

constexpr std::pair<std::string_view, int> levels[] = {
    {"off", 0}, {"error", 1}, {"warning", 2}, {"info", 3}, {"debug", 4}};
constexpr int as_without_it = 3;

/// Allocates nothing: the message may be that there is no memory.
void say(std::string_view text) noexcept {
  std::fprintf(stderr, "hiway: %.*s\n", static_cast<int>(text.size()), text.data());
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

struct Message {
  LogLevel level;
  std::string text;
};
using SharedSink = std::shared_ptr<LogSink const>;

struct Log {
  std::mutex mutex;  // guards everything below
  SharedSink sink;   // null: stderr
  bool delivering = false;
  LogSink const* called = nullptr;   // the sink that a thread is in
  std::condition_variable returned;  // from the sink
  std::deque<Message> waiting;
};

thread_local bool in_sink = false;

Log* the_only = nullptr;

/// A child of fork() has only this thread, so no thread is in the sink. The parent delivers what waits.
void begin_again() {
  Log* const fresh = new Log;
  fresh->sink = the_only->sink;
  the_only->mutex.unlock();
  the_only = fresh;
}

Log& the_log() {
  static bool const made = [] {
    the_only = new Log;  // never destroyed: messages may come after main
    pthread_atfork([] { the_only->mutex.lock(); }, [] { the_only->mutex.unlock(); }, &begin_again);
    return true;
  }();
  static_cast<void>(made);
  return *the_only;
}

void call(LogSink const& sink, Message const& message) noexcept {
  in_sink = true;
  try {
    sink(message.level, message.text);
  } catch (...) {  // a message is not worth a run
  }
  in_sink = false;
}

/// Delivers waiting messages until there are none. `lock` is held before and after, but not while the sink is called.
void deliver(Log& log, std::unique_lock<std::mutex>& lock) {
  log.delivering = true;
  while (!log.waiting.empty()) {
    Message const message = std::move(log.waiting.front());
    log.waiting.pop_front();
    SharedSink sink = log.sink;
    if (sink == nullptr) {
      say(message.text);
      continue;
    }
    log.called = sink.get();
    lock.unlock();
    call(*sink, message);
    sink.reset();  // unlocked: its destructor is the user's code
    lock.lock();
    log.called = nullptr;
    log.returned.notify_all();
  }
  log.delivering = false;
}

}  // namespace

void set_log_sink(LogSink sink) {
  SharedSink other = sink ? std::make_shared<LogSink const>(std::move(sink)) : nullptr;
  Log& log = the_log();
  std::unique_lock lock(log.mutex);
  log.sink.swap(other);
  if (!in_sink && other != nullptr) log.returned.wait(lock, [&] { return log.called != other.get(); });
}

bool logs(LogLevel level) noexcept {
  static int const most = chosen_level();
  return static_cast<int>(level) < most;
}

void log(LogLevel level, std::string_view text) noexcept {
  if (!logs(level)) return;
  try {
    if (in_sink) return say(text);
    Log& log = the_log();
    std::unique_lock lock(log.mutex);
    if (log.sink == nullptr) {
      lock.unlock();
      return say(text);
    }
    log.waiting.push_back({level, std::string(text)});
    if (!log.delivering) deliver(log, lock);
  } catch (...) {  // no memory to keep it
    say(text);
  }
}

}  // namespace hiway
