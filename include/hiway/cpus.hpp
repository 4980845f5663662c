// How many CPUs there are for the threads of stages.
#pragma once

namespace hiway {

/// The number of CPUs that the calling thread may run on, and with it the threads that it starts; at least 1. A batch
/// system, a container or `taskset` may allow a process fewer than the machine has, and a thread for each of the
/// machine's, as std::thread::hardware_concurrency() counts them, would then wait for others of the same process.
/// A limit of CPU time (a container's quota) is not looked at.
[[nodiscard]] unsigned available_cpus() noexcept;

}  // namespace hiway
