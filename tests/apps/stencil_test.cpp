// The five-point stencil: each method gives the oracle's values, bit for bit, and moves what it says.
#include <gtest/gtest.h>

#include <cstdint>

#include "stencil/methods.hpp"

namespace stencil {
namespace {

TEST(StencilReference, AddsUpACross) {
  Problem const p{.width = 3, .height = 3, .frames = 1};
  Values const values = reference_values(p);
  auto const in = [&](std::uint32_t x, std::uint32_t y) { return input_value(p, x, y, 0); };
  EXPECT_EQ(values[4], 0.2f * ((((in(1, 1) + in(0, 1)) + in(2, 1)) + in(1, 0)) + in(1, 2)));
  EXPECT_EQ(values[0], in(0, 0));
  EXPECT_EQ(values[5], in(2, 1));
}
TEST(StencilReference, ValuesDifferByPlaceFrameAndSeed) {
  Problem p;
  Problem other;
  other.seed = 2;
  EXPECT_NE(input_value(p, 3, 4, 0), input_value(p, 4, 3, 0));
  EXPECT_NE(input_value(p, 3, 4, 0), input_value(p, 3, 4, 1));
  EXPECT_NE(input_value(p, 3, 4, 0), input_value(other, 3, 4, 0));
}

TEST(StencilMethods, AgreeBitForBit) {
  Problem const problems[] = {
      {.width = 1, .height = 1},
      {.width = 2, .height = 5, .frames = 3},
      {.width = 40, .height = 30, .region_width = 7, .region_height = 9, .frames = 3},
      {.width = 33, .height = 17, .region_width = 33, .region_height = 1, .frames = 2, .iterations = 3},
      {.width = 20, .height = 50, .region_width = 3, .region_height = 50, .frames = 2, .iterations = 2},
  };
  for (Problem const& p : problems) {
    Values const oracle = reference_values(p);
    std::uint64_t const values = p.values() * p.frames;
    Job const job{.device = "simt", .repeat = 2};
    for (Measurement const& m : run_hiway(p, job, &oracle)) {
      EXPECT_TRUE(m.right) << p.width << " x " << p.height;
      EXPECT_EQ(m.checksum, checksum(oracle));
      EXPECT_EQ(m.bytes_moved, 4 * values);
      if (p.region_width != 0) {
        std::uint64_t const regions_x = (p.width + p.region_width - 1) / p.region_width;
        std::uint64_t const regions_y = (p.height + p.region_height - 1) / p.region_height;
        EXPECT_EQ(m.region_copies, regions_x * regions_y * p.frames);
      }
      EXPECT_EQ(m.items, values * p.iterations);
    }
    for (Measurement const& m : run_baseline(p, job, &oracle)) {
      EXPECT_TRUE(m.right) << p.width << " x " << p.height;
      EXPECT_EQ(m.bytes_moved, 5 * 4 * values);
      EXPECT_EQ(m.tunnels.front().item_bytes, 6 * 4U);  // with the place's number
      EXPECT_EQ(m.items, values);
    }
  }
}
TEST(StencilMethods, SeveralGpusGiveTheSameBits) {
  struct Case {
    Problem problem;
    unsigned gpus;
    std::uint64_t crossings;  ///< of a frame, from GPU to GPU
  };
  std::uint32_t const w = 33;
  std::uint32_t const h = 17;
  Case const cases[] = {
      {{.width = w, .height = h, .frames = 4, .iterations = 2}, 2, 1},
      {{.width = w, .height = h, .region_width = 7, .region_height = 4, .frames = 3, .iterations = 3}, 3, 2},
      {{.width = w, .height = h, .region_width = w, .region_height = 1, .frames = 3, .iterations = 5}, 2, 1},
      {{.width = w, .height = h, .region_width = 1, .region_height = h, .frames = 2, .iterations = 7}, 3, 2},
      {{.width = w, .height = h, .region_width = 5, .region_height = 5, .frames = 2, .iterations = 2}, 3, 1},
      {{.width = w, .height = h, .region_width = 5, .region_height = 5, .frames = 2, .iterations = 1}, 2, 0},
      {{.width = 1, .height = 1, .frames = 1, .iterations = 3}, 2, 1},
      {{.width = 2, .height = 5, .frames = 6, .iterations = 4}, 3, 2},
  };
  for (Case const& c : cases) {
    Values const oracle = reference_values(c.problem);
    for (hiway::Movement const movement : {hiway::Movement::automatic, hiway::Movement::direct, hiway::Movement::dma}) {
      Job const job{.device = "simt", .repeat = 2, .scheme = {.movement = movement}, .gpus = c.gpus};
      for (Measurement const& m : run_hiway(c.problem, job, &oracle)) {
        std::uint64_t const values = c.problem.values() * c.problem.frames;
        EXPECT_TRUE(m.right) << c.problem.iterations << " passes on " << c.gpus;
        EXPECT_EQ(m.checksum, checksum(oracle));
        EXPECT_EQ(m.items, values * c.problem.iterations);
        EXPECT_EQ(m.bytes_moved, 4 * values);
        EXPECT_EQ(m.bytes_between_gpus, 4 * values * c.crossings);
      }
    }
  }
}
TEST(StencilMethods, SayWhenTheyAreWrong) {
  Problem const p{.width = 8, .height = 8};
  Values oracle = reference_values(p);
  oracle[20] += 1;
  EXPECT_FALSE(run_hiway(p, {.device = "simt"}, &oracle).front().right);
  EXPECT_FALSE(run_baseline(p, {.device = "simt"}, &oracle).front().right);
}

}  // namespace
}  // namespace stencil
