#include "blast/problem.hpp"

#include <span>
#include <vector>

namespace blast {

Search Problem::search() const {
  return {database.view(database.words().data()), query.view(query.words().data()), table.view(), stride};
}

Problem make_problem(Input const& input) {
  return {PackedSequence{input.database}, PackedSequence{input.query}, make_query_table(input.query), input.stride};
}

Search copy_to(hiway::Pipeline& pipe, Problem const& problem) {
  auto const copy = [&]<class T>(std::vector<T> const& values) -> T const* {
    return pipe.create_buffer(std::span<T const>{values}).view().data;
  };
  QueryTable const& table = problem.table;
  return {problem.database.view(copy(problem.database.words())),
          problem.query.view(copy(problem.query.words())),
          {copy(table.bitmap), copy(table.entries), copy(table.positions)},
          problem.stride};
}

}  // namespace blast
