#include "bench/echo.hpp"

#include <algorithm>
#include <chrono>
#include <hiway/pipeline.hpp>
#include <span>
#include <stdexcept>
#include <vector>

#include "bench/device_numbers.hpp"
#include "bench/numbered.hpp"

namespace bench {

/// Puts `item` one number higher, its last word `more` above that.
template <std::size_t Bytes>
HIWAY_DEVICE inline void answer(hiway::Inlet<Numbered<Bytes>> out, Numbered<Bytes> const& item, std::uint32_t more) {
  using Item = Numbered<Bytes>;
  if constexpr (hiway::stays_in_slot<Item>) {
    out.put_in_place_warp_d([&](Item& slot) {
      for (std::uint32_t i = hiway::thread_index() % 32; i < Item::count; i += 32)
        slot.words[i] = item.words[i] + (word_of(1, i, Item::count) - word_of(0, i, Item::count)) +
                        (i == Item::count - 1 ? more : 0);
    });
  } else {
    Item higher;
    for (std::uint32_t i = 0; i != Item::count; ++i) higher.words[i] = item.words[i] + 1;
    higher.words[Item::count - 1] += more;
    out.put_d(higher);
  }
}

/// Calls `body` for every item that comes: a lane for each, or a warp for a large one.
HIWAY_NO_SPACE_CHECK template <std::size_t Bytes, class Body>
HIWAY_DEVICE inline void for_every(hiway::Outlet<Numbered<Bytes>> in, Body&& body) {
  if constexpr (hiway::stays_in_slot<Numbered<Bytes>>) {
    in.for_each_warp_d(body);
  } else {
    in.for_each_d(body);
  }
}

/// Sends items back one number higher.
template <std::size_t Bytes>
struct EchoStage {
  using Item = Numbered<Bytes>;
  HIWAY_DEVICE void operator()(hiway::Outlet<Item> in, hiway::Inlet<Item> out) const {
    for_every<Bytes>(in, [&](Item const& item) { answer<Bytes>(out, item, 0); });
  }
};

/// Sends a batch back one number higher.
template <std::size_t Bytes>
struct EchoBatch {
  Numbered<Bytes> const* in;
  Numbered<Bytes>* out;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) {
      for (std::uint32_t w = 0; w != Numbered<Bytes>::count; ++w)
        out[i].words[w] =
            in[i].words[w] + (word_of(1, w, Numbered<Bytes>::count) - word_of(0, w, Numbered<Bytes>::count));
    }
  }
};

/// One item going to and fro between two stages, as the one that times it sees it.
struct Rally {
  std::uint32_t first = 0;   ///< the number that it is sent with; comes back one higher, and goes out again one higher
  std::uint32_t trips = 0;   ///< there and back
  std::uint32_t victim = 0;  ///< the trip that sends it altered; `trips`: none
  hiway::Word<std::uint32_t> seen{0};  ///< how often it came back
  hiway::Word<std::uint32_t> altered{0};
  std::uint64_t began_ns = 0;  ///< when it came back first, and last
  std::uint64_t ended_ns = 0;
};

/// Sends the item for the first time.
template <std::size_t Bytes>
struct ServeStage {
  using Item = Numbered<Bytes>;
  hiway::View<Rally> rally;
  HIWAY_DEVICE void operator()(hiway::Inlet<Item> out) const {
    std::uint32_t const number = rally[0].first;
    if constexpr (hiway::stays_in_slot<Item>) {
      out.put_in_place_warp_d([&](Item& slot) {
        for (std::uint32_t i = hiway::thread_index() % 32; i < Item::count; i += 32)
          slot.words[i] = word_of(number, i, Item::count);
      });
    } else if (hiway::thread_index() == 0) {
      Item item;
      item.write(number);
      out.put_d(item);
    }
  }
};

/// Sends it back at once, trip after trip, and then notes when it came.
template <std::size_t Bytes>
struct ReturnStage {
  using Item = Numbered<Bytes>;
  hiway::View<Rally> rally;
  hiway::View<std::uint32_t> came;  ///< each trip's end, in the device's cycles

  HIWAY_DEVICE void operator()(hiway::Outlet<Item> in, hiway::Inlet<Item> out) const {
    std::uint32_t const first = rally[0].first;
    std::uint32_t const trips = rally[0].trips;
    std::uint32_t const victim = rally[0].victim;
    for_every<Bytes>(in, [&](Item const& item) {
      // Altered numbers are higher ones, so that the last is reached, or passed.
      std::uint32_t const number = item.words[0];
      std::uint32_t const next = (number - first + 1) / 2;
      if (next < trips) answer<Bytes>(out, item, next == victim ? 0x100U : 0U);
      std::uint32_t const now = hiway::on_this_device([](auto m) { return m.cycles(); });
      note(item, number, next, now);
    });
  }

