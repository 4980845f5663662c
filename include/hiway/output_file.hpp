// Output files: traces, statistics, results. The library and the program hiway write all of theirs in this way.
//
//   what is at the path         what happens
//   nothing, a regular file     The text goes to a new file beside it, which then takes the path: a reader sees either
//                               all of the old text or all of the new text. Owner and mode stay.
//   a symbolic link             It stays. The file that it leads to is written.
//   a device, a FIFO            The text is written into it. A FIFO must have a reader within a second.
//   /dev/stdout, /dev/fd/N      The text is appended to what the descriptor has written.
//   a file that must not be     It is written in place, like a shell's `>`. These are a mounted file, a file with
//   several replaced                    names or of another owner, a file in a folder that cannot be written.
//
// No half-written file stays, and the caller sees no SIGPIPE or SIGXFSZ. There is no fsync: after a power failure a
// file may be missing.
#pragma once
#include <string>
#include <string_view>

namespace hiway {

/// Why `path` cannot be written, as text for people; empty if it can. Changes nothing there, so it may be called before
/// the work starts.
/// *Threads*: any.
[[nodiscard]] std::string why_not_writable(std::string const& path);

/// Writes the file. Returns why it could not, as text for people; empty if it could. *Threads*: any; if several write
/// to one path, the last one's text stays. *Waits*: for the reader of a FIFO; gives up when it has taken nothing for
/// ten seconds.
[[nodiscard]] std::string write_file(std::string const& path, std::string_view text);

}  // namespace hiway
