#include "cli/all_apps.hpp"

#include "aes/app.hpp"
#include "background_extraction/app.hpp"
#include "bfs/app.hpp"
#include "black_scholes/app.hpp"
#include "blast/app.hpp"
#include "bs/app.hpp"
#include "bst/app.hpp"
#include "evolutionary_program/app.hpp"
#include "face_detection/app.hpp"
#include "fir/app.hpp"
#include "gene_alignment/app.hpp"
#include "hist/app.hpp"
#include "kmeans/app.hpp"
#include "knn/app.hpp"
#include "nqueens/app.hpp"
#include "pagerank/app.hpp"
#include "rasterization/app.hpp"
#include "region_sum/app.hpp"
#include "reyes/app.hpp"
#include "spectrum/app.hpp"
#include "stencil/app.hpp"
#include "taxi/app.hpp"

namespace cli {

Apps all_apps() {
  Apps apps;
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
  apps.push_back(fir::make_app());
  apps.push_back(hist::make_app());
  apps.push_back(aes::make_app());
  apps.push_back(bs::make_app());
  apps.push_back(kmeans::make_app());
  apps.push_back(knn::make_app());
  apps.push_back(bfs::make_app());
  apps.push_back(pagerank::make_app());
  apps.push_back(bst::make_app());
  return apps;
}

}  // namespace cli
