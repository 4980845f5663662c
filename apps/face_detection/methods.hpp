// The methods of face detection: the same answer, found in different ways.
#pragma once
#include <cstdint>
#include <functional>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "face_detection/input.hpp"
#include "face_detection/summary.hpp"

namespace face_detection {

/// How often a method runs, and where.
struct Job {
  std::string device;  ///< a name of hiway::devices(); reference does not use it
  unsigned repeat = 1;
  std::function<void()> ran = [] {};  ///< called after each run
};

/// One run. seconds: from the image in CPU memory to the summary, copies included; files, allocation and kernel loading
/// excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;                   ///< carried through tunnels, or windows tested where there are none
  std::optional<double> end_detection_us{};  ///< where the library found the end
  std::vector<hiway::TunnelReport> tunnels{};
};

/// reference: one thread, level by level, row by row; shares no code with the others but the pyramid and the summary.
std::vector<Measurement> run_reference(Input const& input, Job const& job);

/// What reference finds.
Summary reference_summary(Input const& input);

}  // namespace face_detection
