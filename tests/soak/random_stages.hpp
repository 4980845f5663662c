// The stages of random pipelines, and the pipeline that a PipelineSpec describes. Few functors, told what to do by
// data: each pair of a functor and a number of ends is a kernel. Every size of item has a unit of its own: 16 to 19
// kernels are minutes of nvcc's time.
#pragma once
#include <algorithm>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/text.hpp"
#include "tests/soak/random_pipeline.hpp"

namespace hiway_tests {

/// An item: every word follows from the key.
template <std::size_t Bytes>
struct Parcel {
  static constexpr std::size_t count = Bytes / 4;
  alignas(Bytes == 4096 ? 128 : Bytes % 8 == 0 ? 8 : 4) std::uint32_t words[count];

  HIWAY_DEVICE static std::uint32_t word(Key key, std::size_t i) {
    return i == 0 ? key : static_cast<std::uint32_t>(mix(key + (std::uint64_t{i} << 32)));
  }
  [[gnu::noinline]] HIWAY_DEVICE void fill(Key key, unsigned rank = 0, unsigned size = 1) {
    for (std::size_t i = rank; i < count; i += size) words[i] = word(key, i);
  }
  [[gnu::noinline]] HIWAY_DEVICE bool whole(unsigned rank = 0, unsigned size = 1) const {
    for (std::size_t i = rank; i < count; i += size) {
      if (words[i] != word(words[0], i)) return false;
    }
    return true;
  }
};

/// The calling lane's place among those that work together.
struct Place {
  unsigned rank = 0, size = 1;
  HIWAY_DEVICE static Place in_warp() {
    return hiway::anywhere([](auto m) { return Place{m.lane(), m.count(m.lanes())}; });
  }
  HIWAY_DEVICE static Place in_block() {
    return hiway::anywhere([](auto m) { return Place{m.thread_in_block(), m.block_threads()}; });
  }
};

/// What every functor has.
template <class T>
struct Duty {
  hiway::View<Seen> seen;
  Rule rule;
  Style style;
  bool last_words, closes_early;
  std::uint32_t items;

