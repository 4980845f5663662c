// bench services: what scopes and services cost.
//
//   end       one item, CPU -> GPU -> CPU: from its put to the end of its scope, and, beside, to its stage at the CPU
//   scopes    trees of 1 to 100 items within the GPU, each a scope of its own; beside, the same without scopes
//   requests  a service over one GPU stage: requests a second of several client threads, each with a callback
//   latency   one request at a time, with a future, alone and with spinning processes on half of the CPUs
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <hiway/service.hpp>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/quantiles.hpp"
#include "bench/spinning.hpp"
#include "cli/app.hpp"
#include "hiway/cpus.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double us_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Next {
  HIWAY_DEVICE std::uint32_t operator()(std::uint32_t const& x) const { return x + 1; }
};

/// One item at a time, there and back. `Scoped`: its tunnels have scopes.
template <bool Scoped>
RoundTrips one_by_one(std::string const& device, unsigned trips) {
  hiway::Pipeline pipe({.device = device});
  hiway::Scopes& jobs = pipe.create_scopes("jobs");
  std::atomic<std::uint32_t> seen{0};
  auto const make = [&](auto config) {
    auto& there = pipe.create_tunnel<std::uint32_t>("there", hiway::Direction::cpu_to_gpu, config);
    auto& back = pipe.create_tunnel<std::uint32_t>("back", hiway::Direction::gpu_to_cpu, config);
    pipe.add_gpu_stage("next", Next{}, hiway::from(there), hiway::into(back), {.blocks = 1, .threads_per_block = 32});
    pipe.add_cpu_stage(
        "see", [&seen](std::uint32_t const& x) { seen.store(x, std::memory_order_release); }, hiway::from(back));
    return there.open_inlet();
  };
  hiway::Inlet<std::uint32_t> in;
  if constexpr (Scoped) {
    in = make(hiway::ScopedTunnelConfig{.scopes = &jobs});
  } else {
    in = make(hiway::TunnelConfig{});
  }
  pipe.start();
  RoundTrips made;
  for (std::uint32_t i = 1; i <= trips; ++i) {
    auto const begin = Clock::now();
    if constexpr (Scoped) {
      hiway::Scope job = jobs.open_h();
      in.put_h(2 * i, job);
      job.close_h();
      job.wait();
    } else {
      in.put_h(2 * i);
      while (seen.load(std::memory_order_acquire) != 2 * i + 1) hiway::relax_thread(0);
    }
    made.us.push_back(us_since(begin));
    if (seen.load() != 2 * i + 1) made.wrong = "the scope has ended before its item was seen";
  }
  in.close_h();
  pipe.wait();
  std::ranges::sort(made.us);
  return made;
}

/// A tree of `n` items: one, and two trees of the rest.
struct Grow {
  HIWAY_DEVICE void operator()(std::uint32_t const& n, hiway::Inlet<std::uint32_t> again) const {
    std::uint32_t const left = (n - 1) / 2;
    std::uint32_t const right = n - 1 - left;
    if (left != 0) again.put(left);
    if (right != 0) again.put_last(right);
  }
};
constexpr std::uint32_t largest_tree = 100;

/// Grows `trees` trees; returns items a second.
template <bool Scoped>
Turn grow(std::string const& device, unsigned trees, unsigned most_open) {
  hiway::Pipeline pipe({.device = device, .warn_of_cycles = false});
  hiway::Scopes& jobs = pipe.create_scopes("trees", {.most_open = most_open});
  auto const make = [&](auto roots_config, auto again_config) {
    auto& roots = pipe.create_tunnel<std::uint32_t>("roots", hiway::Direction::cpu_to_gpu, roots_config);
    auto& again = pipe.create_tunnel<std::uint32_t>("again", hiway::Direction::gpu_to_gpu, again_config);
    pipe.add_gpu_stage("grow", Grow{}, hiway::from(roots, again), hiway::into(again));
    return roots.open_inlet();
  };
  hiway::Inlet<std::uint32_t> in;
  if constexpr (Scoped) {
    in = make(hiway::ScopedTunnelConfig{.capacity_items = 1 << 14, .scopes = &jobs},
              hiway::ScopedTunnelConfig{.capacity_items = 1 << 16, .spill_items = 1 << 24, .scopes = &jobs});
  } else {
    in = make(hiway::TunnelConfig{.capacity_items = 1 << 14},
              hiway::TunnelConfig{.capacity_items = 1 << 16, .spill_items = 1 << 24});
  }
  pipe.prepare();
  std::atomic<unsigned> ended{0};
  std::uint64_t items = 0;
  auto const begin = Clock::now();
  pipe.start();
  for (unsigned i = 0; i < trees; ++i) {
    std::uint32_t const n = 1 + i % largest_tree;
    items += n;
    if constexpr (Scoped) {
      hiway::Scope job = jobs.open_h();
      job.then([&ended] { ended.fetch_add(1, std::memory_order_relaxed); });
      in.put_h(n, job);
    } else {
      in.put_h(n);
    }
  }
  in.close_h();
  hiway::RunReport const report = pipe.wait();
  double const seconds = us_since(begin) / 1e6;
  if (Scoped && ended != trees) return {0, false, std::to_string(trees - ended) + " scopes have not ended"};
  if (report.tunnels[1].items + trees != items) return {0, false, "items are missing"};
  return {static_cast<double>(items) / seconds, true};
}

struct Call {
  std::array<std::uint32_t, 4> words;
};
struct Answer {
  HIWAY_DEVICE Call operator()(Call const& call) const {
    return {{call.words[0] + 1, call.words[1], call.words[2], call.words[3] + 1}};
  }
};

