// Copies: of a tunnel of which each reader gets every item (Readers::each) each reader has a tunnel of its own, into
// which a stage of the library's copies (docs/adr/0063).
#pragma once
#include <string>

#include "graph.hpp"

namespace hiway {

class Copies {
 public:
  explicit Copies(Graph& graph) : graph_(graph) {}

  /// Gives the stage its own tunnel in place of each that has Readers::each. *Throws* ConfigError.
  void give(StageDescription& stage, bool on_gpu);
  /// The tunnel of a new open outlet: its own, or `tunnel` itself. *Throws* ConfigError.
  [[nodiscard]] TunnelBase& of_open_outlet(TunnelBase& tunnel);

 private:
  [[nodiscard]] TunnelBase& add(TunnelBase& tunnel, std::string const& reader, bool to_gpu);
  [[nodiscard]] CpuStageDescription& copying_stage_of(TunnelBase& tunnel);

  Graph& graph_;
};

}  // namespace hiway
