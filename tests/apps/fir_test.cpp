// The filter: samples by hand, each method against them where blocks and pieces are whole and where they are not, and
// all against doubles.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "fir/app.hpp"
#include "fir/methods.hpp"
#include "tests/apps/files.hpp"

namespace fir {
namespace {

using testing::ElementsAre;

Job const job{.device = "simt", .repeat = 2};
arrays::Carrying const carrying{.feeders = 2, .takers = 2, .batch = 2};

Signal signal_of(std::vector<float> samples, std::vector<float> const& taps, std::uint32_t block_samples) {
  Signal signal{.samples = std::move(samples), .block_samples = block_samples};
  signal.taps.count = static_cast<std::uint32_t>(taps.size());
  std::ranges::copy(taps, signal.taps.values.begin());
  return signal;
}

/// What each method makes of it; its summaries are of that.
std::vector<std::vector<float>> by_all_methods(Signal const& signal) {
  std::vector<std::vector<float>> all(4);
  auto const check = [](std::vector<Measurement> const& runs, std::vector<float> const& filtered) {
    for (Measurement const& run : runs) {
      EXPECT_EQ(run.summary, summarize(filtered));
      EXPECT_EQ(run.items, filtered.size());
    }
  };
  check(run_hiway(signal, carrying, job, all[0]), all[0]);
  check(run_baseline(signal, job, all[1]), all[1]);
  check(run_baseline(signal, {.device = "simt", .pinned = true}, all[2]), all[2]);
  check(run_reference(signal, job, all[3]), all[3]);
  return all;
}

TEST(Fir, FiltersByHand) {
  for (std::vector<float> const& filtered : by_all_methods(signal_of({1, 2, 3, 4}, {1, 10, 100}, 2)))
    EXPECT_THAT(filtered, ElementsAre(1, 12, 123, 234));
  for (std::vector<float> const& filtered : by_all_methods(signal_of({1, 2, 3, 4}, {1, 10, 100}, 1)))
    EXPECT_THAT(filtered, ElementsAre(1, 12, 123, 234)) << "the history is longer than a block";
  for (std::vector<float> const& filtered : by_all_methods(signal_of({3}, {2}, 1)))
    EXPECT_THAT(filtered, ElementsAre(6));
}

// Pieces are of 4,096 samples. The history crosses blocks and pieces.
TEST(Fir, IsTheSameInEveryBitByEachMethod) {
  for (InputOptions const& options :
       {InputOptions{.blocks = 3, .block_samples = 1365, .taps = 16}, InputOptions{.blocks = 4, .taps = 1},
        InputOptions{.blocks = 17, .block_samples = 241, .taps = 64},
        InputOptions{.blocks = 2, .block_samples = 10'001, .taps = 33}}) {
    auto const all = by_all_methods(make_signal(options));
    for (std::vector<float> const& filtered : all) EXPECT_EQ(filtered, all.back());
  }
}

TEST(Fir, IsNearToWhatDoublesGive) {
  Signal const signal = make_signal({.blocks = 9, .taps = 64});
  std::vector<float> filtered;
  run_hiway(signal, carrying, job, filtered);
  for (std::size_t n = 0; n < filtered.size(); ++n) {
    double sum = 0;
    for (std::size_t i = 0; i < 64 && i <= n; ++i) sum += double{signal.samples[n - i]} * signal.taps.values[i];
    ASSERT_NEAR(filtered[n], sum, 1e-5 * sum) << n;
  }
}

TEST(Fir, HasCudasCallsOnAGpuAlone) {
  auto const app = make_app();
  app->load(1);
  EXPECT_EQ(complaint([&] { app->run("cuda", {.job = job}); }),
            "--method cuda: for a GPU, by a program that was built with CUDA; the device is simt");
}

TEST(Fir, NoticesASampleElsewhere) {
  EXPECT_NE(summarize(std::vector<float>{1, 2}), summarize(std::vector<float>{2, 1}));
  EXPECT_NE(summarize(std::vector<float>{1, 2}), summarize(std::vector<float>{1, 2, 0}));
}

TEST(FirInput, IsOfTheSeedFromZeroToOne) {
  Signal const signal = make_signal({.seed = 3});
  EXPECT_EQ(signal.samples, make_signal({.seed = 3}).samples);
  EXPECT_NE(signal.samples, make_signal({.seed = 4}).samples);
  EXPECT_THAT(signal.samples, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(1))));
  EXPECT_EQ(signal.taps.values, make_signal({.blocks = 1, .seed = 3}).taps.values) << "taps depend on the blocks";
}

TEST(FirInput, HasLimits) {
  auto const said_of = [](InputOptions const& options) { return complaint([&] { (void)make_signal(options); }); };
  EXPECT_EQ(said_of({.blocks = 0}), "--blocks must be 1 to 1048576: 0");
  EXPECT_EQ(said_of({.block_samples = 1048577}), "--block-samples must be 1 to 1048576: 1048577");
  EXPECT_EQ(said_of({.taps = 65}), "--taps must be 1 to 64: 65");
  EXPECT_EQ(said_of({.blocks = 1U << 20, .block_samples = 257}),
            "--blocks and --block-samples: at most 268435456 samples together, not 269484032");
}

}  // namespace
}  // namespace fir
