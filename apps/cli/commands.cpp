#include "cli/commands.hpp"

#include "cli/bench_command.hpp"
#include "cli/graph_command.hpp"
#include "cli/launch_command.hpp"
#include "cli/list_commands.hpp"
#include "cli/plan.hpp"
#include "cli/report_command.hpp"
#include "cli/run_command.hpp"

namespace cli {

Commands all_commands(Apps const& apps, bench::Benches const& benches) {
  Commands commands;
  commands.push_back(make_devices_command());
  commands.push_back(make_list_command(apps, benches));
  commands.push_back(make_run_command(apps));
  commands.push_back(make_launch_command());
  commands.push_back(make_graph_command(apps));
  commands.push_back(make_plan_command());
  commands.push_back(make_report_command());
  commands.push_back(make_bench_command(benches));
  return commands;
}

}  // namespace cli