  HIWAY_DEVICE static void put(hiway::Inlet<T> const& out, Key key) {
    if constexpr (hiway::stays_in_slot<T>) {
      out.put_in_place([&](T& slot) { slot.fill(key); });
    } else {
      T item;
      item.fill(key);
      // Both ways to wait for room; in the end one that says when a spill pool is full, for who stands in a cycle and
      // only tries may wait for himself.
      for (unsigned misses = 0; (key & 8) == 0 && misses < 1000; ++misses) {
        if (out.try_put(item)) return;
        hiway::anywhere([&](auto m) { m.relax(misses); });
      }
      out.put(item);
    }
  }
  HIWAY_DEVICE void note(T const& item, Place place) const {
    if (!item.whole(place.rank, place.size)) seen[0].note_torn();
    if (place.rank == 0) seen[0].count(item.words[0]);
    if (rule.fails(item.words[0])) hiway::fail("planted");
    if (rule.pauses(item.words[0])) {
      for (unsigned i = 0; i < place.rank % 5 + 3; ++i) hiway::anywhere([](auto m) { m.relax(1); });
    }
  }
  HIWAY_DEVICE void pass_on(Key key, hiway::Inlet<T> const* out) const {
    for (unsigned j = 0; j < rule.inlets; ++j) pass_on(key, out, j);
  }
  HIWAY_DEVICE void pass_on(Key key, hiway::Inlet<T> const* out, unsigned j) const {
    for (unsigned n = rule.puts(key, j), i = 0; i < n; ++i) put(out[j], rule.child(key, j, i));
  }
  HIWAY_DEVICE void work(T const& item, hiway::Inlet<T> const* out) const {
    Key const key = item.words[0];
    note(item, {});
    pass_on(key, out);
  }
  /// The same, compiled once for all the loops: in other forms puts are inlined, as in users' code.
  [[gnu::noinline]] HIWAY_DEVICE void work_apart(T const& item, hiway::Inlet<T> const* out) const { work(item, out); }
};

template <class T>
struct Source : Duty<T> {
  HIWAY_DEVICE void operator()(hiway::Inlet<T> a) const { run(&a); }
  HIWAY_DEVICE void operator()(hiway::Inlet<T> a, hiway::Inlet<T> b) const {
    hiway::Inlet<T> const out[] = {a, b};
    run(out);
  }
  HIWAY_DEVICE Key key(std::uint32_t i) const { return this->rule.first(hiway::thread_index() * this->items + i); }
  HIWAY_DEVICE void run(hiway::Inlet<T> const* out) const {
    if (!this->closes_early) {
      for (std::uint32_t i = 0; i < this->items; ++i) this->pass_on(key(i), out);
      return;
    }
    for (unsigned j = 0; j < this->rule.inlets; ++j) {
      for (std::uint32_t i = 0; i < this->items; ++i) this->pass_on(key(i), out, j);
      out[j].close();
    }
  }
};
/// CPU threads: as many items in one call as the keys say.
template <class T>
struct SpanSource : Duty<T> {
  void operator()(hiway::Inlet<T> a) const { run(&a); }
  void operator()(hiway::Inlet<T> a, hiway::Inlet<T> b) const {
    hiway::Inlet<T> const out[] = {a, b};
    run(out);
  }
  void run(hiway::Inlet<T> const* out) const {
    for (unsigned j = 0; j < this->rule.inlets; ++j) {
      std::vector<T> some;
      for (std::uint32_t i = 0; i < this->items; ++i) {
        Key const key = this->rule.first(hiway::thread_index() * this->items + i);
        for (unsigned n = this->rule.puts(key, j), k = 0; k < n; ++k)
          some.emplace_back().fill(this->rule.child(key, j, k));
        if (key % 3 == 0) continue;
        out[j].put_h(std::span<T const>(some));
        some.clear();
      }
      out[j].put_h(std::span<T const>(some));
      if (this->closes_early) out[j].close_h();
    }
  }
};

/// Item form.
template <class T>
struct Each : Duty<T> {
  HIWAY_DEVICE void operator()(T const& item) const { this->work(item, nullptr); }
  HIWAY_DEVICE void operator()(T const& item, hiway::Inlet<T> a) const { this->work(item, &a); }
  HIWAY_DEVICE void operator()(T const& item, hiway::Inlet<T> a, hiway::Inlet<T> b) const {
    hiway::Inlet<T> const out[] = {a, b};
    this->work(item, out);
  }
};
/// Value form.
template <class T>
struct Value : Duty<T> {
  HIWAY_DEVICE T operator()(T const& item) const {
    this->note(item, {});
    T next;
    next.fill(this->rule.child(item.words[0], 0, 0));
    return next;
  }
};
/// Loop form.
template <class T>
struct Loop : Duty<T> {
  using In = hiway::Outlet<T>;
  using Out = hiway::Inlet<T>;
  HIWAY_DEVICE void operator()(In in) const { run(in, nullptr); }
  HIWAY_DEVICE void operator()(In in, Out a) const { run(in, &a); }
  HIWAY_DEVICE void operator()(In in, Out a, Out b) const {
    Out const out[] = {a, b};
    run(in, out);
  }
  HIWAY_DEVICE void operator()(In first, In second) const { run(first, second, nullptr); }
  HIWAY_DEVICE void operator()(In first, In second, Out a) const { run(first, second, &a); }
  HIWAY_DEVICE void operator()(In first, In second, Out a, Out b) const {
    Out const out[] = {a, b};
    run(first, second, out);
  }

