// The stage code of the histogram: a launch counts pixels.
#pragma once
#include <cstdint>
#include <hiway/pipeline.hpp>
#include <vector>

#include "hist/methods.hpp"

namespace hist {

using Count = hiway::Word<std::uint32_t>;

/// Adds the colours of `pixels` to `counts`. Each block counts for itself first, in its shared memory, which has room
/// for as many counts.
struct CountColours {
  std::uint32_t const* pixels;
  std::uint64_t count;
  Count* counts;
  std::uint32_t colours;

  HIWAY_DEVICE void operator()() const {
    hiway::on_this_device([&](auto m) {
      auto* const own = reinterpret_cast<Count*>(m.shared_memory());
      for (std::uint32_t c = m.thread_in_block(); c < colours; c += m.block_threads()) own[c].bits = 0;
      m.sync_block();
      for (std::uint64_t i = m.thread_index(); i < count; i += m.thread_count()) {
        std::uint32_t const colour = pixels[i];
        if (colour < colours) m.in_block().fetch_add(own[colour], 1U, hiway::MemoryOrder::relaxed);
      }
      m.sync_block();
      for (std::uint32_t c = m.thread_in_block(); c < colours; c += m.block_threads())
        if (own[c].bits != 0) m.fetch_add(counts[c], own[c].bits, hiway::MemoryOrder::relaxed);
    });
  }
};

/// What a launch has counted.
[[nodiscard]] inline Summary summarize(std::vector<Count> const& words) {
  std::vector<std::uint32_t> counts;
  for (Count const word : words) counts.push_back(word.bits);
  return summarize(counts);
}

}  // namespace hist
