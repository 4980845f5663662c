// Text: files of text, plain or gzip, as their readers need them: without a byte order mark, whatever ends their lines, with
// lines' numbers for complaints. What is no text (a byte 0, UTF-16) is refused where it stands: a file that never ends is
// refused, too.
#pragma once
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cli {

/// In quotes, as a complaint can have it in its one line: at most 40 bytes, and ? for what is not printable ASCII.
[[nodiscard]] std::string shown(std::string_view text);
/// 'x', or "byte 0x1b".
[[nodiscard]] std::string shown(char letter);

/// The number that is all of `text`, as JSON has it, or with a + before it. What is too small for a double is 0, what is too
/// large is infinite. False: it is no number, or `inf`, or `nan`.
[[nodiscard]] bool parse_number(std::string_view text, double& number);
/// The whole number, in decimal digits, that is all of `text`. False: it is none, or more than 64 bits hold.
[[nodiscard]] bool parse_whole(std::string_view text, std::uint64_t& number);

/// Whether a file's name has this ending, in upper or lower case.
[[nodiscard]] bool has_ending(std::string_view path, std::string_view ending);

/// A text file, piece by piece.
/// All functions *throw* BadInput in one line with the name: it cannot be opened or read, is no text, truncated or damaged gzip,
/// or has more than `most_bytes`.
class TextFile {
 public:
  /// `name` is what complaints call it; it is opened at `path`.
  TextFile(std::string name, std::string const& path, std::size_t most_bytes);
  TextFile(std::string const& path, std::size_t most_bytes) : TextFile(path, path, most_bytes) {}

  /// The next bytes; none at the end. *Lifetime*: until the next call.
  [[nodiscard]] std::string_view more();

  [[noreturn]] void fail(std::string const& what) const;

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  void require_text(std::string_view piece);
  [[nodiscard]] std::string reason(std::string_view zlib_says) const;

  std::string name_;
  std::string path_;
  std::size_t most_bytes_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::array<char, 1 << 16> buffer_{};
  std::size_t bytes_ = 0;      // read so far
  std::size_t line_ = 1;       // where the next byte is
  std::size_t column_ = 1;     // likewise
  bool after_return_ = false;  // the last byte was \r, which may end a line alone
};

/// The lines of a text file, numbered from 1; they end with \n, \r\n or \r, the last one also with the file.
class TextLines {
 public:
  TextLines(std::string const& path, std::size_t most_bytes) : file_(path, most_bytes) {}

  /// Goes to the next line, past what is left of this one; false at the end of the file.
  [[nodiscard]] bool next();
  /// The line's next bytes; none at its end. For lines that may be very long. *Lifetime*: until the next call.
  [[nodiscard]] std::string_view piece();
  /// What is left of the line. *Throws* BadInput where that is more than `most_bytes`. *Lifetime*: until the next call.
  [[nodiscard]] std::string_view rest(std::size_t most_bytes = std::size_t{1} << 20);

  [[nodiscard]] std::size_t number() const { return number_; }
  /// "FILE: line N: what".
  [[noreturn]] void fail(std::string const& what) const { fail_at(number_, what); }
  [[noreturn]] void fail_at(std::size_t line, std::string const& what) const {
    file_.fail("line " + std::to_string(line) + ": " + what);
  }
  /// "FILE: what".
  [[noreturn]] void fail_file(std::string const& what) const { file_.fail(what); }

 private:
  bool fill();

  TextFile file_;
  std::string_view ahead_;  // what was read and is not taken
  bool in_line_ = false;
  std::string line_;
  std::size_t number_ = 0;
};

/// A whole text file, plain or gzip. *Throws* as TextFile does, and when it is empty.
[[nodiscard]] std::string read_text(std::string const& name, std::string const& path, std::size_t most_bytes);
[[nodiscard]] inline std::string read_text(std::string const& path, std::size_t most_bytes) {
  return read_text(path, path, most_bytes);
}

}  // namespace cli
