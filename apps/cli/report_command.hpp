// hiway report: a trace as a page that says what holds the run up. docs/report.md tells its parts.
//
//   0  the page is written
//   2  bad arguments, or no trace: one line with the place in the file
#pragma once
#include <string>

#include "cli/options.hpp"

namespace cli {

struct ReportRequest {
  std::string file;
  std::string out = "report.html";
};

/// *Lifetime*: `command` goes before `request` does.
void add_report_options(Options& command, ReportRequest& request);

/// Returns the exit code. *Throws* BadInput.
int run_report(ReportRequest const& request);

}  // namespace cli
