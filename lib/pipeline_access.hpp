// PipelineAccess: what the paper's service (paper.cpp) needs of a pipeline besides its public functions.
#pragma once
#include <string>
#include <vector>

#include "hiway/pipeline.hpp"

namespace hiway {

struct PipelineAccess {
  /// Whether a stage or an open end puts into the tunnel (has_writer), or gets from it (has_reader).
  [[nodiscard]] static bool has_writer(Pipeline const& pipe, TunnelBase const& tunnel);
  [[nodiscard]] static bool has_reader(Pipeline const& pipe, TunnelBase const& tunnel);
  /// Declares threads or kernels of the user's own that get from `from` and put into `into` by open ends: each put
  /// belongs to an item that was got and whose task has not ended. Without `from` they put from outside, and close
  /// their inlets. Before the ends are opened. *Throws* ConfigError.
  static void connect(Pipeline& pipe, std::string name, std::vector<TunnelBase*> from, std::vector<TunnelBase*> into);
  /// Like the tunnel's own, for a tunnel of any type. They share claims in a warp, whatever the tunnel's grouping is.
  static InletView open_inlet(Pipeline& pipe, TunnelBase& tunnel);
  static OutletView open_outlet(Pipeline& pipe, TunnelBase& tunnel);
  static void add_stencil(Pipeline& pipe, std::unique_ptr<StencilTunnelBase> tunnel);
  /// An outlet of no tunnel; its is_terminate says whether the whole run has ended. whole_run_h is for CPU threads,
  /// whole_run_d for stages and kernels on the pipeline's own device; that device then has a monitor even if nothing
  /// else of the pipeline is on it.
  [[nodiscard]] static OutletView whole_run_h(Pipeline const& pipe);
  [[nodiscard]] static OutletView whole_run_d(Pipeline& pipe);
  /// Sets the pointer that device_table() (launch/device_table.hpp) returns to stages of every pipeline on this
  /// pipeline's own device. Not while kernels run there. *Throws* CudaError.
  static void set_device_table(Pipeline& pipe, void const* table);
};

}  // namespace hiway
