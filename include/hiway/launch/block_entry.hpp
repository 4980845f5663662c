// Whether the calling block has begun as the library's kernels do, so that its warps may share claims.
#pragma once
#include "hiway/launch/stage_words.hpp"

namespace hiway {

/// True if the block's threads have called enter_block in this launch. Shared memory keeps what an earlier kernel left,
/// so that places which were not emptied would hold anything. An emulated block's places are empty when it starts.
HIWAY_NO_SPACE_CHECK [[nodiscard]] HIWAY_DEVICE inline bool has_entered_block() {
#if defined(__CUDA_ARCH__)
  return block_context().grid == CudaMachine{}.grid_id();
#else
  return true;
#endif
}

}  // namespace hiway
