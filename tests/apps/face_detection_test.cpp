// Face detection: what it reads, the levels, the stage code against the serial oracle, and the oracle against what
// OpenCV 4.6.0 found in the same images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli/bad_input.hpp"
#include "face_detection/cascade.hpp"
#include "face_detection/grouping.hpp"
#include "face_detection/image.hpp"
#include "face_detection/input.hpp"
#include "face_detection/methods.hpp"
#include "face_detection/pyramid.hpp"
#include "face_detection/stages.hpp"
#include "face_detection/summary.hpp"
#include "tests/apps/files.hpp"

namespace face_detection {

// Found by GoogleTest through the type's namespace.
void PrintTo(Rectangle const& r, std::ostream* out) {
  *out << "{" << r.x << ", " << r.y << ", " << r.width << ", " << r.height << "}";
}

namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::string const data = HIWAY_SOURCE_DIR "/apps/face_detection/data/";
std::string const astronaut = data + "astronaut_512.pgm";
std::string const collage = data + "faces_1280x720.pgm";
std::string const frontal_face = data + "lbpcascade_frontalface.xml";

std::string content_of(std::string const& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

std::string image_complaint(std::string const& path) {
  return complaint([&] { (void)read_image(path); });
}
std::string cascade_complaint(std::string const& path) {
  return complaint([&] { (void)read_cascade(path); });
}

unsigned seed_of_run() {
  char const* const seed = std::getenv("HIWAY_SEED");
  return seed != nullptr ? static_cast<unsigned>(std::atoi(seed)) : 1U;
}

// ---- image files

using ImageFile = Files;

TEST_F(ImageFile, PgmIsReadWithCommentsAndAnySpaceInItsHeader) {
  Image const image = read_image(plain("a.pgm", "P5\n# a comment\n3\t2 # another\n255\nabcdef"));
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.height, 2);
  EXPECT_THAT(image.pixels, ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  // A pixel may look like space, or like a comment.
  EXPECT_THAT(read_image(plain("a.pgm", "P5 2 1 255\n\n#")).pixels, ElementsAre('\n', '#'));
}

TEST_F(ImageFile, PpmBecomesGreyByOpencvsWeights) {
  std::string const pixels = std::string("\xff\0\0\0\xff\0\0\0\xff\xff\xff\xff\x0a\x14\x1e", 15);
  EXPECT_THAT(read_image(plain("a.ppm", "P6 5 1 255\n" + pixels)).pixels, ElementsAre(76, 150, 29, 255, 18));
}

TEST_F(ImageFile, PngIsReadAsItWasWritten) {
  Image image{7, 5, {}};
  for (int i = 0; i < 35; ++i) image.pixels.push_back(static_cast<std::uint8_t>(i * 7));
  Image const again = read_image(plain("a.png", encode_png(image, {})));
  EXPECT_EQ(again.width, 7);
  EXPECT_EQ(again.height, 5);
  EXPECT_EQ(again.pixels, image.pixels);
}

TEST_F(ImageFile, PngOfAnyKindIsRead) {
  // Made by hand: 2 x 1 pixels; grey of 8 bits; grey of 1 bit; colours with transparency; a palette.
  std::string const signature = "\x89PNG\r\n\x1a\n";
  auto const bytes = [](std::initializer_list<int> list) { return std::string(list.begin(), list.end()); };
  struct Kind {
    int depth, colour;
    std::string palette, row;
    std::vector<std::uint8_t> grey;
  };
  std::vector<Kind> const kinds{{8, 0, "", bytes({0, 10, 200}), {10, 200}},
                                {1, 0, "", bytes({0, 0x40}), {0, 255}},
                                {8, 6, "", bytes({0, 255, 0, 0, 0, 0, 255, 0, 128}), {76, 150}},
                                {8, 3, bytes({0, 0, 255, 255, 255, 255}), bytes({0, 1, 0}), {255, 29}},
                                {16, 0, "", bytes({0, 10, 10, 200, 200}), {10, 200}}};
  for (Kind const& kind : kinds) {
    std::string png = signature;
    auto const number = [](std::uint32_t n) {
      std::string text;
      for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(n >> shift & 255);
      return text;
    };
    auto const add = [&](std::string const& type_and_content) {
      std::uint32_t crc = ~0U;
      for (char const c : type_and_content) {
        crc ^= static_cast<std::uint8_t>(c);
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320U : 0U);
      }
      png += number(static_cast<std::uint32_t>(type_and_content.size()) - 4) + type_and_content + number(~crc);
    };
    add("IHDR" + number(2) + number(1) + bytes({kind.depth, kind.colour, 0, 0, 0}));
    if (!kind.palette.empty()) add("PLTE" + kind.palette);
    std::uint32_t low = 1;
    std::uint32_t high = 0;
    for (char const c : kind.row) {
      low += static_cast<std::uint8_t>(c);
      high += low;
    }
    int const length = static_cast<int>(kind.row.size());
    add("IDAT" + bytes({0x78, 1, 1, length, 0, 255 - length, 255}) + kind.row + number(high << 16 | low));
    add("IEND");
    EXPECT_EQ(read_image(plain("a.png", png)).pixels, kind.grey) << kind.depth << " " << kind.colour;
  }
}

// The pixels began at the header's last \n.
TEST_F(ImageFile, APgmIsTheSameWhateverProgramWroteItsHeader) {
  std::string const pixels = "\n\r#4567\n";
  for (std::string const header :
       {"P5\n4 2\n255\n", "P5\r\n4 2\r\n255\r\n", "P5\r4 2\r255\r", "P5 4#wide\r2 #high\n255\n",
        "P5\r\n# by a program\r\n4 2\r\n# again\r\n255\r\n", "P5 4 2 255# no more\n"}) {
    Image const image = read_image(plain("a.pgm", header + pixels));
    EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), pixels) << header;
  }
}

