#include "check.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "lib/affinity.hpp"
#include "lib/movement/carrier.hpp"

namespace hiway {
namespace {

constexpr std::size_t max_capacity = std::size_t{1} << 30;
constexpr std::size_t most_problems_told = 50;
constexpr char const* oldest_across =
    "WhenFull::drop_oldest is for tunnels within one home, as a put reaches no item on the other side of the bus; use "
    "drop_newest";

/// The checks of one tunnel's configuration.
class ConfigCheck {
 public:
  explicit ConfigCheck(TunnelBase const& tunnel)
      : tunnel_(tunnel), config_(tunnel.config()), who_("tunnel '" + tunnel.name() + "': ") {}

  void sizes() const {
    if (config_.capacity_items == 0 || config_.capacity_items > max_capacity)
      refuse("capacity_items must be from 1 to 2^30: " + std::to_string(config_.capacity_items));
    if (config_.batch_items > config_.capacity_items) {
      refuse("batch_items (" + std::to_string(config_.batch_items) + ") is larger than the ring, capacity_items (" +
             std::to_string(config_.capacity_items) + ")");
    }
  }
  void shards() const {
    if (!std::has_single_bit(config_.shards) || config_.shards > max_shards)
      refuse("shards must be a power of two up to 64: " + std::to_string(config_.shards));
    if (config_.shards > config_.capacity_items)
      refuse(std::to_string(config_.shards) + " shards share a capacity_items of " +
             std::to_string(config_.capacity_items));
    if (config_.shards > 1 && tunnel_.crosses()) refuse("shards are for tunnels that do not cross the bus");
  }
  void low_latency() const {
    if (!config_.low_latency) return;
    if (!tunnel_.from_gpu() && !tunnel_.to_gpu()) refuse("low_latency is for tunnels with an end on the device");
    if (tunnel_.item_bytes() > TaggedSlot::most_bytes)
      refuse("low_latency is for items of at most 12 bytes: " + std::to_string(tunnel_.item_bytes()));
    Carrier const* const asked = find_carrier(config_.movement);
    if (asked != nullptr && !asked->may_carry_tags()) refuse("low_latency needs Movement::direct");
    if (config_.shards > 1) refuse("low_latency is for tunnels of one shard: " + std::to_string(config_.shards));
  }
  void growth() const {
    if (config_.grow_to_items == 0) return;
    if (tunnel_.from_gpu() || tunnel_.to_gpu()) refuse("grow_to_items is for tunnels from CPU to CPU");
    if (config_.shards > 1) refuse("grow_to_items is for tunnels of one shard: " + std::to_string(config_.shards));
    if (config_.when_full == WhenFull::spill || drops_or_fails(config_.when_full))
      refuse("grow_to_items makes a put wait for room: it goes with WhenFull::wait or automatic");
    if (config_.grow_to_items < config_.capacity_items || config_.grow_to_items > max_capacity) {
      refuse("grow_to_items must be from capacity_items (" + std::to_string(config_.capacity_items) +
             ") to 2^30: " + std::to_string(config_.grow_to_items));
    }
  }
  void when_full() const {
    if (config_.planned && drops_or_fails(config_.when_full))
      refuse("planned makes a put wait for room: it goes with WhenFull::wait or automatic");
    bool const drops = config_.when_full == WhenFull::drop_newest || config_.when_full == WhenFull::drop_oldest;
    if (drops && tunnel_.scopes() != nullptr)
      refuse("a tunnel with scopes drops nothing that is put: cancel the scope, or leave out when_full");
    if (config_.when_full != WhenFull::drop_oldest) return;
    if (tunnel_.crosses()) refuse(oldest_across);
    if (tunnel_.item_bytes() > copied_bytes) {
      refuse(
          "WhenFull::drop_oldest is for items of at most 256 bytes, as readers work on larger ones in their slots: " +
          std::to_string(tunnel_.item_bytes()) + "; use drop_newest");
    }
    if (config_.shards > 1)
      refuse("WhenFull::drop_oldest is for tunnels of one shard, as each has an oldest item of its own: " +
             std::to_string(config_.shards) + "; use drop_newest");
  }
  void order() const {
    if (!tunnel_.is_restored()) return;
    std::string const order = "Order::restored ";
    bool const waits = config_.when_full == WhenFull::automatic || config_.when_full == WhenFull::wait;
    if (!waits || config_.planned || config_.grow_to_items != 0)
      refuse(order + "makes a put wait for room: leave out when_full, planned and grow_to_items");
    if (config_.shards > 1) refuse(order + "is for tunnels of one shard: " + std::to_string(config_.shards));
    if (config_.low_latency) refuse(order + "does not go with low_latency");
    if (tunnel_.item_bytes() > copied_bytes)
      refuse(order + "is for items of at most 256 bytes: " + std::to_string(tunnel_.item_bytes()));
  }
  void keys() const {
    if (!config_.keyed) return;
    if (tunnel_.from_gpu() || tunnel_.to_gpu()) refuse("keyed is for tunnels from CPU to CPU");
    if (config_.shards > 1 || config_.planned || config_.grow_to_items != 0)
      refuse("keyed goes without shards, planned and grow_to_items");
    if (config_.when_full == WhenFull::spill || config_.when_full == WhenFull::drop_oldest)
      refuse(
          "keyed makes a ring for each reading thread, of which none spills or drops its oldest item: use another "
          "when_full");
  }
  void readers() const {
    if (config_.readers != Readers::each) return;
    if (config_.keyed || config_.shards > 1 || config_.low_latency || config_.planned || config_.grow_to_items != 0)
      refuse("Readers::each goes without keyed, shards, low_latency, planned and grow_to_items");
  }
  void priority() const {
    if (config_.priority != 0 && tunnel_.to_gpu()) refuse("priority is for tunnels that CPU stages get from");
  }
  void rest() const {
    if (config_.spill_items > max_capacity)
      refuse("spill_items must be at most 2^30: " + std::to_string(config_.spill_items));
    if (config_.flush_after.count() < 0)
      refuse("flush_after is negative: " + std::to_string(config_.flush_after.count()) + " us");
  }

