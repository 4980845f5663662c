// OpenInlets: a pipeline's open inlets of CPU threads, through which items come from outside (inlet/admission.hpp).
#pragma once
#include <vector>

#include "hiway/inlet/view.hpp"

namespace hiway {

class Graph;

/// *Threads*: one at a time, while a run is under way.
class OpenInlets {
 public:
  /// Before the run.
  void note(InletView const& inlet) { inlets_.push_back(inlet); }
  void drain(Graph const& graph) const;
  /// Calling either again does nothing.
  void pause(Graph const& graph) const;
  void resume(Graph const& graph) const;

 private:
  template <class F>
  void for_each(Graph const& graph, F&& f) const;

  std::vector<InletView> inlets_;
};

}  // namespace hiway
