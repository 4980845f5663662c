// The program of scripts/demo: hiway with gene alignment as its one application, which compiles in a minute.
#include <memory>
#include <vector>

#include "cli/program.hpp"
#include "gene_alignment/app.hpp"

int main(int argc, char** argv) {
  std::vector<std::unique_ptr<cli::App>> apps;
  apps.push_back(gene_alignment::make_app());
  return cli::run_program(argc, argv, apps, {});
}
