#include "cli/list_commands.hpp"

#include <hiway/backend.hpp>
#include <iomanip>
#include <sstream>
#include <string>

#include "cli/names.hpp"
#include "cli/output.hpp"

namespace cli {
namespace {

std::string device_table() {
  std::ostringstream text;
  for (hiway::DeviceInfo const& device : hiway::devices()) {
    text << std::left << std::setw(8) << device.name << "  " << device.description
         << (device.usable ? "" : "  (not usable)") << "\n";
  }
  return text.str();
}

std::string app_table(Apps const& apps, bench::Benches const& benches) {
  std::ostringstream text;
  for (auto const& app : apps) {
    text << std::left << std::setw(22) << app->name() << app->summary() << "\n"
         << std::setw(22) << ""
         << "methods: " << joined(app->methods()) << "\n";
  }
  for (auto const& bench : benches)
    text << std::left << std::setw(22) << "bench " + bench->name() << bench->summary() << "\n";
  return text.str();
}

class DevicesCommand final : public Command {
 public:
  std::string name() const override { return "devices"; }
  std::string summary() const override { return "the devices of this machine that a pipeline can run on"; }
  int run(Options const& /*command*/, std::string const& /*line*/) override {
    print(device_table());
    return done;
  }
};

class ListCommand final : public Command {
 public:
  ListCommand(Apps const& apps, bench::Benches const& benches) : apps_(apps), benches_(benches) {}
  std::string name() const override { return "list"; }
  std::string summary() const override { return "the applications and their methods, and the benches"; }
  int run(Options const& /*command*/, std::string const& /*line*/) override {
    print(app_table(apps_, benches_));
    return done;
  }

 private:
  Apps const& apps_;
  bench::Benches const& benches_;
};

}  // namespace

std::unique_ptr<Command> make_devices_command() { return std::make_unique<DevicesCommand>(); }
std::unique_ptr<Command> make_list_command(Apps const& apps, bench::Benches const& benches) {
  return std::make_unique<ListCommand>(apps, benches);
}

}  // namespace cli
