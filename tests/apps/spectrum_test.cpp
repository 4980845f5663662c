// The spectrum: what is planted, the transform, and that each method finds the tones and nothing else.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "spectrum/fft.hpp"
#include "spectrum/methods.hpp"

namespace spectrum {
namespace {

TEST(Voltages, AreOfSeedAndNumber) {
  Voltages a{};
  Voltages b{};
  auto const same = [&] {
    return std::ranges::equal(a, b, [](Voltage x, Voltage y) { return x.re == y.re && x.im == y.im; });
  };
  make_voltages(1, 7, a);
  make_voltages(1, 7, b);
  EXPECT_TRUE(same());
  make_voltages(2, 7, b);
  EXPECT_FALSE(same()) << "the seed changes nothing";
  make_voltages(1, 8, b);
  EXPECT_FALSE(same()) << "all packets are one";
}

TEST(Voltages, AreNoiseOfZeroMeanAndKnownPower) {
  double mean = 0;
  double all_power = 0;
  std::uint64_t count = 0;
  for (std::uint64_t packet = 0; packet < 200; ++packet) {
    if (tone_of(1, packet)) continue;
    Voltages voltages{};
    make_voltages(1, packet, voltages);
    for (Voltage const v : voltages) {
      Complex const c = in_floats(v);
      ASSERT_LE(std::abs(c.re), 1);
      ASSERT_LE(std::abs(c.im), 1);
      mean += c.re + c.im;
      all_power += power(c);
      ++count;
    }
  }
  EXPECT_NEAR(mean / static_cast<double>(count), 0, 0.01);
  EXPECT_NEAR(all_power / static_cast<double>(count), 2.0 / 3, 0.01);
}

TEST(Tones, AreInOnePacketOfEight) {
  std::uint64_t tones = 0;
  std::vector<bool> seen(channels);
  for (std::uint64_t packet = 0; packet < 80'000; ++packet) {
    if (auto const tone = tone_of(1, packet)) {
      ++tones;
      seen.at(*tone) = true;
    }
  }
  EXPECT_NEAR(static_cast<double>(tones), 10'000, 500);
  EXPECT_EQ(std::ranges::count(seen, false), 0);
}

// By its definition.
TEST(Transform, IsFouriers) {
  std::vector<Complex> values(channels);
  for (std::uint32_t i = 0; i < channels; ++i)
    values[i] = {static_cast<float>(i * 37 % 101) / 101, static_cast<float>(i * i % 97) / 97};
  std::vector<Complex> transformed = values;
  transform(transformed.data());
  for (std::uint32_t const c : {0U, 1U, 2U, 511U, 512U, 700U, 1023U}) {
    double re = 0;
    double im = 0;
    for (std::uint32_t i = 0; i < channels; ++i) {
      double const angle = -2 * std::numbers::pi * (i * c % channels) / channels;
      re += values[i].re * std::cos(angle) - values[i].im * std::sin(angle);
      im += values[i].re * std::sin(angle) + values[i].im * std::cos(angle);
    }
    EXPECT_NEAR(transformed[c].re, re, 2e-3) << c;
    EXPECT_NEAR(transformed[c].im, im, 2e-3) << c;
  }
}

// The threshold is far from both.
TEST(Threshold, LiesBetweenNoiseAndTones) {
  float noise = 0;
  float weakest = 1e9F;
  std::vector<Complex> values(channels);
  for (std::uint64_t packet = 0; packet < 1000; ++packet) {
    Voltages voltages{};
    make_voltages(3, packet, voltages);
    std::ranges::transform(voltages, values.begin(), in_floats);
    transform(values.data());
    auto const tone = tone_of(3, packet);
    for (std::uint32_t c = 0; c < channels; ++c) {
      float& extreme = c == tone ? weakest : noise;
      extreme = c == tone ? std::min(extreme, power(values[c])) : std::max(extreme, power(values[c]));
    }
  }
  EXPECT_LT(noise, threshold / 2);
  EXPECT_GT(weakest, threshold * 4);
}

TEST(Methods, FindTheTonesAndNothingElse) {
  for (std::uint64_t const packets : {0, 1, 17, 1000}) {
    for (unsigned const threads : {1U, 3U}) {
      Problem const problem{.packets = packets, .seed = 5, .threads = threads};
      Summary const tones = tones_of(problem);
      for (Measurement const& run : run_hiway(problem, {.device = "simt", .repeat = 2})) {
        EXPECT_EQ(run.summary, tones) << packets;
        EXPECT_EQ(run.items, packets);
      }
      EXPECT_EQ(run_reference(problem, {}).front().summary, tones) << packets;
    }
  }
  EXPECT_GT(tones_of({.packets = 1000, .seed = 5}).hits, 50U);
}

TEST(Summaries, TellHitsApart) {
  Summary a;
  Summary b;
  a.add(1, 2);
  b.add(2, 1);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace spectrum
