// Which puts are staged (inlet/staging.hpp, inlet/stripe.hpp), and the memory for it.
#pragma once
#include "layout.hpp"

namespace hiway {

/// Makes layout.prepared.staged, after stages and tunnels were placed.
void place_stagings(Layout& layout);

}  // namespace hiway
