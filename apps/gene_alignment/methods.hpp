// The methods of gene alignment: the same answer, found in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/job.hpp"
#include "gene_alignment/input.hpp"
#include "gene_alignment/summary.hpp"

namespace gene_alignment {

using cli::Job;

/// One run. seconds: from the bases in CPU memory to the summary, copies included; allocation and kernel loading
/// excluded.
struct Measurement {
  Summary summary;
  double seconds = 0;
  std::uint64_t items = 0;  ///< carried through tunnels, or handed to the fine matching where there are none
  std::optional<double> end_detection_us{};  ///< where the library found the end
  std::vector<hiway::TunnelReport> tunnels{};
};

/// Which results of the coarse matching leave the GPU: those that match, or one for each position, of which the CPU
/// takes those that match.
enum class Cross : std::uint8_t { matches, all };

/// hiway: the coarse matching in a persistent GPU stage, the fine matching on CPU threads as matches arrive.
std::vector<Measurement> run_hiway(Input const& input, Job const& job, Cross cross = Cross::matches);
/// paper: HiWayLib's figure 9, by tunnels' numbers: ordinary launches of the coarse matching, chunk by chunk, and CPU
/// threads that get what it puts.
std::vector<Measurement> run_paper(Input const& input, Job const& job, Cross cross = Cross::matches);
/// baseline: Hetero-Mark's collaborative scheme, chunk by chunk: copy in, kernel, copy out, a CPU thread on the result.
std::vector<Measurement> run_baseline(Input const& input, Job const& job);
/// reference: one thread, the rules in their plainest form; shares no code with the other two but the summary.
std::vector<Measurement> run_reference(Input const& input, Job const& job);

/// The alignments that reference finds, in ascending position.
std::vector<Alignment> reference_alignments(Sequence const& target, Sequence const& query);
/// One of them: the alignment of the query with the window at `position`.
Alignment reference_fine_match(Sequence const& target, Sequence const& query, std::int32_t position);

/// The graph of method hiway in dot.
std::string hiway_graph(std::string const& device);

}  // namespace gene_alignment
