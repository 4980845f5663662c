#include "genome/fasta.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/bad_input.hpp"

namespace genome {
namespace {

/// The lines of a plain or gzip file, numbered from 1.
class Lines {
 public:
  explicit Lines(std::string const& path) : path_(path) {
    errno = 0;
    file_.reset(gzopen(path.c_str(), "rb"));
    if (file_ == nullptr) throw cli::BadInput{path + ": cannot be opened: " + std::strerror(errno)};
  }

  /// The next line without its end, or nothing at the end of the file. Valid until the next call.
  std::optional<std::string_view> next() {
    line_.clear();
    bool any = false;
    for (;;) {
      if (at_ == filled_ && !fill()) break;
      any = true;
      char const* const begin = buffer_.data() + at_;
      auto const* const end = static_cast<char const*>(std::memchr(begin, '\n', filled_ - at_));
      std::size_t const length = end != nullptr ? static_cast<std::size_t>(end - begin) : filled_ - at_;
      line_.append(begin, length);
      at_ += length;
      if (end != nullptr) {
        ++at_;
        break;
      }
    }
    if (!any) return std::nullopt;
    ++number_;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    return line_;
  }

  [[noreturn]] void fail(std::string const& what) const {
    throw cli::BadInput{path_ + ": line " + std::to_string(number_) + ": " + what};
  }
  [[noreturn]] void fail_file(std::string const& what) const { throw cli::BadInput{path_ + ": " + what}; }
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };

  bool fill() {
    int const got = gzread(file_.get(), buffer_.data(), static_cast<unsigned>(buffer_.size()));
    int code = Z_OK;
    char const* const text = gzerror(file_.get(), &code);
    if (code == Z_ERRNO) fail_file(std::string{"cannot be read: "} + std::strerror(errno));
    // A file cut short reads as a short file with Z_BUF_ERROR; its last line is not to be trusted.
    if (code == Z_BUF_ERROR) fail_file("truncated gzip data after line " + std::to_string(number_));
    if (got < 0 || code < 0) fail_file("damaged gzip data after line " + std::to_string(number_) + ": " + bare(text));
    filled_ = static_cast<std::size_t>(got);
    at_ = 0;
    return filled_ > 0;
  }

  // zlib puts the path in front of its texts.
  std::string bare(std::string_view text) const {
    if (text.starts_with(path_ + ": ")) text.remove_prefix(path_.size() + 2);
    return std::string{text};
  }

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::array<char, 1 << 16> buffer_{};
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  std::string line_;
  std::size_t number_ = 0;
};

std::optional<Base> base_of(char letter) {
  switch (letter) {
    case 'A':
    case 'a': return Base::a;
    case 'C':
    case 'c': return Base::c;
    case 'G':
    case 'g': return Base::g;
    case 'T':
    case 't': return Base::t;
    case 'N':
    case 'n': return Base::n;
    default: return std::nullopt;
  }
}

std::string shown(char letter) {
  auto const byte = static_cast<unsigned char>(letter);
  if (byte > 0x20 && byte < 0x7f) return std::string{"'"} + letter + "'";
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "byte 0x%02x", byte);
  return text.data();
}

/// Appends the bases of a line to `bases`.
void append(Lines const& lines, std::string_view line, Sequence& bases) {
  for (std::size_t i = 0; i < line.size(); ++i) {
    std::optional<Base> const base = base_of(line[i]);
    if (!base) lines.fail(shown(line[i]) + " in column " + std::to_string(i + 1) + " is not one of A, C, G, T, N");
    bases.push_back(*base);
  }
  if (bases.size() > static_cast<std::size_t>(max_bases))
    lines.fail("longer than " + std::to_string(max_bases) + " bases");
}

}  // namespace

FastaRecord read_fasta(std::string const& path) {
  Lines lines{path};
  FastaRecord record;
  Sequence others;
  std::size_t header_line = 0;
  bool header_has_bases = true;
  auto const require_bases = [&] {
    if (!header_has_bases) lines.fail_file("line " + std::to_string(header_line) + ": header without sequence");
  };
  while (auto const line = lines.next()) {
    if (line->empty()) continue;
    if (line->front() == '>') {
      require_bases();
      header_line = lines.number();
      header_has_bases = false;
      if (++record.records_in_file == 1) record.name = line->substr(1, line->find_first_of(" \t", 1) - 1);
      continue;
    }
    if (record.records_in_file == 0) lines.fail("not FASTA: no '>' header before the first sequence");
    header_has_bases = true;
    others.clear();
    append(lines, *line, record.records_in_file == 1 ? record.bases : others);
  }
  if (record.records_in_file == 0) lines.fail_file("empty");
  require_bases();
  return record;
}

Sequence read_first_record(std::string const& path, std::vector<std::string>& notes) {
  FastaRecord record = read_fasta(path);
  if (record.records_in_file > 1) {
    notes.push_back(path + ": " + std::to_string(record.records_in_file) + " records, only the first ('" + record.name +
                    "') is used");
  }
  return std::move(record.bases);
}

PairFile read_pair(std::string const& path) {
  Lines lines{path};
  PairFile pair;
  while (auto const line = lines.next()) {
    if (lines.number() == 1) {
      append(lines, *line, pair.query);
    } else if (lines.number() == 2) {
      append(lines, *line, pair.target);
    } else if (!line->empty()) {
      lines.fail("a pair has two lines: the query, then the target");
    }
  }
  if (lines.number() == 0) lines.fail_file("empty");
  if (pair.query.empty()) lines.fail_file("line 1: no query");
  if (pair.target.empty()) lines.fail_file("line 2: no target");
  return pair;
}

}  // namespace genome
