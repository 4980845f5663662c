// OnDevice: the matrix, and two vectors of ranks, in a pipeline's device memory.
#pragma once
#include <algorithm>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>

#include "cli/host_array.hpp"
#include "pagerank/methods.hpp"
#include "pagerank/stages.hpp"

namespace pagerank {

/// *Lifetime*: the pipeline's and the problem's.
class OnDevice {
 public:
  OnDevice(hiway::Pipeline& pipe, Problem const& problem, bool pinned)
      : nodes_(problem.nodes()),
        from_rows_(cli::copied_from<std::uint32_t>(pipe, problem.rows, pinned)),
        from_entries_(cli::copied_from<Entry>(pipe, problem.entries, pinned)),
        rows_(pipe.create_buffer<std::uint32_t>(problem.rows.size())),
        entries_(pipe.create_buffer<Entry>(std::max<std::size_t>(1, problem.entries.size()))),
        even_(pipe.create_buffer<float>(nodes_)),
        odd_(pipe.create_buffer<float>(nodes_)) {}

  void copy_in() {
    rows_.copy_in(from_rows_);
    entries_.copy_in(from_entries_);
  }
  [[nodiscard]] Matrix matrix() const { return {rows_.view().data, entries_.view().data, nodes_}; }
  /// The ranks before round `round`.
  [[nodiscard]] hiway::Buffer<float>& ranks(std::uint32_t round) const { return round % 2 == 0 ? even_ : odd_; }

 private:
  std::uint32_t nodes_;
  std::span<std::uint32_t const> from_rows_;
  std::span<Entry const> from_entries_;
  hiway::Buffer<std::uint32_t>& rows_;
  hiway::Buffer<Entry>& entries_;
  hiway::Buffer<float>& even_;
  hiway::Buffer<float>& odd_;
};

}  // namespace pagerank
