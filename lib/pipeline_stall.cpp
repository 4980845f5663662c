// Pipeline::Core's look at a run that stands still: reads the counters of a run under way, beside everyone who changes them,
// says what they mean (stall_report.hpp), and gives a tunnel more room where that is what is missing.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "hiway/log.hpp"
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

/// Reads words at either home. The device's are copied together, once: each copy would take the bus's whole latency.
class WordReader {
 public:
  WordReader(Backend& backend, std::vector<Arena const*> const& device, bool device_may_be_read)
      : backend_(backend), device_is_here_(backend.is_host()), device_seen_(device_may_be_read) {
    if (device_is_here_ || !device_seen_) return;
    for (Arena const* arena : device) {
      for (std::span<std::byte const> const words : arena->words()) {
        Copied copied{words.data(), std::vector<std::byte>((words.size() + 3) / 4 * 4)};
        device_seen_ = device_seen_ && backend.peek(copied.bytes.data(), copied.home, copied.bytes.size());
        if (!device_seen_) return;
        copied_.push_back(std::move(copied));
      }
    }
  }

  template <class T>
  T read(Word<T>* word, bool device) {
    if (word == nullptr) return T{0};
    if (device && !device_is_here_) return fetch(word).bits;
    if (device && !device_seen_) return T{0};
    return ThreadMachine{}.load(*word, Order::relaxed);
  }
  /// Also of words that are in no arena's list. False when they could not be read.
  bool read(std::vector<std::uint32_t>& bits, Word<std::uint32_t>* words, bool device) {
    if (device && !device_is_here_) {
      device_seen_ = device_seen_ && backend_.peek(bits.data(), words, bits.size() * sizeof bits[0]);
      return device_seen_;
    }
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = read(words + i, device);
    return true;
  }
  /// Of each of `count` ports.
  std::vector<TaskCounts> tasks(OutletPort* ports, unsigned count, bool device) {
    std::vector<TaskCounts> all;
    for (unsigned i = 0; i < count; ++i) all.push_back({read(&ports[i].got, device), read(&ports[i].finished, device)});
    return all;
  }
  [[nodiscard]] bool device_seen() const { return device_seen_; }

 private:
  struct Copied {
    std::byte const* home;
    std::vector<std::byte> bytes;
  };
  template <class T>
  T fetch(T const* home) const {
    auto const* const at = reinterpret_cast<std::byte const*>(home);
    for (Copied const& c : copied_) {
      if (at < c.home || at + sizeof(T) > c.home + c.bytes.size()) continue;
      T value;
      std::memcpy(&value, c.bytes.data() + (at - c.home), sizeof value);
      return value;
    }
    return T{};
  }

  Backend& backend_;
  std::vector<Copied> copied_;
  bool device_is_here_;
  bool device_seen_;
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
  char const* const asked = std::getenv(variable);
  if (asked == nullptr || *asked == '\0') return std::chrono::milliseconds(0);
  std::int32_t milliseconds = -1;
  char const* const end = asked + std::strlen(asked);
  auto const parsed = std::from_chars(asked, end, milliseconds);
  if (parsed.ec != std::errc{} || parsed.ptr != end || milliseconds < 0)
    throw ConfigError(std::string(variable) + " must be a number of milliseconds: '" + asked + "'");
  return std::chrono::milliseconds(milliseconds);
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
  WordReader reader(
      *backend_,
      uses_device() ? std::vector<Arena const*>{device_words_.get(), device_plan_.get()} : std::vector<Arena const*>{},
      kernels_started || !uses_device());
  PipelineSnapshot all;
  all.aborting = is_aborted(ThreadMachine{}, *host_control_);
  for (std::size_t i = 0; i < stages_.size(); ++i) {
    StageState const& s = stages_[i];
    StageSnapshot stage;
    stage.name = s.description.name;
    stage.gpu = s.gpu;
    stage.executors = s.executors;
    stage.started = s.description.own_kernel ? s.executors : reader.read(&s.words->started, s.gpu);
    stage.returned = reader.read(&s.words->returned, s.gpu);
    stage.ended = reader.read(&s.words->ended, s.gpu) != 0;
    stage.inside = inside_[i].load(std::memory_order_relaxed);
    if (s.gpu && kernels_started && with_kernels) {
      auto const place = std::find(start_order_.begin(), start_order_.end(), s.owner) - start_order_.begin();
      auto const kernel = static_cast<std::size_t>(place) + 1;  // after the device monitor
      if (kernel < kernels_.size() && !kernels_[kernel].done) stage.inside = s.executors;
    }
    stage.got.assign(s.executors, 0);
    for (std::size_t f = 0; f < s.description.from.size(); ++f) {
      std::vector<TaskCounts> const each = reader.tasks(s.outlet_ports[f], s.executors, s.gpu);
      for (unsigned e = 0; e < s.executors; ++e) stage.got[e] += each[e].got;
      stage.from.push_back({s.description.from[f]->id(), sum(each)});
    }
    for (std::size_t o = 0; o < s.description.into.size(); ++o)
      stage.into.push_back({s.description.into[o]->id(), reader.read(s.closed_executors[o], s.gpu), s.spills[o]});
    all.stages.push_back(std::move(stage));
  }
  for (TunnelState const& t : tunnels_) {
    TunnelBase const& tunnel = *t.tunnel;
    bool const from = tunnel.from_gpu();
    bool const to = tunnel.to_gpu();
    TunnelSnapshot s;
    s.name = tunnel.name();
    s.kind = std::string(direction_name(tunnel.direction())) + " " + movement_name(t);
    s.crosses = tunnel.crosses();
    s.on_device = from || to;
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
    s.retired = s.crosses ? reader.read(t.retired, false) : left(s, room);
    if (tunnel.config().low_latency) {
      s.published = s.arrived = s.claimed;  // nobody tells of items that carry tags
    } else {
      s.arrived = reader.read(t.arrived, t.movement == Movement::dma && to);
      s.published = reader.read(t.published, false);
    }
    s.spills = t.spills;
    if (t.spills) {
      RingWords* const pool = tunnel_words(from).image(t.spill).words;
      s.spill_taken = s.crosses ? reader.read(t.drained, from) : reader.read(&pool->taken, from);
      s.spill_claimed = reader.read(&pool->claimed, from);
      s.spill_capacity = spill_items(tunnel);
    }
    if (t.throttled_by != npos) {
      s.throttled = reader.read(&(from ? t.device_end : t.host_end)->throttled, from) != 0;
      s.throttled_by.assign(cycles_[t.throttled_by].pools.begin(), cycles_[t.throttled_by].pools.end());
    }
    EndWords* const end = t.host_end != nullptr ? t.host_end : t.device_end;
    s.closed = reader.read(&end->closed, t.host_end == nullptr) != 0;
    s.ended = reader.read(&end->ended, t.host_end == nullptr) != 0;
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
  all.device_seen = reader.device_seen();
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
