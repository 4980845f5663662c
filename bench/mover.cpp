#include "bench/mover.hpp"

#include "bench/raw_cuda.hpp"

namespace bench {
namespace {

RawCuda& known_raw() {
  static RawCuda raw;
  return raw;
}

}  // namespace

char const* name_of(Flow flow) {
  switch (flow) {
    case Flow::cpu_to_gpu: return "cpu_to_gpu";
    case Flow::gpu_to_cpu: return "gpu_to_cpu";
    case Flow::both: return "both";
    case Flow::gpu_to_gpu: return "gpu_to_gpu";
  }
  return "?";
}

char const* name_of(ByHand way) {
  switch (way) {
    case ByHand::large_copy: return "large copy";
    case ByHand::launch_per_batch: return "launch per batch";
    case ByHand::managed_ring: return "managed ring";
    case ByHand::stores_of_64_blocks: return "raw stores, 64 blocks";
    case ByHand::stores_of_a_full_grid: return "raw stores, full grid";
  }
  return "?";
}

bool register_raw_cuda(RawCuda raw) noexcept {
  known_raw() = raw;
  return true;
}

RawCuda const* raw_cuda(std::string const& device) {
  return device != "simt" && known_raw().make != nullptr ? &known_raw() : nullptr;
}

}  // namespace bench