 private:
  [[noreturn]] void refuse(std::string const& why) const { throw ConfigError(who_ + why); }

  TunnelBase const& tunnel_;
  TunnelConfig const& config_;
  std::string who_;
};

using Problems = std::vector<std::string>;

void check_side(Problems& found, Stage const& stage, TunnelBase const& tunnel, EndOf end) {
  bool const puts = end == EndOf::writers;
  bool const on_gpu = stage.gpu || stage.description.on_device;
  if ((puts ? tunnel.from_gpu() : tunnel.to_gpu()) == on_gpu) return;
  found.push_back(stage.title() + " runs on the " + (on_gpu ? "GPU" : "CPU") + ", but tunnel '" + tunnel.name() +
                  "' is " + (puts ? "put" : "got") + " on the " + (on_gpu ? "CPU" : "GPU"));
}

/// A device's end of a tunnel is at the host if batch stages have it, else at the device.
void check_batches(Problems& found, std::vector<Stage> const& stages, DeclaredTunnel const& t, EndOf end) {
  bool batches = false;
  bool kernels = false;
  for (std::size_t const s : stages_at(stages, *t.base, end)) {
    batches = batches || stages[s].description.on_device;
    kernels = kernels || stages[s].gpu;
  }
  std::string const done = end == EndOf::writers ? " is put by" : " is got by";
  if (batches && kernels)
    found.push_back(t.title() + done + " a batch stage and a kernel: give each a tunnel of its own");
  if (batches && t.base->config().low_latency)
    found.push_back(t.title() + done + " a batch stage, which does not look at single items: leave out low_latency");
}

void check_stages(Problems& found, std::vector<Stage> const& stages, std::vector<StageDescription> const& workers) {
  std::set<std::string> names;
  for (Stage const& s : stages) {
    if (!names.insert(s.description.name).second) found.push_back(s.title() + " is there already; names are unique");
    if (!s.gpu && s.executors == 0) found.push_back(s.title() + ": threads must be at least 1");
    for (TunnelBase const* t : s.description.into) check_side(found, s, *t, EndOf::writers);
    for (TunnelBase const* t : s.description.from) check_side(found, s, *t, EndOf::readers);
  }
  for (StageDescription const& worker : workers) {
    if (!names.insert(worker.name).second) found.push_back("'" + worker.name + "' is there already; names are unique");
  }
}

/// A loop gets from its tunnels by itself.
void check_priorities(Problems& found, std::vector<Stage> const& stages) {
  for (Stage const& s : stages) {
    for (std::size_t i = 0; i < s.description.from.size() && !s.description.item_form; ++i) {
      if (rank_of(s.description, i) == 0) continue;
      found.push_back(s.title() + " gets from tunnels of different priority, and is a loop, which chooses by itself: " +
                      "use the item or value form, or leave priority out");
      break;
    }
  }
}

void check_pins(Problems& found, Graph const& graph) {
  for (CpuStageDescription const& c : graph.cpu()) {
    for (int const cpu : c.options.pin) {
      if (std::string const why = cpu_problem(cpu); !why.empty())
        found.push_back("stage '" + c.stage.name + "': pin: " + why);
    }
  }
}

void check_branches(Problems& found, Graph const& graph, std::vector<Stage> const& stages, DeclaredTunnel const& t) {
  if (t.branches.empty()) return;
  if (t.open_inlets != 0 || t.open_outlets != 0)
    found.push_back(t.title() + " has an open end, which leads to one device, and a stage on several");
  for (Stage const& s : stages) {
    bool const names_it = contains(s.description.from, t.base.get()) || contains(s.description.into, t.base.get());
    if (names_it && s.gpu && graph.kernels()[s.owner].description.options.devices.size() < 2)
      found.push_back(t.title() + " has a stage on several devices, and " + s.title() + " on one");
  }
}

/// A tunnel that does not cross the bus may still lead away: to several devices, or other nodes.
void check_oldest(Problems& found, DeclaredTunnel const& t) {
  if (t.base->config().when_full != WhenFull::drop_oldest) return;
  if (!t.branches.empty())
    found.push_back(t.title() + ": WhenFull::drop_oldest is not for stages on several devices; use drop_newest");
  if (t.ends != EndsHere::both && t.ends != EndsHere::none)
    found.push_back(t.title() + ": WhenFull::drop_oldest is not for tunnels between nodes; use drop_newest");
}

void check_ends(Problems& found, std::vector<Stage> const& stages, DeclaredTunnel const& t) {
  if (t.ends == EndsHere::none) return;
  if (t.open_inlets == 0 && stages_at(stages, *t.base, EndOf::writers).empty())
    found.push_back(t.title() + " has no writer: name it in a stage's into(...) or ask for an open inlet");
  if (t.open_outlets == 0 && stages_at(stages, *t.base, EndOf::readers).empty())
    found.push_back(t.title() + " has no reader: name it in a stage's from(...) or ask for an open outlet");
}

}  // namespace

void check_config(TunnelBase const& tunnel) {
  ConfigCheck const check(tunnel);
  check.sizes();
  check.shards();
  check.low_latency();
  check.growth();
  check.when_full();
  check.order();
  check.keys();
  check.readers();
  check.priority();
  check.rest();
}

std::vector<std::string> find_problems(Graph const& graph, std::vector<Stage> const& stages) {
  Problems found;
  bool const has_any = !stages.empty() || !graph.tunnels().empty() || graph.is_over_nodes();
  if (!has_any) found.emplace_back("the pipeline has no stage");
  check_stages(found, stages, graph.workers());
  check_priorities(found, stages);
  check_pins(found, graph);
  for (DeclaredTunnel const& t : graph.tunnels()) {
    check_branches(found, graph, stages, t);
    for (EndOf const end : {EndOf::writers, EndOf::readers}) check_batches(found, stages, t, end);
    check_oldest(found, t);
    check_ends(found, stages, t);
  }
  return found;
}

std::string too_many_threads(std::vector<Stage> const& stages, unsigned cpus) {
  auto const stage =
      std::ranges::find_if(stages, [&](Stage const& s) { return !s.gpu && cpus != 0 && s.executors > cpus; });
  if (stage == stages.end()) return "";
  return stage->title() + ": " + std::to_string(stage->executors) + " threads share " + std::to_string(cpus) +
         " CPUs, and each waits while another one runs (CpuStageOptions::threads)";
}

std::string blocks_not_grouped(TunnelBase const& tunnel, std::string const& end) {
  Grouping const asked = tunnel.config().grouping;
  if (asked != Grouping::block && asked != Grouping::block_scan) return "";
  return "tunnel '" + tunnel.name() + "': warps of a block do not share claims at " + end +
         ": Grouping::block and block_scan are for kernels that the library starts";
}

std::vector<std::string> blocks_not_grouped(std::vector<Stage> const& stages) {
  std::vector<std::string> all;
  for (Stage const& s : stages) {
    if (!s.description.own_kernel) continue;
    for (auto const* const ends : {&s.description.from, &s.description.into}) {
      for (TunnelBase const* const t : *ends) {
        if (std::string warning = blocks_not_grouped(*t, s.title()); !warning.empty())
          all.push_back(std::move(warning));
      }
    }
  }
  return all;
}

void refuse_problems(std::vector<std::string> const& problems) {
  if (problems.empty()) return;
  std::size_t const told = std::min(problems.size(), most_problems_told);
  std::string all = problems.size() == 1 ? "" : std::to_string(problems.size()) + " problems: ";
  for (std::size_t i = 0; i < told; ++i) all += (i == 0 ? "" : "; ") + problems[i];
  if (told != problems.size()) all += "; and so on";
  throw ConfigError(all);
}

bool is_read_alone(Graph const& graph, std::vector<Stage> const& stages, std::vector<simt::Grid> const& grids,
                   DeclaredTunnel const& tunnel) {
  std::vector<std::size_t> const all = stages_at(stages, *tunnel.base, EndOf::readers);
  if (tunnel.open_outlets != 0 || all.size() != 1) return false;
  Stage const& stage = stages[all.front()];
  if (!stage.gpu) return stage.executors == 1 || tunnel.base->config().keyed;
  simt::Grid const& grid = grids[stage.owner];
  bool const no_group = graph.kernels()[stage.owner].description.stages.size() == 1;
  return no_group && grid.blocks == 1 && grid.threads_per_block <= 32;
}

}  // namespace hiway
