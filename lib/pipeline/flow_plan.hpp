// FlowPlan: which tunnels end together, which puts may wait for room, which spill, and which writers a full pool holds
// back. A pure function of the declared graph: it needs no device and no memory.
//
//   unit       a strongly connected set of tunnels (a leads to b where a stage reads a and writes b); it ends as a
//              whole
//   component  a strongly connected set of stages, a group counted as one node. A put into a tunnel that is read in
//              its own component must never wait: it spills, unless a plan or room to grow makes waiting safe, or
//              the tunnel drops or fails
//   cycle      a component that has spill pools, and writers outside that may wait. Those are held back while a pool
//              is more than half full (docs/adr/0013).
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hiway/config.hpp"

namespace hiway {

/// What the user declared, as numbers: a stage or tunnel is its index.
struct FlowGraph {
  struct Stage {
    std::string name;
    std::uint32_t node = 0;  ///< stages of one kernel (a group) have the same one
    std::vector<std::uint32_t> from{};
    std::vector<std::uint32_t> into{};
    bool is_worker = false;  ///< the user's own, at open ends, which all workers of a tunnel share
  };
  struct Tunnel {
    std::string name;
    WhenFull when_full = WhenFull::automatic;
    bool planned = false;           ///< a plan gave its capacity: waiting is safe inside a cycle, too
    bool may_grow = false;          ///< likewise
    bool holds_all = false;         ///< no put into it ever waits
    std::uint32_t open_inlets = 0;  ///< that the user closes
  };
  std::vector<Stage> stages{};
  std::vector<Tunnel> tunnels{};
};

struct FlowPlan {
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct Stage {
    std::uint32_t component = 0;
    std::vector<bool> spills{};  ///< for each tunnel in `into`: a put that finds no room goes to the pool
  };
  struct Tunnel {
    std::uint32_t unit = 0;
    bool spills = false;              ///< a writer of it spills
    std::size_t throttled_by = none;  ///< index into cycles: the one that holds its outside writers back
  };
  struct Cycle {
    std::vector<std::uint32_t> pools{};    ///< tunnels that a stage of it spills into
    std::vector<std::uint32_t> entries{};  ///< tunnels that bring items from outside
  };
  std::vector<Stage> stages{};
  std::vector<Tunnel> tunnels{};
  std::vector<Cycle> cycles{};
  std::uint32_t units = 0;
  std::vector<std::string> problems{};  ///< why the graph cannot run, a sentence each
  std::vector<std::string>
      unplanned_cycles{};  ///< the quoted names of the tunnels of each cycle that may spill unasked
};

[[nodiscard]] FlowPlan plan_flow(FlowGraph const& graph);

}  // namespace hiway
