// Layout: all that a run works on. While a run is under way it stands still, except for PlacedTunnel::capacity, which a
// run may raise (observer.hpp).
//
//   Graph        what was declared
//   FlowPlan     what follows from it: units, spilling, cycles
//   Placement    the tunnels' memory, for the pipeline's life
//   Prepared     what prepare() found and placed, until the user adds something
//
// Lifetime: memory goes back to the devices' backends, so Homes comes first and goes last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flow_plan.hpp"
#include "graph.hpp"
#include "hiway/cluster.hpp"
#include "hiway/inlet/staging.hpp"
#include "hiway/machine/bell.hpp"
#include "hiway/outlet/hand.hpp"
#include "hiway/outlet/staged.hpp"
#include "hiway/scope/scopes.hpp"
#include "hiway/trace.hpp"
#include "homes.hpp"
#include "lib/named_failure.hpp"
#include "lib/nodes/node_line.hpp"
#include "placement.hpp"

namespace hiway {

/// A CPU thread of a stage: what it did with its time.
struct ThreadLog {
  ThreadTrace trace;
  std::vector<WaitWords> waits;                ///< for each tunnel
  std::vector<std::unique_ptr<Hand>> hands{};  ///< of tunnels that it reads
  std::vector<StagedEnd> staged{};             ///< for each tunnel in `from`
  /// For each tunnel in `into`, or null.
  std::vector<std::unique_ptr<Staging>> stagings{};
};

/// A stage's words, and the name under which it fails.
struct StagePlace {
  NamedFailure failure;
  StageWords* words = nullptr;
  std::vector<OutletPort*> outlet_ports{};               ///< for each tunnel in `from`: an array of `executors`
  std::vector<InletPort*> inlet_ports{};                 ///< for each tunnel in `into`: an array of `executors`
  std::vector<Word<std::uint32_t>*> closed_executors{};  ///< for each tunnel in `into`
  std::vector<std::unique_ptr<ThreadLog>> threads{};     ///< of a CPU stage
  std::unique_ptr<Bell> bell{};                          ///< of a CPU stage
};

/// How many items were taken from one thread's staging.
struct alignas(64) TakenCount {
  Word<std::uint64_t> items{0};
};
/// The stagings of a tunnel's writers (inlet/staging.hpp); none of most tunnels.
struct StagedPuts {
  Staging* first = nullptr;
  TakenCount* taken = nullptr;  ///< one for each thread, at the host
  std::uint32_t threads = 0;
  std::vector<std::unique_ptr<Staging>> of_stripes{};  ///< of open inlets, one after another
};

/// Who checks for the end.
struct EndCheckPlace {
  Home checker = at_host;                  ///< the first device that is used, or the host
  TerminationTable* host_table = nullptr;  ///< only if nothing of the pipeline is on a device
  ThrottleTable* throttles = nullptr;      ///< likewise
  CycleRecord* cycles = nullptr;           ///< at the checker's home
};

/// What prepare() found and placed.
struct Prepared {
  bool is_current = false;  ///< false: the user has added something since
  std::vector<Stage> stages{};
  std::vector<StagePlace> places{};  ///< for each stage
  FlowPlan flow{};
  std::vector<simt::Grid> grids{};         ///< for each kernel
  std::vector<std::size_t> start_order{};  ///< kernels
  EndCheckPlace check{};
  std::vector<Drain*> host_drains{};
  std::vector<StagedPuts> staged{};  ///< for each tunnel
  std::vector<Slice> slices{};       ///< for each kernel; of `ns` 0: it does not yield
  bool in_turns = false;             ///< the kernels do not fit the device together

  [[nodiscard]] bool yields(std::size_t kernel) const { return slices[kernel].ns != 0; }

  /// Those of a tunnel which was added since are empty.
  [[nodiscard]] StagedPuts const& staged_of(PlacedTunnel const& tunnel) const {
    static StagedPuts const none{};
    std::uint32_t const id = tunnel.base->id();
    return id < staged.size() ? staged[id] : none;
  }
  [[nodiscard]] FlowPlan::Tunnel flow_of(PlacedTunnel const& tunnel) const {
    std::uint32_t const id = tunnel.base->id();
    return id < flow.tunnels.size() ? flow.tunnels[id] : FlowPlan::Tunnel{};
  }
};

/// The files in which node 0 wants to see what all nodes did.
struct FilesAskedFor {
  bool trace = false;
  bool numbers = false;
  bool graph = false;
  [[nodiscard]] bool any() const { return trace || numbers || graph; }
};

/// Of a pipeline on several nodes: what leads to the others (node_ends.hpp).
struct OverNodes {
  int node = 0;   ///< this one
  int count = 1;  ///< 1: there are no others, and nothing below is used
  DeclaredOverNodes declared{};
  TunnelsOverNodes plan{};
  std::vector<detail::nodes::Departure> departures{};
  std::vector<detail::nodes::Arrival> arrivals{};
  std::vector<std::uint32_t> opened{};  ///< tunnels of the plan that have their ends
  /// Open ends at the CPU that were asked for alike, and the tunnel that they belong to (open_ends_over_nodes.hpp).
  struct OpenEnds {
    std::uint32_t tunnel;
    EndOf end;
    std::vector<int> nodes;
    std::uint32_t made;
  };
  std::vector<OpenEnds> open_ends{};
  FilesAskedFor asked{};
};

struct Layout {
  /// *Throws* NoDevice.
  Layout(PipelineConfig configured, RunInfo* run)
      : config(std::move(configured)), homes(config, run), placement(homes, graph) {
    if (config.cluster != nullptr) over_nodes = {.node = config.cluster->node(), .count = config.cluster->size()};
  }

  PipelineConfig config;
  Homes homes;
  Graph graph;
  Placement placement;
  OverNodes over_nodes;
  Prepared prepared;
  std::vector<std::unique_ptr<Scopes>> scopes;
  Bell monitors_bell;        ///< of the host's monitors that carry tunnels
  Bell line_bell;            ///< of the line to other nodes
  bool device_asks = false;  ///< the pipeline's own device asks for the end of the whole run

  /// By number; empty if there is none.
  [[nodiscard]] std::string stage_name(std::uint32_t id) const {
    return id < prepared.stages.size() ? prepared.stages[id].description.name : std::string();
  }
  [[nodiscard]] std::string tunnel_name(std::uint32_t id) const {
    return id < graph.tunnels().size() ? graph.tunnels()[id].base->name() : std::string();
  }
};

}  // namespace hiway
