// The stage of the library's that gives each reader of a tunnel every item (Readers::each; docs/adr/0063).
#pragma once
#include <string>

#include "hiway/pipeline.hpp"

namespace hiway {

/// A CPU stage of one thread, which puts each item that it gets from `from` into every tunnel that its description
/// names in `into`, in order. A task ends when its item is in all of them. Of a tunnel with scopes each copy has a part
/// of the scope's value.
[[nodiscard]] CpuStageDescription copying_stage(std::string name, TunnelBase& from);

}  // namespace hiway
