// Random pipelines: what one is, how a seed makes it, what it must bring to every stage. random_stages.hpp builds it.
//
// One function, Rule, says what a stage puts for an item; stages and the oracle both ask it. It reads the item's key
// and nothing else, so that neither order nor the choice among readers matters and a serial worklist is an oracle. An
// item's key is 29 random bits and its depth: what is put along a cycle is one less deep, so every run ends.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <ostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "hiway/hiway.hpp"
#include "tests/environment.hpp"
#include "tests/mix.hpp"

namespace hiway_tests {

using Key = std::uint32_t;
inline constexpr Key depth_bits = 7;
inline constexpr unsigned most_ends = 2;  // outlets, and inlets, of a stage

/// How many items an item becomes in one inlet: one; one in the inlet that the key chooses, none in others; 0 to 2;
/// along a cycle 0 to 2, none at depth 0.
enum class Gain : std::uint8_t { one, split, some, cycle };
inline constexpr std::size_t most_of(Gain gain) { return gain == Gain::some || gain == Gain::cycle ? 2 : 1; }

/// What a stage puts for an item.
struct Rule {
  std::uint64_t salt = 0;
  std::uint32_t inlets = 0;
  std::uint32_t most_depth = 0;  // of items that enter a cycle
  std::uint32_t fails_of = 0;    // the stage fails at one item of so many; 0: never
  std::uint32_t pauses_of = 0;   // it pauses at one item of so many; 0: never
  Gain gain[most_ends] = {};

  HIWAY_DEVICE unsigned puts(Key key, unsigned inlet) const {
    std::uint64_t const h = mix(key ^ salt ^ (inlet + 1) * mix_step);
    switch (gain[inlet]) {
      case Gain::one: return 1;
      case Gain::split: return mix(key ^ salt) % inlets == inlet ? 1 : 0;
      case Gain::some: return static_cast<unsigned>(h % 3);
      case Gain::cycle: return (key & depth_bits) == 0 ? 0 : static_cast<unsigned>(h % 3);
    }
    return 0;
  }
  HIWAY_DEVICE Key child(Key key, unsigned inlet, unsigned number) const {
    std::uint64_t const h = mix(key ^ salt ^ (inlet * 16 + number + 1) * 0xd1342543de82ef95u);
    Key const depth =
        gain[inlet] == Gain::cycle ? (key & depth_bits) - 1 : static_cast<Key>((h >> 40) % (most_depth + 1));
    return (static_cast<Key>(h) & ~depth_bits) | depth;
  }
  /// The key that a source starts from, and the one that a thread puts last.
  HIWAY_DEVICE Key first(std::uint32_t number) const {
    std::uint64_t const h = mix(salt + number);
    return (static_cast<Key>(h) & ~depth_bits) | static_cast<Key>((h >> 40) % (most_depth + 1));
  }
  HIWAY_DEVICE bool fails(Key key) const { return fails_of != 0 && mix(key + salt) % fails_of == 0; }
  HIWAY_DEVICE bool pauses(Key key) const { return pauses_of != 0 && mix(key - salt) % pauses_of == 0; }
};

/// What a stage has got: two independent sums beside the count.
struct Seen {
  hiway::Word<std::uint64_t> items{0};
  hiway::Word<std::uint64_t> sum{0};
  hiway::Word<std::uint64_t> other_sum{0};
  hiway::Word<std::uint64_t> torn{0};

