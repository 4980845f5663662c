// Sequences from files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "genome/fasta.hpp"
#include "tests/apps/bases.hpp"
#include "tests/apps/files.hpp"

namespace genome {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Of which some are zipped.
class ZippedFiles : public Files {
 protected:
  std::string zipped(std::string const& name, std::string const& content) const {
    gzFile file = gzopen(path(name).c_str(), "wb");
    EXPECT_EQ(gzwrite(file, content.data(), static_cast<unsigned>(content.size())), static_cast<int>(content.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
    return path(name);
  }
};

std::string fasta_complaint(std::string const& path) {
  return complaint([&] { (void)read_fasta(path); });
}
std::string pair_complaint(std::string const& path) {
  return complaint([&] { (void)read_pair(path); });
}

// ---- files

using FastaFile = ZippedFiles;

TEST_F(FastaFile, JoinsTheLinesOfARecord) {
  FastaRecord const record = read_fasta(plain("a.fa", ">one two\nACG\nT\n"));
  EXPECT_EQ(letters(record.bases), "ACGT");
  EXPECT_EQ(record.name, "one");
  EXPECT_EQ(record.records_in_file, 1U);
}

TEST_F(FastaFile, FoldsLowerCaseAndKeepsUnknownBases) {
  EXPECT_EQ(letters(read_fasta(plain("a.fa", ">x\nacgtnACGTN\n")).bases), "ACGTNACGTN");
}

TEST_F(FastaFile, SkipsBlankLinesAndCarriageReturnsAndNeedsNoLastLineEnd) {
  EXPECT_EQ(letters(read_fasta(plain("a.fa", "\n>x\r\nAC\r\n\r\nGT")).bases), "ACGT");
}

TEST_F(FastaFile, TakesTheFirstOfSeveralRecords) {
  FastaRecord const record = read_fasta(plain("a.fa", ">first\nAC\nGT\n>second\nTTTT\n>third\nA\n"));
  EXPECT_EQ(letters(record.bases), "ACGT");
  EXPECT_EQ(record.name, "first");
  EXPECT_EQ(record.records_in_file, 3U);
}

TEST_F(FastaFile, ReadsGzipAndLinesLongerThanItsBuffer) {
  std::string const line(200'000, 'G');
  FastaRecord const record = read_fasta(zipped("a.fa.gz", ">x\n" + line + "\nA\n"));
  EXPECT_EQ(record.bases.size(), 200'001U);
  EXPECT_EQ(record.bases.back(), Base::a);
}

TEST_F(FastaFile, ReadsTheLambdaGenome) {
  FastaRecord const record = read_fasta(HIWAY_SOURCE_DIR "/apps/gene_alignment/data/lambda_virus.fa.gz");
  EXPECT_EQ(record.bases.size(), 48'502U);
  EXPECT_EQ(letters(Sequence(record.bases.begin(), record.bases.begin() + 12)), "GGGCGGCGACCT");
  EXPECT_EQ(std::ranges::count(record.bases, Base::g), 12'820);
}

TEST_F(FastaFile, RefusesWhatCannotBeRead) {
  EXPECT_EQ(fasta_complaint(path("absent.fa")), path("absent.fa") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(fasta_complaint(path("")), path("") + ": cannot be read: Is a directory");
}

TEST_F(FastaFile, RefusesAnEmptyFile) {
  EXPECT_EQ(fasta_complaint(plain("a.fa", "")), path("a.fa") + ": empty");
  EXPECT_EQ(fasta_complaint(plain("a.fa", "\n\n")), path("a.fa") + ": empty");
  EXPECT_EQ(fasta_complaint(zipped("a.fa.gz", "")), path("a.fa.gz") + ": empty");
}

TEST_F(FastaFile, RefusesAHeaderWithoutSequence) {
  EXPECT_EQ(fasta_complaint(plain("a.fa", ">x\n")), path("a.fa") + ": line 1: header without sequence");
  EXPECT_EQ(fasta_complaint(plain("a.fa", "\n>x\n\n>y\nA\n")), path("a.fa") + ": line 2: header without sequence");
}

TEST_F(FastaFile, AsksNoBasesOfRecordsThatAreNotUsed) {
  FastaRecord const record = read_fasta(plain("a.fa", ">x\nAC\n>y\n>z\n"));
  EXPECT_EQ(letters(record.bases), "AC");
  EXPECT_EQ(record.records_in_file, 3U);
}

TEST_F(FastaFile, IsTheSameWhateverProgramWroteIt) {
  for (std::string const text : {"\xef\xbb\xbf>x y\nAC\nGT\n", ">x y\r\nAC\r\nGT\r\n", ">x y\rAC\rGT\r",
                                 ">x y \nAC \t\nGT  ", " \n\t\n>x\ty\nAC\n \nGT\n"}) {
    FastaRecord const record = read_fasta(plain("a.fa", text));
    EXPECT_EQ(letters(record.bases), "ACGT") << text;
    EXPECT_EQ(record.name, "x") << text;
  }
  EXPECT_EQ(read_fasta(plain("a.fa", ">x\x1b[1m y\nA\n")).name, "x?[1m");
}

TEST_F(FastaFile, SaysThatFastqIsNotRead) {
  EXPECT_EQ(fasta_complaint(plain("a.fq", "@read 1\nACGT\n+\nIIII\n")),
            path("a.fq") + ": line 1: FASTQ, which is not read: FASTA begins with '>'");
}

// A line without an end was read until memory was used up.
TEST_F(FastaFile, RefusesWhatNeverEndsAtItsFirstByte) {
  EXPECT_EQ(fasta_complaint("/dev/zero"), "/dev/zero: line 1: byte 0x00 in column 1: this is no text");
  std::string const file = zipped("bomb.fa.gz", "x" + std::string(100'000'000, 'A'));
  EXPECT_EQ(fasta_complaint(file), file + ": line 1: not FASTA: no '>' header before the first sequence");
  std::string const header = zipped("header.fa.gz", ">" + std::string(100'000'000, 'A'));
  EXPECT_EQ(fasta_complaint(header), header + ": line 1: longer than 1048576 bytes");
}

TEST_F(FastaFile, RefusesASequenceWithoutHeader) {
  EXPECT_EQ(fasta_complaint(plain("a.fa", "ACGT\n")),
            path("a.fa") + ": line 1: not FASTA: no '>' header before the first sequence");
}

TEST_F(FastaFile, NamesFileLineAndColumnOfAWrongLetter) {
  EXPECT_EQ(fasta_complaint(plain("a.fa", ">x\nACGT\nACRT\n")),
            path("a.fa") + ": line 3: 'R' in column 3 is not one of A, C, G, T, N");
  EXPECT_EQ(fasta_complaint(plain("a.fa", ">x\nAC GT\n")),
            path("a.fa") + ": line 2: byte 0x20 in column 3 is not one of A, C, G, T, N");
  EXPECT_EQ(fasta_complaint(plain("a.fa", std::string(">x\nA\0", 5))),
            path("a.fa") + ": line 2: byte 0x00 in column 2: this is no text");
  EXPECT_EQ(fasta_complaint(plain("a.fa", ">x\nA\x1b\n")),
            path("a.fa") + ": line 2: byte 0x1b in column 2 is not one of A, C, G, T, N");
  EXPECT_EQ(fasta_complaint(plain("a.fa", ">x\nA  \tC\n")),
            path("a.fa") + ": line 2: byte 0x20 in column 2 is not one of A, C, G, T, N");
  // Also in a record that is not used: the file is not what it says it is.
  EXPECT_THAT(fasta_complaint(plain("a.fa", ">x\nACGT\n>y\nAC-T\n")), HasSubstr("line 4: '-' in column 3"));
}

TEST_F(FastaFile, RefusesTruncatedAndDamagedGzip) {
  std::string content = ">x\n";
  std::mt19937 random{1};
  for (int line = 0; line < 2000; ++line) {
    for (int i = 0; i < 60; ++i) content += "ACGT"[random() % 4];
    content += '\n';
  }
  std::string const file = zipped("a.fa.gz", content);
  auto const whole = fs::file_size(file);
  for (auto const size : {whole - 1, whole - 8, whole / 2, whole / 50, std::uintmax_t{12}}) {
    fs::resize_file(zipped("a.fa.gz", content), size);
    EXPECT_THAT(fasta_complaint(file), HasSubstr(file + ": truncated gzip data after line")) << size;
  }
  zipped("a.fa.gz", content);
  {
    std::fstream bytes{file, std::ios::binary | std::ios::in | std::ios::out};
    bytes.seekp(static_cast<std::streamoff>(whole - 6));  // in the checksum
    bytes.put('\x55');
  }
  EXPECT_THAT(fasta_complaint(file), HasSubstr(file + ": damaged gzip data after line"));
}

using PairOfLines = ZippedFiles;

TEST_F(PairOfLines, AreQueryAndTarget) {
  PairFile const pair = read_pair(plain("p.txt", "acN\r\nACGTT\n\n"));
  EXPECT_EQ(letters(pair.query), "ACN");
  EXPECT_EQ(letters(pair.target), "ACGTT");
  EXPECT_EQ(letters(read_pair(zipped("p.gz", "A\nC")).target), "C");
  EXPECT_EQ(letters(read_pair(plain("p.txt",
                                    "\xef\xbb\xbf"
                                    "A \rCG\t\r \r"))
                        .target),
            "CG");
}

TEST_F(PairOfLines, RefusesAnythingElse) {
  EXPECT_EQ(pair_complaint(plain("p.txt", "")), path("p.txt") + ": empty");
  EXPECT_EQ(pair_complaint(plain("p.txt", "ACGT\n")), path("p.txt") + ": line 2: no target");
  EXPECT_EQ(pair_complaint(plain("p.txt", "ACGT\n\n")), path("p.txt") + ": line 2: no target");
  EXPECT_EQ(pair_complaint(plain("p.txt", "\nACGT\n")), path("p.txt") + ": line 1: no query");
  EXPECT_EQ(pair_complaint(plain("p.txt", "A\nC\nG\n")),
            path("p.txt") + ": line 3: a pair has two lines: the query, then the target");
  EXPECT_EQ(pair_complaint(plain("p.txt", "A\nCXG\n")),
            path("p.txt") + ": line 2: 'X' in column 2 is not one of A, C, G, T, N");
  EXPECT_EQ(pair_complaint(plain("p.txt", ">x\nACG\n")),
            path("p.txt") + ": line 1: '>' in column 1 is not one of A, C, G, T, N");
}

}  // namespace
}  // namespace genome
