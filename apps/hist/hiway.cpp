// Method hiway: feed (CPU threads) -> count (a batch stage: a kernel for the pixels that have come).
#include <algorithm>
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "arrays/piece.hpp"
#include "hist/methods.hpp"
#include "hist/stages.hpp"

namespace hist {
namespace {

class Counter {
 public:
  Counter(Image const& image, arrays::Carrying const& carrying, Job const& job)
      : image_(image),
        pipe_(job.pipeline()),
        counts_(pipe_.create_buffer<Count>(image.colours)),
        found_(image.colours) {
    arrays::Carriers const carriers = arrays::carriers_there(carrying, job.device);
    auto& pixels = pipe_.create_tunnel<Pixels>("pixels", hiway::Direction::cpu_to_gpu, carriers.room);
    pipe_.add_cpu_stage(
        "feed", [this](hiway::Inlet<Pixels> out) { feed(out); }, hiway::into(pixels), carriers.feeders);
    auto const count = [this, device = job.device](hiway::Batch<Pixels const> in, hiway::Stream stream) {
      std::uint64_t const all = in.size() * std::tuple_size_v<Pixels>;
      auto const [blocks, threads] = arrays::launch_for(all, device);
      stream.launch(CountColours{in.data()->data(), all, counts_.view().data, image_.colours}, blocks, threads,
                    counts_.size() * sizeof(Count));
    };
    pipe_.add_batch_stage("count", count, hiway::from(pixels), carriers.batches);
  }

  void prepare() {
    pipe_.prepare();
    (void)count_first(1);  // loads the kernel
  }

  Measurement run() {
    arrays::Clock const clock;
    Measurement run;
    cli::take_report(run, count_first(static_cast<std::uint32_t>(image_.pieces.size())));
    run.seconds = clock.seconds();
    run.items = image_.pixels;
    run.summary = summarize(found_);
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void feed(hiway::Inlet<Pixels> const& out) {
    while (true) {
      arrays::Stretch const next = turns_.front(arrays::at_once);
      if (next.count == 0) return;
      out.put_h(std::span(image_.pieces).subspan(next.first, next.count));
    }
  }
  /// Of so many pieces.
  hiway::RunReport count_first(std::uint32_t pieces) {
    std::ranges::fill(found_, Count{0});
    counts_.copy_in(found_);
    turns_.begin(pieces);
    hiway::RunReport report = pipe_.run();
    counts_.copy_out(found_);
    return report;
  }

  Image const& image_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Count>& counts_;
  std::vector<Count> found_;  ///< copied from there
  arrays::Turns turns_;
};

}  // namespace

std::vector<Measurement> run_hiway(Image const& image, arrays::Carrying const& carrying, Job const& job) {
  Counter counter{image, carrying, job};
  counter.prepare();
  return cli::repeated(job, [&] { return counter.run(); });
}

std::string hiway_graph(std::string const& device) {
  Image const smallest{.pieces = std::vector<Pixels>(1), .pixels = 1};
  return Counter{smallest, {}, {.device = device}}.graph();
}

}  // namespace hist
