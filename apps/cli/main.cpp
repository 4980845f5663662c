#include <hiway/cluster.hpp>  // registers hiway::nodes, if the program is linked with it

#include "bench/benches.hpp"
#include "bench/spinning.hpp"
#include "cli/all_apps.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"

int main(int argc, char** argv) {
  bench::spin_where_asked(argc, argv);
  cli::Apps const apps = cli::all_apps();
  bench::Benches const benches = bench::all_benches(cli::all_apps);
  return cli::run_program(argc, argv, cli::all_commands(apps, benches));
}