  HIWAY_DEVICE void count(Key key) {
    hiway::anywhere([&](auto m) {
      m.fetch_add(items, std::uint64_t{1}, hiway::MemoryOrder::relaxed);
      m.fetch_add(sum, mix(key), hiway::MemoryOrder::relaxed);
      m.fetch_add(other_sum, mix(~std::uint64_t{key}), hiway::MemoryOrder::relaxed);
    });
  }
  HIWAY_DEVICE void note_torn() {
    hiway::anywhere([&](auto m) { m.fetch_add(torn, std::uint64_t{1}, hiway::MemoryOrder::relaxed); });
  }
  friend bool operator==(Seen const& a, Seen const& b) {
    return a.items.bits == b.items.bits && a.sum.bits == b.sum.bits && a.other_sum.bits == b.other_sum.bits &&
           a.torn.bits == b.torn.bits;
  }
};
inline std::ostream& operator<<(std::ostream& out, Seen const& s) {
  return out << s.items.bits << " items (sums " << std::hex << s.sum.bits << " " << s.other_sum.bits << std::dec << ", "
             << s.torn.bits << " torn)";
}

/// How a stage is written. Loops of one outlet: for_each, the paper's get loop, next, for_each_warp, for_each_block; of
/// two: the get loop. item and value: the library's loop. spans: CPU threads, many items in one call. batch: a batch
/// stage; of a GPU stage, its batches lie on the device.
enum class Style : std::uint8_t { for_each, get, next, warp, block, item, value, spans, batch };
inline constexpr char const* style_names[] = {"for_each", "get",   "next",  "warp", "block",
                                              "item",     "value", "spans", "batch"};

struct StageSpec {
  bool gpu = false;
  bool in_group = false;
  Style style = Style::item;
  bool last_words = false;    // each thread puts one more item after its loop
  bool closes_early = false;  // a source closes its first inlet before it puts into its second
  unsigned threads = 1;       // of a CPU stage, or of a block
  unsigned blocks = 1;
  std::uint32_t items = 0;  // a source: of each thread
  std::size_t like = 0;     // the stage whose twin this is, or itself
  Rule rule{};
  std::vector<std::size_t> from{}, into{};

  [[nodiscard]] unsigned executors() const { return gpu ? blocks * threads : threads; }
};
struct TunnelSpec {
  std::vector<std::size_t> writers{}, readers{};
  hiway::Direction direction{};
  hiway::TunnelConfig config{};
};

struct PipelineSpec {
  std::uint64_t seed = 0;
  std::size_t item_bytes = 4;
  std::vector<StageSpec> stages{};
  std::vector<TunnelSpec> tunnels{};
  std::vector<std::size_t> group{};  // stages of one kernel
};

/// One line that shows the graph: `s0 gpu for_each 2x32 t0 -> t1 t2; ...`.
inline std::string line_of(PipelineSpec const& p) {
  std::ostringstream out;
  out << "seed " << p.seed << ", items of " << p.item_bytes << ":";
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    StageSpec const& stage = p.stages[s];
    out << " s" << s
        << (stage.in_group ? " group "
            : stage.gpu    ? " gpu "
                           : " cpu ")
        << style_names[static_cast<int>(stage.style)] << " " << (stage.gpu ? stage.blocks : 1) << "x" << stage.threads;
    for (std::size_t t : stage.from) out << " t" << t;
    out << " ->";
    for (std::size_t t : stage.into) out << " t" << t;
    out << ";";
  }
  for (std::size_t t = 0; t < p.tunnels.size(); ++t) {
    hiway::TunnelConfig const& c = p.tunnels[t].config;
    out << " t" << t << " capacity " << c.capacity_items << " movement " << int(c.movement) << " when_full "
        << int(c.when_full) << " pool " << c.spill_items << (c.low_latency ? " low_latency;" : ";");
  }
  return out.str();
}

/// Calls `visit(stage, key)` for every item that every stage must get, at most `most`; how many there are.
template <class Visit>
std::uint64_t for_each_expected(PipelineSpec const& p, std::uint64_t most, Visit&& visit) {
  std::vector<std::pair<std::size_t, Key>> work;
  std::uint64_t visited = 0;
  auto const put = [&](StageSpec const& s, unsigned inlet, Key key) {
    work.emplace_back(p.stages[p.tunnels[s.into[inlet]].readers[0]].like, key);
  };
  auto const finish = [&] {
    while (!work.empty() && visited < most) {
      auto const [stage, key] = work.back();
      work.pop_back();
      ++visited;
      visit(stage, key);
      StageSpec const& s = p.stages[stage];
      for (unsigned j = 0; j < s.into.size(); ++j) {
        for (unsigned n = s.rule.puts(key, j), i = 0; i < n; ++i) put(s, j, s.rule.child(key, j, i));
      }
    }
  };
  for (StageSpec const& s : p.stages) {
    std::uint32_t const firsts = s.from.empty() ? s.items * s.executors() : 0;
    for (std::uint32_t n = 0; n < firsts; ++n) {
      Key const key = s.rule.first(n);
      for (unsigned j = 0; j < s.into.size(); ++j) {
        for (unsigned c = s.rule.puts(key, j), i = 0; i < c; ++i) put(s, j, s.rule.child(key, j, i));
      }
      finish();
    }
    for (unsigned n = 0; s.last_words && n < s.executors(); ++n) put(s, 0, s.rule.first(n));
    finish();
  }
  return visited;
}

