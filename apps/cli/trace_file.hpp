// TraceFile: what a run has recorded of itself (docs/tracing.md), read and checked, its slices and samples in order.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

/// What an executor, or the bus, does: life in a stage; in it tasks and waits; a wait for room may lie in a task.
enum class Activity : std::uint8_t { stage, task, get, put, device, dma };

/// All times are microseconds since the run's start.
struct Slice {
  double begin = 0;
  double end = 0;
  Activity activity = Activity::stage;
  int tunnel = -1;    ///< of stats.tunnels; -1: it has none
  double amount = 1;  ///< device: blocks that are active; dma: bytes
};

struct Track {
  enum class Place : std::uint8_t { cpu, gpu, bus };
  Place place = Place::cpu;
  std::string name;
  std::string stage;          ///< not of the bus
  std::vector<Slice> slices;  ///< by their begins, outer before inner
};

struct Sample {
  double at = 0;
  double items = 0;    ///< in the ring
  double spilled = 0;  ///< in the pool
};

/// A stall, a tunnel that grew or spilled.
struct Moment {
  double at = 0;
  std::string category;
  std::string text;
};

struct TraceFile {
  std::string version;
  std::string error;       ///< the run's, or ""
  double run_end = 0;      ///< the run's, or the last event's where that is later
  double end_search = -1;  ///< when the search for the end began; -1: it is not recorded
  hiway::RunReport stats;
  std::vector<Track> tracks;                 ///< CPU threads, GPU stages, bus
  std::vector<std::vector<Sample>> samples;  ///< of each of stats.tunnels
  std::vector<Moment> moments;
};

/// `name` is the file's, for messages. *Throws* BadInput in one line with the place: line and column where the text is
/// no JSON, else a pointer into it, as /traceEvents/17/dur.
[[nodiscard]] TraceFile parse_trace(std::string const& name, std::string_view text);

/// "-" is stdin. *Throws* BadInput.
[[nodiscard]] TraceFile read_trace(std::string const& path);

}  // namespace cli
