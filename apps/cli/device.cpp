#include "cli/device.hpp"

#include <hiway/pipeline.hpp>

namespace cli {

void add_device_option(Options& command, std::string& device) {
  command
      .add_option("--device", device,
                  "simt, cuda:N, or auto: HIWAY_RUN_ON if set, else the first usable GPU, else simt")
      .type_name("DEVICE")
      .default_str("auto");
}

std::string chosen_device(std::string const& wanted) {
  return hiway::Pipeline{hiway::PipelineConfig{.device = wanted}}.device();
}

int number_of(std::string const& device) { return device == "simt" ? 0 : std::stoi(device.substr(5)); }

}  // namespace cli
