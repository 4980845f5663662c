#include "bench/echo.hpp"

#include <algorithm>
#include <chrono>
#include <hiway/hiway.hpp>
#include <stdexcept>

#include "bench/numbered.hpp"

namespace bench {

/// Sends items back one number higher.
template <std::size_t Bytes>
struct EchoStage {
  using Item = Numbered<Bytes>;
  HIWAY_DEVICE void operator()(hiway::Outlet<Item> in, hiway::Inlet<Item> out) const {
    if constexpr (hiway::stays_in_slot<Item>) {
      in.for_each_warp_d([&](Item const& item) {
        out.put_in_place_warp_d([&](Item& slot) {
          for (std::uint32_t i = hiway::thread_index() % 32; i < Item::count; i += 32)
            slot.words[i] = item.words[i] + (word_of(1, i, Item::count) - word_of(0, i, Item::count));
        });
      });
    } else {
      in.for_each_d([&](Item const& item) {
        Item answer;
        for (std::uint32_t i = 0; i != Item::count; ++i) answer.words[i] = item.words[i] + 1;
        out.put_d(answer);
      });
    }
  }
};

namespace {

using Clock = std::chrono::steady_clock;

template <std::size_t Bytes>
class PipelineEcho final : public Echo {
 public:
  using Item = Numbered<Bytes>;

  explicit PipelineEcho(EchoSetup const& setup)
      : pipe_(hiway::PipelineConfig{.device = setup.device, .deadline = std::chrono::seconds(60)}) {
    bool const by_one_warp = setup.blocks == 1 && setup.threads_per_block <= 32;
    auto& there = pipe_.create_tunnel<Item>("there", hiway::Direction::cpu_to_gpu,
                                            {.movement = setup.there, .low_latency = setup.low_latency && by_one_warp});
    auto& back = pipe_.create_tunnel<Item>("back", hiway::Direction::gpu_to_cpu,
                                           {.movement = setup.back, .low_latency = setup.low_latency});
    in_ = there.open_inlet();
    out_ = back.open_outlet();
    pipe_.add_gpu_stage("echo", EchoStage<Bytes>{}, hiway::from(there), hiway::into(back),
                        {.blocks = setup.blocks, .threads_per_block = setup.threads_per_block});
    pipe_.prepare();
  }

  RoundTrips run(unsigned trips, bool alter) override {
    RoundTrips made;
    made.us.reserve(trips);
    unsigned const uncounted = trips / 10 + 1;
    ++runs_;
    pipe_.start();
    try {
      Item item;
      Item answer{};
      for (unsigned i = 0; i != uncounted + trips; ++i) {
        std::uint32_t const number = runs_ * 0x0123'4567U + i;
        item.write(number);
        if (alter && i == trips / 2) item.words[Item::count - 1] ^= 0x100U;
        auto const begin = Clock::now();
        in_.put_h(item);
        bool const got = out_.next_h(answer);
        auto const end = Clock::now();
        if (!got) {
          made.wrong = "an item did not come back";
          break;
        }
        out_.end_task_h();
        if (i >= uncounted) made.us.push_back(std::chrono::duration<double, std::micro>(end - begin).count());
        if (answer.words[0] != number + 1 || answer.differences() != 0)
          made.wrong = "what came back is not what the item sent makes it";
      }
      in_.close_h();
      if (out_.next_h(answer)) made.wrong = "more items came back than were sent";
    } catch (hiway::Aborted const&) {  // wait() says why
    }
    (void)pipe_.wait();
    std::ranges::sort(made.us);
    return made;
  }

 private:
  hiway::Pipeline pipe_;
  hiway::Inlet<Item> in_;
  hiway::Outlet<Item> out_;
  unsigned runs_ = 0;
};

}  // namespace

double RoundTrips::at(double quantile) const {
  if (us.empty()) return 0;
  auto const last = static_cast<double>(us.size() - 1);
  return us[static_cast<std::size_t>(last * quantile + 0.5)];
}

std::unique_ptr<Echo> make_echo(EchoSetup const& setup) {
  switch (setup.item_bytes) {
    case 4: return std::make_unique<PipelineEcho<4>>(setup);
    case 8: return std::make_unique<PipelineEcho<8>>(setup);
    case 12: return std::make_unique<PipelineEcho<12>>(setup);
    case 16: return std::make_unique<PipelineEcho<16>>(setup);
    case 64: return std::make_unique<PipelineEcho<64>>(setup);
    case 4096: return std::make_unique<PipelineEcho<4096>>(setup);
    default: throw std::invalid_argument("no echo of " + std::to_string(setup.item_bytes) + " bytes");
  }
}

unsigned processors_of(std::string const& device) { return hiway::make_backend(device)->processors(); }

}  // namespace bench
