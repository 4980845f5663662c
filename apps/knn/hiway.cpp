// Method hiway: CPU threads take places from the front and put them into a tunnel; warps of a stage that stays on the
// GPU keep the nearest of what they get. Other CPU threads take places from the back, and search them where they are.
// When all places are taken, each warp and thread puts its nearest ones, and one thread keeps the nearest of all:
//
//   feed (CPU) -> pieces -> search (GPU) -> far
//                           search here (CPU) -> near -> merge (CPU)
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <hiway/cpus.hpp>
#include <hiway/pipeline.hpp>
#include <span>
#include <string>
#include <vector>

#include "knn/methods.hpp"
#include "knn/nearest.hpp"
#include "knn/shares.hpp"
#include "knn/stages.hpp"

namespace knn {

struct Search {
  Place from;
  std::uint32_t k;
  HIWAY_DEVICE void operator()(hiway::Outlet<Piece> pieces, hiway::Inlet<Key> nearest) const {
    hiway::anywhere([&](auto m) {
      Key* const keys = reinterpret_cast<Key*>(m.shared_memory());
      WarpNearest own{m, keys + m.thread_in_block() / m.count(m.lanes()) * k, k};
      pieces.for_each_warp([&](Piece const& piece) { own.search(piece, from); });
      own.for_each([&](Key key) { nearest.put(key); });
    });
  }
};

namespace {

class Finder {
 public:
  Finder(Input const& input, Tuning const& tuning, Job const& job)
      : input_(input),
        at_once_(tuning.at_once),
        shares_(static_cast<std::uint32_t>(input.places.size())),
        nearest_(input.k),
        pipe_(job.pipeline()) {
    using hiway::Direction;
    using hiway::from;
    using hiway::into;
    unsigned const cpus = hiway::available_cpus();
    unsigned const searchers = tuning.searchers.value_or(std::max(1U, cpus / 2));
    unsigned const warps = job.device == "simt" ? 1 : 4;
    unsigned const blocks = job.device == "simt" ? std::min(tuning.blocks, 2U) : tuning.blocks;
    // A run is so short that copies would come late.
    hiway::TunnelConfig config = job.scheme.tunnel({.capacity_items = 512});
    if (config.movement == hiway::Movement::automatic)
      config.movement = tuning.copies ? hiway::Movement::dma : hiway::Movement::direct;
    auto& pieces = pipe_.create_tunnel<Piece>("pieces", Direction::cpu_to_gpu, config);
    auto& far = pipe_.create_tunnel<Key>("far", Direction::gpu_to_cpu, job.scheme.tunnel({.capacity_items = 8192}));
    pipe_.add_cpu_stage("feed", [this](hiway::Inlet<Piece> out) { feed(out); }, into(pieces),
                        {.threads = tuning.feeders.value_or(std::clamp(cpus / 4, 1U, 4U))});
    pipe_.add_gpu_stage(
        "search", Search{input.from, input.k}, from(pieces), into(far),
        {.blocks = blocks, .threads_per_block = 32 * warps, .shared_bytes = warps * input.k * sizeof(Key)});
    if (searchers == 0) {
      pipe_.add_cpu_stage(
          "merge", [this](Key const& key) { nearest_.add(key); }, from(far));
    } else {
      auto& near = pipe_.create_tunnel<Key>("near", Direction::cpu_to_cpu, job.scheme.tunnel());
      pipe_.add_cpu_stage("search here", [this](hiway::Inlet<Key> out) { search_here(out); }, into(near),
                          {.threads = searchers});
      pipe_.add_cpu_stage(
          "merge", [this](hiway::Outlet<Key> a, hiway::Outlet<Key> b) { merge(a, b); }, from(near, far));
    }
    pipe_.prepare();
  }
  Finder(Finder const&) = delete;
  Finder& operator=(Finder const&) = delete;

  Measurement run() {
    Measurement run;
    shares_.begin();
    nearest_.clear();
    limit_ = farthest;
    cli::take_report(run, pipe_.run());
    run.summary.assign(nearest_.keys().begin(), nearest_.keys().end());
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  void feed(hiway::Inlet<Piece> const& out) {
    for (Range some; !(some = shares_.from_front(at_once_)).is_empty();) {
      for (std::uint32_t first = some.first; first < some.end; first += Piece::most_places) {
        std::uint32_t const count = std::min(Piece::most_places, some.end - first);
        out.put_in_place_h([&](Piece& piece) {
          piece.limit = limit_.load(std::memory_order_relaxed);
          piece.first = first;
          piece.count = count;
          std::ranges::copy(std::span(input_.places).subspan(first, count), piece.places);
        });
      }
    }
  }
  void search_here(hiway::Inlet<Key> const& out) {
    Nearest own{input_.k};
    for (Range some; !(some = shares_.from_back(at_once_)).is_empty();) {
      own.search(input_.places, some, input_.from, limit_.load(std::memory_order_relaxed));
      lower_limit(own.last());
    }
    out.put_h(own.keys());
  }
  /// Some thread has k places up to this one: what is farther does not count.
  void lower_limit(Key last) {
    Key before = limit_.load(std::memory_order_relaxed);
    while (last < before && !limit_.compare_exchange_weak(before, last, std::memory_order_relaxed)) {
    }
  }
  void merge(hiway::Outlet<Key> const& near, hiway::Outlet<Key> const& far) {
    for (hiway::Outlet<Key> const* const from : {&near, &far})
      from->for_each_h([&](Key const& key) { nearest_.add(key); });
  }

  Input const& input_;
  std::uint32_t at_once_;
  Shares shares_;
  Nearest nearest_;
  std::atomic<Key> limit_ = farthest;
  hiway::Pipeline pipe_;
};

}  // namespace

std::vector<Measurement> run_hiway(Input const& input, Tuning const& tuning, Job const& job) {
  Finder finder{input, tuning, job};
  return cli::repeated(job, [&] { return finder.run(); });
}

std::string hiway_graph(Input const& input, std::string const& device) {
  return Finder{input, {}, {.device = device}}.graph();
}

}  // namespace knn
