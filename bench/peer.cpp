// bench peer: what goes from one device to another, beside the same by hand: small items and large ones one way, the
// round trip of one item, every item counted, and what each further device of a chain costs. Its last rows are the shares
// that were asked for, of the figures above them (docs/multi_gpu.md). On one GPU it says so before anything is measured.
#include <algorithm>
#include <hiway/backend.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/asked.hpp"
#include "bench/benches.hpp"
#include "bench/device_numbers.hpp"
#include "bench/echo.hpp"
#include "bench/ending.hpp"
#include "bench/quantiles.hpp"
#include "bench/raw_cuda.hpp"
#include "bench/timed_mover.hpp"
#include "cli/app.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using hiway::Movement;

constexpr std::size_t small_bytes = 12;
constexpr std::size_t slot_bytes = 16;

constexpr char const* parts[] = {"stream", "large", "round-trip", "once", "chain", "end"};

struct Way {
  char const* name;
  Movement movement;
  bool low_latency = false;
  bool block_spans = false;
};
constexpr Way low_latency{"direct, low latency", Movement::direct, true};
constexpr Way direct{"direct", Movement::direct};
constexpr Way dma{"dma", Movement::dma};
constexpr Way direct_spans{"direct, spans of a block", Movement::direct, false, true};
constexpr Way dma_spans{"dma, spans of a block", Movement::dma, false, true};

class PeerBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "peer"; }
  [[nodiscard]] std::string summary() const override {
    return "from one device to another: small and large items, one item there and back, chains over several devices";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--to", to_, "the number of the other device; 1").type_name("N");
    command.add_option("--only", only_, "only this: stream, large, round-trip, once, chain, end").type_name("PART");
    command.add_option("--items", items_, "that are counted to the last; 0: 100000000").type_name("N");
    command.add_option("--stream-items", stream_items_, "of a turn of the other streams; 0: as many as take 100 ms")
        .type_name("N");
    command.add_option("--trips", trips_, "of a turn; 0: 10000").type_name("N");
    command.add_option("--runs", runs_, "of a turn that looks for the end; 0: 50").type_name("N");
    command.add_option("--blocks", traffic_.blocks, "of each stage of a stream; 0: 128").type_name("N");
    command.add_option("--threads-per-block", traffic_.threads_per_block, "0: 256; whole warps").type_name("N");
    command
        .add_option("--capacity-items", traffic_.capacity_items, "of each tunnel of a stream; 0: 16 MiB, 2048 at least")
        .type_name("N");
    command.add_option("--batch-items", traffic_.batch_items, "dma: items that start a copy; 0: the library chooses")
        .type_name("N");
    command.add_flag("--plant", plant_, "an altered item, which must be found");
  }
  void check_options() const override {
    if (!only_.empty() && std::ranges::find(parts, only_) == std::end(parts))
      throw cli::BadInput{"--only: stream, large, round-trip, once, chain or end, not " + only_};
    if (to_ < 0) throw cli::BadInput{"--to: the number of a device, not " + std::to_string(to_)};
    if (std::max(items_, stream_items_) > most_items)
      throw cli::BadInput{"--items, --stream-items: at most " + std::to_string(most_items)};
    if (trips_ > 500'000) throw cli::BadInput{"--trips: at most 500000"};
    if (runs_ > 100'000) throw cli::BadInput{"--runs: at most 100000"};
    if (traffic_.threads_per_block % 32 != 0) throw cli::BadInput{"--threads-per-block: whole warps of 32"};
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    check_options();
    if (to_ == number_of(request.device)) throw cli::BadInput{"--to: another device than " + request.device};
    if (!request.small) (void)hiway::make_backend(name_of(request.device, to_));  // says that it is not there
    std::vector<Row> rows;
    for (auto const& [part, add] : {std::pair{"stream", &PeerBench::stream},
                                    {"large", &PeerBench::large},
                                    {"round-trip", &PeerBench::round_trip},
                                    {"once", &PeerBench::once},
                                    {"chain", &PeerBench::chain},
                                    {"end", &PeerBench::end}}) {
      if (only_.empty() || only_ == part) rows.push_back((this->*add)(request));
    }
    std::vector<Row> const shares = asked(rows);
    rows.insert(rows.end(), shares.begin(), shares.end());
    return rows;
  }

 private:
  [[nodiscard]] Json what(char const* of, Request const& request) const {
    Json what = Json::object();
    what["measures"] = of;
    what["from"] = name_of(request.device, number_of(request.device));
    what["to"] = name_of(request.device, to_);
    return what;
  }

  [[nodiscard]] Work work(std::size_t item_bytes, Request const& request) const {
    Work work{request.device, Flow::gpu_to_gpu, item_bytes, 1, plant_ ? Plant::alter : Plant::none};
    work.to_device = to_;
    return work;
  }

  [[nodiscard]] static Variant timed(std::string name, std::unique_ptr<Mover> mover, Work const& work,
                                     std::uint64_t items, Request const& request) {
    auto timed = std::make_shared<TimedMover>(std::move(mover), work, items, request.small);
    return {std::move(name), [timed] { return timed->turn(); }, [timed] { return timed->facts(); }};
  }
  [[nodiscard]] Variant hiway_by(Way const& way, Work const& work, std::uint64_t items, Request const& request) const {
    Traffic traffic = traffic_;
    traffic.movement = way.movement;
    traffic.low_latency = way.low_latency;
    traffic.block_spans = way.block_spans;
    return timed(way.name, make_traffic(work, traffic), work, items, request);
  }

  /// Adds what is written by hand; `beside` becomes its name. Where it cannot be, `what` says so.
  void add_by_hand(std::vector<ByHand> const& ways, Work const& work, Request const& request, Json& what,
                   std::string& beside, std::vector<Variant>& variants) const {
    RawCuda const* const raw = raw_cuda(request.device);
    for (ByHand const by_hand : ways) {
      auto mover = raw == nullptr ? nullptr : raw->make(by_hand, work, 0);
      if (mover == nullptr) continue;
      beside = bench::name_of(by_hand);
      variants.push_back(timed(beside, std::move(mover), work, stream_items_, request));
    }
    if (beside.empty()) what["beside"] = missing_floor(raw);
  }
  [[nodiscard]] static char const* missing_floor(RawCuda const* raw) {
    return raw == nullptr ? "none: what is written by hand needs a GPU"
                          : "none: the devices do not reach each other's memory";
  }

  [[nodiscard]] std::uint64_t stream_items(Request const& request, std::uint64_t small) const {
    return stream_items_ != 0 ? stream_items_ : request.small ? small : 0;
  }

  [[nodiscard]] Row stream(Request const& request) const {
    Json row = what(small_items, request);
    row["item_bytes"] = small_bytes;
    row["slot_bytes"] = slot_bytes;
    std::string beside;
    std::vector<Variant> variants;
    add_by_hand({ByHand::stores_of_64_blocks, ByHand::stores_of_a_full_grid}, work(slot_bytes, request), request, row,
                beside, variants);
    for (Way const& way : {low_latency, direct, dma, direct_spans, dma_spans})
      variants.push_back(hiway_by(way, work(small_bytes, request), stream_items(request, 1000), request));
    return measure(std::move(row), "items/s", Better::more, beside, variants, request);
  }

  [[nodiscard]] Row large(Request const& request) const {
    Json row = what(large_items, request);
    row["item_bytes"] = largest_item_bytes;
    std::string beside;
    std::vector<Variant> variants;
    Work const todo = work(largest_item_bytes, request);
    add_by_hand({ByHand::large_copy}, todo, request, row, beside, variants);
    for (Way const& way : {direct, dma}) variants.push_back(hiway_by(way, todo, stream_items(request, 20), request));
    return measure(std::move(row), "items/s", Better::more, beside, variants, request);
  }

  [[nodiscard]] Row round_trip(Request const& request) const {
    unsigned const trips = trips_ != 0 ? trips_ : request.small ? 20 : 10'000;
    Json row = what(there_and_back, request);
    row["item_bytes"] = small_bytes;
    row["trips"] = trips;
    std::string beside;
    std::vector<Variant> variants;
    auto const add = [&](std::string name, std::shared_ptr<Echo> echo) {
      variants.push_back(round_trips(std::move(name), std::move(echo), trips, plant_, request.small));
    };
    RawCuda const* const raw = raw_cuda(request.device);
    if (std::shared_ptr<Echo> echo = raw == nullptr ? nullptr : raw->make_ping_pong(request.device, to_)) {
      beside = "raw ping-pong";
      add(beside, std::move(echo));
    } else {
      row["beside"] = missing_floor(raw);
    }
    for (Way const& way : {low_latency, direct, dma}) {
      EchoSetup setup{request.device, small_bytes, 1, 32, way.movement, way.movement, way.low_latency};
      setup.to_device = to_;
      add(way.name, make_echo(setup));
    }
    return measure(std::move(row), "us", Better::less, beside, variants, request);
  }

  [[nodiscard]] Row once(Request const& request) const {
    std::uint64_t const items = items_ != 0 ? items_ : request.small ? 2000 : 100'000'000;
    Json row = what("every item once", request);
    row["item_bytes"] = small_bytes;
    row["items"] = items;
    std::vector<Variant> variants;
    for (Way const& way : {low_latency, direct, dma})
      variants.push_back(hiway_by(way, work(small_bytes, request), items, request));
    return measure(std::move(row), "items/s", Better::more, "direct", variants, request);
  }

  /// The devices of chains, this one first, then --to, then what else there is.
  [[nodiscard]] std::vector<int> devices(Request const& request) const {
    std::vector<int> all{number_of(request.device), to_};
    for (int const number : other_devices(request.device)) {
      if (number != to_) all.push_back(number);
    }
    return all;
  }

  /// A variant for each length of a chain, by as many of the devices.
  template <class Make>
  [[nodiscard]] std::vector<Variant> chains(Request const& request, Make&& make) const {
    std::vector<int> const all = devices(request);
    std::vector<Variant> variants;
    for (std::size_t const count : {1U, 2U, 4U}) {
      if (count > all.size()) break;
      std::string name = std::to_string(count).append(count == 1 ? " device" : " devices");
      variants.push_back(make(std::move(name), std::vector<int>(all.begin() + 1, all.begin() + std::ptrdiff_t(count))));
    }
    return variants;
  }

  [[nodiscard]] Row chain(Request const& request) const {
    Json row = what("a stage on each device, items of all", request);
    row["item_bytes"] = small_bytes;
    row["movement"] = "automatic";
    std::vector<Variant> const variants = chains(request, [&](std::string name, std::vector<int> further) {
      Work todo = work(small_bytes, request);
      todo.to_device = further.empty() ? -1 : further.back();
      if (!further.empty()) further.pop_back();
      todo.through = std::move(further);
      return timed(std::move(name), make_traffic(todo, traffic_), todo, stream_items(request, 500), request);
    });
    return measure(std::move(row), "items/s", Better::more, "1 device", variants, request);
  }

  [[nodiscard]] Row end(Request const& request) const {
    unsigned const runs = runs_ != 0 ? runs_ : request.small ? 2 : 50;
    unsigned const items = request.small ? 100 : 1000;
    Json row = what("until the end is found: cpu -> a stage on each device -> cpu", request);
    row["items"] = items;
    row["runs"] = runs;
    std::vector<Variant> const variants = chains(request, [&](std::string name, std::vector<int> further) {
      std::shared_ptr<Ending> const ending = make_ending({request.device, false, items, plant_, std::move(further)});
      auto turn = [ending, runs]() -> Turn {
        std::string wrong;
        double const us = ending->median_of(runs, wrong);
        return {us, wrong.empty(), wrong};
      };
      return Variant{std::move(name), std::move(turn)};
    });
    return measure(std::move(row), "us", Better::less, "1 device", variants, request);
  }

  int to_ = 1;
  std::string only_;
  std::uint64_t items_ = 0;
  std::uint64_t stream_items_ = 0;
  unsigned trips_ = 0;
  unsigned runs_ = 0;
  Traffic traffic_;
  bool plant_ = false;
};

}  // namespace

std::unique_ptr<Bench> make_peer() { return std::make_unique<PeerBench>(); }

}  // namespace bench
