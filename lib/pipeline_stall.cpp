// Pipeline::Core's look at a run that stands still: reads the counters of a run under way, beside everyone who changes them,
// says what they mean (stall_report.hpp), and gives a tunnel more room where that is what is missing.
#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

char const* direction_name(Direction direction) {
  switch (direction) {
    case Direction::cpu_to_cpu: return "cpu_to_cpu";
    case Direction::cpu_to_gpu: return "cpu_to_gpu";
    case Direction::gpu_to_cpu: return "gpu_to_cpu";
    case Direction::gpu_to_gpu: return "gpu_to_gpu";
  }
  return "unknown direction";
}

/// Items of a whole ring whose slots were left: who works on an item there may hold what was taken.
std::uint64_t left(TunnelSnapshot const& s, std::uint64_t room) {
  std::uint64_t const held = s.capacity - std::min(room, s.capacity);
  return s.claimed - std::min(held, s.claimed);
}

/// Reads words at either home. Of the device's none once a read has failed: the next would wait as long.
class WordReader {
 public:
  WordReader(Backend& backend, bool device_may_be_read) : backend_(backend), device_seen_(device_may_be_read) {}

  template <class T>
  T read(Word<T>* word, bool device) {
    if (word == nullptr) return T{0};
    if (!device) return ThreadMachine{}.load(*word, Order::relaxed);
    T bits{0};
    return peek(&bits, word, sizeof bits) ? bits : T{0};
  }
  /// False when they could not be read.
  bool read(std::vector<std::uint32_t>& bits, Word<std::uint32_t>* words, bool device) {
    if (device) return peek(bits.data(), words, bits.size() * sizeof bits[0]);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = read(words + i, false);
    return true;
  }
  TaskCounts tasks(OutletPort* ports, unsigned count, bool device) {
    TaskCounts sum;
    if (!device) {
      for (unsigned i = 0; i < count; ++i) {
        sum.got += read(&ports[i].got, false);
        sum.finished += read(&ports[i].finished, false);
      }
      return sum;
    }
    std::vector<OutletPort> copies(
        count);  // the fields that are no words are CPU threads' only: nobody writes them here
    if (!peek(copies.data(), ports, count * sizeof(OutletPort))) return {};
    for (OutletPort const& port : copies) {
      sum.got += port.got.bits;
      sum.finished += port.finished.bits;
    }
    return sum;
  }
  [[nodiscard]] bool device_seen() const { return device_seen_; }

 private:
  bool peek(void* to, void const* device, std::size_t bytes) {
    device_seen_ = device_seen_ && backend_.peek(to, device, bytes);
    return device_seen_;
  }

  Backend& backend_;
  bool device_seen_;
};

}  // namespace

std::chrono::milliseconds chosen_stall_after(std::chrono::milliseconds configured) {
  if (configured.count() < 0)
    throw ConfigError("stall_after is negative: " + std::to_string(configured.count()) + " ms");
  char const* const asked = std::getenv("HIWAY_STALL_AFTER");
  if (configured.count() != 0 || asked == nullptr || *asked == '\0') return configured;
  std::int32_t milliseconds = -1;
  char const* const end = asked + std::strlen(asked);
  auto const parsed = std::from_chars(asked, end, milliseconds);
  if (parsed.ec != std::errc{} || parsed.ptr != end || milliseconds < 0)
    throw ConfigError("HIWAY_STALL_AFTER must be a number of milliseconds: '" + std::string(asked) + "'");
  return std::chrono::milliseconds(milliseconds);
}

unsigned report_signals() {
  static bool const taken_over = take_signal_over();
  static_cast<void>(taken_over);
  return signals.load(std::memory_order_relaxed);
}

PipelineSnapshot Pipeline::Core::snapshot() {
  bool const kernels_started = kernels_started_.load(std::memory_order_acquire);
  // A launch that waits for something may hold the driver: nothing is asked of it then.
  WordReader reader(*backend_, kernels_started || !uses_device());
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
    if (s.gpu && kernels_started) {
      auto const place = std::find(start_order_.begin(), start_order_.end(), s.owner) - start_order_.begin();
      auto const kernel = static_cast<std::size_t>(place) + 1;  // after the device monitor
      if (kernel < kernels_.size() && !kernels_[kernel].done) stage.inside = s.executors;
    }
    for (std::size_t f = 0; f < s.description.from.size(); ++f)
      stage.from.push_back({s.description.from[f]->id(), reader.tasks(s.outlet_ports[f], s.executors, s.gpu)});
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
    for (OutletPort* port : t.open_outlets) s.open_outlets.push_back(reader.tasks(port, 1, to));
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
  auto const say = [](std::string const& text) { std::fputs(("hiway: " + text + "\n").c_str(), stderr); };
  unsigned const signals_now = report_signals();
  if (signals_now != signals_seen_) {
    signals_seen_ = signals_now;
    say(describe_stall(snapshot(), "asked by SIGUSR1"));
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
