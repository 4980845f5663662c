// Timeline: a run's tracks and its tunnels' occupancy, drawn over one time axis.
//
// The page's size does not grow with the trace: a track is cut into a limited number of cells. A slice longer than two
// cells is drawn where it was; shorter ones are summed up by cell, and fill it from below by their shares of it.
#pragma once
#include <string>
#include <vector>

#include "cli/trace_file.hpp"

namespace cli {

/// All plots have this width, the run's; the page stretches it. Heights are of all plots, too.
constexpr int plot_width = 100'000;
constexpr int plot_height = 40;

/// A part of a track in which one thing is done. No two of them overlap.
struct Piece {
  double begin = 0;
  double end = 0;
  Activity activity = Activity::stage;
  int tunnel = -1;
  double amount = 1;
};

/// The innermost slices: what is nested is cut out of what is around it, and ends with it.
[[nodiscard]] std::vector<Piece> flattened(std::vector<Slice> const& slices);

/// Rows of <div class="row">: an axis, what happened, and the tracks.
[[nodiscard]] std::string draw_tracks(TraceFile const& trace);
/// Rows: a plot for each tunnel that was sampled.
[[nodiscard]] std::string draw_occupancy(TraceFile const& trace);

}  // namespace cli
