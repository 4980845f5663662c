// bench guest: what a pipeline whose kernels yield costs and lets others do. CUDA calls of a CPU stage, and of a thread
// that belongs to no stage while items pass; a stream of items, yielding beside resident; many stages beside their work
// in one; a request after a rest, and at once; a kernel that fills the device, beside an idle pipeline and a busy one.
#include <hiway/pipeline.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/guest_calls.hpp"
#include "cli/bad_input.hpp"

namespace bench {

/// Adds `steps` to the item, after as many steps of which each waits for the one before it.
struct Steps {
  std::uint32_t steps;
  HIWAY_DEVICE std::uint64_t operator()(std::uint64_t const& item) const {
    float x = static_cast<float>(item & 0xffU) / 256;
    for (std::uint32_t i = 0; i != steps; ++i) x = x * 0.999F + 0.001F;
    return item + steps + (x > 2 ? 1 : 0);  // it never is, which no compiler knows
  }
};

namespace {

using Clock = std::chrono::steady_clock;
using hiway::Direction;
using hiway::Residency;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// cpu -> stages -> cpu: numbers go in, and their sum and count come out.
class Chain {
 public:
  struct Setup {
    std::string device;
    unsigned stages = 1;
    std::uint32_t steps = 1;  ///< of a stage
    hiway::GpuStageOptions options{};
    unsigned threads = 1;  ///< at either end
    std::size_t capacity = 1 << 16;
    bool plant = false;  ///< expects one more than came
  };
  explicit Chain(Setup setup)
      : setup_(std::move(setup)),
        pipe_(hiway::PipelineConfig{.device = setup_.device, .deadline = std::chrono::seconds(120)}) {
    hiway::TunnelConfig const config{.capacity_items = setup_.capacity};
    auto* from = &pipe_.create_tunnel<std::uint64_t>("0", Direction::cpu_to_gpu, config);
    pipe_.add_cpu_stage("feed", [this](hiway::Inlet<std::uint64_t> out) { feed(out); }, hiway::into(*from),
                        {.threads = setup_.threads});
    for (unsigned s = 1; s <= setup_.stages; ++s) {
      bool const last = s == setup_.stages;
      auto& to = pipe_.create_tunnel<std::uint64_t>(std::to_string(s),
                                                    last ? Direction::gpu_to_cpu : Direction::gpu_to_gpu, config);
      pipe_.add_gpu_stage("work " + std::to_string(s), Steps{setup_.steps}, hiway::from(*from), hiway::into(to),
                          setup_.options);
      from = &to;
    }
    pipe_.add_cpu_stage("sum", [this](hiway::Outlet<std::uint64_t> in) { take(in); }, hiway::from(*from),
                        {.threads = setup_.threads});
    pipe_.prepare();
  }

  /// Until all of `items` have passed.
  void run(std::uint64_t items) {
    begin(items);
    (void)pipe_.run();
  }
  /// At least `items`, until stop(). From `wait_for` on, if that is set.
  void start(std::uint64_t items, bool waits = false) {
    begin(items);
    go_on_ = true;
    go_ = !waits;
    pipe_.start();
  }
  void go() { go_ = true; }
  void stop() {
    go_on_ = false;
    go_ = true;
    (void)pipe_.wait();
  }
  [[nodiscard]] std::uint64_t fed() const { return next_; }
  [[nodiscard]] std::string wrong() const {
    std::uint64_t const put = put_;
    std::uint64_t const each = std::uint64_t{setup_.stages} * setup_.steps;
    std::uint64_t const expected = sum_put_ + put * each + (setup_.plant ? 1 : 0);
    if (got_ != put) return std::to_string(put) + " items were put, and " + std::to_string(got_) + " came";
    return sum_ == expected ? "" : "the sum of what came is not that of what was put";
  }

 private:
  static constexpr std::uint64_t span_items = 256;

