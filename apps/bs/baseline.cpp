// Method baseline: Hetero-Mark's. All numbers are copied in; a thread lets the GPU price one chunk of tiles after
// another from the front, and others price tiles from the back, until they meet; the GPU's prices are copied out.
#include <algorithm>
#include <hiway/pipeline.hpp>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "bs/methods.hpp"
#include "bs/stages.hpp"
#include "cli/host_array.hpp"

namespace bs {
namespace {

struct PriceChunk {
  float const* numbers;
  float* calls;
  float* puts;
  std::uint64_t first;
  std::uint64_t end;
  HIWAY_DEVICE void operator()() const {
    for (std::uint64_t i = first + hiway::thread_index(); i < end; i += hiway::thread_count()) {
      CallAndPut const prices = prices_by(numbers[i]);
      calls[i] = prices.call;
      puts[i] = prices.put;
    }
  }
};

/// The device's side, made once for all runs.
class Device {
 public:
  Device(Numbers const& numbers, Sharing const& sharing, Job const& job)
      : sharing_(sharing),
        pipe_(job.pipeline()),
        to_calls_(pipe_, numbers.size(), job.pinned),
        to_puts_(pipe_, numbers.size(), job.pinned),
        options_(cli::copied_from<float>(pipe_, numbers, job.pinned), to_calls_.all(), to_puts_.all()),
        numbers_(pipe_.create_buffer<float>(numbers.size())),
        calls_(pipe_.create_buffer<float>(numbers.size())),
        puts_(pipe_.create_buffer<float>(numbers.size())) {
    auto const [blocks, threads] = arrays::launch_for(std::uint64_t{sharing.chunk} * tile_options, job.device);
    grid_ = {.blocks = blocks, .threads_per_block = threads};
    price(0, 1);  // loads the kernel
  }

  double run() {
    arrays::Clock const clock;
    options_.begin(options_.tiles());
    numbers_.copy_in(options_.numbers());
    std::size_t end = 0;
    {
      std::vector<std::jthread> others;
      for (std::uint32_t t = 0; t < sharing_.cpu_threads; ++t) others.emplace_back([&] { options_.price_from_back(); });
      while (true) {
        arrays::Stretch const tiles = options_.turns().front(sharing_.chunk);
        if (tiles.count == 0) break;
        std::size_t const first = std::exchange(end, std::size_t{tiles.first + tiles.count} * tile_options);
        end = std::min(end, options_.numbers().size());
        price(first, end);
      }
    }
    calls_.copy_out(to_calls_.all().first(end));
    puts_.copy_out(to_puts_.all().first(end));
    return clock.seconds();
  }
  void copy_to(Prices& prices) const {
    prices.calls.assign(to_calls_.all().begin(), to_calls_.all().end());
    prices.puts.assign(to_puts_.all().begin(), to_puts_.all().end());
  }
  [[nodiscard]] std::uint32_t cpu_tiles() const { return options_.cpu_tiles(); }

 private:
  void price(std::size_t first, std::size_t end) {
    pipe_.launch("price", PriceChunk{numbers_.view().data, calls_.view().data, puts_.view().data, first, end}, grid_);
    pipe_.synchronize();
  }

  Sharing sharing_;
  hiway::Pipeline pipe_;
  cli::HostArray<float> to_calls_;
  cli::HostArray<float> to_puts_;
  Options options_;
  hiway::Buffer<float>& numbers_;
  hiway::Buffer<float>& calls_;
  hiway::Buffer<float>& puts_;
  hiway::GpuStageOptions grid_{};
};

}  // namespace

std::vector<Measurement> run_baseline(Numbers const& numbers, Sharing const& sharing, Job const& job, Prices& prices) {
  Device device{numbers, sharing, job};
  return cli::repeated(job, [&] {
    double const seconds = device.run();
    device.copy_to(prices);
    return Measurement{
        .summary = summarize(prices, device.cpu_tiles()), .seconds = seconds, .items = prices.calls.size()};
  });
}

}  // namespace bs
