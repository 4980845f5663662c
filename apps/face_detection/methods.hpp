// The methods of face detection: the same answer, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "face_detection/input.hpp"
#include "face_detection/summary.hpp"

namespace face_detection {

using cli::Job;

/// Where stages run. paper: of five the fourth, which needs a tile's neighbours, on the CPU, and the comparison, the
/// fifth, on the GPU. lbp_on_cpu: pyramid and windows on the GPU, the comparison on the CPU. cpu: all of them there.
enum class Placement : std::uint8_t { paper, lbp_on_cpu, cpu };

struct Options {
  Placement placement = Placement::paper;
  bool stops_after_lbp = false;  ///< nothing is put into the tunnel of candidates; not where the GPU compares
  unsigned blocks = 0;           ///< of 128 threads, of windows and scan on the GPU; 0: chosen
};

/// One run. seconds: from the image in CPU memory to the summary, copies included; files, allocation and kernel loading
/// excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;                   ///< carried through tunnels, or windows tested where there are none
  std::optional<double> end_detection_us{};  ///< where the library found the end
  std::vector<hiway::TunnelReport> tunnels{};
  std::optional<std::uint64_t> bytes_moved{};    ///< of pixels, from windows on
  std::optional<std::uint64_t> region_copies{};  ///< hiway
};

/// reference: one thread, level by level, row by row; shares no code with the others but the pyramid and the summary.
std::vector<Measurement> run_reference(Input const& input, Job const& job);

/// hiway: five stages at the same time (search.hpp); tiles are the values of a stencil tunnel, and each crosses once.
/// *Throws* cli::BadInput where the cascade's window is larger than tiles take.
std::vector<Measurement> run_hiway(Input const& input, Job const& job, Options const& options);
/// The pipeline of hiway in dot.
std::string hiway_graph(std::string const& device, Options const& options);

/// baseline: the same stages and stage code; each tile is carried with its three neighbours, through a plain tunnel.
std::vector<Measurement> run_baseline(Input const& input, Job const& job, Options const& options);

/// What reference finds.
Summary reference_summary(Input const& input);

}  // namespace face_detection