TEST_F(ImageFile, WhatNeverEndsIsRefusedAtItsBeginning) {
  EXPECT_EQ(image_complaint("/dev/zero"), "/dev/zero: neither a binary PGM (P5), nor a binary PPM (P6), nor a PNG");
}

TEST_F(ImageFile, WhatCannotBeReadIsRefused) {
  EXPECT_EQ(image_complaint(path("absent.png")), path("absent.png") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(image_complaint(path("")), path("") + ": cannot be read: Is a directory");
  EXPECT_EQ(image_complaint(plain("a", "")), path("a") + ": empty");
}

TEST_F(ImageFile, OtherKindsAreRefused) {
  for (std::string const& content :
       {std::string{"P"}, std::string{"P2\n1 1 255\n7"}, std::string{"P4\n8 1\nx"},
        std::string{"\xff\xd8\xff\xe0 JFIF"}, std::string{"\x89PNG\r\n"}, std::string{"x P5 1 1 255\na"}}) {
    EXPECT_EQ(image_complaint(plain("a", content)),
              path("a") + ": neither a binary PGM (P5), nor a binary PPM (P6), nor a PNG");
  }
}

TEST_F(ImageFile, BrokenPgmIsRefused) {
  auto const says = [&](std::string const& content) {
    std::string const text = image_complaint(plain("a", content));
    EXPECT_THAT(text, StartsWith(path("a") + ": "));
    return text.substr(path("a").size() + 2);
  };
  EXPECT_EQ(says("P5"), "cut short in the header, before the width");
  EXPECT_EQ(says("P5\n# 3 2 255"), "cut short in the header, before the width");
  EXPECT_EQ(says("P5\n3 2\n"), "cut short in the header, before the maxval");
  EXPECT_EQ(says("P5\n3 2\n255"), "cut short behind the header");
  EXPECT_EQ(says("P5\n3 -2\n255\n"), "the header's height is not a number");
  EXPECT_EQ(says("P5\n3 2\n255x"), "no space between header and pixels");
  EXPECT_EQ(says("P5\n3 2\n255\nabcde"), "cut short: 5 bytes of pixels, not 6");
  EXPECT_EQ(says("P6\n3 2\n255\nabcdef"), "cut short: 6 bytes of pixels, not 18");
  EXPECT_EQ(says("P5\n3 2\r255\r\nabcdefg"), "more than one picture: 8 bytes of pixels, not 6");
  EXPECT_EQ(says("P5\n3 2\n255\nabcdefg"), "more than one picture: 7 bytes of pixels, not 6");
  EXPECT_EQ(says("P5\n3 2\n65535\nabcdefabcdef"), "maxval 65535: only 255 is read");
  EXPECT_EQ(says("P5\n3 2\n15\nabcdef"), "maxval 15: only 255 is read");
  EXPECT_EQ(says("P5\n0 2\n255\n"), "0 x 2: no pixels");
  EXPECT_EQ(says("P5\n16385 2\n255\n"), "16385 x 2: wider or higher than 16384 pixels");
  EXPECT_EQ(says("P5\n16384 16384\n255\n"), "16384 x 16384: more than 67108864 pixels");
  EXPECT_EQ(says("P5\n99999999999999999999 2\n255\n"), "the header's width is larger than 1000000000");
}

TEST_F(ImageFile, PngIsRefusedWhereverItIsCutOffOrDamaged) {
  Image image{8, 3, {}};
  for (int i = 0; i < 24; ++i) image.pixels.push_back(static_cast<std::uint8_t>(i * i));
  std::string const whole = encode_png(image, {});
  for (std::size_t size = 8; size < whole.size(); ++size)
    EXPECT_THAT(image_complaint(plain("a.png", whole.substr(0, size))), HasSubstr(path("a.png") + ": cut short"))
        << size;
  for (std::size_t at = 8; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_THAT(image_complaint(plain("a.png", damaged)), AnyOf(HasSubstr("damaged"), HasSubstr("cut short"))) << at;
  }
}

TEST(EncodePng, DrawsOutlinesAndCutsThemOffAtTheEdges) {
  Image const image{12, 10, std::vector<std::uint8_t>(120, 40)};
  std::vector<Rectangle> const rectangles{{2, 1, 6, 7}, {9, -3, 20, 6}};
  std::string const file = testing::TempDir() + "hiway_face_detection_outlines.png";
  std::ofstream{file, std::ios::binary} << encode_png(image, rectangles);
  Image const drawn = read_image(file);
  fs::remove(file);
  std::string picture;
  for (std::size_t i = 0; i < drawn.pixels.size(); ++i) {
    if (i > 0 && i % 12 == 0) picture += '\n';
    picture += drawn.pixels[i] == 40 ? '.' : drawn.pixels[i] == grey(255, 220, 0) ? '#' : '?';
  }
  EXPECT_EQ(picture,
            ".........##.\n"
            "..######.###\n"
            "..######.###\n"
            "..##..##....\n"
            "..##..##....\n"
            "..##..##....\n"
            "..######....\n"
            "..######....\n"
            "............\n"
            "............");
}

// ---- cascade files

class CascadeFile : public Files {
 protected:
  /// The frontal-face cascade with the first `from` replaced.
  std::string changed(std::string const& from, std::string const& to) const {
    std::string text = content_of(frontal_face);
    std::size_t const at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return plain("c.xml", text.replace(at, from.size(), to));
  }
  std::string says(std::string const& from, std::string const& to) const {
    std::string const text = cascade_complaint(changed(from, to));
    EXPECT_THAT(text, StartsWith(path("c.xml") + ": line "));
    return text.substr(path("c.xml").size() + 2);
  }
};

TEST_F(CascadeFile, IsReadWhole) {
  Cascade const cascade = read_cascade(frontal_face);
  EXPECT_EQ(cascade.window_width, 24);
  EXPECT_EQ(cascade.window_height, 24);
  EXPECT_EQ(cascade.stages.size(), 20U);
  EXPECT_EQ(cascade.weaks.size(), 139U);
  EXPECT_EQ(cascade.features.size(), 136U);
  EXPECT_EQ(cascade.stages[1].first_weak, 3);
  EXPECT_EQ(cascade.stages[1].weak_count, 4);
  EXPECT_EQ(cascade.stages[0].threshold, -0.7520892024040222F - 1e-5F);
  EXPECT_EQ(cascade.weaks[0].feature, 46);
  EXPECT_EQ(cascade.weaks[0].leaf_of_set, -0.6543210148811340F);
  EXPECT_EQ(cascade.weaks[0].leaf_of_clear, 0.8888888955116272F);
  EXPECT_EQ(cascade.weaks[0].subset[0], static_cast<std::uint32_t>(-67130709));
  EXPECT_EQ(cascade.weaks[0].subset[7], static_cast<std::uint32_t>(-24005));
  Feature const last = cascade.features.back();
  EXPECT_THAT((std::vector<int>{last.x, last.y, last.width, last.height}), ElementsAre(18, 0, 2, 2));
}

TEST_F(CascadeFile, OfAnotherKindIsRefused) {
  EXPECT_EQ(says(">LBP<", ">HAAR<"), "line 9: featureType is 'HAAR': only LBP is supported");
  EXPECT_EQ(says(">LBP<", ">LB\nP<"), "line 9: featureType is 'LB?P': only LBP is supported");
  EXPECT_EQ(says("\"opencv-cascade-classifier\"", "\"a&#10;b\""),
            "line 7: not a cascade: type_id is 'a?b', not 'opencv-cascade-classifier'");
  EXPECT_EQ(says(">BOOST<", ">FOREST<"), "line 8: stageType is 'FOREST': only BOOST is supported");
  EXPECT_EQ(says("opencv-cascade-classifier", "opencv-haar-classifier"),
            "line 7: a cascade in the format of OpenCV 1: only the newer one is read");
  EXPECT_EQ(says("opencv-cascade-classifier", "opencv-ml-svm"),
            "line 7: not a cascade: type_id is 'opencv-ml-svm', not 'opencv-cascade-classifier'");
  EXPECT_EQ(says(">256<", ">0<"), "line 20: an LBP feature has 256 codes, not 0");
  EXPECT_EQ(says("587145899 -24005<", "587145899 -24005 1 -2 3 1 2 3 4 5 6 7 8<"),
            "line 30: a tree of 2 inner nodes: only trees of one are supported");
  EXPECT_EQ(cascade_complaint(plain("c.xml", "<html><body/></html>")),
            path("c.xml") + ": line 1: not a cascade: no <opencv_storage> with content");
}

TEST_F(CascadeFile, ThatContradictsItselfIsRefused) {
  EXPECT_EQ(says("<stageNum>20<", "<stageNum>21<"), "line 21: stageNum is 21, but there are 20 stages");
  EXPECT_EQ(says("0 -1 46 ", "0 -1 136 "), "line 30: feature 136 of 136");
  EXPECT_EQ(says("0 -1 46 ", "0 -1 -1 "), "line 30: feature -1 of 136");
  EXPECT_EQ(says("0 -1 46 ", "1 -1 46 "), "line 30: the inner node does not lead to leaves 0 and 1");
  EXPECT_EQ(says("0 -1 46 ", "0 -1 "), "line 30: an inner node has 11 numbers; there are 10");
  EXPECT_EQ(says("0 -1 46 ", "0 -1 4x6 "), "line 30: <internalNodes>: '4x6' is not a number that fits");
  EXPECT_EQ(says("-67130709", "-67130709000"), "line 30: <internalNodes>: '-67130709000' is not a number that fits");
  EXPECT_EQ(says("-0.7520892024040222", "nan"), "line 26: <stageThreshold>: 'nan' is not a number that fits");
  EXPECT_EQ(says("-0.6543210148811340 0.8888888955116272", "1"),
            "line 33: a tree of one inner node has 2 leaves, not 1");
  EXPECT_EQ(says("<stageThreshold>-0.7520892024040222</stageThreshold>", ""), "line 24: <_> without <stageThreshold>");
  EXPECT_THAT(says("18 0 2 2", "18 0 3 2"), HasSubstr(": the feature's 3 x 3 cells do not lie in the window"));
  EXPECT_THAT(says("18 0 2 2", "2147483647 0 2 2"), HasSubstr(": the feature's 3 x 3 cells do not lie in the window"));
  EXPECT_THAT(says("18 0 2 2", "18 0 2147483647 2"), HasSubstr(": the feature's 3 x 3 cells do not lie in the window"));
  EXPECT_THAT(says("18 0 2 2", "18 0 0 2"), HasSubstr(": the feature's 3 x 3 cells do not lie in the window"));
  EXPECT_THAT(says("18 0 2 2", "18 0 2"), HasSubstr(": a feature has 4 numbers, not 3"));
  EXPECT_EQ(says("<width>24<", "<width>2<"), "line 11: the window's width is 2, not 3 to 255");
  EXPECT_EQ(says("<height>24<", "<height>256<"), "line 10: the window's height is 256, not 3 to 255");
}

TEST_F(CascadeFile, ThatIsNoXmlIsRefused) {
  std::string const whole = content_of(frontal_face);
  std::string const file_of = path("c.xml");
  EXPECT_EQ(cascade_complaint(plain("c.xml", "")), file_of + ": empty");
  EXPECT_EQ(cascade_complaint(path("absent")), path("absent") + ": cannot be opened: No such file or directory");
  EXPECT_EQ(cascade_complaint(path("")), path("") + ": cannot be read: Is a directory");
  EXPECT_EQ(cascade_complaint(plain("c.xml", "P5 1 1 255\nx")), file_of + ": line 1: not XML: syntax error");
  for (std::size_t const size :
       {std::size_t{1}, std::size_t{200}, std::size_t{1000}, whole.size() / 2, whole.size() - 3})
    EXPECT_THAT(cascade_complaint(plain("c.xml", whole.substr(0, size))), HasSubstr(": not XML: ")) << size;
  EXPECT_EQ(says("<opencv_storage>", "<!DOCTYPE x [<!ENTITY a 'a'>]><opencv_storage>"), "line 6: has a document type");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  EXPECT_EQ(cascade_complaint(plain("c.xml", deep)), file_of + ": line 1: deeper than 32 elements");
}

// ---- levels

TEST(Pyramid, HasLevelsAsLongAsTheScaledWindowFits) {
  Pyramid const pyramid = make_pyramid(512, 512, 24, 24, 1.1);
  EXPECT_EQ(pyramid.levels.size(), 33U);
  EXPECT_EQ(pyramid.levels.front().scale, 1.0F);
  EXPECT_EQ(pyramid.levels.front().columns, 245);
  EXPECT_EQ(pyramid.levels[1].width, 465);
  EXPECT_EQ(pyramid.levels[1].face_width, 26);
  EXPECT_EQ(pyramid.levels[7].step, 2);  // 1.95
  EXPECT_EQ(pyramid.levels[8].step, 1);  // 2.14
  EXPECT_EQ(pyramid.levels.back().face_width, 507);
  EXPECT_EQ(make_pyramid(24, 24, 24, 24, 1.1).levels.size(), 1U);
  EXPECT_THAT(make_pyramid(23, 400, 24, 24, 1.1).levels, IsEmpty());
  EXPECT_THAT(make_pyramid(400, 23, 24, 24, 1.1).levels, IsEmpty());
}

Image row_of(std::vector<std::uint8_t> pixels, std::int32_t height = 2) {
  Image image{static_cast<std::int32_t>(pixels.size()), height, {}};
  for (std::int32_t y = 0; y < height; ++y) image.pixels.insert(image.pixels.end(), pixels.begin(), pixels.end());
  return image;
}

TEST(Pyramid, InterpolatesBetweenCentresAndRoundsHalvesUp) {
  Image image{4, 2, {0, 1, 10, 20, 0, 1, 11, 22}};
  Pyramid const half = make_pyramid(4, 2, 2, 1, 2);
  ASSERT_EQ(half.levels.size(), 2U);
  EXPECT_EQ(resize_level(half.view(image.view()), half.levels[0]).pixels, image.pixels);
  EXPECT_THAT(resize_level(half.view(image.view()), half.levels[1]).pixels, ElementsAre(1, 16));  // of 0.5 and 15.75
  // Six pixels to four: centres at 0.25, 1.75, 3.25 and 4.75.
  Image const six = row_of({0, 100, 200, 40, 80, 255}, 3);
  Pyramid const pyramid = make_pyramid(6, 3, 4, 2, 1.5);
  ASSERT_EQ(pyramid.levels.size(), 2U);
  EXPECT_THAT(resize_level(pyramid.view(six.view()), pyramid.levels[1]).pixels,
              ElementsAre(25, 175, 50, 211, 25, 175, 50, 211));  // 211.25
}

// OpenCV multiplies doubles here. Between 391 and 256 pixels every weight ends in a half, and half of them come out
// otherwise than in exact numbers, which give the even ones.
TEST(Pyramid, RoundsWeightsAsOpencvDoes) {
  Pyramid const pyramid = make_pyramid(391, 391, 24, 24, 391.0 / 256);
  Level const& level = pyramid.levels[1];
  ASSERT_EQ(level.width, 256);
  std::vector<int> positions;
  for (std::uint32_t i = 0; i < 6; ++i) {
    Tap const tap = pyramid.taps[level.first_tap_x + i];
    positions.push_back(tap.first * 256 + tap.weight_of_second);
  }
  EXPECT_THAT(positions, ElementsAre(67, 458, 849, 1240, 1631, 2022));
}

// One of the sizes in which a multiplication fused with the subtraction behind it gives another weight (8135).
TEST(Pyramid, RoundsEachOperation) {
  Pyramid const pyramid = make_pyramid(787, 787, 24, 24, 787.0 / 768);
  Level const& level = pyramid.levels[1];
  ASSERT_EQ(level.width, 768);
  Tap const tap = pyramid.taps[level.first_tap_x + 31];
  EXPECT_EQ(tap.first * 256 + tap.weight_of_second, 8136);
}

TEST(Pyramid, GivesTheSamePixelsForTilesAsForWholeLevels) {
  Image const image = read_image(astronaut);
  Pyramid const pyramid = make_pyramid(512, 512, 24, 24, 1.3);
  PyramidView const view = pyramid.view(image.view());
  for (Level const& level : pyramid.levels) {
    Image const whole = resize_level(view, level);
    std::int32_t const x = level.width / 3;
    std::int32_t const y = level.height / 4;
    std::vector<std::uint8_t> tile(30 * 9);
    resize_tile(view, level, x, y, 12, 9, tile.data(), 30);
    for (std::int32_t i = 0; i < 9 * 12; ++i)
      ASSERT_EQ(tile[static_cast<std::size_t>(i / 12 * 30 + i % 12)], whole.view().at(x + i % 12, y + i / 12));
  }
}

// ---- windows

/// A cascade of 3 x 3 windows: one stage of one weak classifier, which gives 1 for the codes in `codes`, else -1.
Cascade tiny_cascade(std::vector<int> const& codes, float threshold = 0) {
  WeakClassifier weak{0, 1, -1, {}};
  for (int const code : codes) weak.subset[code / 32] |= 1U << (code % 32);
  return {3, 3, {{0, 1, threshold}}, {weak}, {{0, 0, 1, 1}}};
}

std::uint32_t code_of_pixels(std::vector<std::uint8_t> const& nine) {
  Feature const feature{0, 0, 1, 1};
  std::uint32_t const by_pixels = code_of(feature, PixelCells{{nine.data(), 3}});
  std::vector<std::uint32_t> sums(16);
  integrate({nine.data(), 3}, 3, 3, sums.data(), 4);
  EXPECT_EQ(code_of(feature, IntegralCells{sums.data(), 4}), by_pixels);
  return by_pixels;
}

TEST(Code, NumbersTheOuterCellsClockwiseFromTheTopLeft) {
  EXPECT_EQ(code_of_pixels({9, 0, 0, 0, 5, 0, 0, 0, 0}), 128U);
  EXPECT_EQ(code_of_pixels({0, 9, 0, 0, 5, 0, 0, 0, 0}), 64U);
  EXPECT_EQ(code_of_pixels({0, 0, 9, 0, 5, 0, 0, 0, 0}), 32U);
  EXPECT_EQ(code_of_pixels({0, 0, 0, 0, 5, 9, 0, 0, 0}), 16U);
  EXPECT_EQ(code_of_pixels({0, 0, 0, 0, 5, 0, 0, 0, 9}), 8U);
  EXPECT_EQ(code_of_pixels({0, 0, 0, 0, 5, 0, 0, 9, 0}), 4U);
  EXPECT_EQ(code_of_pixels({0, 0, 0, 0, 5, 0, 9, 0, 0}), 2U);
  EXPECT_EQ(code_of_pixels({0, 0, 0, 9, 5, 0, 0, 0, 0}), 1U);
  EXPECT_EQ(code_of_pixels({5, 5, 5, 5, 5, 5, 5, 5, 5}), 255U);  // equal counts as bright
  EXPECT_EQ(code_of_pixels({5, 5, 5, 5, 6, 5, 5, 5, 5}), 0U);
}

TEST(Window, TakesTheLeafOfItsCode) {
  for (int code = 0; code < 256; ++code) {
    std::vector<std::uint8_t> pixels(9, 0);
    pixels[4] = 1;
    std::size_t const clockwise[] = {3, 6, 7, 8, 5, 2, 1, 0};  // from bit 0 on
    for (std::size_t bit = 0; bit < 8; ++bit) {
      if ((code >> bit & 1) != 0) pixels[clockwise[bit]] = 1;
    }
    PixelCells const cells{{pixels.data(), 3}};
    EXPECT_EQ(run_window(tiny_cascade({code}).view(), cells), 1) << code;
    EXPECT_EQ(run_window(tiny_cascade({(code + 1) % 256, (code + 32) % 256}).view(), cells), 0) << code;
  }
}

TEST(Window, PassesAStageWhoseThresholdItReaches) {
  std::vector<std::uint8_t> const pixels(9, 7);
  PixelCells const cells{{pixels.data(), 3}};
  EXPECT_EQ(run_window(tiny_cascade({255}, 1.0F).view(), cells), 1);
  EXPECT_EQ(run_window(tiny_cascade({255}, 1.0001F).view(), cells), 0);
}

TEST(Window, NeedsNoMoreThanItsPixels) {
  Image const image = read_image(astronaut);
  Cascade const cascade = read_cascade(frontal_face);
  CascadeView const view = cascade.view();
  std::vector<std::uint32_t> sums(513 * 513);
  integrate(image.view(), 512, 512, sums.data(), 513);
  std::int32_t deepest = 0;
  for (std::int32_t y = 0; y + 24 <= 100; y += 3) {
    for (std::int32_t x = 160; x + 24 <= 280; x += 3) {
      std::vector<std::uint8_t> alone;
      for (std::int32_t i = 0; i < 24 * 24; ++i) alone.push_back(image.view().at(x + i % 24, y + i / 24));
      std::vector<std::uint32_t> sums_alone(25 * 25);
      integrate({alone.data(), 24}, 24, 24, sums_alone.data(), 25);
      std::int32_t const passed = run_window(view, PixelCells{{alone.data(), 24}});
      ASSERT_EQ(run_window(view, PixelCells{image.view().from(x, y)}), passed);
      ASSERT_EQ(run_window(view, IntegralCells{sums_alone.data(), 25}), passed);
      ASSERT_EQ(run_window(view, IntegralCells{sums.data() + y * 513 + x, 513}), passed);
      // By parts, as stages of a pipeline may.
      std::int32_t const middle = run_stages(view, 0, 5, PixelCells{{alone.data(), 24}});
      ASSERT_EQ(middle < 5 ? middle : run_stages(view, 5, 20, PixelCells{{alone.data(), 24}}), passed);
      deepest = std::max(deepest, passed);
    }
  }
  EXPECT_GE(deepest, 5);
}

TEST(Visited, LeavesOutOneWindowBehindEachRejectedOneThatWasVisited) {
  std::mt19937 random{seed_of_run()};
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed_of_run()));
  for (int round = 0; round < 2000; ++round) {
    auto const columns = static_cast<std::int32_t>(1 + random() % 100);
    Level level{};
    level.columns = columns;
    level.rows = 2;
    level.first_rejected_word = 3;
    std::vector<std::uint32_t> words(3 + 2 * static_cast<std::size_t>((columns + 31) / 32), 0);
    std::vector<bool> rejected;
    for (std::int32_t i = 0; i < columns; ++i) {
      rejected.push_back(random() % 8 < static_cast<unsigned>(round % 9));
      if (rejected.back()) words[rejected_word(level, i, 1)] |= rejected_bit(i);
    }
    std::vector<bool> visited(static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < visited.size(); i += rejected[i] ? 2 : 1) visited[i] = true;
    for (std::int32_t i = 0; i < columns; ++i) {
      ASSERT_EQ(is_visited(level, words.data(), i, 1), visited[static_cast<std::size_t>(i)]) << i << " of " << columns;
      ASSERT_TRUE(is_visited(level, words.data(), i, 0));
    }
  }
}

