// The histogram: counts by hand, and each method against them, where pieces are whole and where they are not.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "hist/methods.hpp"
#include "tests/apps/files.hpp"

namespace hist {
namespace {

Job const job{.device = "simt", .repeat = 2};

void expect_counts(Image const& image, std::vector<std::uint32_t> const& counts) {
  Summary const right = summarize(counts);
  for (auto const& runs : {run_hiway(image, {.feeders = 2, .batch = 2}, job), run_baseline(image, job),
                           run_baseline(image, {.device = "simt", .pinned = true}), run_reference(image, job)}) {
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary, right);
      EXPECT_EQ(run.items, image.pixels);
    }
  }
}

TEST(Hist, CountsByHand) {
  std::vector<std::uint32_t> const pixels{2, 0, 2, 3, 2};
  expect_counts(image_of(pixels, 4, "image"), {1, 0, 3, 1});
  expect_counts(image_of(pixels, 256, "image"), [] {
    std::vector<std::uint32_t> counts(256);
    counts[0] = 1, counts[2] = 3, counts[3] = 1;
    return counts;
  }());
  expect_counts(image_of(std::vector<std::uint32_t>{0}, 1, "image"), {1});
}

// Pieces are of 4,096 pixels; nothing after the last one is counted.
TEST(Hist, CountsWhereTheLastPieceIsNotWhole) {
  for (std::uint32_t const pixels : {4095U, 4096U, 4097U, 60'001U}) {
    std::vector<std::uint32_t> all(pixels);
    std::vector<std::uint32_t> counts(7);
    for (std::uint32_t i = 0; i < pixels; ++i) ++counts[all[i] = i * i % 7];
    expect_counts(image_of(all, 7, "image"), counts);
  }
}

TEST(Hist, NamesTheLowestOfTheMostFrequentColours) {
  Summary const summary = summarize(std::vector<std::uint32_t>{1, 5, 2, 5});
  EXPECT_EQ(summary.colour, 1U);
  EXPECT_EQ(summary.pixels, 5U);
  EXPECT_NE(summarize(std::vector<std::uint32_t>{5, 1, 2, 5}).hash, summary.hash);
}

TEST(HistInput, IsOfTheSeedAndHasAllColours) {
  Image const image = make_image({.pixels = 50'000, .colours = 5, .seed = 3});
  std::vector<std::uint32_t> counts(5);
  for (std::uint64_t i = 0; i < image.pixels; ++i) ++counts.at(image.pieces[i / 4096][i % 4096]);
  for (std::uint32_t const count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_EQ(make_image({.pixels = 50'000, .colours = 5, .seed = 3}).pieces, image.pieces);
  EXPECT_NE(make_image({.pixels = 50'000, .colours = 5, .seed = 4}).pieces, image.pieces);
}

using HistFiles = Files;

TEST_F(HistFiles, HavePixelsOfFourBytes) {
  std::string const file = plain("image", std::string("\1\0\0\0\2\0\0\0\1\0\0\0", 12));
  expect_counts(make_image({.colours = 3, .file = file}), {0, 2, 1});
}

TEST_F(HistFiles, AreRefusedWhereTheyAreNoImage) {
  auto const said_of = [&](std::string const& bytes) {
    std::string const file = plain("image", bytes);
    return complaint([&] { (void)make_image({.colours = 3, .file = file}); }).substr(file.size());
  };
  EXPECT_EQ(said_of(""), ": empty");
  EXPECT_EQ(said_of(std::string("\1\0\0\0\1\0", 6)), ": its last pixel is cut short: 6 bytes, 4 a pixel");
  EXPECT_EQ(said_of(std::string("\1\0\0\0\3\0\0\0", 8)), ": pixel 1 is 3, and there are 3 colours");
  EXPECT_EQ(said_of("\377\377\377\377"), ": pixel 0 is 4294967295, and there are 3 colours");
  EXPECT_EQ(complaint([&] { (void)make_image({.file = path("none")}); }),
            path("none") + ": cannot be opened: No such file or directory");
}

}  // namespace
}  // namespace hist
