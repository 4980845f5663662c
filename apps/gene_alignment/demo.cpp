// The program of scripts/demo: hiway with gene alignment as its one application, and no more commands than that needs.
#include "cli/graph_command.hpp"
#include "cli/list_commands.hpp"
#include "cli/program.hpp"
#include "cli/run_command.hpp"
#include "gene_alignment/app.hpp"

int main(int argc, char** argv) {
  cli::Apps apps;
  apps.push_back(gene_alignment::make_app());
  bench::Benches const none;
  cli::Commands commands;
  commands.push_back(cli::make_devices_command());
  commands.push_back(cli::make_list_command(apps, none));
  commands.push_back(cli::make_run_command(apps));
  commands.push_back(cli::make_graph_command(apps));
  return cli::run_program(argc, argv, commands);
}
