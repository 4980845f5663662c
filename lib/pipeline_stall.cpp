// Pipeline::Core's look at a run that stands still: reads the counters of a run under way, beside everyone who changes them,
// says what they mean (stall_report.hpp), and gives a tunnel more room where that is what is missing.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "hiway/log.hpp"
#include "lib/environment.hpp"
#include "pipeline_core.hpp"

namespace hiway {
namespace {

constexpr auto least_look_interval = std::chrono::milliseconds(10);

std::atomic<unsigned> signals{0};
static_assert(std::atomic<unsigned>::is_always_lock_free, "the signal handler must not lock");

void count_signal(int) { signals.fetch_add(1, std::memory_order_relaxed); }

bool take_signal_over() {
  struct sigaction action {};
  if (sigaction(SIGUSR1, nullptr, &action) != 0) return false;
  if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL) return false;
  action = {};
  action.sa_handler = &count_signal;
  action.sa_flags = SA_RESTART;
  return sigaction(SIGUSR1, &action, nullptr) == 0;
}

/// Items of a whole ring whose slots were left: who works on an item there may hold what was taken.
std::uint64_t left(TunnelSnapshot const& s, std::uint64_t room) {
  std::uint64_t const held = s.capacity - std::min(room, s.capacity);
  return s.claimed - std::min(held, s.claimed);
}

/// Reads words at any home. A device's are copied together, once: each copy would take the bus's whole latency.
class WordReader {
 public:
  /// Words of device `home` are among those of `arenas`; nothing else of it can be read.
  void add(Home home, Backend& backend, std::vector<Arena const*> const& arenas, bool may_be_read) {
    if (backend.is_host()) return;
    devices_.resize(std::max<std::size_t>(devices_.size(), home + 1));
    Seen& seen = devices_[home];
    seen.backend = &backend;
    seen.all = may_be_read;
    for (Arena const* arena : arenas) {
      for (std::span<std::byte const> const words : arena->words()) {
        if (!seen.all) return;
        Copied copied{words.data(), std::vector<std::byte>((words.size() + 3) / 4 * 4)};
        seen.all = backend.peek(copied.bytes.data(), copied.home, copied.bytes.size());
        seen.copied.push_back(std::move(copied));
      }
    }
  }

  template <class T>
  T read(Word<T>* word, Home home) {
    if (word == nullptr) return T{0};
    if (Seen const* const seen = copies_of(home)) return fetch(*seen, word).bits;
    return ThreadMachine{}.load(*word, Order::relaxed);
  }
  /// Also of words that are in no arena's list. False when they could not be read.
  bool read(std::vector<std::uint32_t>& bits, Word<std::uint32_t>* words, Home home) {
    if (Seen* const seen = copies_of(home)) {
      seen->all = seen->all && seen->backend->peek(bits.data(), words, bits.size() * sizeof bits[0]);
      return seen->all;
    }
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = read(words + i, home);
    return true;
  }
  /// Of each of `count` ports.
  std::vector<TaskCounts> tasks(OutletPort* ports, unsigned count, Home home) {
    std::vector<TaskCounts> all;
    for (unsigned i = 0; i < count; ++i) all.push_back({read(&ports[i].got, home), read(&ports[i].finished, home)});
    return all;
  }
  /// Of all devices.
  [[nodiscard]] bool devices_seen() const {
    return std::ranges::all_of(devices_, [](Seen const& s) { return s.backend == nullptr || s.all; });
  }

 private:
  struct Copied {
    std::byte const* home;
    std::vector<std::byte> bytes;
  };
  /// A device whose memory is not the host's.
  struct Seen {
    Backend* backend = nullptr;
    bool all = true;
    std::vector<Copied> copied{};
  };
  Seen* copies_of(Home home) {
    return home < devices_.size() && devices_[home].backend != nullptr ? &devices_[home] : nullptr;
  }
  /// 0 where it could not be copied.
  template <class T>
  static T fetch(Seen const& seen, T const* home) {
    auto const* const at = reinterpret_cast<std::byte const*>(home);
    T value{};
    for (Copied const& c : seen.copied) {
      if (!seen.all || at < c.home || at + sizeof(T) > c.home + c.bytes.size()) continue;
      std::memcpy(&value, c.bytes.data() + (at - c.home), sizeof value);
      break;
    }
    return value;
  }

  std::vector<Seen> devices_;  ///< by home
};

TaskCounts sum(std::vector<TaskCounts> const& counts) {
  TaskCounts all;
  for (TaskCounts const& c : counts) {
    all.got += c.got;
    all.finished += c.finished;
  }
  return all;
}

}  // namespace

