#include "genome/fasta.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/text.hpp"

namespace genome {
namespace {

/// Of decompressed text: the largest genomes have a fourth of it.
constexpr std::size_t most_bytes = std::size_t{1} << 37;

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

/// Appends the bases of what is left of the line to `bases`. Blanks at the line's end are no bases.
void append(cli::TextLines& lines, std::string_view piece, Sequence& bases) {
  std::size_t column = 0;
  std::size_t blank = 0;  // the column of the first blank since the last base
  char blank_is = ' ';
  for (; !piece.empty(); piece = lines.piece()) {
    for (char const letter : piece) {
      ++column;
      std::optional<Base> const base = base_of(letter);
      if (base && blank == 0) {
        bases.push_back(*base);
        continue;
      }
      bool const is_blank = letter == ' ' || letter == '\t';
      if (is_blank && blank == 0) {
        blank = column;
        blank_is = letter;
      }
      if (is_blank) continue;
      lines.fail(cli::shown(blank == 0 ? letter : blank_is) + " in column " +
                 std::to_string(blank == 0 ? column : blank) + " is not one of A, C, G, T, N");
    }
    if (bases.size() > static_cast<std::size_t>(max_bases))
      lines.fail("longer than " + std::to_string(max_bases) + " bases");
  }
}

/// The first word after '>', as it can be shown.
std::string name_of(std::string_view header) {
  std::string name{header.substr(1, header.find_first_of(" \t", 1) - 1)};
  std::ranges::replace_if(name, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
  return name;
}

bool is_blank(std::string_view piece) { return piece.find_first_not_of(" \t") == piece.npos; }

}  // namespace

FastaRecord read_fasta(std::string const& path) {
  cli::TextLines lines{path, most_bytes};
  FastaRecord record;
  Sequence others;
  std::size_t header_line = 0;
  while (lines.next()) {
    std::string_view const piece = lines.piece();
    if (piece.empty()) continue;
    if (piece.front() == '>') {
      if (++record.records_in_file == 1) {
        std::string header{piece};
        header += lines.rest();
        record.name = name_of(header);
        header_line = lines.number();
      }
      continue;
    }
    if (record.records_in_file == 0) {
      if (is_blank(piece) && is_blank(lines.rest())) continue;
      if (piece.front() == '@') lines.fail("FASTQ, which is not read: FASTA begins with '>'");
      lines.fail("not FASTA: no '>' header before the first sequence");
    }
    others.clear();
    append(lines, piece, record.records_in_file == 1 ? record.bases : others);
  }
  if (record.records_in_file == 0) lines.fail_file("empty");
  // Other records may be empty.
  if (record.bases.empty()) lines.fail_at(header_line, "header without sequence");
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
  cli::TextLines lines{path, most_bytes};
  PairFile pair;
  while (lines.next()) {
    std::string_view const piece = lines.piece();
    if (lines.number() <= 2) {
      append(lines, piece, lines.number() == 1 ? pair.query : pair.target);
    } else if (!is_blank(piece) || !is_blank(lines.rest())) {
      lines.fail("a pair has two lines: the query, then the target");
    }
  }
  if (lines.number() == 0) lines.fail_file("empty");
  if (pair.query.empty()) lines.fail_at(1, "no query");
  if (pair.target.empty()) lines.fail_at(2, "no target");
  return pair;
}

}  // namespace genome
