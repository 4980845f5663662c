// Where the library's messages go.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace hiway {

enum class LogLevel : std::uint8_t { error, warning, info, debug };

/// Receives one message, without a newline at the end; a message may have several lines. The sink may log (that goes to
/// stderr), run pipelines and set another sink. What it throws is dropped. *Threads*: any of the library's, one at a
/// time. A thread that logs while another thread is in the sink queues its message for that thread and goes on.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// From now on `sink` gets the messages; if it is empty, they go to stderr again, each after "hiway: ". For any sink,
/// HIWAY_LOG=off, error, warning, info (the default) or debug says which messages there are. *Threads*: any, at any
/// time. *Waits*: until no other thread is in the replaced sink, so what that sink refers to may be destroyed. A call
/// from a sink does not wait.
void set_log_sink(LogSink sink);

/// Logs a message. The library's own go through it; a program may use it, too.
void log(LogLevel level, std::string_view text) noexcept;
/// Whether messages of this level are logged.
[[nodiscard]] bool logs(LogLevel level) noexcept;

}  // namespace hiway
