// The counters of a run, read while others change them.
#pragma once
#include "lib/stall_report.hpp"
#include "lib/word_copies.hpp"
#include "run_kernels.hpp"

namespace hiway {

/// Whose words are read, and where.
struct CounterSources {
  Layout& layout;
  RunState const& state;
  WordCopies const& copies;
  RunKernels const* kernels = nullptr;  ///< null: they are not asked
};
[[nodiscard]] PipelineSnapshot read_counters(CounterSources const& from);

}  // namespace hiway