std::chrono::milliseconds milliseconds_of(char const* variable) {
  return std::chrono::milliseconds(number_from_environment(variable, "a number of milliseconds", 0).value_or(0));
}

std::chrono::milliseconds chosen_stall_after(std::chrono::milliseconds configured) {
  if (configured.count() < 0)
    throw ConfigError("stall_after is negative: " + std::to_string(configured.count()) + " ms");
  return configured.count() != 0 ? configured : milliseconds_of("HIWAY_STALL_AFTER");
}

unsigned report_signals() {
  static bool const taken_over = take_signal_over();
  static_cast<void>(taken_over);
  return signals.load(std::memory_order_relaxed);
}

PipelineSnapshot Pipeline::Core::snapshot() {
  std::scoped_lock const lock(snapshots_);
  return read_counters(true);
}
std::optional<PipelineSnapshot> Pipeline::Core::live_snapshot() {
  std::scoped_lock const lock(snapshots_);
  if (!running_) return {};
  return read_counters(false);
}

/// `with_kernels`: also whether they have left, which only the watcher may ask.
PipelineSnapshot Pipeline::Core::read_counters(bool with_kernels) {
  bool const kernels_started = kernels_started_.load(std::memory_order_acquire);
  // A launch that waits for something may hold the driver: nothing is asked of it then.
  WordReader reader;
  for (Home home = own_device; home < own_device + devices_.size(); ++home) {
    Device const& d = device(home);
    if (d.monitor != nullptr) reader.add(home, *d.backend, {d.words.get(), d.plan.get()}, kernels_started);
  }
  PipelineSnapshot all;
  all.aborting = is_aborted(ThreadMachine{}, *host_control_);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    StageState const& s = stages_[i];
    StageSnapshot stage;
    stage.name = s.description.name;
    stage.gpu = s.gpu;
    if (s.gpu && devices_.size() > 1) stage.device = device_name(s.home);
    stage.executors = s.executors;
    stage.started = s.description.own_kernel ? s.executors : reader.read(&s.words->started, s.home);
    stage.returned = reader.read(&s.words->returned, s.home);
    stage.ended = reader.read(&s.words->ended, s.home) != 0;
    stage.inside = inside_[i].load(std::memory_order_relaxed);
    if (s.gpu && kernels_started && with_kernels) {
      auto const place = std::find(start_order_.begin(), start_order_.end(), s.owner) - start_order_.begin();
      auto const monitors = std::ranges::count_if(devices_, [](Device const& d) { return d.monitor != nullptr; });
      auto const kernel = static_cast<std::size_t>(place + monitors);
      if (kernel < kernels_.size() && !kernels_[kernel].done) stage.inside = s.executors;
    }
    stage.got.assign(s.executors, 0);
    for (std::size_t f = 0; f < s.description.from.size(); ++f) {
      std::vector<TaskCounts> const each = reader.tasks(s.outlet_ports[f], s.executors, s.home);
      for (unsigned e = 0; e < s.executors; ++e) stage.got[e] += each[e].got;
      stage.from.push_back({s.description.from[f]->id(), sum(each)});
    }
    for (std::size_t o = 0; o < s.description.into.size(); ++o)
      stage.into.push_back({s.description.into[o]->id(), reader.read(s.closed_executors[o], s.home), s.spills[o]});
    all.stages.push_back(std::move(stage));
  }
  for (TunnelState const& t : tunnels_) {
    TunnelBase const& tunnel = *t.tunnel;
    Home const from = t.put_home;
    Home const to = t.get_home;
    TunnelSnapshot s;
    s.name = tunnel.name();
    s.kind = std::string(direction_name(tunnel.direction())) + " " + movement_name(t);
    s.crosses = t.crosses();
    s.on_device = from != at_host || to != at_host;
    s.capacity = t.capacity;
    s.may_grow_to = tunnel.config().grow_to_items;
    std::uint64_t room = 0;
    for (unsigned k = 0; k < t.put_ring.shards; ++k) {
      s.taken += reader.read(&t.get_ring.words[k].taken, to);
      s.claimed += reader.read(&t.put_ring.words[k].claimed, from);
      s.put_groups += reader.read(&t.put_ring.words[k].put_groups, from);
      s.get_groups += reader.read(&t.get_ring.words[k].get_groups, to);
      if (!s.crosses) room += static_cast<std::uint64_t>(std::max(0, reader.read(&t.put_ring.words[k].free, from)));
    }
    s.retired = s.crosses ? reader.read(t.retired.word, t.retired.home) : left(s, room);
    if (tunnel.config().low_latency) {
      s.published = s.arrived = s.claimed;  // nobody tells of items that carry tags
    } else {
      s.arrived = reader.read(t.arrived.word, t.arrived.home);
      s.published = reader.read(t.published.word, t.published.home);
    }
    s.spills = t.spills;
    if (t.spills) {
      RingWords* const pool = words(from).image(t.spill).words;
      s.spill_taken = s.crosses ? reader.read(t.drained, from) : reader.read(&pool->taken, from);
      s.spill_claimed = reader.read(&pool->claimed, from);
      s.spill_capacity = spill_items(tunnel);
    }
    if (t.throttled_by != npos) {
      s.throttled = reader.read(&t.put_end->throttled, from) != 0;
      s.throttled_by.assign(cycles_[t.throttled_by].pools.begin(), cycles_[t.throttled_by].pools.end());
    }
    bool const end_at_host = to == at_host;
    EndWords* const end = end_at_host ? t.get_end : t.put_end;
    s.closed = reader.read(&end->closed, end_at_host ? to : from) != 0;
    s.ended = reader.read(&end->ended, end_at_host ? to : from) != 0;
    s.open_inlets = t.open_inlets;
    s.open_inlets_closed = reader.read(t.open_closed, from);
    for (OutletPort* port : t.open_outlets) s.open_outlets.push_back(reader.tasks(port, 1, to).front());
    if (t.stencil) {
      StencilShape const& shape = t.stencil->tunnel->plan().shape;
      std::vector<std::uint32_t> set(std::size_t{shape.regions()} * shape.buffers);
      if (reader.read(set, t.stencil->set, from)) s.frames = incomplete_frame(shape, set);
    }
    all.tunnels.push_back(std::move(s));
  }
  all.device_seen = reader.devices_seen();
  return all;
}

