// The methods of background extraction: the same foregrounds, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "background_extraction/summary.hpp"
#include "background_extraction/video.hpp"
#include "cli/job.hpp"

namespace background_extraction {

using cli::Job;

/// One run. seconds: from the frames in CPU memory to the foregrounds there, counted; making or reading frames, hashing,
/// allocation and kernel loading excluded.
struct Measurement {
  Summary summary;
  std::vector<std::uint8_t> last{};  ///< the last frame's foreground; empty where there is one frame only
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or strips worked on where there are none
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// hiway: the baseline with tunnels; frames go in, and foregrounds come back, strip by strip.
std::vector<Measurement> run_hiway(Video const& video, Job const& job);
/// The pipeline of hiway in dot.
std::string hiway_graph(std::string const& device);

/// baseline: Hetero-Mark's collaborative scheme, frame by frame.
std::vector<Measurement> run_baseline(Video const& video, Job const& job);

/// reference: one thread, byte by byte; shares the video and the hash with the others.
std::vector<Measurement> run_reference(Video const& video, Job const& job);

}  // namespace background_extraction
