#include "cli/text.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "cli/bad_input.hpp"

namespace cli {

std::string shown(std::string_view text) {
  constexpr std::size_t most = 40;
  std::string out{text.substr(0, most)};
  std::ranges::replace_if(out, [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + out + "'";
}

std::string shown(char letter) {
  auto const byte = static_cast<unsigned char>(letter);
  if (byte > 0x20 && byte < 0x7f) return std::string{"'"} + letter + "'";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "byte 0x%02x", byte);
  return text.data();
}

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Of a number's text, without sign, that no double holds: whether it is 1 or more.
bool is_large(std::string_view text) {
  std::size_t const e = std::min(text.find_first_of("eE"), text.size());
  std::string_view const mantissa = text.substr(0, e);
  std::size_t const point = std::min(mantissa.find('.'), mantissa.size());
  std::size_t const first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  // The place of the first digit that counts, in powers of 10 from the point on.
  auto const place = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  std::string_view exponent = text.substr(std::min(e + 1, text.size()));
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  auto const [end, error] = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (error == std::errc::result_out_of_range) return !exponent.starts_with('-');
  return power > -place;
}

}  // namespace

bool parse_number(std::string_view text, double& number) {
  bool const is_negative = text.starts_with('-');
  std::string_view const digits = text.substr(is_negative || text.starts_with('+') ? 1 : 0);
  // from_chars takes a sign, inf and nan, too.
  if (digits.empty() || !(is_digit(digits.front()) || digits.front() == '.')) return false;
  char const* const last = digits.data() + digits.size();
  auto const [end, error] = std::from_chars(digits.data(), last, number);
  if (end != last || error == std::errc::invalid_argument) return false;
  if (error == std::errc::result_out_of_range) number = is_large(digits) ? std::numeric_limits<double>::infinity() : 0;
  if (is_negative) number = -number;
  return true;
}

bool parse_whole(std::string_view text, std::uint64_t& number) {
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

bool has_ending(std::string_view path, std::string_view ending) {
  auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return path.size() >= ending.size() &&
         std::ranges::equal(path.substr(path.size() - ending.size()), ending, {}, lower, lower);
}

TextFile::TextFile(std::string name, std::string const& path, std::size_t most_bytes)
    : name_(std::move(name)), path_(path), most_bytes_(most_bytes) {
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (file_ == nullptr) fail(std::string{"cannot be opened: "} + std::strerror(errno));
}

void TextFile::fail(std::string const& what) const { throw BadInput{name_ + ": " + what}; }

std::string_view TextFile::more() {
  errno = 0;
  int const got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
  int code = Z_OK;
  char const* const text = gzerror(file_.get(), &code);
  std::string const where = "after line " + std::to_string(line_ - 1);
  if (code == Z_ERRNO) fail(std::string{"cannot be read: "} + std::strerror(errno));
  // A file cut short reads as a short file with Z_BUF_ERROR; its last line is not to be trusted.
  if (code == Z_BUF_ERROR) fail("truncated gzip data " + where);
  if (got < 0 || code < 0) fail("damaged gzip data " + where + ": " + reason(text));
  std::string_view piece{buffer_.data(), static_cast<std::size_t>(got)};
  if (bytes_ == 0) {
    if (piece.starts_with("\xff\xfe") || piece.starts_with("\xfe\xff")) fail("UTF-16: only UTF-8 is read");
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    if (piece.starts_with(byte_order_mark)) piece.remove_prefix(byte_order_mark.size());
  }
  bytes_ += static_cast<std::size_t>(got);
  require_text(piece);
  if (bytes_ > most_bytes_) fail("larger than " + std::to_string(most_bytes_) + " bytes");
  // A byte order mark alone is no end.
  return piece.empty() && got > 0 ? more() : piece;
}

/// Counts lines, too.
void TextFile::require_text(std::string_view piece) {
  if (!after_return_ && piece.find('\r') == piece.npos && piece.find('\0') == piece.npos) {  // the quick way
    std::size_t const last = piece.rfind('\n');
    line_ += static_cast<std::size_t>(std::ranges::count(piece, '\n'));
    column_ = last == piece.npos ? column_ + piece.size() : piece.size() - last;
    return;
  }
  for (char const c : piece) {
    if (after_return_ && c != '\n') {
      ++line_;
      column_ = 1;
    }
    after_return_ = c == '\r';
    if (c == '\0') {
      fail("line " + std::to_string(line_) + ": byte 0x00 in column " + std::to_string(column_) + ": this is no text");
    }
    ++column_;
    if (c == '\n') {
      ++line_;
      column_ = 1;
    }
  }
}

// zlib puts the path in front of its texts.
std::string TextFile::reason(std::string_view zlib_says) const {
  if (zlib_says.starts_with(path_ + ": ")) zlib_says.remove_prefix(path_.size() + 2);
  return std::string{zlib_says};
}

bool TextLines::fill() {
  if (ahead_.empty()) ahead_ = file_.more();
  return !ahead_.empty();
}

bool TextLines::next() {
  while (in_line_ && !piece().empty()) {
  }
  if (!fill()) return false;
  ++number_;
  in_line_ = true;
  return true;
}

std::string_view TextLines::piece() {
  if (!in_line_ || !fill()) {
    in_line_ = false;
    return {};
  }
  std::size_t const feed = std::min(ahead_.find('\n'), ahead_.size());
  std::size_t const length = std::min(ahead_.substr(0, feed).find('\r'), feed);
  if (length > 0) {
    std::string_view const piece = ahead_.substr(0, length);
    ahead_.remove_prefix(length);
    return piece;
  }
  bool const is_return = ahead_.front() == '\r';
  ahead_.remove_prefix(1);
  if (is_return && fill() && ahead_.front() == '\n') ahead_.remove_prefix(1);
  in_line_ = false;
  return {};
}

std::string_view TextLines::rest(std::size_t most_bytes) {
  line_.clear();
  for (std::string_view part = piece(); !part.empty(); part = piece()) {
    if (part.size() > most_bytes - line_.size()) fail("longer than " + std::to_string(most_bytes) + " bytes");
    line_ += part;
  }
  return line_;
}

std::string read_text(std::string const& name, std::string const& path, std::size_t most_bytes) {
  TextFile file{name, path, most_bytes};
  std::string text;
  for (std::string_view piece = file.more(); !piece.empty(); piece = file.more()) text += piece;
  if (text.empty()) file.fail("empty");
  return text;
}

}  // namespace cli
