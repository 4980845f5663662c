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

}  // namespace hiway