  void begin(std::uint64_t items) {
    next_ = put_ = got_ = sum_ = sum_put_ = 0;
    last_ = items;
    go_ = true;
    go_on_ = false;
  }
  void feed(hiway::Inlet<std::uint64_t> const& out) {
    while (!go_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::vector<std::uint64_t> span(span_items);
    std::uint64_t put = 0;
    std::uint64_t sum = 0;
    for (;;) {
      std::uint64_t const first = next_.fetch_add(span_items);
      if (first >= last_ && !go_on_) break;
      std::iota(span.begin(), span.end(), first);
      sum = std::accumulate(span.begin(), span.end(), sum);
      out.put_h(std::span<std::uint64_t const>(span));
      put += span_items;
    }
    put_ += put;
    sum_put_ += sum;
  }
  void take(hiway::Outlet<std::uint64_t> const& in) {
    std::vector<std::uint64_t> span(span_items);
    std::uint64_t got = 0;
    std::uint64_t sum = 0;
    for (std::size_t n = 0; (n = in.next_h(std::span<std::uint64_t>(span))) != 0; in.end_task_h(n)) {
      got += n;
      sum = std::accumulate(span.begin(), span.begin() + static_cast<std::ptrdiff_t>(n), sum);
    }
    got_ += got;
    sum_ += sum;
  }

  Setup setup_;
  std::atomic<std::uint64_t> next_{0}, put_{0}, got_{0}, sum_{0}, sum_put_{0};
  std::uint64_t last_ = 0;
  std::atomic<bool> go_{true}, go_on_{false};
  hiway::Pipeline pipe_;
};

/// One call by a CPU stage for each of some items; the milliseconds that all took.
Turn calls_of_a_stage(std::string const& device, GuestCall const& call, int items) {
  hiway::Pipeline pipe({.device = device, .deadline = std::chrono::seconds(8)});
  auto& there = pipe.create_tunnel<std::uint64_t>("there", Direction::cpu_to_gpu);
  auto& back = pipe.create_tunnel<std::uint64_t>("back", Direction::gpu_to_cpu);
  std::uint64_t sum = 0;
  auto const feed = [=](hiway::Inlet<std::uint64_t> out) {
    for (int i = 0; i < items; ++i) out.put_h(static_cast<std::uint64_t>(i));
  };
  auto const use = [&](std::uint64_t item) {
    call.call();
    sum += item;
  };
  pipe.add_cpu_stage("feed", feed, hiway::into(there));
  pipe.add_gpu_stage("work", Steps{1}, hiway::from(there), hiway::into(back));
  pipe.add_cpu_stage("call", use, hiway::from(back));
  auto const begin = Clock::now();
  try {
    (void)pipe.run();
  } catch (hiway::Error const& e) {
    return {.right = false, .wrong = e.what(), .ended = false};
  }
  auto const n = static_cast<std::uint64_t>(items);
  return {seconds_since(begin) * 1e3, sum == n * (n - 1) / 2 + n, "not every item came"};
}

/// What a thread's calls beside a stream took.
struct CallTimes {
  std::vector<double> ms;
  [[nodiscard]] Json facts() {
    std::ranges::sort(ms);
    Json facts = Json::object();
    if (ms.empty()) return facts;
    auto const at = [&](double quantile) { return ms[static_cast<std::size_t>(quantile * double(ms.size() - 1))]; };
    facts["calls"] = ms.size();
    facts["p50_ms"] = at(0.5);
    facts["p99_ms"] = at(0.99);
    facts["longest_ms"] = ms.back();
    return facts;
  }
};

class GuestBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "guest"; }
  [[nodiscard]] std::string summary() const override {
    return "CUDA calls and kernels beside a pipeline that yields, and what yielding costs it";
  }
  void add_options(cli::Options& command) override {
    command.add_option("--only", only_, "of the rows: calls, beside, stream, stages, rest, kernel").type_name("ROWS");
    command.add_option("--calls", calls_, "of each kind beside a stream; 0: 1000").type_name("N");
    command.add_flag("--plant", plant_, "expects another sum, which must be found");
  }
  void check_options() const override {
    if (calls_ > 1'000'000) throw cli::BadInput{"--calls: at most 1000000"};
    for (char const* const rows : {"", "calls", "beside", "stream", "stages", "rest", "kernel"}) {
      if (only_ == rows) return;
    }
    throw cli::BadInput{"--only: calls, beside, stream, stages, rest or kernel, not '" + only_ + "'"};
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    GuestCalls const* const guest = guest_calls(request.device);
    std::vector<Row> rows;
    if (asks("calls") && guest != nullptr) rows.push_back(calls(*guest, request));
    if (asks("beside") && guest != nullptr) {
      for (GuestCall const& call : guest->make(request.device)) rows.push_back(beside(call, request));
    }
    if (asks("stream")) {
      for (unsigned const stages : {1U, 3U}) rows.push_back(stream(stages, request));
    }
    if (asks("stages")) rows.push_back(stages(request));
    if (asks("rest")) rows.push_back(rest(guest, request));
    if (asks("kernel") && guest != nullptr) rows.push_back(kernel(*guest, request));
    return rows;
  }

