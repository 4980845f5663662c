#include "cli/graph_command.hpp"

#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/device.hpp"
#include "cli/names.hpp"
#include "cli/output.hpp"

namespace cli {
namespace {

class GraphCommand final : public Command {
 public:
  explicit GraphCommand(Apps const& apps) : apps_(apps) {}
  std::string name() const override { return "graph"; }
  std::string summary() const override { return "print an application's pipeline in Graphviz' dot language"; }

  void add_options(Options& command) override {
    for (auto const& app : apps_) {
      of_apps_.push_back(command.add_command(app->name(), app->summary()));
      add_device_option(of_apps_.back(), device_);
    }
  }
  void check(std::span<std::string const> words) const override { choice().check(words); }
  int run(Options const& /*command*/, std::string const& /*line*/) override {
    for (std::size_t i = 0; i < apps_.size(); ++i) {
      if (!of_apps_[i].given()) continue;
      print(apps_[i]->graph(chosen_device(device_)));
      return done;
    }
    throw BadInput{choice().needed()};
  }

 private:
  [[nodiscard]] Choice choice() const { return {"graph", "an application", "application", names_of(apps_)}; }

  Apps const& apps_;
  std::string device_ = "auto";
  std::vector<Options> of_apps_;
};

}  // namespace

std::unique_ptr<Command> make_graph_command(Apps const& apps) { return std::make_unique<GraphCommand>(apps); }

}  // namespace cli
