#include "cli/report_command.hpp"

#include "cli/bad_input.hpp"
#include "cli/bottleneck.hpp"
#include "cli/output.hpp"
#include "cli/report.hpp"
#include "cli/trace_file.hpp"

namespace cli {

void add_report_options(Options& command, ReportRequest& request) {
  command.add_option("file", request.file, "the trace of a run; - is stdin").type_name("TRACE");
  command.add_option("-o,--out", request.out, "the page; - is stdout").type_name("FILE").default_str(request.out);
  command.footer("Prints the sentences that the page begins with.");
}

int run_report(ReportRequest const& request) {
  if (request.file.empty()) throw BadInput{"report needs a trace file (hiway report --help)"};
  bool const to_stdout = request.out == "-";
  if (!to_stdout) require_writable("--out", request.out);
  TraceFile const trace = read_trace(request.file);
  std::string const page = to_html(trace, request.file == "-" ? "stdin" : request.file);
  if (to_stdout) {
    print(page);
    return 0;
  }
  bool const written = write_or_say({request.out, page});
  std::string text;
  for (Finding const& one : find_bottleneck(trace.stats)) text += one.text + "\n";
  print(text);
  return written ? 0 : 1;
}

}  // namespace cli
