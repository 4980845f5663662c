// The methods of Reyes: the same pictures, made in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "reyes/scene.hpp"
#include "reyes/summary.hpp"

namespace reyes {

using cli::Job;

/// How the GPU's stages but the last run. group: in one persistent kernel. stages: where the GPU splits, split in one,
/// dice and shade in another; else each in its own.
enum class Form : std::uint8_t { group, stages };
/// What splits: the GPU, in a cycle, as the paper has it; or CPU threads.
enum class Splitter : std::uint8_t { gpu, cpu };

/// Of method hiway.
struct Options {
  Form form = Form::group;
  Splitter splitter = Splitter::gpu;
  unsigned blocks = 0;      ///< of each kernel that splits, dices or shades; 0: chosen
  unsigned collectors = 2;  ///< CPU threads that take the pictures' strips
};

/// Of method baseline.
struct BaselineOptions {
  Splitter splitter = Splitter::gpu;
  unsigned canvases = 4;      ///< pictures that are under way where the GPU splits
  bool kernels_only = false;  ///< where the GPU splits: what is measured begins and ends on the device
};

/// One run. seconds: from the patches to the pictures' colours in CPU memory; the patches' turning, allocation and
/// kernel loading excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or tasks where there are none
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// The pictures of the last run, one for each of the problem's.
using Pictures = std::vector<Colours>;

/// hiway: split on the GPU or on CPU threads, dice and shade on the GPU, all at the same time, and of all pictures.
/// *Throws* cli::BadInput where a picture has more points than can be counted.
std::vector<Measurement> run_hiway(Problem const& problem, Job const& job, Options const& options, Pictures& pictures);
/// The pipeline of hiway in dot.
std::string hiway_graph(std::string const& device, Options const& options);

/// baseline: picture by picture, a kernel for each stage. The GPU splits, by a kernel for each level, while pictures
/// before are copied back; or CPU threads, and each chunk of leaves is copied and given to the kernels while others are
/// split.
std::vector<Measurement> run_baseline(Problem const& problem, Job const& job, BaselineOptions const& options,
                                      Pictures& pictures);

/// reference: one thread, picture by picture, a leaf at a time.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job, Pictures& pictures);

}  // namespace reyes
