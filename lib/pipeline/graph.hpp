// Graph: what the user declared: tunnels, stages, kernels, and which of them have open ends. It has neither memory nor
// a device; the homes of kernels are numbers.
//
// A tunnel is its index everywhere (TunnelBase::id). Stages get their numbers from number_stages(): CPU stages first,
// then those of each kernel.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "flow_plan.hpp"
#include "hiway/pipeline.hpp"
#include "lib/word_copies.hpp"
#include "tunnels_over_nodes.hpp"

namespace hiway {

[[nodiscard]] char const* direction_name(Direction direction);
/// The direction of a tunnel that is put like one of `whole`, and got at the CPU.
[[nodiscard]] Direction put_end_of(Direction whole);
[[nodiscard]] bool contains(std::vector<TunnelBase*> const& tunnels, TunnelBase const* tunnel);
[[nodiscard]] std::vector<std::uint32_t> ids_of(std::vector<TunnelBase*> const& tunnels);

/// How many priorities of the stage's tunnels are higher than that of its from[`from`].
[[nodiscard]] unsigned rank_of(StageDescription const& stage, std::size_t from);

/// Which ends of a tunnel are stages of this node. The line to other nodes (lib/nodes/node_line.hpp) reads a tunnel
/// that departs, and writes one that arrives.
enum class EndsHere : std::uint8_t { both, none, departs, arrives, departs_and_arrives };

struct DeclaredTunnel {
  std::unique_ptr<TunnelBase> base;
  StencilTunnelBase* stencil = nullptr;  ///< the same object, if it is a stencil tunnel
  Direction direction{};                 ///< as declared
  bool is_made = false;                  ///< by the library: a branch, or an `arrival`
  EndsHere ends = EndsHere::both;
  std::uint32_t arrival = no_id;     ///< of one that departs and arrives
  std::uint32_t carried_by = no_id;  ///< of a stencil tunnel that leads to another node: the tunnel of its regions
  std::uint32_t between = no_id;     ///< of one with branches that leads to other nodes: the tunnel that does so
  std::size_t carrier = 0;  ///< then, and of Readers::each: index into cpu() of the stage that carries its items
  std::uint32_t open_inlets = 0;
  std::uint32_t open_outlets = 0;
  /// If its stage runs on several devices: the tunnels of the further devices.
  std::vector<std::uint32_t> branches{};
  /// Those devices, the first one's included; empty for a tunnel that is a branch itself.
  std::vector<int> branch_devices{};

  [[nodiscard]] std::string title() const { return "tunnel '" + base->name() + "'"; }
  [[nodiscard]] bool departs() const { return ends == EndsHere::departs || ends == EndsHere::departs_and_arrives; }
};

struct DeclaredKernel {
  GpuKernelDescription description;
  Home home = own_device;

  [[nodiscard]] std::string title() const {
    return (description.stages.size() > 1 ? "group '" : "stage '") + description.name + "'";
  }
};

/// A stage, CPU or GPU, by its number.
struct Stage {
  StageDescription description;  ///< a CPU stage's has the ends of all branches
  bool gpu = false;
  Home home = at_host;
  std::size_t owner = 0;   ///< index into cpu() or kernels()
  unsigned executors = 0;  ///< threads or blocks; of a kernel, known once its grid is

  [[nodiscard]] std::string title() const { return "stage '" + description.name + "'"; }
};

/// A device on which a stage is to run.
struct BranchDevice {
  int number = 0;
  Home home = own_device;
  std::string name;
};

enum class EndOf : std::uint8_t { writers, readers };

/// What the nodes of a cluster must have declared alike.
struct DeclaredOverNodes {
  GraphOverNodes graph{};
  std::vector<std::uint32_t> ids{};  ///< of its tunnels
  std::string text{};                ///< a line each
};

class Graph {
 public:
  [[nodiscard]] std::vector<DeclaredTunnel> const& tunnels() const { return tunnels_; }
  [[nodiscard]] std::vector<CpuStageDescription> const& cpu() const { return cpu_; }
  [[nodiscard]] std::vector<DeclaredKernel> const& kernels() const { return kernels_; }
  [[nodiscard]] bool may_grow() const { return may_grow_; }

