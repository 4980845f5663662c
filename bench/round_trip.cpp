// bench round-trip: one small item from a CPU thread to a running stage and back, beside an empty launch with its
// synchronization. Value: p50 of a turn's round trips; facts: p99 and the longest, of all counted turns.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/echo.hpp"
#include "bench/quantiles.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

class RoundTripBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "round-trip"; }
  [[nodiscard]] std::string summary() const override {
    return "one item of 8 bytes to a running stage and back: one polling warp, and a block on every SM";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--trips", trips_, "of a turn; 0: 10000").type_name("N");
    command.add_option("--threads-per-block", threads_, "of the blocks on every SM; 0: 128").type_name("N");
    command.add_flag("--plant", plant_, "an altered item, which must be found");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    if (trips_ > 10'000'000) throw cli::BadInput{"--trips: at most 10000000"};
    if (threads_ % 32 != 0) throw cli::BadInput{"--threads-per-block: whole warps of 32"};
    unsigned const trips = trips_ != 0 ? trips_ : request.small ? 20 : 10'000;
    unsigned const everywhere = processors_of(request.device);
    unsigned const threads = threads_ != 0 ? threads_ : request.small ? 32 : 128;
    return {row("one polling warp", 1, 32, trips, request),
            row("a block on every SM", everywhere, threads, trips, request)};
  }

 private:
  [[nodiscard]] Row row(std::string const& stage, unsigned blocks, unsigned threads, unsigned trips,
                        Request const& request) const {
    Json what = Json::object();
    what["stage"] = stage;
    what["blocks"] = blocks;
    what["threads_per_block"] = threads;
    what["item_bytes"] = 8;
    std::vector<Variant> variants;
    using hiway::Movement;
    struct Way {
      char const* name;
      Movement movement;
      bool low_latency;
    };
    for (auto const& [name, movement, low_latency] :
         {Way{"low latency", Movement::direct, true}, Way{"direct", Movement::direct, false},
          Way{"dma", Movement::dma, false}}) {
      EchoSetup const setup{request.device, 8, blocks, threads, movement, movement, low_latency};
      variants.push_back(round_trips(name, make_echo(setup), trips, plant_, request.small));
    }
    std::string beside;
    if (std::optional<Variant> launches = empty_launches(request.device, trips)) {
      beside = launches->name;
      variants.push_back(std::move(*launches));
    } else {
      what["beside"] = "none: an empty launch needs a GPU";
    }
    return measure(std::move(what), "us", Better::less, beside, variants, request);
  }

  unsigned trips_ = 0;
  unsigned threads_ = 0;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_round_trip() { return std::make_unique<RoundTripBench>(); }

}  // namespace bench