/// What every stage must have got, at the index of the first of its twins.
inline std::vector<Seen> expected_of(PipelineSpec const& p) {
  std::vector<Seen> seen(p.stages.size());
  for_each_expected(p, ~std::uint64_t{0}, [&](std::size_t s, Key key) { seen[s].count(key); });
  return seen;
}

/// Makes a pipeline from a seed; at most about `most_items` items move in it.
class Generator {
 public:
  Generator(std::uint64_t seed, std::uint64_t most_items) : most_items_(most_items), random_(seed) { p_.seed = seed; }

  PipelineSpec operator()() {
    p_.item_bytes = std::array<std::size_t, 4>{4, 24, 24, 4096}[below(4)];
    draw_graph();
    draw_cycles();
    draw_group();
    draw_devices();
    draw_twin();
    for (StageSpec& s : p_.stages) s.rule.salt = mix(random_());
    for (StageSpec& s : p_.stages) s.rule = rule_of(s);
    for (StageSpec& s : p_.stages) {
      if (s.like < p_.stages.size()) s.rule = p_.stages[s.like].rule;
      draw_style(s);
    }
    for (TunnelSpec& t : p_.tunnels) draw_tunnel(t);
    limit_items();
    return p_;
  }

 private:
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  bool is_source(std::size_t s) const { return p_.stages[s].from.empty(); }