 private:
  HIWAY_DEVICE void note(Item const& item, std::uint32_t number, std::uint32_t next, std::uint32_t now) const {
    std::uint32_t const lane = hiway::thread_index() % 32;
    constexpr unsigned team = hiway::stays_in_slot<Item> ? 32 : 1;
    Rally& all = rally[0];
    std::uint32_t differ = 0;
    for (std::uint32_t i = team == 1 ? 1 : lane; i < Item::count; i += team)
      differ |= item.words[i] ^ word_of(number, i, Item::count);
    bool const comes_in_turn = (number - all.first) % 2 == 1 && next <= all.trips;
    // The next trip's lane may note meanwhile.
    hiway::on_this_device([&](auto m) {
      if (differ != 0 || !comes_in_turn) m.fetch_or(all.altered, 1U, hiway::MemoryOrder::relaxed);
      if (team == 32 && lane != 0) return;
      m.fetch_add(all.seen, 1U, hiway::MemoryOrder::relaxed);
      if (!comes_in_turn) return;
      if (next <= came.size) came[next - 1] = now;
      if (next == 1) all.began_ns = m.now_ns();
      if (next == all.trips) all.ended_ns = m.now_ns();
    });
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
    if (setup.by_batches) {
      auto const echo = [](hiway::Batch<Item const> in, hiway::Batch<Item> out, hiway::Stream stream) {
        out.resize(in.size());
        stream.launch(EchoBatch<Bytes>{in.data(), out.data(), in.size()}, 1, 32);
      };
      pipe_.add_batch_stage("echo", echo, hiway::from(there), hiway::into(back), {.device = number_of(setup.device)});
    } else {
      pipe_.add_gpu_stage("echo", EchoStage<Bytes>{}, hiway::from(there), hiway::into(back),
                          {.blocks = setup.blocks, .threads_per_block = setup.threads_per_block});
    }
    in_ = there.open_inlet();
    out_ = back.open_outlet();
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

/// serve -> there -> (echo -> back -> return -> there), a cycle with one item in it.
template <std::size_t Bytes>
class PeerEcho final : public Echo {
 public:
  using Item = Numbered<Bytes>;

  explicit PeerEcho(EchoSetup const& setup)
      : pipe_(hiway::PipelineConfig{.device = setup.device, .deadline = std::chrono::seconds(60)}),
        rally_(pipe_.create_buffer<Rally>(1)),
        came_(pipe_.create_buffer<std::uint32_t>(most_trips)) {
    using hiway::Direction;
    // With one item there is always room: no put spills.
    auto const config = [&](hiway::Movement movement) {
      return hiway::TunnelConfig{.movement = movement, .low_latency = setup.low_latency, .planned = true};
    };
    auto& there = pipe_.create_tunnel<Item>("there", Direction::gpu_to_gpu, config(setup.there));
    auto& back = pipe_.create_tunnel<Item>("back", Direction::gpu_to_gpu, config(setup.back));
    hiway::GpuStageOptions const here{.blocks = 1, .threads_per_block = 32};
    hiway::GpuStageOptions other = here;
    other.device = setup.to_device;
    pipe_.add_gpu_stage("serve", ServeStage<Bytes>{rally_.view()}, hiway::into(there), here);
    pipe_.add_gpu_stage("echo", EchoStage<Bytes>{}, hiway::from(there), hiway::into(back), other);
    pipe_.add_gpu_stage("return", ReturnStage<Bytes>{rally_.view(), came_.view()}, hiway::from(back),
                        hiway::into(there), here);
    pipe_.prepare();
  }

  RoundTrips run(unsigned trips, bool alter) override {
    unsigned const uncounted = trips / 10 + 1;
    unsigned const all = uncounted + trips;
    if (all > most_trips) throw std::invalid_argument("more round trips than a bench notes: " + std::to_string(trips));
    Rally rally{.first = ++runs_ * 0x0123'4567U, .trips = all, .victim = alter ? trips / 2 : all};
    rally_.copy_in(std::span<Rally const>(&rally, 1));
    (void)pipe_.run();
    rally_.copy_out(std::span<Rally>(&rally, 1));
    std::vector<std::uint32_t> came(most_trips);
    came_.copy_out(came);
    came.resize(all);
    RoundTrips made = rally_times(came, uncounted, static_cast<double>(rally.ended_ns - rally.began_ns) / 1000);
    if (rally.altered.bits != 0) made.wrong = "what came back is not what the item sent makes it";
    if (rally.seen.bits != all)
      made.wrong = "it came back " + std::to_string(rally.seen.bits) + " times of " + std::to_string(all);
    return made;
  }

 private:
  static constexpr unsigned most_trips = 1 << 20;

  hiway::Pipeline pipe_;
  hiway::Buffer<Rally>& rally_;
  hiway::Buffer<std::uint32_t>& came_;
  unsigned runs_ = 0;
};

template <std::size_t Bytes>
std::unique_ptr<Echo> echo_of(EchoSetup const& setup) {
  if (setup.to_device >= 0) return std::make_unique<PeerEcho<Bytes>>(setup);
  return std::make_unique<PipelineEcho<Bytes>>(setup);
}

}  // namespace

RoundTrips rally_times(std::span<std::uint32_t const> came, unsigned uncounted, double took_us) {
  RoundTrips made;
  double cycles = 0;
  for (std::size_t i = 1; i < came.size(); ++i) cycles += came[i] - came[i - 1];
  for (std::size_t i = std::max(1U, uncounted); i < came.size(); ++i)
    made.us.push_back(cycles > 0 ? static_cast<double>(came[i] - came[i - 1]) / cycles * took_us : 0);
  std::ranges::sort(made.us);
  return made;
}

double RoundTrips::at(double quantile) const {
  if (us.empty()) return 0;
  auto const last = static_cast<double>(us.size() - 1);
  return us[static_cast<std::size_t>(last * quantile + 0.5)];
}

std::unique_ptr<Echo> make_echo(EchoSetup const& setup) {
  switch (setup.item_bytes) {
    case 4: return echo_of<4>(setup);
    case 8: return echo_of<8>(setup);
    case 12: return echo_of<12>(setup);
    case 16: return echo_of<16>(setup);
    case 64: return echo_of<64>(setup);
    case 4096: return echo_of<4096>(setup);
    default: throw std::invalid_argument("no echo of " + std::to_string(setup.item_bytes) + " bytes");
  }
}

unsigned processors_of(std::string const& device) { return hiway::make_backend(device)->processors(); }

}  // namespace bench
