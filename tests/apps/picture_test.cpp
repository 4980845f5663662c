// What applications draw: depth, colours, files.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "cli/bad_input.hpp"
#include "face_detection/image.hpp"
#include "hiway/machine/on_this_device.hpp"
#include "picture/camera.hpp"
#include "picture/depth_buffer.hpp"
#include "picture/picture.hpp"
#include "tests/apps/files.hpp"

namespace picture {
namespace {

TEST(DepthBuffer, ShowsTheNearestInAnyOrder) {
  std::uint64_t const near = surface(1.5F, 0x0000ff);
  std::uint64_t const far = surface(1.75F, 0x000001);
  EXPECT_LT(near, far);
  EXPECT_LT(far, nothing);
  for (bool const near_first : {true, false}) {
    Pixel pixel{nothing};
    hiway::anywhere([&](auto m) {
      show(m, pixel, near_first ? near : far);
      show(m, pixel, near_first ? far : near);
    });
    EXPECT_EQ(colour_of(pixel.bits, 0x123456), 0x0000ffU);
  }
  EXPECT_EQ(colour_of(nothing, 0x123456), 0x123456U);
}
TEST(DepthBuffer, LosesNothingAmongThreads) {
  Pixel pixel{nothing};
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&pixel, t] {
        for (std::uint32_t i = 10000; i > 0; --i)
          hiway::anywhere([&](auto m) { show(m, pixel, surface(static_cast<float>(4 * i + t), i)); });
      });
    }
  }
  EXPECT_EQ(pixel.bits, surface(4, 1));
}
TEST(Colour, IsCutOffAndRounded) {
  EXPECT_EQ(colour(0, 1, 0.5F), 0x00ff80U);
  EXPECT_EQ(colour(-3, 7, 0), 0x00ff00U);
}
TEST(Camera, SeesTheMiddleAndTheEdges) {
  Camera const camera{1280, 720};
  Spot const middle = camera.see({0, 0, 0});
  EXPECT_EQ(middle.x, 640);
  EXPECT_EQ(middle.y, 360);
  EXPECT_EQ(middle.depth, 3);
  // At a distance of 3 the picture is 2 * 3 * tan 30 high.
  EXPECT_NEAR(camera.see({0, 1.7320508F, 0}).y, 0, 1e-3);
  EXPECT_NEAR(camera.see({1.7320508F, 0, 0}).x, 1000, 1e-3);
  EXPECT_LE(camera.see({0, 0, 3}).depth, 0);
}
using PictureFile = Files;

TEST_F(PictureFile, IsReadAgainAsItWas) {
  Picture const picture{3, 2, {255, 255, 255, 0, 0, 0, 9, 9, 9, 1, 1, 1, 77, 77, 77, 200, 200, 200}};
  std::vector<std::uint8_t> const greys{255, 0, 9, 1, 77, 200};
  for (std::string const name : {"a.png", "a.ppm"}) {
    face_detection::Image const again = face_detection::read_image(plain(name, encode_for(name, picture)));
    EXPECT_EQ(again.width, 3);
    EXPECT_EQ(again.height, 2);
    EXPECT_EQ(again.pixels, greys) << name;
  }
  EXPECT_NO_THROW(require_known_kind("--out", "x.ppm"));
  EXPECT_NO_THROW(require_known_kind("--out", "X.PNG"));
  EXPECT_EQ(encode_for("a.PPM", {1, 1, {1, 2, 3}}), encode_for("a.ppm", {1, 1, {1, 2, 3}}));
  EXPECT_THROW(require_known_kind("--out", "x.jpg"), cli::BadInput);
}

}  // namespace
}  // namespace picture