  void connect(std::size_t writer, std::size_t reader) {
    p_.stages[writer].into.push_back(p_.tunnels.size());
    p_.stages[reader].from.push_back(p_.tunnels.size());
    p_.tunnels.push_back({{writer}, {reader}, {}, {}});
  }
  std::size_t new_stage() {
    p_.stages.emplace_back();
    p_.stages.back().like = p_.stages.size() - 1;
    return p_.stages.size() - 1;
  }
  /// Chains, trees, diamonds, several sources and sinks: every later stage reads one or two earlier ones.
  void draw_graph() {
    new_stage();
    for (unsigned const wanted = 2 + below(5); p_.stages.size() < wanted;) {
      std::size_t const s = new_stage();
      if (one_in(6)) continue;  // another source
      for (unsigned n = 1 + below(2); n > 0; --n) {
        std::vector<std::size_t> writers;
        for (std::size_t w = 0; w < s; ++w) {
          if (p_.stages[w].into.size() < most_ends) writers.push_back(w);
        }
        if (writers.empty()) break;
        connect(writers[below(static_cast<unsigned>(writers.size()))], s);
      }
    }
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {  // sources that nobody reads
      if (!is_source(s) || !p_.stages[s].into.empty()) continue;
      std::size_t reader = s + 1;
      while (reader < p_.stages.size() && (is_source(reader) || p_.stages[reader].from.size() == most_ends)) ++reader;
      if (reader == p_.stages.size()) (void)new_stage();
      connect(s, reader);
    }
  }
  void draw_cycles() {
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      auto const has_room = [&](std::size_t writer, std::size_t reader) {
        return !is_source(reader) && p_.stages[writer].into.size() < most_ends &&
               p_.stages[reader].from.size() < most_ends;
      };
      if (has_room(s, s) && one_in(5)) connect(s, s);
      for (std::size_t const t : std::vector<std::size_t>(p_.stages[s].from)) {
        std::size_t const writer = p_.tunnels[t].writers[0];
        if (has_room(s, writer) && one_in(4)) connect(s, writer);
      }
    }
  }
  [[nodiscard]] bool shaped(std::size_t s, std::size_t outlets, std::size_t inlets) const {
    return p_.stages[s].from.size() == outlets && p_.stages[s].into.size() == inlets;
  }
  /// Shapes that random_stages.hpp has a kernel for: two or three stages of one outlet and inlet, or one of two of each
  /// and one of one.
  void draw_group() {
    std::vector<std::size_t> single, pairs;
    for (std::size_t s = 0; s < p_.stages.size(); ++s) {
      if (shaped(s, 1, 1)) single.push_back(s);
      if (shaped(s, 2, 2)) pairs.push_back(s);
    }
    if (single.empty() || one_in(2)) return;
    std::shuffle(single.begin(), single.end(), random_);
    if (!pairs.empty() && one_in(2)) {
      p_.group = {pairs[below(static_cast<unsigned>(pairs.size()))], single[0]};
    } else if (single.size() >= 2) {
      single.resize(std::min<std::size_t>(single.size(), 2 + below(2)));
      p_.group = single;
    }
    for (std::size_t s : p_.group) p_.stages[s].in_group = p_.stages[s].gpu = true;
  }
  /// At most three kernels: the emulated device has four processors, and its monitor needs one.
  void draw_devices() {
    kernels_ = p_.group.empty() ? 0 : 1;
    for (StageSpec& s : p_.stages) {
      if (!s.in_group && kernels_ < 3 && one_in(2)) {
        s.gpu = true;
        ++kernels_;
      }
    }
  }
  /// A second stage that reads and writes what another does.
  void draw_twin() {
    std::size_t const s = below(static_cast<unsigned>(p_.stages.size()));
    if (!one_in(4) || p_.stages[s].in_group || is_source(s) || (p_.stages[s].gpu && kernels_ == 3)) return;
    std::size_t const twin = p_.stages.size();
    p_.stages.push_back(StageSpec(p_.stages[s]));
    for (std::size_t t : p_.stages[s].from) p_.tunnels[t].readers.push_back(twin);
    for (std::size_t t : p_.stages[s].into) p_.tunnels[t].writers.push_back(twin);
  }

  /// reaches[a][b]: items of stage a come to stage b; with the group as one node, or its stages apart.
  [[nodiscard]] std::vector<std::vector<bool>> reaches(bool group_is_one) const {
    std::size_t const n = p_.stages.size();
    std::vector<std::vector<bool>> r(n, std::vector<bool>(n, false));
    for (TunnelSpec const& t : p_.tunnels) {
      for (std::size_t w : t.writers) {
        for (std::size_t reader : t.readers) r[w][reader] = true;
      }
    }
    if (group_is_one) {
      for (std::size_t a : p_.group) {
        for (std::size_t b : p_.group) r[a][b] = true;
      }
    }
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t a = 0; a < n; ++a) {
        for (std::size_t b = 0; b < n; ++b) r[a][b] = r[a][b] || (r[a][k] && r[k][b]);
      }
    }
    return r;
  }
  /// Whether a writer of the tunnel is also behind one of its readers.
  [[nodiscard]] bool in_cycle(std::size_t tunnel, bool group_is_one) const {
    auto const r = reaches(group_is_one);
    TunnelSpec const& t = p_.tunnels[tunnel];
    return std::any_of(t.writers.begin(), t.writers.end(), [&](std::size_t w) {
      return std::any_of(t.readers.begin(), t.readers.end(),
                         [&](std::size_t reader) { return reader == w || r[reader][w]; });
    });
  }
  Rule rule_of(StageSpec const& s) {
    Rule rule = s.rule;
    rule.inlets = static_cast<std::uint32_t>(s.into.size());
    rule.most_depth = below(5);
    rule.pauses_of = one_in(3) ? 1 + below(40) : 0;
    bool const splits = one_in(3);
    for (unsigned j = 0; j < rule.inlets; ++j)
      rule.gain[j] = in_cycle(s.into[j], false) ? Gain::cycle
                     : splits                   ? Gain::split
                     : one_in(3)                ? Gain::some
                                                : Gain::one;
    return rule;
  }
  void draw_style(StageSpec& s) {
    s.threads = s.gpu ? std::array<unsigned, 6>{1, 7, 32, 32, 40, 64}[below(6)] : 1 + below(3);
    s.blocks = s.gpu ? 1 + below(3) : 1;
    if (is_source(static_cast<std::size_t>(&s - p_.stages.data()))) {
      s.style = !s.gpu && one_in(3) ? Style::spans : Style::get;
      s.items = 1 + below(400) / s.executors();
      s.closes_early = s.into.size() == 2 && one_in(2);
      return;
    }
    std::vector<Style> may{Style::item};
    bool const may_loop = !s.in_group && (s.from.size() == 1 || p_.item_bytes <= 256);
    if (may_loop) may.push_back(Style::get);
    if (may_loop && s.from.size() == 1) {
      for (Style style : {Style::for_each, Style::next, Style::warp, Style::block}) may.push_back(style);
      if (!s.gpu) may.push_back(Style::spans);
    }
    if (!s.in_group && s.into.size() == 1 && s.rule.gain[0] == Gain::one) may.insert(may.end(), 3, Style::value);
    s.style = may[below(static_cast<unsigned>(may.size()))];
    bool const loops = s.style != Style::item && s.style != Style::value && s.style != Style::spans;
    s.last_words = loops && !s.into.empty() && s.rule.gain[0] != Gain::cycle && one_in(3);
  }
  void draw_tunnel(TunnelSpec& t) {
    bool const from_gpu = p_.stages[t.writers[0]].gpu;
    bool const to_gpu = p_.stages[t.readers[0]].gpu;
    t.direction = from_gpu ? to_gpu ? hiway::Direction::gpu_to_gpu : hiway::Direction::gpu_to_cpu
                  : to_gpu ? hiway::Direction::cpu_to_gpu
                           : hiway::Direction::cpu_to_cpu;
    hiway::TunnelConfig& c = t.config;
    c.capacity_items = one_in(3) ? 1 + below(4) : 1 + below(64);
    c.movement = static_cast<hiway::Movement>(below(4));
    if (one_in(3)) c.batch_items = 1 + below(static_cast<unsigned>(c.capacity_items));
    if (one_in(3)) c.flush_after = std::chrono::microseconds(1 + below(300));
    c.when_full = static_cast<hiway::WhenFull>(below(3));
    bool const inside = in_cycle(static_cast<std::size_t>(&t - p_.tunnels.data()), true);
    if (inside && c.when_full == hiway::WhenFull::wait) c.when_full = hiway::WhenFull::automatic;
    bool const carried = c.movement == hiway::Movement::dma || c.movement == hiway::Movement::managed;
    StageSpec const& reader = p_.stages[t.readers[0]];
    bool const by_one_warp = t.readers.size() == 1 && !reader.in_group && reader.blocks == 1 && reader.threads <= 32;
    c.low_latency = (from_gpu || (to_gpu && by_one_warp)) && p_.item_bytes <= 12 && !carried && one_in(2);
  }
  void limit_items() {
    while (for_each_expected(p_, most_items_, [](std::size_t, Key) {}) >= most_items_) {
      bool fewer = false;
      for (StageSpec& s : p_.stages) {
        fewer = fewer || s.items > 1;
        s.items = (s.items + 1) / 2;
      }
      if (fewer) continue;
      for (StageSpec& s : p_.stages) s.last_words = false, s.blocks = 1, s.threads = 1;
      return;
    }
  }

  std::uint64_t most_items_;
  unsigned kernels_ = 0;
  std::mt19937_64 random_;
  PipelineSpec p_;
};

