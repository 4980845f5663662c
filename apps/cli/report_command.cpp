#include "cli/report_command.hpp"

#include <string>

#include "cli/bad_input.hpp"
#include "cli/bottleneck.hpp"
#include "cli/joined_tunnels.hpp"
#include "cli/output.hpp"
#include "cli/report.hpp"
#include "cli/trace_file.hpp"

namespace cli {
namespace {

struct ReportRequest {
  std::string file;
  std::string out = "report.html";
};

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
  for (Finding const& one : find_bottleneck(joined_tunnels(trace.stats))) text += one.text + "\n";
  print(text);
  return written ? 0 : 1;
}

class ReportCommand final : public Command {
 public:
  std::string name() const override { return "report"; }
  std::string summary() const override { return "make a page of a run's trace: what held it up, and what it did when"; }
  void add_options(Options& command) override {
    command.add_option("file", request_.file, "the trace of a run; - is stdin").type_name("TRACE");
    command.add_option("-o,--out", request_.out, "the page; - is stdout").type_name("FILE").default_str(request_.out);
    command.footer("Prints the sentences that the page begins with.");
  }
  int run(Options const& /*command*/, std::string const& /*line*/) override { return run_report(request_); }

 private:
  ReportRequest request_;
};

}  // namespace

std::unique_ptr<Command> make_report_command() { return std::make_unique<ReportCommand>(); }

}  // namespace cli
