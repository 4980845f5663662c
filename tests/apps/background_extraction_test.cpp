// Background extraction: the rules by hand, that every method keeps to them, videos from folders, and bad input.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "background_extraction/program.hpp"
#include "tests/apps/files.hpp"

namespace background_extraction {

/// Takes its time for each strip, and fails when another one of the same place came meanwhile, or at a frame of its choice.
struct GoSlowly {
  Model model;
  std::uint32_t fails_at;
  HIWAY_DEVICE void operator()(hiway::Outlet<Strip> frames) const {
    for_each_in_order(model, frames, [&](Strip const& frame, Lane lane) {
      if (frame.frame == fails_at) hiway::fail_d("as it was told to");
      if (lane.number != 0) return;
      float& seen = model.places[frame.place].means[0].values[0];
      float const before = seen;
      hiway::anywhere([&](auto m) {
        for (unsigned i = 0; i < 3; ++i) m.relax(i);
      });
      if (seen != before || before + 1 != static_cast<float>(frame.frame)) hiway::fail_d("out of order");
      seen = before + 1;
    });
  }
};

namespace {

Video of_bytes(std::vector<std::vector<std::uint8_t>> const& frames) {
  Video video{static_cast<std::uint32_t>(frames.front().size()), 1, 1, static_cast<std::uint32_t>(frames.size())};
  for (std::uint32_t f = 0; f < video.frames(); ++f) video.set(f, frames[f]);
  return video;
}

class ExtractionMethods : public testing::TestWithParam<std::string> {
 protected:
  static std::vector<Measurement> runs_of(Video const& video, unsigned repeat = 1) {
    auto* const method = GetParam() == "hiway" ? run_hiway : GetParam() == "baseline" ? run_baseline : run_reference;
    return method(video, {.device = "simt", .repeat = repeat});
  }
};

TEST_P(ExtractionMethods, KeepToTheRules) {
  // 100, 124 and 125 are 0, 24 and 25 from the mean, 75 is 25 below it; a value of 0 is no foreground.
  Video const video = of_bytes({{100, 100, 100, 100, 100}, {100, 124, 125, 0, 75}});
  Measurement const run = runs_of(video).front();
  EXPECT_EQ(run.last, (std::vector<std::uint8_t>{0, 0, 125, 0, 75}));
  EXPECT_EQ(run.summary.frames, 2U);
  EXPECT_EQ(run.summary.foreground_bytes, 2U);
  EXPECT_EQ(run.summary.foreground_hash, hash_on(Summary{}.foreground_hash, run.last));
}
TEST_P(ExtractionMethods, CutTheDifferenceToAByte) {
  // The mean is 100.75 behind the second frame: the next ones are 24.25, 25.25 from it, or 24.75.
  Video const video = of_bytes({{100, 100, 100}, {125, 125, 125}, {125, 126, 76}});
  EXPECT_EQ(runs_of(video).front().last, (std::vector<std::uint8_t>{0, 126, 0}));
}
TEST_P(ExtractionMethods, LetWhatStandsStillBecomeBackground) {
  std::vector<std::vector<std::uint8_t>> frames{{100}};
  for (int f = 0; f < 60; ++f) frames.push_back({200});
  Measurement const run = runs_of(of_bytes(frames)).front();
  // 100 * 0.97^k falls below 25 behind 46 frames.
  EXPECT_EQ(run.summary.foreground_bytes, 46U);
}
TEST_P(ExtractionMethods, FindNothingInOneFrame) {
  for (Measurement const& run : runs_of(of_bytes({{1, 2, 3}}), 2)) {
    EXPECT_EQ(run.summary, (Summary{.frames = 1}));
    EXPECT_TRUE(run.last.empty());
  }
}
TEST_P(ExtractionMethods, FindTheReferencesForegrounds) {
  for (VideoOptions const& options :
       {VideoOptions{}, VideoOptions{.width = 1, .height = 1, .frames = 40},
        VideoOptions{.width = 97, .height = 61, .frames = 7},
        VideoOptions{.width = 5458, .height = 1, .frames = 5},  // two bytes less than a strip
        VideoOptions{.width = 5459, .height = 1, .frames = 5},  // one more
        VideoOptions{.width = 211, .height = 200, .frames = 12}}) {
    Video const video = make_video(options, 7);
    Measurement const oracle = run_reference(video, {}).front();
    EXPECT_EQ(oracle.summary.foreground_bytes != 0, options.width != 1);
    for (Measurement const& run : runs_of(video, 2)) {
      EXPECT_EQ(run.summary, oracle.summary) << options.width << " x " << options.height;
      EXPECT_EQ(run.last, oracle.last);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(All, ExtractionMethods, testing::Values("hiway", "baseline", "reference"));

TEST(Extraction, CarriesEachStripOnce) {
  Video const video = make_video({.width = 200, .height = 100, .frames = 5}, 1);
  ASSERT_EQ(video.strips(), 4U);
  Measurement const run = run_hiway(video, {.device = "simt"}).front();
  ASSERT_EQ(run.tunnels.size(), 2U);
  for (hiway::TunnelReport const& tunnel : run.tunnels) EXPECT_EQ(tunnel.items, 16U) << tunnel.name;
}

void go_slowly(std::uint32_t fails_at) {
  Video const video{200, 30, 3, 40};
  ASSERT_EQ(video.strips(), 2U);
  Program p{video, "simt"};
  auto& frames = p.pipe.create_tunnel<Strip>("frames", hiway::Direction::cpu_to_gpu);
  p.pipe.add_cpu_stage("feed", Feed{&video}, hiway::into(frames), {.threads = 2});
  p.pipe.add_gpu_stage("slow", GoSlowly{p.model, fails_at}, hiway::from(frames), p.warps);
  p.frame.copy_in(video.frame(0));
  p.pipe.launch("begin", Begin{p.model}, p.grid);
  p.pipe.synchronize();
  p.pipe.run();
}
TEST(Extraction, HasStripsOfAPlaceInTheOrderOfFrames) { EXPECT_NO_THROW(go_slowly(1000)); }
TEST(Extraction, IsLeftByThoseWhoWaitForTheirTurn) {
  EXPECT_THROW(go_slowly(1), hiway::StageError);
  EXPECT_THROW(go_slowly(20), hiway::StageError);
}

TEST(Videos, GiveEachThreadTheSamePlacesOfAllFrames) {
  Video const video{300, 100, 3, 2};
  for (unsigned threads : {1U, 2U, 3U, 4U, 9U}) {
    std::uint32_t place = 0;
    for (unsigned t = 0; t < threads; ++t) {
      auto const of_0 = video.frame(0, t, threads);
      auto const of_1 = video.frame(1, t, threads);
      ASSERT_EQ(of_0.size(), of_1.size());
      for (std::size_t i = 0; i < of_0.size(); ++i, ++place) {
        EXPECT_EQ(of_0[i].place, place);
        EXPECT_EQ(of_1[i].place, place);
        EXPECT_EQ(of_1[i].frame, 1U);
      }
    }
    EXPECT_EQ(place, video.strips());
  }
}
TEST(Videos, AreMadeAnewByTheirSeed) {
  auto const last = [](std::uint64_t seed) {
    Video const video = make_video({}, seed);
    return bytes_of(video.frame(video.frames() - 1), video.frame_bytes());
  };
  EXPECT_EQ(last(1), last(1));
  EXPECT_NE(last(1), last(2));
}

class FramesFrom : public Files {
 protected:
  Video read() const { return make_video({.folder = path("")}, 1); }
  std::string complaint_of_reading() const {
    return complaint([&] { (void)read(); });
  }
};
TEST_F(FramesFrom, AFolderInTheOrderOfTheirNames) {
  plain("frame_10.ppm", "P6 2 1 255\nabcdef");
  plain("frame_02.ppm", "P6\n# a comment\n2 1\n255\nghijkl");
  plain("notes.txt", "no picture");
  Video const video = read();
  EXPECT_EQ(video.frames(), 2U);
  EXPECT_EQ(video.channels(), 3U);
  EXPECT_EQ(bytes_of(video.frame(0), 6), (std::vector<std::uint8_t>{'g', 'h', 'i', 'j', 'k', 'l'}));
  EXPECT_EQ(bytes_of(video.frame(1), 6), (std::vector<std::uint8_t>{'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(encode_pnm(video, bytes_of(video.frame(1), 6)), "P6\n2 1\n255\nabcdef");
}
TEST_F(FramesFrom, GreyFilesHaveOneChannel) {
  plain("a.pgm", std::string{"P5 3 2 255\n"} + "aaaaaa");
  plain("b.pgm", std::string{"P5 3 2 255\n"} + "azazaz");
  Video const video = read();
  EXPECT_EQ(video.channels(), 1U);
  Measurement const run = run_hiway(video, {.device = "simt"}).front();
  EXPECT_EQ(run.last, (std::vector<std::uint8_t>{0, 'z', 0, 'z', 0, 'z'}));
  EXPECT_EQ(encode_pnm(video, bytes_of(video.frame(0), 6)), "P5\n3 2\n255\naaaaaa");
}
// A camera's second frame was left out.
TEST_F(FramesFrom, FilesMayBeNamedInUpperCase) {
  plain("a.pgm", "P5 3 1 255\naaa");
  plain("b.PGM", "P5 3 1 255\nbbb");
  plain("c.Pgm", "P5 3 1 255\nccc");
  EXPECT_EQ(read().frames(), 3U);
}
TEST_F(FramesFrom, FilesOfAnotherSizeOrKindAreNamed) {
  plain("a.pgm", "P5 3 1 255\naaa");
  plain("b.pgm", "P5 1 3 255\naaa");
  EXPECT_EQ(complaint_of_reading(), path("b.pgm") + ": 1 x 3, grey, not 3 x 1, grey like a.pgm");
  plain("b.pgm", "P6 3 1 255\naaabbbccc");
  EXPECT_EQ(complaint_of_reading(), path("b.pgm") + ": 3 x 1, in colours, not 3 x 1, grey like a.pgm");
}
TEST_F(FramesFrom, BadFilesAreNamed) {
  EXPECT_EQ(complaint_of_reading(), path("") + ": no file named .pgm or .ppm");
  plain("a.pgm", "P5 3 1 255\naaa");
  for (auto const& [content, said] : std::vector<std::pair<std::string, std::string>>{
           {"", "empty"},
           {"\x89PNG\r\n\x1a\n", "neither a binary PGM (P5), nor a binary PPM (P6)"},
           {"P2 1 1 255\n1", "neither a binary PGM (P5), nor a binary PPM (P6)"},
           {"P5 3 1 65535\naaaaaa", "maxval 65535: only 255 is read"},
           {"P5 3 1 255\naa", "cut short: 2 bytes of pixels, not 3"},
           {"P5 3 1 255\naaaa", "more than one picture: 4 bytes of pixels, not 3"}}) {
    plain("b.pgm", content);
    EXPECT_EQ(complaint_of_reading(), path("b.pgm") + ": " + said);
  }
  EXPECT_EQ(complaint([&] { (void)make_video({.folder = path("absent")}, 1); }),
            path("absent") + ": cannot be read: No such file or directory");
}

TEST(VideoOptions, RefuseNothingAndTooMuch) {
  auto const says = [](VideoOptions const& options) { return complaint([&] { (void)make_video(options, 1); }); };
  EXPECT_EQ(says({.width = 0}), "--width must be 1 to 65536: 0");
  EXPECT_EQ(says({.height = 65537}), "--height must be 1 to 65536: 65537");
  EXPECT_EQ(says({.frames = 0}), "--frames must be 1 to 1048576: 0");
  EXPECT_EQ(
      says({.width = 65536, .height = 65536, .frames = 1U << 20}),
      "--width, --height, --frames: frames and foregrounds would need 25165824.0 GiB of memory, more than 32.0 GiB");
}

}  // namespace
}  // namespace background_extraction
