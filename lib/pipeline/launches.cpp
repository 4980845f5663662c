#include "launches.hpp"

#include <string>
#include <utility>

namespace hiway {
namespace {

std::string title_of(std::string_view name) { return "launch '" + std::string(name) + "'"; }

}  // namespace

simt::Grid launch_grid(std::string_view name, GpuStageOptions const& options) {
  if (options.blocks == 0 || options.threads_per_block == 0)
    throw ConfigError(title_of(name) + ": blocks and threads_per_block must be at least 1");
  if (std::uint64_t{options.blocks} * options.threads_per_block > most_threads) {
    throw ConfigError(title_of(name) + ": " + std::to_string(options.blocks) + " x " +
                      std::to_string(options.threads_per_block) +
                      " threads are more than thread_count() can say, 2^32 - 1");
  }
  return {options.blocks, options.threads_per_block, options.shared_bytes};
}

void Launches::start(std::string_view name, DeviceKernel const& kernel, simt::Grid grid, Home home, bool running) {
  std::string const title = title_of(name);
  Backend& backend = homes_.backend(home);
  std::tuple const key(home, kernel.cuda.symbol, grid.threads_per_block, grid.shared_bytes);
  if (!prepared_.contains(key)) {
    if (running && !backend.loads_beside_kernels()) {
      throw ConfigError(title +
                        ": its kernel is loaded while the pipeline runs, and would wait for its end: set "
                        "CUDA_MODULE_LOADING=EAGER, or launch it once before the start");
    }
    synchronize();
    prepared_.insert(key);
    backend.prepare(title, kernel, grid, Neighbours::own);
  }
  if (last_ && last_on_ == home && last_->then(title, kernel, grid)) return;
  synchronize();
  last_ = backend.start(title, kernel, grid);
  last_on_ = home;
}

void Launches::synchronize() {
  auto const launched = std::move(last_);
  if (!launched) return;
  try {
    for (unsigned misses = 0; !launched->done(); ++misses) relax_thread(misses);
  } catch (Unwind const&) {  // the launch uses open ends of a run that aborts; that run reports why
  }
}

}  // namespace hiway