// ---- grouping

std::vector<Rectangle> copies(Rectangle r, int count) {
  return std::vector<Rectangle>(static_cast<std::size_t>(count), r);
}
std::vector<Rectangle> operator+(std::vector<Rectangle> one, std::vector<Rectangle> const& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

TEST(Grouping, NeedsMoreThanTheNeighboursAskedFor) {
  EXPECT_THAT(group(copies({5, 6, 24, 24}, 3), 3), IsEmpty());
  EXPECT_THAT(group(copies({5, 6, 24, 24}, 4), 3), ElementsAre(Rectangle{5, 6, 24, 24}));
  EXPECT_EQ(group(copies({5, 6, 24, 24}, 3), 0), copies({5, 6, 24, 24}, 3));
  EXPECT_THAT(group({}, 3), IsEmpty());
}

TEST(Grouping, GivesTheMeanRoundedHalfToEven) {
  std::vector<Rectangle> const two{{10, 10, 40, 40}, {11, 13, 42, 41}};
  EXPECT_THAT(group(two, 1), ElementsAre(Rectangle{10, 12, 41, 40}));  // 10.5, 11.5, 41, 40.5
}

TEST(Grouping, JoinsWhatIsLinkedThroughOthers) {
  // 0.2 of 40 is 8: the outer two are similar to the one in the middle only.
  std::vector<Rectangle> const chain{{100, 50, 40, 40}, {116, 50, 40, 40}, {108, 50, 40, 40}};
  EXPECT_THAT(group(chain, 2), ElementsAre(Rectangle{108, 50, 40, 40}));
  std::vector<Rectangle> const broken{{100, 50, 40, 40}, {117, 50, 40, 40}, {108, 50, 40, 40}};
  EXPECT_THAT(group(broken, 2), IsEmpty());
  // The right and the lower sides count, too.
  EXPECT_THAT(group(std::vector<Rectangle>{{0, 0, 40, 40}, {0, 0, 49, 40}}, 1), IsEmpty());
  EXPECT_THAT(group(std::vector<Rectangle>{{0, 0, 40, 40}, {0, 0, 40, 49}}, 1), IsEmpty());
}

TEST(Grouping, DropsAMeanInsideOneThatIsMuchSurer) {
  Rectangle const outer{0, 0, 100, 100};
  Rectangle const inner{-15, 60, 40, 40};  // reaches out by less than 0.2 of 100
  EXPECT_THAT(group(copies(inner, 2) + copies(outer, 4), 1), ElementsAre(outer));
  EXPECT_THAT(group(copies(inner, 4) + copies(outer, 5), 1), ElementsAre(outer));
  EXPECT_THAT(group(copies(inner, 4) + copies(outer, 4), 1), ElementsAre(inner, outer));
  EXPECT_THAT(group(copies(inner, 3) + copies(outer, 3), 1), ElementsAre(inner, outer));
  EXPECT_THAT(group(copies(inner, 2) + copies(outer, 2), 1), ElementsAre(outer));  // fewer than 3
  EXPECT_THAT(group(copies({-25, 60, 40, 40}, 2) + copies(outer, 4), 1),
              ElementsAre(Rectangle{-25, 60, 40, 40}, outer));
}

// ---- the answers

/// FNV-1a, 64 bit, over x, y, width, height of every rectangle, each as 4 bytes, low byte first.
std::uint64_t checksum(std::vector<Rectangle> const& rectangles) {
  std::uint64_t sum = 0xcbf2'9ce4'8422'2325U;
  for (Rectangle const& r : rectangles) {
    for (std::int32_t const value : {r.x, r.y, r.width, r.height}) {
      for (int shift = 0; shift < 32; shift += 8)
        sum = (sum ^ (static_cast<std::uint32_t>(value) >> shift & 255U)) * 0x100'0000'01b3U;
    }
  }
  return sum;
}

Input input_of(std::string const& image, double scale_factor, std::int64_t min_neighbours = 3) {
  return make_input({image, frontal_face, scale_factor, min_neighbours});
}

TEST(Reference, FindsTheAstronautsFace) {
  Summary const summary = reference_summary(input_of(astronaut, 1.1));
  EXPECT_EQ(summary.raw.size(), 34U);
  EXPECT_THAT(summary.rectangles, ElementsAre(Rectangle{171, 64, 104, 104}));
}

TEST(Reference, FindsWhatOpencvFinds) {
  struct Found {
    std::string image;
    double scale_factor;
    std::size_t raw;
    std::uint64_t raw_checksum;
    std::vector<Rectangle> rectangles;
  };
  // OpenCV 4.6.0: detectMultiScale(image, scale_factor, 0 or 3, 0, (24, 24)), on one thread.
  std::vector<Found> const expected{
      {astronaut, 1.1, 34, 0xebda'2b81'b94b'd608U, {{171, 64, 104, 104}}},
      {astronaut, 1.05, 74, 0xa7d8'432c'0492'6d86U, {{408, 423, 52, 52}, {174, 66, 99, 99}}},
      {astronaut, 1.3, 15, 0xba16'e34d'56c1'd3bcU, {{168, 59, 112, 112}}},
      {astronaut, 2.0, 16, 0x0e6f'6913'b1ce'1297U, {{173, 68, 96, 96}}},
      {collage,
       1.1,
       205,
       0x5cc7'e780'0c1c'bfdaU,
       {{97, 537, 41, 41},
        {1199, 339, 37, 37},
        {279, 539, 40, 40},
        {1017, 447, 63, 63},
        {403, 421, 57, 57},
        {682, 47, 67, 67},
        {634, 406, 68, 68},
        {1011, 52, 78, 78},
        {171, 64, 101, 101}}},
      {collage,
       1.07,
       305,
       0x9006'c9b0'63c6'6125U,
       {{1198, 338, 38, 38},
        {276, 537, 44, 44},
        {95, 538, 44, 44},
        {1017, 446, 64, 64},
        {682, 47, 69, 69},
        {1009, 51, 80, 80},
        {633, 405, 73, 73},
        {174, 66, 99, 99}}},
      {collage, 1.5, 50, 0x21e5'a316'41e3'4f7eU, {{674, 42, 81, 81}, {1007, 52, 81, 81}, {628, 401, 81, 81}}},
  };
  for (Found const& found : expected) {
    SCOPED_TRACE(found.image + ", " + std::to_string(found.scale_factor));
    Summary const summary = reference_summary(input_of(found.image, found.scale_factor));
    EXPECT_EQ(summary.raw.size(), found.raw);
    EXPECT_EQ(checksum(summary.raw), found.raw_checksum);
    EXPECT_EQ(summary.rectangles, found.rectangles);
  }
}

TEST(Reference, FindsNothingInAnImageSmallerThanTheWindow) {
  Input input{row_of(std::vector<std::uint8_t>(23, 9), 100), read_cascade(frontal_face), 1.1, 3};
  EXPECT_EQ(reference_summary(input), Summary{});
  input.image = row_of(std::vector<std::uint8_t>(100, 9), 23);
  EXPECT_EQ(reference_summary(input), Summary{});
  input.image = row_of({9}, 1);
  EXPECT_EQ(reference_summary(input), Summary{});
}

TEST(Reference, TestsOneWindowWhereOneFits) {
  Input const input{row_of(std::vector<std::uint8_t>(3, 9), 3), tiny_cascade({255}), 2, 0};
  std::vector<Measurement> const runs = run_reference(input, {.repeat = 2});
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs[1].items, 1U);
  EXPECT_GT(runs[1].seconds, 0);
  EXPECT_THAT(runs[1].summary.raw, ElementsAre(Rectangle{0, 0, 3, 3}));
}

TEST(Reference, CutsOffWhatRoundingPutsBeyondTheImage) {
  // The last window of the level is scaled to one pixel more than there is.
  Summary const summary = reference_summary(input_of(collage, 1.07, 0));
  EXPECT_THAT(summary.raw, testing::Contains(Rectangle{1200, 122, 80, 81}));
}

// ---- by tiles

/// What a pipeline leaves behind that tests tiles of windows in any order.
struct ByTiles {
  std::vector<std::uint32_t> rejected;
  std::vector<Candidate> candidates;
};

ByTiles test_by_tiles(Input const& input, Pyramid const& pyramid, std::int32_t tile_columns, std::int32_t tile_rows,
                      unsigned seed) {
  struct Tile {
    std::int32_t level, column, row;
  };
  std::vector<Tile> tiles;
  for (std::int32_t l = 0; l < static_cast<std::int32_t>(pyramid.levels.size()); ++l) {
    Level const& level = pyramid.levels[static_cast<std::size_t>(l)];
    for (std::int32_t row = 0; row < level.rows; row += tile_rows) {
      for (std::int32_t column = 0; column < level.columns; column += tile_columns) tiles.push_back({l, column, row});
    }
  }
  std::shuffle(tiles.begin(), tiles.end(), std::mt19937{seed});

  ByTiles found{std::vector<std::uint32_t>(pyramid.rejected_words), {}};
  CascadeView const cascade = input.cascade.view();
  PyramidView const view = pyramid.view(input.image.view());
  for (Tile const& tile : tiles) {
    Level const& level = pyramid.levels[static_cast<std::size_t>(tile.level)];
    std::int32_t const columns = std::min(tile_columns, level.columns - tile.column);
    std::int32_t const rows = std::min(tile_rows, level.rows - tile.row);
    std::int32_t const width = (columns - 1) * level.step + cascade.window_width;
    std::int32_t const height = (rows - 1) * level.step + cascade.window_height;
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height));
    resize_tile(view, level, tile.column * level.step, tile.row * level.step, width, height, pixels.data(), width);
    std::vector<std::uint32_t> sums(static_cast<std::size_t>((width + 1) * (height + 1)));
    integrate({pixels.data(), width}, width, height, sums.data(), width + 1);
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t column = 0; column < columns; ++column) {
        IntegralCells const cells{sums.data() + row * level.step * (width + 1) + column * level.step, width + 1};
        std::int32_t const passed = run_window(cascade, cells);
        Candidate const window{tile.level, tile.row + row, tile.column + column};
        if (passed == 0) found.rejected[rejected_word(level, window.column, window.row)] |= rejected_bit(window.column);
        if (passed == cascade.stage_count) found.candidates.push_back(window);
      }
    }
  }
  return found;
}

TEST(Tiles, GiveWhatRowsGive) {
  SCOPED_TRACE("HIWAY_SEED=" + std::to_string(seed_of_run()));
  for (auto const& [image, scale_factor] : {std::pair{astronaut, 1.1}, {astronaut, 1.37}, {collage, 1.3}}) {
    Input const input = input_of(image, scale_factor);
    Pyramid const pyramid = make_pyramid(input);
    Summary const by_rows = reference_summary(input);
    for (auto const& [columns, rows] : {std::pair{32, 8}, {5, 7}, {100000, 1}}) {
      ByTiles const found = test_by_tiles(input, pyramid, columns, rows, seed_of_run());
      EXPECT_EQ(summarize(pyramid, found.rejected, found.candidates, 3), by_rows) << columns << " x " << rows;
    }
  }
}

// The checker itself: windows that OpenCV leaves out are noticed.
TEST(Tiles, GiveMoreWhenNoWindowIsLeftOut) {
  Input const input = input_of(astronaut, 1.1);
  Pyramid const pyramid = make_pyramid(input);
  ByTiles const found = test_by_tiles(input, pyramid, 32, 8, 1);
  std::vector<std::uint32_t> const none(pyramid.rejected_words);
  EXPECT_EQ(summarize(pyramid, found.rejected, found.candidates, 3).raw.size(), 34U);
  EXPECT_EQ(summarize(pyramid, none, found.candidates, 3).raw.size(), 35U);
}

// ---- input

using FaceInput = Files;

TEST_F(FaceInput, ValuesOutOfRangeAreRefused) {
  auto const says = [](InputOptions const& options) { return complaint([&] { (void)make_input(options); }); };
  EXPECT_EQ(says({astronaut, frontal_face, 1}), "--scale-factor must be 1.01 to 100: 1");
  EXPECT_EQ(says({astronaut, frontal_face, 0.0 / 1 - 3}), "--scale-factor must be 1.01 to 100: -3");
  EXPECT_EQ(says({astronaut, frontal_face, 1.1, -1}), "--min-neighbours must be 0 to 1000000: -1");
  EXPECT_THAT(says({frontal_face, frontal_face}), StartsWith(frontal_face + ": neither a binary PGM"));
  EXPECT_THAT(says({astronaut, astronaut}), StartsWith(astronaut + ": line 1: not XML"));
}

}  // namespace
}  // namespace face_detection
