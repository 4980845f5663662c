// The serial oracle: the rules over whole frames.
#include <chrono>
#include <cmath>
#include <utility>

#include "background_extraction/methods.hpp"

namespace background_extraction {
namespace {

/// Of which all foregrounds are kept: to hash them is no part of the work.
std::vector<std::vector<std::uint8_t>> foregrounds_of(std::vector<std::vector<std::uint8_t>> const& frames,
                                                      std::uint64_t& foreground_bytes) {
  std::vector<float> background(frames.front().begin(), frames.front().end());
  std::vector<std::vector<std::uint8_t>> foregrounds;
  for (std::size_t f = 1; f < frames.size(); ++f) {
    std::vector<std::uint8_t>& foreground = foregrounds.emplace_back(background.size());
    for (std::size_t i = 0; i < background.size(); ++i) {
      float const now = frames[f][i];
      auto const difference = static_cast<int>(std::fabs(now - background[i]));
      if (difference > 24) foreground[i] = frames[f][i];
      if (foreground[i] != 0) ++foreground_bytes;
      background[i] = background[i] * (1 - 0.03F) + now * 0.03F;
    }
  }
  return foregrounds;
}

}  // namespace

std::vector<Measurement> run_reference(Video const& video, Job const& job) {
  std::vector<std::vector<std::uint8_t>> frames;
  for (std::uint32_t f = 0; f < video.frames(); ++f) frames.push_back(bytes_of(video.frame(f), video.frame_bytes()));
  return cli::repeated(job, [&] {
    Measurement run{.summary = {.frames = video.frames()}};
    auto const begin = std::chrono::steady_clock::now();
    auto foregrounds = foregrounds_of(frames, run.summary.foreground_bytes);
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.items = std::uint64_t{video.strips()} * foregrounds.size();
    for (auto const& foreground : foregrounds)
      run.summary.foreground_hash = hash_on(run.summary.foreground_hash, foreground);
    if (!foregrounds.empty()) run.last = std::move(foregrounds.back());
    return run;
  });
}

}  // namespace background_extraction
