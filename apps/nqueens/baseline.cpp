// Method baseline: one ordinary kernel, as one would write it without the library. A thread takes a board of the CPU's last
// row at a time, and keeps the rows above in a stack of its own.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <span>
#include <vector>

#include "nqueens/methods.hpp"

namespace nqueens {

struct SearchBelow {
  Place<> place;
  std::uint32_t row;  ///< of the boards: so many have queens
  Board const* boards;
  std::uint32_t count;
  hiway::Word<std::uint32_t>* taken;
  hiway::Word<std::uint64_t>* solutions;

  HIWAY_DEVICE void operator()() const {
    hiway::anywhere([&](auto m) {
      std::uint64_t found = 0;
      auto const next = [&] { return m.fetch_add(*taken, 1U, hiway::MemoryOrder::relaxed); };
      for (std::uint32_t i = next(); i < count; i = next()) found += solutions_below(m, boards[i]);
      if (found != 0) m.fetch_add(*solutions, found, hiway::MemoryOrder::relaxed);
    });
  }

 private:
  /// A board with free squares that are still to be tried.
  struct Waiting {
    Board board;
    std::uint32_t free;
    std::uint32_t row;
  };

  template <class Machine>
  HIWAY_DEVICE std::uint64_t solutions_below(Machine m, Board board) const {
    Waiting stack[most_queens];
    std::uint32_t depth = 0;
    std::uint32_t at = row;
    std::uint64_t found = 0;
    Place<>::Cursor cursor = place.start(board);
    while (true) {
      if (at + 1 == place.n) {  // each free square is a solution
        found += m.count(cursor.free);
        cursor.free = 0;
      }
      if (cursor.free == 0) {
        if (depth == 0) return found;
        --depth;
        board = stack[depth].board;
        cursor.free = stack[depth].free;
        at = stack[depth].row;
      }
      Board const longer = place.next(board, cursor);
      if (cursor.free != 0) stack[depth++] = {board, cursor.free, at};
      board = longer;
      ++at;
      cursor = place.start(board);
    }
  }
};

namespace {

class Searcher {
 public:
  Searcher(Problem const& problem, Job const& job)
      : problem_(problem),
        emulated_(job.device == "simt"),
        pipe_(job.pipeline()),
        boards_(pipe_.create_buffer<Board>(boards_of_row(problem.n, problem.cpu_rows).size())),
        taken_(pipe_.create_buffer<hiway::Word<std::uint32_t>>(1)),
        solutions_(pipe_.create_buffer<hiway::Word<std::uint64_t>>(1)) {
    search(0);  // loads the kernel
    pipe_.synchronize();
  }

  Measurement run() {
    Measurement run;
    auto const begin = std::chrono::steady_clock::now();
    std::vector<Board> const boards = boards_of_row(problem_.n, problem_.cpu_rows);
    boards_.copy_in(boards);
    taken_.copy_in(std::vector<hiway::Word<std::uint32_t>>(1));
    hiway::Word<std::uint64_t> solutions{};
    solutions_.copy_in(std::span(&solutions, 1));
    search(static_cast<std::uint32_t>(boards.size()));
    pipe_.synchronize();
    solutions_.copy_out(std::span(&solutions, 1));
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary.solutions = solutions.bits;
    run.items = boards.size();
    return run;
  }

 private:
  void search(std::uint32_t count) {
    constexpr std::uint32_t threads = 128;
    constexpr std::uint32_t most_blocks = 2048;
    hiway::GpuStageOptions const grid =
        emulated_ ? hiway::GpuStageOptions{.blocks = 1, .threads_per_block = 32}
                  : hiway::GpuStageOptions{.blocks = std::clamp((count + threads - 1) / threads, 1U, most_blocks),
                                           .threads_per_block = threads};
    pipe_.launch(
        "search",
        SearchBelow{
            {problem_.n}, problem_.cpu_rows, boards_.view().data, count, taken_.view().data, solutions_.view().data},
        grid);
  }

  Problem problem_;
  bool emulated_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Board>& boards_;
  hiway::Buffer<hiway::Word<std::uint32_t>>& taken_;
  hiway::Buffer<hiway::Word<std::uint64_t>>& solutions_;
};

}  // namespace

std::vector<Measurement> run_baseline(Problem const& problem, Job const& job) {
  Searcher searcher{problem, job};
  return cli::repeated(job, [&] { return searcher.run(); });
}

}  // namespace nqueens
