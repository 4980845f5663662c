// Method baseline: Hetero-Mark's collaborative scheme. For each chunk of the target: copy in, kernel, synchronize, copy
// out, then a CPU thread of its own does the chunk's fine matching while the next chunk is on its way; at the end all
// are joined.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <hiway/pipeline.hpp>
#include <span>
#include <utility>
#include <vector>

#include "cli/host_array.hpp"
#include "gene_alignment/methods.hpp"
#include "gene_alignment/stages.hpp"

namespace gene_alignment {

/// The kernel: one lane a position, flags[i] tells whether position first + i matches.
struct FlagChunk {
  CoarseProblem problem;
  std::uint8_t* flags;
  std::int32_t first;
  std::int32_t count;
  HIWAY_DEVICE void operator()() const {
    auto const lanes = static_cast<std::int32_t>(hiway::thread_count());
    for (auto i = static_cast<std::int32_t>(hiway::thread_index()); i < count; i += lanes) {
      flags[i] = coarse_match(problem, first + i) ? 1 : 0;
    }
  }
};

namespace {

constexpr std::int32_t chunk_positions = 1024;
constexpr unsigned threads_per_block = 64;  // the original's
constexpr hiway::GpuStageOptions grid{.blocks = chunk_positions / threads_per_block,
                                      .threads_per_block = threads_per_block};

std::vector<Alignment> fine_matches(Input const& input, std::int32_t first, std::vector<std::uint8_t> const& flags) {
  std::vector<Alignment> alignments;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0)
      alignments.push_back(fine_match(input.target, input.query, Match{first + static_cast<std::int32_t>(i)}));
  }
  return alignments;
}

/// The device's side, made once for all runs.
struct Device {
  hiway::Pipeline pipe;
  std::span<Base const> bases;  ///< the target's, where they are copied from
  hiway::Buffer<Base>& target;
  hiway::Buffer<Base>& query;
  hiway::Buffer<std::uint32_t>& seeds;
  hiway::Buffer<std::uint8_t>& flags;
  FlagChunk kernel;

  Device(Input const& input, Job const& job)
      : pipe(hiway::PipelineConfig{.device = job.device}),
        bases(cli::copied_from<Base>(pipe, input.target, job.pinned)),
        target(pipe.create_buffer<Base>(input.target.size())),
        query(pipe.create_buffer<Base>(input.query.size())),
        seeds(pipe.create_buffer<std::uint32_t>(
            static_cast<std::size_t>(seed_count(static_cast<std::int32_t>(input.query.size()))))),
        flags(pipe.create_buffer<std::uint8_t>(static_cast<std::size_t>(chunk_positions))),
        kernel{{target.view().data, query.view().data, seeds.view().data, static_cast<std::int32_t>(target.size()),
                static_cast<std::int32_t>(query.size()), static_cast<std::int32_t>(seeds.size())},
               flags.view().data,
               0,
               0} {
    launch(0, 0);  // loads the kernel
  }

  void launch(std::int32_t first, std::int32_t count) {
    FlagChunk chunk = kernel;
    chunk.first = first;
    chunk.count = count;
    pipe.launch("flag chunk", chunk, grid);
    pipe.synchronize();
  }
};

Measurement run_once(Input const& input, Device& device) {
  auto const begin = std::chrono::steady_clock::now();
  std::span<Base const> const target = device.bases;
  device.query.copy_in(input.query);
  device.seeds.copy_in(make_seeds(input.query));
  std::int32_t const positions =
      coarse_positions(static_cast<std::int32_t>(target.size()), static_cast<std::int32_t>(input.query.size()));
  std::vector<std::future<std::vector<Alignment>>> chunks;
  for (std::int32_t first = 0; first < positions; first += chunk_positions) {
    std::int32_t const count = std::min(chunk_positions, positions - first);
    auto const begin_base = static_cast<std::size_t>(first);
    // The last position's seed reaches into the next chunk.
    std::size_t const bases = std::min(static_cast<std::size_t>(count + seed_bases - 1), target.size() - begin_base);
    device.target.copy_in(target.subspan(begin_base, bases), begin_base);
    device.launch(first, count);
    std::vector<std::uint8_t> flags(static_cast<std::size_t>(count));
    device.flags.copy_out(flags);
    // std::async with this policy is a thread, and hands its exception to get().
    chunks.push_back(std::async(
        std::launch::async, [&input, first, flags = std::move(flags)] { return fine_matches(input, first, flags); }));
  }
  std::vector<Alignment> alignments;
  for (auto& chunk : chunks) {
    std::vector<Alignment> const found = chunk.get();
    alignments.insert(alignments.end(), found.begin(), found.end());
  }
  Measurement measured{.summary = summarize(std::move(alignments))};
  measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  measured.items = static_cast<std::uint64_t>(measured.summary.coarse_matches);
  return measured;
}

}  // namespace

std::vector<Measurement> run_baseline(Input const& input, Job const& job) {
  Device device{input, job};
  std::vector<Measurement> runs;
  for (unsigned i = 0; i < job.repeat; ++i) {
    runs.push_back(run_once(input, device));
    job.ran();
  }
  return runs;
}

}  // namespace gene_alignment
