// bench services: what scopes and services cost.
//
//   end       one item, CPU -> GPU -> CPU: from its put to the end of its scope, and, beside, to its stage at the CPU
//   scopes    trees of 1 to 100 items within the GPU, each a scope of its own; beside, the same without scopes
//   puts      items a second of several threads at one open inlet, and, beside, of as many threads of a stage
//   requests  a service over one GPU stage: requests a second of several client threads, each with a callback
//   order     a stream of items, CPU -> GPU -> CPU, whose order is restored, beside the same in any order
//   latency   one request at a time, by a call or with a future, alone and with spinning processes on half of the CPUs
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <hiway/service.hpp>
#include <memory>
#include <span>
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

struct Drop {
  HIWAY_DEVICE void operator()(Call const&) const {}
};

/// `clients` threads put `each` items each, at one open inlet or as a stage's; returns items a second.
template <bool Open>
Turn puts(std::string const& device, unsigned clients, unsigned each) {
  hiway::Pipeline pipe({.device = device});
  auto& there = pipe.create_tunnel<Call>("there", hiway::Direction::cpu_to_gpu, {.capacity_items = 1 << 14});
  auto const put_all = [each](hiway::Inlet<Call> const& out) {
    for (std::uint32_t i = 0; i < each; ++i) out.put_h(Call{{i, 0, 0, i}});
  };
  hiway::Inlet<Call> in;
  if constexpr (Open) {
    in = there.open_inlet();
  } else {
    pipe.add_cpu_stage("put", put_all, hiway::into(there), {.threads = clients});
  }
  pipe.add_gpu_stage("drop", Drop{}, hiway::from(there));
  pipe.prepare();
  auto const begin = Clock::now();
  pipe.start();
  if constexpr (Open) {
    std::vector<std::jthread> threads;
    for (unsigned c = 0; c < clients; ++c) threads.emplace_back([&] { put_all(in); });
    threads.clear();
    in.close_h();
  }
  hiway::RunReport const report = pipe.wait();
  double const seconds = us_since(begin) / 1e6;
  std::uint64_t const all = std::uint64_t{clients} * each;
  if (report.tunnels[0].items != all) return {0, false, "items are missing"};
  return {static_cast<double>(all) / seconds, true};
}

/// Counts from several threads, each in a cache line of its own.
class RightAnswers {
 public:
  void count() {
    thread_local unsigned const line = next_.fetch_add(1) % 64;
    lines_[line].right.fetch_add(1, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t sum() const {
    std::uint64_t all = 0;
    for (Line const& line : lines_) all += line.right;
    return all;
  }

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> right{0};
  };
  static inline std::atomic<unsigned> next_{0};
  std::array<Line, 64> lines_;
};

/// `clients` threads, `each` requests of each; returns requests a second.
Turn requests(std::string const& device, unsigned clients, unsigned each, unsigned reply_threads) {
  hiway::Service<Call, Call> service(Answer{},
                                     {.device = device, .most_open = 1 << 14, .reply_threads = reply_threads});
  RightAnswers answers;
  auto const begin = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (unsigned c = 0; c < clients; ++c) {
      threads.emplace_back([&service, &answers, c, each] {
        for (std::uint32_t i = 0; i < each; ++i) {
          service.submit(Call{{i, c, 0, i}}, [&answers, c, i](hiway::ServiceResult<Call> const& result) {
            if (result && result.reply().words == std::array<std::uint32_t, 4>{i + 1, c, 0, i + 1}) answers.count();
          });
        }
      });
    }
  }
  service.stop();
  double const seconds = us_since(begin) / 1e6;
  std::uint64_t const right = answers.sum();
  std::uint64_t const all = std::uint64_t{clients} * each;
  if (right != all) return {0, false, std::to_string(all - right) + " requests were answered wrongly"};
  return {static_cast<double>(all) / seconds, true};
}

constexpr std::size_t stream_capacity = 1 << 16;
constexpr std::uint32_t at_once = 1024;

