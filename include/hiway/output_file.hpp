// Output files: traces, statistics, results. The library and the program hiway write each of theirs in this way.
//
//   what is at the path         what happens
//   nothing, a regular file     The text goes to a new file beside it, which then takes the path: a reader sees all of
//                               the old text or all of the new one. Owner and mode stay.
//   a symbolic link             It stays. The file that it leads to is written.
//   a device, a FIFO            It is written through. A FIFO must have a reader within a second.
//   /dev/stdout, /dev/fd/N      The text is appended to what the descriptor has written.
//   a file that no new one      It is written in place, as a shell's `>` does: a mounted file, a file with several names or of
//   may replace                 another owner, a file in a folder that cannot be written.
//
// No half-written file stays, and the caller sees no SIGPIPE or SIGXFSZ. There is no fsync: after a loss of power a file may
// be missing.
#pragma once
#include <string>
#include <string_view>

namespace hiway {

/// Why `path` cannot be written, for people; empty where it can. Changes nothing there, so it may be asked before the work.
/// *Threads*: any.
[[nodiscard]] std::string why_not_writable(std::string const& path);

/// Writes the file. Returns why it could not, for people; empty where it could. *Threads*: any; of several that write one
/// path, the last one's text stays. *Waits*: for the reader of a FIFO, until it has taken nothing for ten seconds.
[[nodiscard]] std::string write_file(std::string const& path, std::string_view text);

}  // namespace hiway
