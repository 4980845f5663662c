// Stages of the library's that carry items from one tunnel into another, of pipelines on several nodes
// (docs/adr/0052).
#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "hiway/pipeline.hpp"

namespace hiway {

/// A CPU stage of one thread, which puts all that it gets from `from` into `into`, in order. A task ends when its item
/// is in `into`. Each of the two may have branches.
[[nodiscard]] CpuStageDescription forwarding_stage(std::string name, TunnelBase& from, TunnelBase& into);

/// Puts items that were got by `from`: the first byte of `n`, one after another, which it may change. *Waits* for room.
using PutCarried = std::function<void(StageThread, OutletView const& from, std::byte* items, std::size_t n)>;
/// The body of such a stage: gives `put` all that comes from its one outlet, until the tunnel has ended, and closes all
/// inlets.
void run_carrying(StageEnds const& ends, std::size_t item_bytes, PutCarried const& put);

}  // namespace hiway
