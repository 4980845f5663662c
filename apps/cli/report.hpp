// Report: a trace as one page of HTML that needs nothing else, no network and no other file. docs/report.md tells its
// parts.
//
// The page is well-formed XML, too, which the tests ask of it. Its sentences and tables need no script.
#pragma once
#include <string>

#include "cli/trace_file.hpp"

namespace cli {

extern char const* const report_css;
extern char const* const report_js;

/// `source`: the trace's file; the page's title and its foot name it.
[[nodiscard]] std::string to_html(TraceFile const& trace, std::string const& source);

}  // namespace cli