  HIWAY_DEVICE void run(In const& in, Out const* out) const {
    switch (this->style) {
      case Style::warp:
        in.for_each_warp([&](T const& item) {
          this->note(item, Place::in_warp());
          pass_on_together(item.words[0], out, Place::in_warp(),
                           [](Out const& o, auto&& fill) { o.put_in_place_warp(fill); });
        });
        break;
      case Style::block:
        in.for_each_block([&](T const& item) {
          this->note(item, Place::in_block());
          pass_on_together(item.words[0], out, Place::in_block(),
                           [](Out const& o, auto&& fill) { o.put_in_place_block(fill); });
        });
        break;
      case Style::get:
        if constexpr (!hiway::stays_in_slot<T>) {
          T item;
          while (!in.is_terminate()) {
            if (in.get(item)) {
              this->work_apart(item, out);
              in.end_task();
            }
          }
          break;
        }
        [[fallthrough]];
      case Style::next:
        if constexpr (!hiway::stays_in_slot<T>) {
          T item;
          while (in.next(item)) {
            this->work_apart(item, out);
            in.end_task();
          }
          break;
        }
        [[fallthrough]];
      default: in.for_each([&](T const& item) { this->work_apart(item, out); });
    }
    if (this->last_words) this->put(out[0], this->rule.first(hiway::thread_index()));
  }
  HIWAY_DEVICE void run(In const& first, In const& second, Out const* out) const {
    T item;
    while (!first.is_terminate()) {
      if (first.get(item)) {
        this->work_apart(item, out);
        first.end_task();
      }
      if (second.get(item)) {
        this->work_apart(item, out);
        second.end_task();
      }
    }
    if (this->last_words) this->put(out[0], this->rule.first(hiway::thread_index()));
  }
  template <class Put>
  HIWAY_DEVICE void pass_on_together(Key key, Out const* out, Place place, Put&& put) const {
    for (unsigned j = 0; j < this->rule.inlets; ++j) {
      for (unsigned n = this->rule.puts(key, j), i = 0; i < n; ++i) {
        Key const child = this->rule.child(key, j, i);
        put(out[j], [&](T& slot) { slot.fill(child, place.rank, place.size); });
      }
    }
  }
};
/// CPU threads: up to 1 + key % 16 items in one call.
template <class T>
struct SpanLoop : Duty<T> {
  using In = hiway::Outlet<T>;
  using Out = hiway::Inlet<T>;
  void operator()(In in) const { run(in, nullptr); }
  void operator()(In in, Out a) const { run(in, &a); }
  void operator()(In in, Out a, Out b) const {
    Out const out[] = {a, b};
    run(in, out);
  }
  void run(In const& in, Out const* out) const {
    std::vector<T> some(16);
    for (std::size_t room = 1; std::size_t const n = in.next_h(std::span<T>(some).first(room));) {
      for (std::size_t i = 0; i < n; ++i) {
        if (this->rule.fails(some[i].words[0])) throw std::runtime_error("planted");
        this->work(some[i], out);
      }
      in.end_task_h(n);
      room = 1 + some[0].words[0] / 8 % 16;
    }
  }
};

/// A batch stage, whose kernels do the work, or its body itself.
template <class T>
struct Batches {
  static constexpr unsigned in_flight = 3;
  struct Work : Duty<T> {
    T const* in;
    std::size_t count;
    T* out[most_ends];
    std::uint32_t* made;  // for each inlet
    HIWAY_DEVICE void operator()() const {
      if (hiway::thread_index() != 0) return;
      for (unsigned j = 0; j < most_ends; ++j) made[j] = 0;
      for (std::size_t i = 0; i < count; ++i) {
        Key const key = in[i].words[0];
        this->note(in[i], {});
        for (unsigned j = 0; j < this->rule.inlets; ++j)
          for (unsigned n = this->rule.puts(key, j), k = 0; k < n; ++k)
            out[j][made[j]++].fill(this->rule.child(key, j, k));
      }
    }
  };

  Duty<T> duty;
  bool launches;
  std::span<std::uint32_t> made;  // for each batch under way and inlet
  unsigned calls = 0;

