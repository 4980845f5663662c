// Method hiway: feed (CPU threads) -> filter (a batch stage: a kernel for the pieces that have come) -> take (CPU
// threads). A piece brings the samples before it, so that pieces may come in any order.
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <vector>

#include "arrays/piece.hpp"
#include "fir/methods.hpp"
#include "fir/stages.hpp"

namespace fir {
namespace {

using Samples = arrays::Piece<float, 4096, history>;
using Filtered = arrays::Piece<float, 4096>;

struct FilterPieces {
  Taps taps;
  Samples const* in;
  Filtered* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    arrays::for_each_value(
        in, out, count, [&](Samples const& samples, std::uint32_t i) { return filtered(taps, samples.values() + i); });
  }
};

class Filter {
 public:
  Filter(Signal const& signal, arrays::Carrying const& carrying, Job const& job, std::span<float> filtered)
      : signal_(signal), filtered_(filtered), pipe_(job.pipeline()) {
    arrays::Carriers const carriers = arrays::carriers_there_and_back(carrying, job.device);
    auto& samples = pipe_.create_tunnel<Samples>("samples", hiway::Direction::cpu_to_gpu, carriers.room);
    auto& results = pipe_.create_tunnel<Filtered>("filtered", hiway::Direction::gpu_to_cpu, carriers.room);
    auto const filter = [this, device = job.device](hiway::Batch<Samples const> in, hiway::Batch<Filtered> out,
                                                    hiway::Stream stream) {
      out.resize(in.size());
      auto const [blocks, threads] = arrays::launch_for(in.size() * Samples::room, device);
      stream.launch(FilterPieces{signal_.taps, in.data(), out.data(), in.size()}, blocks, threads);
    };
    pipe_.add_cpu_stage(
        "feed", [this](hiway::Inlet<Samples> out) { arrays::feed(out, turns_, std::span(signal_.samples)); },
        hiway::into(samples), carriers.feeders);
    pipe_.add_batch_stage("filter", filter, hiway::from(samples), hiway::into(results), carriers.batches);
    pipe_.add_cpu_stage(
        "take", [this](Filtered const& piece) { arrays::keep(piece, filtered_); }, hiway::from(results),
        carriers.takers);
  }

  void prepare() {
    pipe_.prepare();
    (void)filter_first(1);  // loads the kernel
  }
  Measurement run() {
    arrays::Clock const clock;
    Measurement run;
    cli::take_report(run, filter_first(arrays::pieces_of(filtered_.size(), Samples::room)));
    run.seconds = clock.seconds();
    run.summary = summarize(filtered_);
    run.items = filtered_.size();
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  hiway::RunReport filter_first(std::uint32_t pieces) {
    turns_.begin(pieces);
    return pipe_.run();
  }

  Signal const& signal_;
  std::span<float> filtered_;
  hiway::Pipeline pipe_;
  arrays::Turns turns_;
};

}  // namespace

std::vector<Measurement> run_hiway(Signal const& signal, arrays::Carrying const& carrying, Job const& job,
                                   std::vector<float>& filtered) {
  filtered.assign(signal.samples.size(), 0);
  Filter filter{signal, carrying, job, filtered};
  filter.prepare();
  return cli::repeated(job, [&] { return filter.run(); });
}

std::string hiway_graph(std::string const& device) {
  Signal const smallest{.samples = {0}, .taps = {}, .block_samples = 1};
  std::vector<float> filtered(1);
  return Filter{smallest, {}, {.device = device}, filtered}.graph();
}

}  // namespace fir
