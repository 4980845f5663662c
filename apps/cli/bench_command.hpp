// hiway bench: asks one bench its question. docs/performance.md says what each asks and how to read the answer.
//
//   0  everything that was moved is right
//   1  something is not: one line says what; the answer is printed all the same
//   2  bad arguments
#pragma once
#include <cstdint>
#include <string>

#include "bench/bench.hpp"
#include "cli/options.hpp"

namespace cli {

/// The options of `hiway bench NAME` that are not the bench's.
struct BenchOptions {
  std::string device = "auto";
  std::int64_t repeat = 0;  ///< 0: not given
  std::string json;
};

/// *Lifetime*: `command` goes before `bench` and `options` do.
void add_bench_options(Options& command, bench::Bench& bench, BenchOptions& options);

/// Returns the exit code; `line` is the command as the user gave it. *Throws* BadInput, and what the library throws.
int run_bench(Options const& command, bench::Bench& bench, BenchOptions const& options, std::string const& line);

}  // namespace cli
