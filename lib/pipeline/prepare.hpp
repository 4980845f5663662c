// prepare(): checks the whole pipeline, decides which puts wait and which spill, and places stages and monitors.
#pragma once
#include "layout.hpp"

namespace hiway {

/// Makes layout.prepared, and places what it needs. *Throws* ConfigError with all problems in one message, CudaError.
void prepare(Layout& layout);

}  // namespace hiway