  void operator()(hiway::Batch<T const> in, hiway::Stream stream) { run(in, nullptr, 0, stream); }
  void operator()(hiway::Batch<T const> in, hiway::Batch<T> a, hiway::Stream stream) { run(in, &a, 1, stream); }
  void operator()(hiway::Batch<T const> in, hiway::Batch<T> a, hiway::Batch<T> b, hiway::Stream stream) {
    hiway::Batch<T> const out[] = {a, b};
    run(in, out, 2, stream);
  }
  void run(hiway::Batch<T const> in, hiway::Batch<T> const* out, unsigned inlets, hiway::Stream stream) {
    std::uint32_t* const own = made.data() + calls++ % in_flight * most_ends;
    Work work{duty, in.data(), in.size(), {}, own};
    for (unsigned j = 0; j < inlets; ++j) work.out[j] = out[j].data();
    if (launches) {
      stream.launch(work, 1, 2);
    } else {
      work();
    }
    for (unsigned j = 0; j < inlets; ++j) launches ? out[j].resize_on_device(own + j) : out[j].resize(own[j]);
  }
};

template <class T>
class RandomPipelineOf final : public RandomPipeline {
 public:
  RandomPipelineOf(PipelineSpec const& spec, hiway::PipelineConfig const& config)
      : spec_(spec),
        host_seen_(spec.stages.size()),
        device_(config.device),
        pipe_(config),
        device_seen_(pipe_.create_buffer<Seen>(std::span<Seen const>(host_seen_))) {
    for (std::size_t t = 0; t < spec.tunnels.size(); ++t)
      tunnels_.push_back(
          &pipe_.create_tunnel<T>(hiway::numbered("t", t), spec.tunnels[t].direction, spec.tunnels[t].config));
    for (std::size_t s = 0; s < spec.stages.size(); ++s) {
      if (!spec.stages[s].in_group) add(s);
    }
    if (!spec.group.empty()) add_group();
  }
  hiway::Pipeline& pipeline() override { return pipe_; }
  std::vector<Seen> seen() override {
    std::vector<Seen> all(spec_.stages.size());
    device_seen_.copy_out(all);
    for (std::size_t s = 0; s < all.size(); ++s) {
      if (!spec_.stages[s].gpu) all[s] = host_seen_[s];
    }
    return all;
  }
  void forget_seen() override {
    std::ranges::fill(host_seen_, Seen{});
    device_seen_.copy_in(host_seen_);
  }

 private:
  [[nodiscard]] Duty<T> duty(std::size_t s) {
    StageSpec const& stage = spec_.stages[s];
    hiway::View<Seen> const seen{(stage.gpu ? device_seen_.view().data : host_seen_.data()) + stage.like, 1};
    return {seen, stage.rule, stage.style, stage.last_words, stage.closes_early, stage.items};
  }
  [[nodiscard]] hiway::GpuStageOptions gpu_options(StageSpec const& stage) const {
    return {.blocks = stage.blocks, .threads_per_block = stage.threads};
  }
  /// On a GPU kernels do the work.
  [[nodiscard]] Batches<T> batches(std::size_t s) {
    bool const on_gpu = spec_.stages[s].gpu && device_ != "simt";
    return {duty(s), spec_.seed % 8 == 3 || on_gpu,
            pipe_.template create_host_buffer<std::uint32_t>(Batches<T>::in_flight * most_ends)};
  }
  /// Of so many items that what may be made of them finds room: two of each, at most.
  [[nodiscard]] hiway::BatchOptions batch_options(StageSpec const& stage) const {
    std::size_t most = spec_.tunnels[stage.from[0]].config.capacity_items;
    for (std::size_t j = 0; j < stage.into.size(); ++j)
      most = std::min(most, spec_.tunnels[stage.into[j]].config.capacity_items / most_of(stage.rule.gain[j]));
    return {.max_items = most,
            .min_items = 1 + spec_.seed / 8 % most,
            .in_flight = 1 + static_cast<unsigned>(spec_.seed / 16 % Batches<T>::in_flight),
            .device = stage.gpu ? 0 : -1};
  }
  /// In every second pipeline those that may yield do.
  template <std::size_t Outlets>
  [[nodiscard]] hiway::Residency residency_of_value() const {
    bool const may = Outlets == 1 && !hiway::stays_in_slot<T>;
    return may && spec_.seed % 2 == 0 ? hiway::Residency::yielding : hiway::Residency::resident;
  }
  [[nodiscard]] hiway::Tunnel<T>& tunnel(std::vector<std::size_t> const& ends, std::size_t i) {
    return *tunnels_[ends[i]];
  }

