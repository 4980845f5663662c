// bench end-detection: how long after its last task a run knows that it has ended, as RunReport::end_detection_us says:
// from the last task of the last CPU stage to the end of that stage's last thread. Value: p50 of a turn's runs; beside,
// an empty launch with its synchronization: what learning of an ordinary kernel's end costs.
#include <memory>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/ending.hpp"
#include "bench/raw_cuda.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

class EndDetectionBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "end-detection"; }
  [[nodiscard]] std::string summary() const override {
    return "from the last end_task to run() noticing, of a linear pipeline and of a cycle";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--runs", runs_, "of a turn; 0: 50").type_name("N");
    command.add_option("--items", items_, "of a run; 0: 1000").type_name("N");
    command.add_flag("--plant", plant_, "expects an item that is not there, which must be found");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (runs_ > 100'000) throw cli::BadInput{"--runs: at most 100000"};
    if (items_ > 100'000'000) throw cli::BadInput{"--items: at most 100000000"};
    return {row(false, request), row(true, request)};
  }

 private:
  [[nodiscard]] Row row(bool cycle, Request const& request) const {
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 3 : 50;
    unsigned const items = items_ != 0 ? items_ : request.small ? 100 : 1000;
    Json what = Json::object();
    what["pipeline"] = cycle ? "cpu -> (gpu -> cpu -> gpu ...) a cycle across the bus" : "cpu -> gpu -> cpu";
    what["items"] = items;
    what["runs"] = runs;
    std::shared_ptr<Ending> const ending = make_ending({request.device, cycle, items, plant_});
    auto turn = [ending, runs]() -> Turn {
      std::string wrong;
      double const us = ending->median_of(runs, wrong);
      return {us, wrong.empty(), wrong};
    };
    std::vector<Variant> variants{{"hiway", std::move(turn)}};
    std::string beside;
    if (RawCuda const* const raw = raw_cuda(request.device); raw != nullptr) {
      beside = "empty launch + sync";
      auto floor = [raw, device = request.device]() -> Turn {
        std::vector<double> const us = raw->launch_and_sync(device, 1000);
        return {cli::median(us), us.size() == 1000, "a launch is missing"};
      };
      variants.push_back({beside, std::move(floor)});
    } else {
      what["beside"] = "none: an empty launch needs a GPU";
    }
    return measure(std::move(what), "us", Better::less, beside, variants, request);
  }

  unsigned runs_ = 0;
  unsigned items_ = 0;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_end_detection() { return std::make_unique<EndDetectionBench>(); }

}  // namespace bench