/// `items` numbered items, there and back in spans; returns items a second.
template <bool Restored>
Turn stream(std::string const& device, std::uint32_t items) {
  hiway::Pipeline pipe({.device = device});
  auto& there = pipe.create_tunnel<Call>("there", hiway::Direction::cpu_to_gpu, {.capacity_items = stream_capacity});
  std::uint32_t wrong = 0;
  std::uint32_t got = 0;
  auto const put = [items](hiway::Inlet<Call> out) {
    std::array<Call, at_once> calls{};
    for (std::uint32_t i = 0; i < items;) {
      std::uint32_t const n = std::min(items - i, at_once);
      for (std::uint32_t k = 0; k < n; ++k) calls.at(k) = {{i + k, 0, 0, i + k}};
      out.put_h(std::span<Call const>(calls).first(n));
      i += n;
    }
  };
  auto const see = [&](hiway::Outlet<Call> in) {
    std::array<Call, at_once> calls{};
    while (std::size_t const n = in.next_h(std::span<Call>(calls))) {
      for (std::size_t k = 0; k < n; ++k) {
        Call const& call = calls.at(k);
        bool const right = call.words[0] == call.words[3] && (!Restored || call.words[0] == got + 1);
        wrong += right ? 0 : 1;
        ++got;
      }
      in.end_task_h(n);
    }
  };
  auto const add = [&](auto config) {
    auto& back = pipe.create_tunnel<Call>("back", hiway::Direction::gpu_to_cpu, config);
    pipe.add_gpu_stage("answer", Answer{}, hiway::from(there), hiway::into(back));
    pipe.add_cpu_stage("see", see, hiway::from(back));
  };
  pipe.add_cpu_stage("put", put, hiway::into(there));
  if constexpr (Restored) {
    add(hiway::RestoredTunnelConfig{.capacity_items = stream_capacity, .order = hiway::Order::restored});
  } else {
    add(hiway::TunnelConfig{.capacity_items = stream_capacity});
  }
  pipe.prepare();
  auto const begin = Clock::now();
  pipe.run();
  double const seconds = us_since(begin) / 1e6;
  if (wrong != 0 || got != items)
    return {0, false,
            std::to_string(wrong) + " items were wrong or at another's place, " + std::to_string(got) + " came"};
  return {items / seconds, true};
}

enum class By : std::uint8_t { call, future };

RoundTrips one_request_at_a_time(std::string const& device, unsigned trips, By by) {
  hiway::Service<Call, Call> service(Answer{}, {.device = device, .blocks = 1, .threads_per_block = 32});
  RoundTrips made;
  for (std::uint32_t i = 0; i < trips; ++i) {
    auto const begin = Clock::now();
    Call const request{{i, 0, 0, i}};
    Call const reply = by == By::call ? service.call(request) : service.submit(request).get();
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
    return {end(request),      scopes(request, 64),      scopes(request, 4096),
            inlet(request, 1), inlet(request, clients_), throughput(request),
            order(request),    latency(request)};
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
  [[nodiscard]] static Row inlet(Request const& request, unsigned clients) {
    unsigned const each = request.small ? 200 : 4'000'000;
    std::string const& device = request.device;
    Json what = row_of("puts");
    what["threads"] = clients;
    what["item_bytes"] = sizeof(Call);
    std::vector<Variant> const variants{{"open inlet", [=] { return puts<true>(device, clients, each); }},
                                        {"stage", [=] { return puts<false>(device, clients, each); }}};
    return measure(std::move(what), "items/s", Better::more, "stage", variants, request);
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
  [[nodiscard]] static Row order(Request const& request) {
    std::uint32_t const items = request.small ? 5'000 : 50'000'000;
    std::string const& device = request.device;
    Json what = row_of("order");
    what["items"] = items;
    what["item_bytes"] = sizeof(Call);
    std::vector<Variant> const variants{{"ordered", [=] { return stream<true>(device, items); }},
                                        {"any", [=] { return stream<false>(device, items); }}};
    return measure(std::move(what), "items/s", Better::more, "any", variants, request);
  }
  [[nodiscard]] static Row latency(Request const& request) {
    unsigned const trips = request.small ? 20 : 5000;
    std::string const& device = request.device;
    unsigned const busy = request.small ? 0 : hiway::available_cpus() / 2;
    Json what = row_of("latency");
    what["busy_cpus"] = busy;
    auto const loaded = [=](By by) {
      SpinningProcesses const others(busy);
      return one_request_at_a_time(device, trips, by);
    };
    std::vector<Variant> variants;
    for (By const by : {By::call, By::future}) {
      std::string const name = by == By::call ? "call" : "future";
      variants.push_back(quantiles_of(
          name, [=] { return one_request_at_a_time(device, trips, by); }, request.small));
      variants.push_back(quantiles_of(
          name + ", half of the CPUs busy", [=] { return loaded(by); }, request.small));
    }
    return measure(std::move(what), "us", Better::less, "", variants, request);
  }

  unsigned clients_ = 8;
  unsigned reply_threads_ = 8;
};

}  // namespace

std::unique_ptr<Bench> make_services() { return std::make_unique<ServicesBench>(); }

}  // namespace bench