// More credit is all that a put needs: the slots are there.
void Pipeline::Core::grow(TunnelState& t) {
  std::size_t const more = std::min(t.capacity, t.tunnel->config().grow_to_items - t.capacity);
  trace_event("growth", "tunnel '" + t.tunnel->name() + "' grows",
              "from " + std::to_string(t.capacity) + " to " + std::to_string(t.capacity + more) + " items");
  std::scoped_lock const lock(snapshots_);
  t.capacity += more;
  host_words_->image(t.put_ring.words).free.bits = static_cast<std::int32_t>(t.capacity);  // the next run's, too
  ThreadMachine{}.fetch_add(t.put_ring.words->free, static_cast<std::int32_t>(more), Order::relaxed);
}

void Pipeline::Core::grow_tunnels(std::chrono::steady_clock::time_point now) {
  if (!tunnels_may_grow_ || now < next_growth_look_ || threads_running_.load(std::memory_order_relaxed) == 0) return;
  next_growth_look_ = now + std::max<std::chrono::nanoseconds>(config_.grow_after / 4, std::chrono::milliseconds(1));
  PipelineSnapshot const seen = snapshot();
  if (!growth_watch_.look(now, progress(seen))) return;
  if (std::optional<std::size_t> const tunnel = tunnel_to_grow(seen)) grow(tunnels_[*tunnel]);
}

void Pipeline::Core::report_stalls(std::chrono::steady_clock::time_point now) {
  if (threads_running_.load(std::memory_order_relaxed) == 0 && kernels_done_.load(std::memory_order_relaxed)) return;
  auto const say = [&](std::string const& text) {
    log(LogLevel::error, text);
    trace_event("stall", "stall", text);
  };
  unsigned const signals_now = report_signals();
  if (signals_now != signals_seen_) {
    signals_seen_ = signals_now;
    say(describe_stall(snapshot(), "asked by SIGUSR1"));
    write_graph();
  }
  if (config_.stall_after.count() == 0 || now < next_look_) return;
  next_look_ = now + std::max<std::chrono::nanoseconds>(config_.stall_after / 4, least_look_interval);
  PipelineSnapshot const seen = snapshot();
  if (!stall_watch_.look(now, progress(seen))) return;
  auto const still = std::chrono::duration_cast<std::chrono::milliseconds>(stall_watch_.still());
  std::string const text = describe_stall(seen, "no progress for " + std::to_string(still.count()) + " ms");
  say(text);
  if (config_.on_stall == OnStall::abort) set_error(std::make_exception_ptr(Aborted(text)));
}

}  // namespace hiway
