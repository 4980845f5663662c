// The methods of rasterization: the same pictures, made in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "rasterization/summary.hpp"
#include "rasterization/vertex.hpp"

namespace rasterization {

using cli::Job;

/// One run. seconds: from the model to pictures in the device's memory, depth buffers cleared before; allocation, kernel
/// loading, and copying pictures to the CPU excluded.
struct Measurement {
  Summary summary{};
  bool right = true;        ///< as the oracle, in every pixel; also true when nobody compared
  picture::Picture last{};  ///< the last picture
  double seconds = 0;
  std::uint64_t items = 0;               ///< carried through tunnels, or triangles and tiles where there are none
  std::optional<std::uint64_t> tiles{};  ///< that pixel got
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// What launches of kernels are measured with.
enum class Measured : std::uint8_t { all, kernels_only };

/// hiway: vertex (CPU) -> raster (GPU) -> pixel (GPU), all at the same time, a triangle and a tile at a time.
std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Oracle const* oracle);
/// The pipeline of hiway in dot.
std::string hiway_graph(std::string const& device);

/// baseline: picture by picture a kernel for each stage; while one picture is drawn the next one's triangles are made and
/// copied. *Throws* cli::BadInput when the list of tiles would be too long; also run_kernels.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, Oracle const* oracle, Measured measured);
/// kernels: the same kernels, one launch of each for all pictures.
std::vector<Measurement> run_kernels(Problem const& problem, Job const& job, Oracle const* oracle, Measured measured);

/// reference: one thread, pixel by pixel.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Oracle const* oracle);
Oracle reference_pictures(Problem const& problem);

/// What a run drew.
Measurement measurement_of(Problem const& problem, Drawn const& drawn, Oracle const* oracle);

}  // namespace rasterization
