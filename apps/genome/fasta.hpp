// Fasta: sequences read from files, plain or gzip. Lower case counts as upper case; the letters are A, C, G, T and N.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "genome/sequence.hpp"

namespace genome {

/// The first record of a FASTA file.
struct FastaRecord {
  std::string name;  ///< the first word after '>', may be empty
  Sequence bases;
  std::size_t records_in_file =
      0;  ///< the others are checked but not used: they are other molecules, not more of this one
};

/// Reads a whole FASTA file. Blank lines, and blanks at a line's end, are skipped; lines end with \n, \r\n or \r.
/// *Throws* cli::BadInput in one line with the file, and the line where there is one: not readable, no text, empty, no
/// header, a first record without sequence, a letter other than ACGTN, truncated or damaged gzip, more than max_bases.
FastaRecord read_fasta(std::string const& path);

/// The bases of the first record; of further ones a note says that they are not used. *Throws* as read_fasta does.
Sequence read_first_record(std::string const& path, std::vector<std::string>& notes);

/// Two sequences, as in a file of two lines.
struct PairFile {
  Sequence query;
  Sequence target;
};

/// Reads line 1 as the query and line 2 as the target. *Throws* as read_fasta does, and when there are not two lines.
PairFile read_pair(std::string const& path);

}  // namespace genome
