// The numbers of one run, or of a run's nodes, in Prometheus' text format.
#pragma once
#include <string>
#include <vector>

#include "hiway/report.hpp"

namespace hiway {

struct LabelledReport {
  std::string label;  ///< stands before its others, with a comma behind it; may be empty
  RunReport const* report = nullptr;
};

[[nodiscard]] std::string prometheus_text(std::vector<LabelledReport> const& reports);

}  // namespace hiway
