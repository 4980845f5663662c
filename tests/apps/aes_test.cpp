// The encryption: the examples of FIPS 197 and SP 800-38A by each method, methods against each other where pieces are
// whole and where they are not, and what is read.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "aes/methods.hpp"
#include "tests/apps/files.hpp"

namespace aes {
namespace {

Job const job{.device = "simt", .repeat = 2};
arrays::Carrying const carrying{.feeders = 2, .takers = 2, .batch = 2};

Key key_of(std::string const& digits) {
  Key key{};
  std::ranges::copy(bytes_of(digits, "key"), key.begin());
  return key;
}

/// Each method's ciphertext; its summaries are of that.
std::vector<Text> by_all_methods(Problem const& problem) {
  std::vector<Text> all(4);
  auto const check = [](std::vector<Measurement> const& runs, Text const& ciphertext) {
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary, summarize(ciphertext));
      EXPECT_EQ(run.items, ciphertext.size());
    }
  };
  check(run_hiway(problem, carrying, job, all[0]), all[0]);
  check(run_baseline(problem, job, all[1]), all[1]);
  check(run_baseline(problem, {.device = "simt", .pinned = true}, all[2]), all[2]);
  check(run_reference(problem, job, all[3]), all[3]);
  return all;
}

TEST(Aes, EncryptsTheExampleOfFips197) {
  Problem const problem{.text = text_of(bytes_of("00112233445566778899aabbccddeeff", "text")),
                        .key = key_of("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f")};
  for (Text const& ciphertext : by_all_methods(problem))
    EXPECT_EQ(digits_of(ciphertext), "8ea2b7ca516745bfeafc49904b496089\n");
}

TEST(Aes, EncryptsTheExamplesOfSp800) {
  Problem const problem{.text = text_of(bytes_of("6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51"
                                                 "30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710",
                                                 "text")),
                        .key = key_of("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")};
  for (Text const& ciphertext : by_all_methods(problem))
    EXPECT_EQ(digits_of(ciphertext),
              "f3eed1bdb5d2a03c064b5a7e3db181f8\n591ccb10d410ed26dc5ba74a31362870\n"
              "b6ed21b99ca6f4f9f153e7b1beafed1d\n23304b7a39f9f3ff067d8d8f9e24ecc7\n");
}

// Pieces are of 1,024 blocks.
TEST(Aes, IsTheSameByEachMethod) {
  for (char const* const bytes : {"16", "16368", "16KiB", "16400", "200048"}) {
    std::vector<Text> const all = by_all_methods(make_problem({.bytes = bytes}));
    for (Text const& ciphertext : all) EXPECT_EQ(ciphertext, all.back()) << bytes;
  }
}

TEST(Aes, NoticesABlockElsewhere) {
  Text const text = make_problem({.bytes = "32"}).text;
  EXPECT_NE(summarize(text), summarize({text[1], text[0]}));
}

TEST(AesInput, IsOfTheSeed) {
  Problem const problem = make_problem({.seed = 3});
  Problem const other = make_problem({.seed = 4});
  EXPECT_EQ(problem.text, make_problem({.seed = 3}).text);
  EXPECT_NE(problem.text, other.text);
  EXPECT_NE(problem.key, other.key);
  EXPECT_NE(problem.text[0], problem.text[1]);
}

using AesFiles = Files;

TEST_F(AesFiles, AreHexadecimalDigits) {
  Problem const problem =
      make_problem({.text_file = plain("text", "00 01\n02\t03 04050607\r\n08090a0b0C0D0E0F"),
                    .key_file = plain("key", "000102030405060708090a0b0c0d0e0f 101112131415161718191a1b1c1d1e1f\n")});
  EXPECT_EQ(digits_of(problem.text), "000102030405060708090a0b0c0d0e0f\n");
  for (std::uint8_t i = 0; i < 32; ++i) EXPECT_EQ(problem.key[i], i);
  EXPECT_EQ(make_problem({.text_file = plain("again", digits_of(problem.text))}).text, problem.text);
}

TEST_F(AesFiles, AreRefusedWhereTheyAreNoDigits) {
  std::string const file = path("file");
  auto const said_of_text = [&](std::string const& digits) {
    plain("file", digits);
    return complaint([&] { (void)make_problem({.text_file = file}); }).substr(file.size());
  };
  auto const said_of_key = [&](std::string const& digits) {
    plain("file", digits);
    return complaint([&] { (void)make_problem({.key_file = file}); }).substr(file.size());
  };
  EXPECT_EQ(said_of_text("00x1"), ": byte 1 is not two hexadecimal digits: there is 'x'");
  EXPECT_EQ(said_of_text("000g"), ": byte 1 is not two hexadecimal digits: there is 'g'");
  EXPECT_EQ(said_of_text("000"), ": byte 1 has one hexadecimal digit");
  EXPECT_EQ(said_of_text("0 0"), ": byte 0 has one hexadecimal digit");
  EXPECT_EQ(said_of_text("0001"), ": 2 bytes, which are not whole blocks of 16: nothing is padded");
  EXPECT_EQ(said_of_text(" \n"), ": 0 bytes, which are not whole blocks of 16: nothing is padded");
  EXPECT_EQ(said_of_text(""), ": empty");
  EXPECT_EQ(said_of_key(std::string(62, '0')), ": a key has 32 bytes, not 31");
  EXPECT_EQ(said_of_key(std::string(66, '0')), ": a key has 32 bytes, not 33");
  EXPECT_EQ(said_of_key(std::string(4000, '0')), ": more than 1024 bytes");
}

TEST(AesInput, HasLimits) {
  auto const said_of = [](std::string const& bytes) {
    return complaint([&] { (void)make_problem({.bytes = bytes}); });
  };
  for (std::string const bytes : {"0", "8", "24", "2GiB"})
    EXPECT_EQ(said_of(bytes), "--bytes must be 16 to 1073741824, and a multiple of 16: " + bytes);
}

}  // namespace
}  // namespace aes
