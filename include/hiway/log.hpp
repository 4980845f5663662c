// Where the library's messages go.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace hiway {

enum class LogLevel : std::uint8_t { error, warning, info, debug };

/// Receives one message, without a line end at its end; a message may have several lines. The sink may log (that goes to
/// stderr), run pipelines and set another sink. What it throws is dropped. *Threads*: any of the library's, one at a time. A
/// thread that logs while another is in the sink queues its message for that one and goes on.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// From now on `sink` gets the messages; an empty one: stderr again, each with "hiway: " before it. HIWAY_LOG=off, error,
/// warning, info (as without it) or debug says which, for any sink. *Threads*: any, at any time. *Waits*: until no other thread
/// is in the sink that it replaces, so what that sink refers to may be destroyed. Called from a sink it does not wait.
void set_log_sink(LogSink sink);

/// The library's own messages, and a user's who likes.
void log(LogLevel level, std::string_view text) noexcept;
/// Whether a message of this level goes anywhere.
[[nodiscard]] bool logs(LogLevel level) noexcept;

}  // namespace hiway