 private:
  [[nodiscard]] bool asks(char const* rows) const { return only_.empty() || only_ == rows; }

  [[nodiscard]] static Row calls(GuestCalls const& guest, Request const& request) {
    constexpr int items = 50;
    Json what = Json::object();
    what["calls"] = "by a CPU stage, one for each item";
    what["items"] = items;
    std::vector<Variant> variants{{"none", [=] { return calls_of_a_stage(request.device, {"none", [] {}}, items); }}};
    for (GuestCall const& call : guest.make(request.device))
      variants.push_back({call.name, [=] { return calls_of_a_stage(request.device, call, items); }});
    return measure(std::move(what), "ms", Better::less, "", variants, request);
  }

  [[nodiscard]] Row beside(GuestCall const& call, Request const& request) const {
    unsigned const calls = calls_ != 0 ? calls_ : 1000;
    Json what = Json::object();
    what["beside_a_stream"] = call.name;
    what["one_each_ms"] = 1;
    auto const chain = std::make_shared<Chain>(Chain::Setup{.device = request.device, .threads = 4, .plant = plant_});
    auto const times = std::make_shared<CallTimes>();
    auto const turn = [=](bool guest) -> Turn {
      constexpr std::uint64_t items = 100'000'000;
      chain->start(items);
      auto const begin = Clock::now();
      std::uint64_t const before = chain->fed();
      for (unsigned i = 0; guest && i != calls; ++i) {
        auto const called = Clock::now();
        call.call();
        times->ms.push_back(seconds_since(called) * 1e3);
        std::this_thread::sleep_until(called + std::chrono::milliseconds(1));
      }
      while (chain->fed() < items) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      double const rate = static_cast<double>(chain->fed() - before) / seconds_since(begin);
      chain->stop();
      return {rate, chain->wrong().empty(), chain->wrong()};
    };
    std::vector<Variant> const variants{{"without", [=] { return turn(false); }},
                                        {"with", [=] { return turn(true); }, [=] { return times->facts(); }}};
    return measure(std::move(what), "items/s", Better::more, "without", variants, request);
  }

  [[nodiscard]] Row stream(unsigned stages, Request const& request) const {
    std::uint64_t const items = request.small ? 4096 : 100'000'000;
    Json what = Json::object();
    what["stages"] = stages;
    what["items"] = items;
    what["item_bytes"] = sizeof(std::uint64_t);
    auto const variant = [&](char const* name, Residency residency) -> Variant {
      auto const chain = std::make_shared<Chain>(Chain::Setup{.device = request.device,
                                                              .stages = stages,
                                                              .options = {.residency = residency},
                                                              .threads = 4,
                                                              .plant = plant_});
      return {name, [=]() -> Turn {
                auto const begin = Clock::now();
                chain->run(items);
                double const rate = static_cast<double>(items) / seconds_since(begin);
                return {rate, chain->wrong().empty(), chain->wrong()};
              }};
    };
    return measure(std::move(what), "items/s", Better::more, "resident",
                   {variant("resident", Residency::resident), variant("yielding", Residency::yielding)}, request);
  }

  [[nodiscard]] Row stages(Request const& request) const {
    unsigned const many = request.small ? 6 : 200;
    std::uint32_t const steps = request.small ? 10 : 1000;
    std::uint64_t const items = request.small ? 2048 : std::uint64_t{1} << 22;
    std::size_t const capacity = request.small ? 512 : std::size_t{1} << 18;
    Json what = Json::object();
    what["items"] = items;
    what["steps"] = many * steps;
    auto const variant = [&](std::string name, unsigned count, hiway::GpuStageOptions const& options) -> Variant {
      auto const chain = std::make_shared<Chain>(Chain::Setup{.device = request.device,
                                                              .stages = count,
                                                              .steps = many / count * steps,
                                                              .options = options,
                                                              .capacity = capacity,
                                                              .plant = plant_});
      return {std::move(name), [=]() -> Turn {
                auto const begin = Clock::now();
                chain->run(items);
                return {seconds_since(begin) * 1e3, chain->wrong().empty(), chain->wrong()};
              }};
    };
    unsigned const threads = request.small ? 256 : 512;
    std::string const each = std::to_string(many) + " stages, ";
    return measure(std::move(what), "ms", Better::less, "one stage",
                   {variant("one stage", 1, {.threads_per_block = threads}),
                    variant(each + "8 blocks", many, {.blocks = 8, .threads_per_block = threads}),
                    variant(each + "2 blocks", many, {.blocks = 2, .threads_per_block = threads})},
                   request);
  }

