// The methods of the binary search tree: the same keys, inserted in different ways.
#pragma once
#include <cstdint>
#include <hiway/report.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bst/problem.hpp"
#include "bst/summary.hpp"
#include "cli/job.hpp"

namespace bst {

using cli::Job;

/// Of kernels. 0: the method chooses.
struct Options {
  std::uint32_t blocks = 0;
  std::uint32_t threads = 0;  ///< of a block
};

/// One run. seconds: from the keys and the tree that was there before, in CPU memory, to the tree with all of them
/// there; allocation and kernel loading excluded.
struct Measurement {
  Summary summary{};
  double seconds = 0;
  std::uint64_t items = 0;  ///< keys that were inserted
  std::optional<double> end_detection_us{};
  std::vector<hiway::TunnelReport> tunnels{};
};

/// The tree of the initial keys, inserted in their order, in nodes enough for all.
[[nodiscard]] std::vector<Node> initial_tree(Problem const& problem);

/// hiway: the tree lies on the GPU, and the CPU's keys go there as items.
std::vector<Measurement> run_hiway(Problem const& problem, Options const& options, Job const& job);
std::string hiway_graph(Problem const& problem, std::string const& device);

/// baseline: the CPU inserts its keys, the nodes are copied to the GPU, which inserts its own, and copied back.
std::vector<Measurement> run_baseline(Problem const& problem, Options const& options, Job const& job);

/// managed: both insert at once into nodes in managed memory, with a lock each. apps/bst/managed.cu is there where the
/// program was built with CUDA, and makes itself known before main.
using RunManaged = std::vector<Measurement> (*)(Problem const& problem, Options const& options, Job const& job);
/// *Threads*: before main. Returns true.
bool register_managed(RunManaged run) noexcept;
/// Null in a program without CUDA.
[[nodiscard]] RunManaged managed_method();

/// reference: one CPU thread.
std::vector<Measurement> run_reference(Problem const& problem, Job const& job);

}  // namespace bst
