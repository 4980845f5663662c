#include "cli/machine.hpp"

#include <sys/utsname.h>

#include <fstream>
#include <hiway/backend.hpp>
#include <hiway/cpus.hpp>
#include <hiway/version.hpp>
#include <string>
#include <thread>

namespace cli {
namespace {

std::string cpu_model() {
  std::ifstream info{"/proc/cpuinfo"};
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    std::size_t const value = line.find_first_not_of(" \t:", line.find(':'));
    if (value != std::string::npos) return line.substr(value);
  }
  return "unknown";
}

std::string system_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return std::string{names.sysname} + " " + names.release + " " + names.machine;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

std::string description_of(std::string const& device) {
  for (hiway::DeviceInfo const& known : hiway::devices()) {
    if (known.name == device) return known.description;
  }
  return "one CPU thread";
}

}  // namespace

std::string version() { return HIWAY_VERSION_STRING; }

Json machine_facts(std::string const& device) {
  return {{"cpu", cpu_model()},
          {"hardware_threads", std::thread::hardware_concurrency()},
          {"available_cpus", hiway::available_cpus()},
          {"system", system_name()},
          {"compiler", compiler()},
          {"hiway", version()},
          {"device", description_of(device)}};
}

}  // namespace cli
