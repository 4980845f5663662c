// Which CPUs a thread may run on.
#pragma once
#include <string>

namespace hiway {

/// Why the calling thread, and the threads it starts, may not run on this CPU; empty if they may.
[[nodiscard]] std::string cpu_problem(int cpu);

/// From here on the calling thread runs on this CPU alone. *Throws* Error.
void pin_this_thread(int cpu);

}  // namespace hiway