/// Makes batch stages of some of the pipeline's stages, by numbers of its own: so a seed makes what it made before.
inline void draw_batches(PipelineSpec& p) {
  std::mt19937_64 random(mix(p.seed));
  for (std::size_t s = 0; s < p.stages.size(); ++s) {
    StageSpec& stage = p.stages[s];
    bool const is_single = std::ranges::count(p.stages, stage.like, &StageSpec::like) == 1;
    if (stage.from.size() != 1 || stage.in_group || !is_single || random() % 2 == 0) continue;
    bool has_room = true;
    for (std::size_t j = 0; j < stage.into.size(); ++j)
      has_room = has_room && p.tunnels[stage.into[j]].config.capacity_items >= most_of(stage.rule.gain[j]);
    if (!has_room) continue;
    stage.style = Style::batch;
    stage.threads = stage.blocks = 1;
    stage.last_words = false;
    if (!stage.gpu) continue;
    for (std::size_t const t : stage.from) p.tunnels[t].config.low_latency = false;
    for (std::size_t const t : stage.into) p.tunnels[t].config.low_latency = false;
  }
}

/// A pipeline of `spec` that can run, and what its stages have got.
class RandomPipeline {
 public:
  virtual ~RandomPipeline() = default;
  virtual hiway::Pipeline& pipeline() = 0;
  /// After a run: what the stages got.
  virtual std::vector<Seen> seen() = 0;
  /// Before another run.
  virtual void forget_seen() = 0;
};
/// In random_stages_4.cpp and its like.
template <std::size_t Bytes>
std::unique_ptr<RandomPipeline> build_of(PipelineSpec const& spec, hiway::PipelineConfig const& config);
/// In random_pipeline.cpp: a file that sees this and build_of's body would compile the stages of all sizes.
std::unique_ptr<RandomPipeline> build(PipelineSpec const& spec, hiway::PipelineConfig const& config);

/// A failure's text on one line.
inline std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace hiway_tests
