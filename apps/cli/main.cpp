#include <hiway/cluster.hpp>  // registers hiway::nodes, if the program is linked with it

#include "bench/benches.hpp"
#include "bench/spinning.hpp"
#include "cli/all_apps.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "bfs/app.hpp"
#include "black_scholes/app.hpp"
#include "blast/app.hpp"
#include "bst/app.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "evolutionary_program/app.hpp"
#include "face_detection/app.hpp"
#include "gene_alignment/app.hpp"
#include "nqueens/app.hpp"
#include "pagerank/app.hpp"
#include "rasterization/app.hpp"
#include "region_sum/app.hpp"
#include "reyes/app.hpp"
#include "spectrum/app.hpp"
#include "stencil/app.hpp"
#include "taxi/app.hpp"

namespace {

cli::Apps all_apps() {
  cli::Apps apps;
  apps.push_back(gene_alignment::make_app());
  apps.push_back(stencil::make_app());
  apps.push_back(face_detection::make_app());
  apps.push_back(evolutionary_program::make_app());
  apps.push_back(reyes::make_app());
  apps.push_back(rasterization::make_app());
  apps.push_back(background_extraction::make_app());
  apps.push_back(nqueens::make_app());
  apps.push_back(black_scholes::make_app());
  apps.push_back(blast::make_app());
  apps.push_back(region_sum::make_app());
  apps.push_back(taxi::make_app());
  apps.push_back(spectrum::make_app());
  apps.push_back(bfs::make_app());
  apps.push_back(pagerank::make_app());
  apps.push_back(bst::make_app());
  return apps;
}

}  // namespace

int main(int argc, char** argv) {
  bench::spin_where_asked(argc, argv);
  cli::Apps const apps = cli::all_apps();
  bench::Benches const benches = bench::all_benches(cli::all_apps);
  return cli::run_program(argc, argv, cli::all_commands(apps, benches));
}
