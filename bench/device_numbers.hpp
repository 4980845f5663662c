// Devices by their numbers, of one kind: GPUs, or emulated ones.
#pragma once
#include <string>
#include <vector>

#include "cli/device.hpp"

namespace bench {

using cli::number_of;
/// The `number`-th device of the kind of `device`: "cuda:2", "simt:2".
[[nodiscard]] std::string name_of(std::string const& device, int number);
/// The numbers of the usable ones of its kind but itself, ascending. Of emulated ones there are as many as one likes:
/// three.
[[nodiscard]] std::vector<int> other_devices(std::string const& device);
/// As how many devices each GPU counts (HIWAY_GPU_PARTS), with a value that the library takes.
[[nodiscard]] int parts_of_gpu();

}  // namespace bench