  void add(std::size_t s) {
    StageSpec const& stage = spec_.stages[s];
    switch (stage.from.size()) {
      case 0: add(s, hiway::From<>(hiway::NoTunnels{})); break;
      case 1: add(s, hiway::from(tunnel(stage.from, 0))); break;
      default: add(s, hiway::from(tunnel(stage.from, 0), tunnel(stage.from, 1)));
    }
  }
  template <class... Is>
  void add(std::size_t s, hiway::From<Is...> in) {
    StageSpec const& stage = spec_.stages[s];
    switch (stage.into.size()) {
      case 0:
        if constexpr (sizeof...(Is) > 0) add(s, in, hiway::Into<>(hiway::NoTunnels{}));
        break;
      case 1: add(s, in, hiway::into(tunnel(stage.into, 0))); break;
      default: add(s, in, hiway::into(tunnel(stage.into, 0), tunnel(stage.into, 1)));
    }
  }
  template <class... Is, class... Os>
  void add(std::size_t s, hiway::From<Is...> in, hiway::Into<Os...> out) {
    StageSpec const& stage = spec_.stages[s];
    std::string const name = hiway::numbered("s", s);
    if constexpr (sizeof...(Is) == 0) {
      if (stage.style == Style::spans) {
        pipe_.add_cpu_stage(name, SpanSource<T>{duty(s)}, in, out, {.threads = stage.threads});
      } else {
        add(stage, name, Source<T>{duty(s)}, in, out);
      }
    } else {
      if (stage.style == Style::item) return add(stage, name, Each<T>{duty(s)}, in, out);
      if constexpr (sizeof...(Os) == 1) {
        if (stage.style == Style::value)
          return add(stage, name, Value<T>{duty(s)}, in, out, residency_of_value<sizeof...(Is)>());
      }
      if constexpr (sizeof...(Is) == 1) {
        if (stage.style == Style::spans) {
          pipe_.add_cpu_stage(name, SpanLoop<T>{duty(s)}, in, out, {.threads = stage.threads});
          return;
        }
        if (stage.style == Style::batch) return pipe_.add_batch_stage(name, batches(s), in, out, batch_options(stage));
      }
      if constexpr (sizeof...(Is) == 1 || !hiway::stays_in_slot<T>) add(stage, name, Loop<T>{duty(s)}, in, out);
    }
  }
  template <class F, class In, class Out>
  void add(StageSpec const& stage, std::string const& name, F body, In in, Out out,
           hiway::Residency residency = hiway::Residency::resident) {
    if (stage.gpu) {
      hiway::GpuStageOptions options = gpu_options(stage);
      options.residency = residency;
      pipe_.add_gpu_stage(name, body, in, out, options);
    } else {
      pipe_.add_cpu_stage(name, body, in, out, {.threads = stage.threads});
    }
  }
  void add_group() {
    std::vector<std::size_t> const& g = spec_.group;
    hiway::GpuStageOptions const options = gpu_options(spec_.stages[g[0]]);
    auto const one = [&](std::size_t s) {
      StageSpec const& stage = spec_.stages[s];
      return hiway::stage(hiway::numbered("s", s), Each<T>{duty(s)}, hiway::from(tunnel(stage.from, 0)),
                          hiway::into(tunnel(stage.into, 0)));
    };
    StageSpec const& first = spec_.stages[g[0]];
    if (first.from.size() == 2) {
      pipe_.add_gpu_group("group", options,
                          hiway::stage(hiway::numbered("s", g[0]), Each<T>{duty(g[0])},
                                       hiway::from(tunnel(first.from, 0), tunnel(first.from, 1)),
                                       hiway::into(tunnel(first.into, 0), tunnel(first.into, 1))),
                          one(g[1]));
    } else if (g.size() == 2) {
      pipe_.add_gpu_group("group", options, one(g[0]), one(g[1]));
    } else {
      pipe_.add_gpu_group("group", options, one(g[0]), one(g[1]), one(g[2]));
    }
  }

  PipelineSpec spec_;
  std::vector<Seen> host_seen_;  // outlives the stages
  std::string device_;
  hiway::Pipeline pipe_;
  hiway::Buffer<Seen>& device_seen_;
  std::vector<hiway::Tunnel<T>*> tunnels_;
};

template <std::size_t Bytes>
std::unique_ptr<RandomPipeline> build_of(PipelineSpec const& spec, hiway::PipelineConfig const& config) {
  return std::make_unique<RandomPipelineOf<Parcel<Bytes>>>(spec, config);
}

}  // namespace hiway_tests
