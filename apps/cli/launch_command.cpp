#include "cli/launch_command.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/bad_input.hpp"
#include "cli/processes.hpp"

namespace cli {
namespace {

constexpr std::int64_t most_nodes = 1024;

class LaunchCommand final : public Command {
 public:
  std::string name() const override { return "launch"; }
  std::string summary() const override { return "start a program several times on this machine, as nodes"; }
  void add_options(Options& command) override {
    command.add_option("-n,--nodes", nodes_, "how many").type_name("N");
    command.footer(
        "hiway launch -n N [--] PROGRAM ARGS...\n"
        "Ends with 0 if all have, else with the status of the first that has not; the others are ended then. 127: the "
        "program cannot be started.");
  }
  /// The first word that is neither an option nor an option's value is the program.
  std::size_t keep_others(std::span<std::string const> words) override {
    std::size_t own = 0;
    while (own < words.size() && words[own].starts_with("-") && words[own] != "--")
      own += words[own] == "-n" || words[own] == "--nodes" ? 2 : 1;
    own = std::min(own, words.size());
    bool const is_marked = own < words.size() && words[own] == "--";
    auto const others = words.subspan(own + (is_marked ? 1 : 0));
    program_.assign(others.begin(), others.end());
    return own;
  }
  int run(Options const& /*command*/, std::string const& /*line*/) override {
    if (!nodes_) throw BadInput{"launch needs -n N, how many nodes there are (hiway launch --help)"};
    if (*nodes_ < 1 || *nodes_ > most_nodes)
      throw BadInput{"-n must be 1 to " + std::to_string(most_nodes) + ": " + std::to_string(*nodes_)};
    if (program_.empty() || program_.front().empty()) throw BadInput{"launch needs a program (hiway launch --help)"};
    return run_nodes(static_cast<int>(*nodes_), program_);
  }

 private:
  std::optional<std::int64_t> nodes_;
  std::vector<std::string> program_;  // with its arguments
};

}  // namespace

std::unique_ptr<Command> make_launch_command() { return std::make_unique<LaunchCommand>(); }

}  // namespace cli
