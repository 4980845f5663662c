// Method hiway: feed (CPU threads) -> price (a batch stage: a kernel for the tiles that have come) -> take (CPU
// threads); and beside them CPU threads that price tiles from the other end.
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <vector>

#include "bs/methods.hpp"
#include "bs/stages.hpp"

namespace bs {
namespace {

using Tile = arrays::Piece<float, tile_options>;
using PricedTile = arrays::Piece<CallAndPut, tile_options>;

struct PriceTiles {
  Tile const* in;
  PricedTile* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    arrays::for_each_value(in, out, count,
                           [](Tile const& tile, std::uint32_t i) { return prices_by(tile.values()[i]); });
  }
};

class Pricer {
 public:
  Pricer(Numbers const& numbers, Sharing const& sharing, arrays::Carrying const& carrying, Job const& job,
         Prices& prices)
      : options_(numbers, prices.calls, prices.puts), pipe_(job.pipeline()) {
    arrays::Carriers const carriers = arrays::carriers_there_and_back(carrying, job.device, sharing.cpu_threads, 2);
    auto& tiles = pipe_.create_tunnel<Tile>("tiles", hiway::Direction::cpu_to_gpu, carriers.room);
    auto& priced = pipe_.create_tunnel<PricedTile>("priced", hiway::Direction::gpu_to_cpu, carriers.room);
    auto const price = [device = job.device](hiway::Batch<Tile const> in, hiway::Batch<PricedTile> out,
                                             hiway::Stream stream) {
      out.resize(in.size());
      auto const [blocks, threads] = arrays::launch_for(in.size() * Tile::room, device);
      stream.launch(PriceTiles{in.data(), out.data(), in.size()}, blocks, threads);
    };
    auto const take = [this](PricedTile const& tile) {
      for (std::uint32_t i = 0; i < tile.count; ++i) options_.keep(tile.first + i, tile.values()[i]);
    };
    pipe_.add_cpu_stage(
        "feed", [this](hiway::Inlet<Tile> out) { arrays::feed(out, options_.turns(), options_.numbers()); },
        hiway::into(tiles), carriers.feeders);
    pipe_.add_batch_stage("price", price, hiway::from(tiles), hiway::into(priced), carriers.batches);
    pipe_.add_cpu_stage("take", take, hiway::from(priced), carriers.takers);
    if (sharing.cpu_threads != 0) {
      pipe_.add_cpu_stage("price on the CPU",
                          [this] {
                            if (!is_loading_) options_.price_from_back();
                          },
                          hiway::From<>(hiway::NoTunnels{}), {.threads = sharing.cpu_threads});
    }
  }

  void prepare() {
    pipe_.prepare();
    is_loading_ = true;
    (void)price_first(1);  // on the GPU: loads the kernel
    is_loading_ = false;
  }
  Measurement run() {
    arrays::Clock const clock;
    Measurement run;
    cli::take_report(run, price_first(options_.tiles()));
    run.seconds = clock.seconds();
    run.items = options_.numbers().size();
    return run;
  }
  [[nodiscard]] std::uint32_t cpu_tiles() const { return options_.cpu_tiles(); }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  hiway::RunReport price_first(std::uint32_t tiles) {
    options_.begin(tiles);
    return pipe_.run();
  }

  Options options_;
  hiway::Pipeline pipe_;
  bool is_loading_ = false;
};

}  // namespace

std::vector<Measurement> run_hiway(Numbers const& numbers, Sharing const& sharing, arrays::Carrying const& carrying,
                                   Job const& job, Prices& prices) {
  prices.resize(numbers.size());
  Pricer pricer{numbers, sharing, carrying, job, prices};
  pricer.prepare();
  return cli::repeated(job, [&] {
    Measurement run = pricer.run();
    run.summary = summarize(prices, pricer.cpu_tiles());
    return run;
  });
}

std::string hiway_graph(Sharing const& sharing, std::string const& device) {
  Numbers const numbers(1);
  Prices prices;
  prices.resize(1);
  return Pricer{numbers, sharing, {}, {.device = device}, prices}.graph();
}

}  // namespace bs