/// `clients` threads, `each` requests of each; returns requests a second.
Turn requests(std::string const& device, unsigned clients, unsigned each, unsigned reply_threads) {
  hiway::Service<Call, Call> service(Answer{},
                                     {.device = device, .most_open = 1 << 14, .reply_threads = reply_threads});
  struct alignas(64) Sums {
    std::atomic<std::uint64_t> right{0};
  };
  std::vector<Sums> sums(clients);
  auto const begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned c = 0; c < clients; ++c) {
      threads.emplace_back([&service, &sum = sums[c], c, each] {
        for (std::uint32_t i = 0; i < each; ++i) {
          service.submit(Call{{i, c, 0, i}}, [&sum, c, i](hiway::ServiceResult<Call> const& result) {
            bool const right = result && result.reply().words == std::array<std::uint32_t, 4>{i + 1, c, 0, i + 1};
            sum.right.fetch_add(right ? 1 : 0, std::memory_order_relaxed);
          });
        }
      });
    }
  }
  service.stop();
  double const seconds = us_since(begin) / 1e6;
  std::uint64_t right = 0;
  for (Sums const& sum : sums) right += sum.right;
  std::uint64_t const all = std::uint64_t{clients} * each;
  if (right != all) return {0, false, std::to_string(all - right) + " requests were answered wrongly"};
  return {static_cast<double>(all) / seconds, true};
}

RoundTrips one_request_at_a_time(std::string const& device, unsigned trips) {
  hiway::Service<Call, Call> service(Answer{}, {.device = device, .blocks = 1, .threads_per_block = 32});
  RoundTrips made;
  for (std::uint32_t i = 0; i < trips; ++i) {
    auto const begin = Clock::now();
    Call const reply = service.submit(Call{{i, 0, 0, i}}).get();
    made.us.push_back(us_since(begin));
    if (reply.words[3] != i + 1) made.wrong = "a reply is not its request's";
  }
  service.stop();
  std::ranges::sort(made.us);
  return made;
}

/// Round trips of `make()`; the value is their median.
Variant quantiles_of(std::string name, std::function<RoundTrips()> make, bool small) {
  auto const quantiles = std::make_shared<Quantiles>();
  auto turn = [make = std::move(make), quantiles]() -> Turn {
    RoundTrips const made = make();
    quantiles->take(made);
    return {made.at(0.5), made.wrong.empty(), made.wrong};
  };
  return {std::move(name), std::move(turn), [quantiles, small] { return quantiles->facts(small); }};
}

Json row_of(std::string const& part) {
  Json what = Json::object();
  what["part"] = part;
  return what;
}

class ServicesBench final : public Bench {
 public:
  [[nodiscard]] std::string name() const override { return "services"; }
  [[nodiscard]] std::string summary() const override { return "what scopes and services cost, beside none"; }
  void add_options(cli::Options& command) override {
    command.add_option("--clients", clients_, "threads that submit").type_name("N");
    command.add_option("--reply-threads", reply_threads_, "threads that take replies").type_name("N");
  }

  [[nodiscard]] std::vector<Row> run(Request const& request) override {
    return {end(request), scopes(request, 64), scopes(request, 4096), throughput(request), latency(request)};
  }

 private:
  [[nodiscard]] static Row end(Request const& request) {
    unsigned const trips = request.small ? 20 : 5000;
    std::string const& device = request.device;
    std::vector<Variant> const variants{quantiles_of(
                                            "scope", [=] { return one_by_one<true>(device, trips); }, request.small),
                                        quantiles_of(
                                            "item", [=] { return one_by_one<false>(device, trips); }, request.small)};
    return measure(row_of("end"), "us", Better::less, "item", variants, request);
  }
  [[nodiscard]] static Row scopes(Request const& request, unsigned most_open) {
    unsigned const trees = request.small ? 200 : 1'000'000;
    std::string const& device = request.device;
    Json what = row_of("scopes");
    what["trees"] = trees;
    what["most_open"] = most_open;
    std::vector<Variant> const variants{{"scopes", [=] { return grow<true>(device, trees, most_open); }},
                                        {"none", [=] { return grow<false>(device, trees, most_open); }}};
    return measure(std::move(what), "items/s", Better::more, "none", variants, request);
  }
  [[nodiscard]] Row throughput(Request const& request) const {
    unsigned const each = request.small ? 50 : 1'000'000;
    Json what = row_of("requests");
    what["clients"] = clients_;
    what["reply_threads"] = reply_threads_;
    what["request_bytes"] = sizeof(Call);
    std::vector<Variant> const variants{
        {"service", [=, this] { return requests(request.device, clients_, each, reply_threads_); }}};
    return measure(std::move(what), "requests/s", Better::more, "", variants, request);
  }
  [[nodiscard]] static Row latency(Request const& request) {
    unsigned const trips = request.small ? 20 : 5000;
    std::string const& device = request.device;
    unsigned const busy = request.small ? 0 : hiway::available_cpus() / 2;
    Json what = row_of("latency");
    what["busy_cpus"] = busy;
    auto const loaded = [=] {
      SpinningProcesses const others(busy);
      return one_request_at_a_time(device, trips);
    };
    std::vector<Variant> const variants{
        quantiles_of(
            "alone", [=] { return one_request_at_a_time(device, trips); }, request.small),
        quantiles_of("half of the CPUs busy", loaded, request.small)};
    return measure(std::move(what), "us", Better::less, "", variants, request);
  }

  unsigned clients_ = 8;
  unsigned reply_threads_ = 4;
};

}  // namespace

std::unique_ptr<Bench> make_services() { return std::make_unique<ServicesBench>(); }

}  // namespace bench
