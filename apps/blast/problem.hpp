// Problem: an input as the node functions read it.
#pragma once
#include <cstdint>
#include <hiway/pipeline.hpp>

#include "blast/input.hpp"
#include "blast/packed.hpp"
#include "blast/query_table.hpp"
#include "blast/stages.hpp"

namespace blast {

struct Problem {
  PackedSequence database;
  PackedSequence query;
  QueryTable table;
  std::int32_t stride = 4;

  /// In CPU memory. *Lifetime*: the problem's.
  [[nodiscard]] Search search() const;
};

/// *Throws* cli::BadInput when a word of the query occurs too often.
Problem make_problem(Input const& input);

/// In memory of the pipeline's device, copied there. *Lifetime*: the pipeline's.
Search copy_to(hiway::Pipeline& pipe, Problem const& problem);

}  // namespace blast