  /// *Throws* ConfigError if a tunnel like this cannot be added.
  void check_new(TunnelBase const& tunnel) const;
  void add_tunnel(std::unique_ptr<TunnelBase> tunnel, StencilTunnelBase* stencil = nullptr);
  void add_cpu(CpuStageDescription description) { cpu_.push_back(std::move(description)); }
  void add_gpu(GpuKernelDescription description, Home home) { kernels_.push_back({std::move(description), home}); }
  /// Threads or kernels of the user's own, which work at open ends: what they put belongs to what they got.
  void add_worker(StageDescription worker) { workers_.push_back(std::move(worker)); }
  [[nodiscard]] std::vector<StageDescription> const& workers() const { return workers_; }
  /// Adds the kernel for each device, with branches of its tunnels. *Throws* ConfigError.
  void add_on_each(GpuKernelDescription const& description, std::vector<BranchDevice> const& devices);
  /// A stage of any node, before it is added to those that run on it. Of pipelines over several nodes.
  void declare(StageDescription stage) { over_nodes_.push_back(std::move(stage)); }
  [[nodiscard]] DeclaredOverNodes over_nodes() const;
  [[nodiscard]] bool is_over_nodes() const { return !over_nodes_.empty(); }
  /// Leaves the tunnel, which leads to other nodes or is not used on this one, the ends that are here; its others are
  /// at the CPU, for the line. Where stages of this node both put into it and get from it, the latter get from a
  /// further tunnel, its `arrival`. May be called again, with the same ends. *Throws* ConfigError.
  void split(std::uint32_t tunnel, bool is_put_here, bool is_got_here);
  /// The stencil tunnel leads from one node to another: each of the two has one of its own, and the regions go by
  /// tunnel `between`.
  void carry(std::uint32_t stencil, std::uint32_t between) { tunnels_[stencil].carried_by = between; }
  /// A tunnel with branches leads to other nodes: from here on it is this node's own, and a further one, which is
  /// split, does so; a stage carries items from one to the other. The rest as split().
  void split_with_branches(std::uint32_t tunnel, bool is_put_here, bool is_got_here);
  /// Leaves a stencil tunnel that is carried the ends that are here; the others are at the CPU.
  void split_carried(std::uint32_t stencil, bool is_put_here, bool is_got_here);
  /// Counts the open end; returns how many of its kind the tunnel had before.
  std::uint32_t add_open_inlet(std::uint32_t tunnel) { return tunnels_[tunnel].open_inlets++; }
  std::uint32_t add_open_outlet(std::uint32_t tunnel) { return tunnels_[tunnel].open_outlets++; }

  /// Whether a stage or an open end puts into the tunnel, or gets from it.
  [[nodiscard]] bool has_writer(TunnelBase const& tunnel) const;
  [[nodiscard]] bool has_reader(TunnelBase const& tunnel) const;
  /// The home where the tunnel is put, or got: the host's if a CPU thread does it; else that of the first kernel that
  /// does, or the pipeline's own device.
  [[nodiscard]] Home home_of_end(TunnelBase const& tunnel, EndOf end) const;
  /// A CPU stage has the ends of all branches: its own tunnels first, then the further branches of each.
  [[nodiscard]] StageDescription with_branches(StageDescription stage) const;
  [[nodiscard]] std::vector<Stage> number_stages() const;
  /// For flow control: the stages, then the workers. A kernel's stages are one node.
  [[nodiscard]] FlowGraph flow_graph(std::vector<Stage> const& stages) const;

 private:
  friend class Copies;
  [[nodiscard]] TunnelBase& add_made(TunnelBase const& like, std::string name);
  void branch_out(TunnelBase const& tunnel, std::vector<BranchDevice> const& devices);
  void put_between(std::uint32_t tunnel, bool is_put_by_devices);
  [[nodiscard]] bool is_named(std::vector<TunnelBase*> StageDescription::*ends, TunnelBase const& tunnel) const;

  std::vector<DeclaredTunnel> tunnels_;
  std::unordered_set<std::string_view> tunnel_names_;
  std::vector<CpuStageDescription> cpu_;
  std::vector<DeclaredKernel> kernels_;
  std::vector<StageDescription> workers_;
  std::vector<StageDescription> over_nodes_;  ///< see declare()
  bool may_grow_ = false;
};

/// Whether workers put into the tunnel, or get from it.
[[nodiscard]] bool has_worker(Graph const& graph, TunnelBase const& tunnel, EndOf end);
/// How many of its open inlets the user closes: none if workers put there, of which each gets something.
[[nodiscard]] std::uint32_t inlets_to_close(Graph const& graph, std::uint32_t tunnel);
/// The numbers of the stages that put into the tunnel, or get from it.
[[nodiscard]] std::vector<std::size_t> stages_at(std::vector<Stage> const& stages, TunnelBase const& tunnel, EndOf end);
/// Whether a stage that gets from the tunnel takes from another one first.
[[nodiscard]] bool is_outranked(std::vector<Stage> const& stages, TunnelBase const& tunnel);
/// The numbers of the kernel's stages.
[[nodiscard]] std::vector<std::size_t> stages_of_kernel(std::vector<Stage> const& stages, std::size_t kernel);

}  // namespace hiway
