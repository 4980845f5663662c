// Bottleneck: which stage or tunnel holds a run up, in plain sentences. docs/report.md tells the reasoning for users.
//
// All shares are of the run's working time: its time without the end detection. A stage's fractions are of its life and
// are scaled by it: a source that was at work without a pause, and left after a tenth of the run, was busy 10 %.
//
//   held(t)      the share that writers of tunnel t wait for room in it
//   starved(t)   the share that readers of t wait for its items
//                both of CPU stages as they measured it; of GPU stages, whose waits nobody sees, the samples in which t
//                was full, or empty
//   busy(s)      measured on CPU threads. Of a GPU stage inferred: its life less the larger of starved (the least of
//                its inputs) and held (the most of its outputs): there were items for it, and room. Its own samples of
//                active blocks are not used: a block at a long task takes nothing
//
// The first rule that holds is the verdict:
//   end          finding the end took half of the run or more: it is too short for its stages to matter
//   slow stage   the busiest stage is busy 75 % or more. Where that is nearly all stages: balanced. A stage known to be
//                busy goes before one inferred to be, unless writers wait for the latter
//   small ring   a tunnel with held and starved of 10 % or more: its sides wait in turns, which a slow stage at either
//                side does not explain (it would make one of the two next to nothing)
//   outside      readers wait for a tunnel that no stage writes, or writers for one that no stage reads
//   cycle        all stages of a cycle wait for items: what goes round it is too little for them
//   slow stage   the busiest stage is busy 50 % or more: said with a "probably"
//   latency      nothing is busy and nothing is full: items are on their way most of the time
// What else matters follows: a rule above that also holds, spills, throttled writers, long waits, idle replicas.
#pragma once
#include <hiway/report.hpp>
#include <string>
#include <vector>

namespace cli {

enum class FindingKind { nothing, end, slow_stage, balanced, small_ring, outside, cycle, latency, spill, waits, idle };

struct Finding {
  FindingKind kind = FindingKind::nothing;
  std::string subject;  ///< the stage or tunnel that it names first, or ""
  std::string text;     ///< one sentence
  std::string advice;   ///< what may help, or ""
};

/// The verdict first; never empty. `stats` has every tunnel that its stages name.
[[nodiscard]] std::vector<Finding> find_bottleneck(hiway::RunReport const& stats);

/// Of the run's working time: 0 to 1. -1 where not known.
struct StageShares {
  double life = -1;
  double busy = -1;
  bool inferred = false;  ///< busy
};
[[nodiscard]] StageShares shares_of(hiway::RunReport const& stats, hiway::StageReport const& stage);

}  // namespace cli