  [[nodiscard]] Row rest(GuestCalls const* guest, Request const& request) const {
    unsigned const rest_ms = request.small ? 30 : 1000;
    Json what = Json::object();
    what["one_request_after_ms"] = rest_ms;
    auto const variant = [&](char const* name, Residency residency, bool rests) -> Variant {
      return {name, [=, this]() -> Turn { return request_after(request.device, residency, rests ? rest_ms : 0); }};
    };
    std::vector<Variant> variants{variant("at once", Residency::automatic, false),
                                  variant("resident", Residency::resident, true),
                                  variant("yielding", Residency::automatic, true)};
    if (guest != nullptr)
      variants.push_back({"a launch by CUDA", [=]() -> Turn {
                            return {.value = guest->launch_after(request.device, rest_ms), .right = true};
                          }});
    return measure(std::move(what), "us", Better::less, "resident", variants, request);
  }
  [[nodiscard]] Turn request_after(std::string const& device, Residency residency, unsigned rest_ms) const {
    hiway::Pipeline pipe({.device = device, .deadline = std::chrono::seconds(60)});
    auto& there = pipe.create_tunnel<std::uint64_t>("there", Direction::cpu_to_gpu);
    auto& back = pipe.create_tunnel<std::uint64_t>("back", Direction::gpu_to_cpu);
    auto const out = there.open_inlet();
    auto const in = back.open_outlet();
    pipe.add_gpu_stage("work", Steps{1}, hiway::from(there), hiway::into(back),
                       {.blocks = 1, .threads_per_block = 32, .residency = residency});
    pipe.start();
    Turn turn{.right = true};
    for (std::uint64_t i = 0; i != 100; ++i) {
      if (i == 99) std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
      auto const begin = Clock::now();
      out.put_h(i);
      std::uint64_t answer = 0;
      bool const came = in.next_h(answer);
      turn.value = seconds_since(begin) * 1e6;
      if (came) in.end_task_h();
      if (!came || answer != i + (plant_ ? 2 : 1)) turn = {.right = false, .wrong = "a request had no answer"};
    }
    out.close_h();
    (void)pipe.wait();
    return turn;
  }

  [[nodiscard]] Row kernel(GuestCalls const& guest, Request const& request) const {
    Json what = Json::object();
    what["kernel"] = "on the whole device, by another stream";
    auto const call = std::make_shared<GuestCall>(guest.make_full_grid(request.device));
    auto const time = [call] {
      auto const begin = Clock::now();
      call->call();
      return seconds_since(begin) * 1e3;
    };
    auto const variant = [&](char const* name, Residency residency, bool busy) -> Variant {
      auto const chain = std::make_shared<Chain>(Chain::Setup{
          .device = request.device, .steps = 100, .options = {.residency = residency}, .threads = 4, .plant = plant_});
      return {name, [=]() -> Turn {
                chain->start(0, true);
                if (busy) chain->go();
                std::this_thread::sleep_for(std::chrono::milliseconds(50));
                double const ms = time();
                chain->stop();
                return {ms, chain->wrong().empty(), chain->wrong()};
              }};
    };
    return measure(std::move(what), "ms", Better::less, "alone",
                   {{"alone", [=]() -> Turn { return {.value = time(), .right = true}; }},
                    variant("beside an idle pipeline", Residency::automatic, false),
                    variant("beside a busy one", Residency::automatic, true),
                    variant("idle and resident", Residency::resident, false),
                    variant("busy and resident", Residency::resident, true)},
                   request);
  }

  std::string only_;
  unsigned calls_ = 0;
  bool plant_ = false;
};

GuestCalls& registered() noexcept {
  static GuestCalls calls;
  return calls;
}

}  // namespace

bool register_guest_calls(GuestCalls calls) noexcept {
  registered() = calls;
  return true;
}
GuestCalls const* guest_calls(std::string const& device) {
  return device.starts_with("cuda:") && registered().make != nullptr ? &registered() : nullptr;
}

std::unique_ptr<Bench> make_guest() { return std::make_unique<GuestBench>(); }

}  // namespace bench
