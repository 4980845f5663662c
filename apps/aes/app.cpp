#include "aes/app.hpp"

#include <optional>
#include <string>
#include <vector>

#include "aes/methods.hpp"
#include "cli/bad_input.hpp"
#include "cli/output.hpp"

namespace aes {
namespace {

class Aes final : public cli::App {
 public:
  std::string name() const override { return "aes"; }
  std::string summary() const override {
    return "AES-256 (ECB) of a text (fed and taken by CPU threads, encrypted on the GPU)";
  }
  std::vector<std::string> methods() const override { return {"hiway", "baseline", "reference"}; }

  void add_options(cli::Options& command) override {
    command_ = command;
    command.add_option("--bytes", options_.bytes, "of a random text (64KiB)").type_name("SIZE");
    command.add_option("--input", options_.text_file, "reads the text: hexadecimal digits, two a byte")
        .type_name("FILE");
    command.add_option("--key", options_.key_file, "reads the key's 32 bytes, likewise (random)").type_name("FILE");
    command.add_option("--out", out_, "writes the ciphertext, likewise").type_name("FILE");
    carrying_.add_there_and_back(command);
  }

  std::vector<std::string> load(std::uint64_t seed) override {
    options_.seed = seed;
    carrying_.check();
    require_name("--input", options_.text_file);
    require_name("--key", options_.key_file);
    if (command_->given("--input") && command_->given("--bytes"))
      throw cli::BadInput{"--input and --bytes exclude each other"};
    if (!out_.empty()) cli::require_writable("--out", out_);
    problem_ = make_problem(options_);
    return {};
  }

  cli::MethodRun run(std::string const& method, cli::RunRequest const& request) override {
    Text ciphertext;
    std::vector<Measurement> const runs = method == "hiway" ? run_hiway(problem_, carrying_, request.job, ciphertext)
                                          : method == "baseline" ? run_baseline(problem_, request.job, ciphertext)
                                                                 : run_reference(problem_, request.job, ciphertext);
    cli::MethodRun out = cli::method_run(runs);
    if (!out_.empty()) out.files.push_back({out_, digits_of(ciphertext)});
    Summary shown = runs.back().summary;
    if (request.verify) {
      if (!oracle_) oracle_ = run_reference(problem_, {}, ciphertext).front().summary;
      shown = cli::verified(out, runs, [&](Summary const& summary) { return summary == *oracle_; });
    }
    out.device = method == "reference" ? "cpu" : request.job.device;
    out.result["bytes"] = problem_.text.size() * sizeof(Block);
    out.result["ciphertext_hash"] = cli::hex(shown.hash);
    return out;
  }

  std::string graph(std::string const& device) override { return hiway_graph(device); }

 private:
  void require_name(std::string const& option, std::string const& file) const {
    if (command_->given(option) && file.empty()) throw cli::BadInput{option + ": the file's name is empty"};
  }

  InputOptions options_;
  std::string out_;
  arrays::Carrying carrying_;
  std::optional<cli::Options> command_;
  Problem problem_;
  std::optional<Summary> oracle_;  // made once, for all methods
};

}  // namespace

std::unique_ptr<cli::App> make_app() { return std::make_unique<Aes>(); }

}  // namespace aes
