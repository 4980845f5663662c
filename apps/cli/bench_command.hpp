// hiway bench: asks one bench its question. docs/performance.md says what each asks and how to read the answer.
//
//   0  everything that was moved is right
//   1  something is not: one line says what; the answer is printed all the same
//   2  bad arguments
#pragma once
#include <memory>

#include "bench/bench.hpp"
#include "cli/command.hpp"

namespace cli {

/// *Lifetime*: `benches` outlive it.
[[nodiscard]] std::unique_ptr<Command> make_bench_command(bench::Benches const& benches);

}  // namespace cli
