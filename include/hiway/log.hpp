// Where the library's messages go.
#pragma once
#include <cstdint>
#include <functional>
#include <string_view>

namespace hiway {

enum class LogLevel : std::uint8_t { error, warning, info, debug };

/// Called with one message, without a line's end; it may have several lines. It may log (what it logs goes to stderr), run
/// pipelines of its own and set another sink; what it throws is dropped. *Threads*: one at a time, any of the library's: a
/// thread that logs meanwhile leaves its message for the one that is in the sink, and goes on.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// From now on `sink` gets the messages; an empty one: stderr again, each with "hiway: " before it. HIWAY_LOG=off, error,
/// warning, info (as without it) or debug says which, for any sink. *Threads*: any, at any time. *Waits*: until no other thread
/// is in the sink that was set before, so that what that one refers to may go. Not in a call from that sink.
void set_log_sink(LogSink sink);

/// The library's own messages, and a user's who likes.
void log(LogLevel level, std::string_view text) noexcept;
/// Whether a message of this level goes anywhere.
[[nodiscard]] bool logs(LogLevel level) noexcept;

}  // namespace hiway
