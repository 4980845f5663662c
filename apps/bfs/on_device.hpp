// OnDevice: a graph and its levels in a pipeline's device memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "bfs/methods.hpp"
#include "bfs/stages.hpp"

namespace bfs {

/// *Lifetime*: the pipeline's.
class OnDevice {
 public:
  OnDevice(hiway::Pipeline& pipe, Graph const& graph)
      : pipe_(pipe),
        first_(pipe.create_buffer<std::uint32_t>(std::span(graph.first))),
        targets_(pipe.create_buffer<std::uint32_t>(std::max<std::size_t>(1, graph.targets.size()))),
        levels_(pipe.create_buffer<Level>(graph.vertices())) {
    targets_.copy_in(graph.targets);
  }

  [[nodiscard]] Edges edges() const { return {first_.view().data, targets_.view().data}; }
  [[nodiscard]] Level* levels() const { return levels_.view().data; }
  /// Launches Clear, and does not wait.
  void clear(std::uint32_t source) {
    bool const emulated = pipe_.device() == "simt";
    pipe_.launch("clear", Clear{levels_.view(), source},
                 {.blocks = emulated ? 1U : 1056U, .threads_per_block = emulated ? 32U : 256U});
  }
  [[nodiscard]] Summary summary(Graph const& graph) {
    std::vector<Level> words(levels_.size());
    levels_.copy_out(words);
    std::vector<std::uint32_t> levels;
    levels.reserve(words.size());
    for (Level const& word : words) levels.push_back(word.bits);
    return summarize(graph, levels);
  }

 private:
  hiway::Pipeline& pipe_;
  hiway::Buffer<std::uint32_t>& first_;
  hiway::Buffer<std::uint32_t>& targets_;
  hiway::Buffer<Level>& levels_;
};

}  // namespace bfs
