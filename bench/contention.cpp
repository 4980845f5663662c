// bench contention: many warps at one ring, which only fills or only empties. What it costs that they all claim from the
// same words, and what sharing a claim saves.
#include <algorithm>
#include <cstdint>
#include <hiway/launch/stage_words.hpp>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/benches.hpp"
#include "bench/queues.hpp"
#include "bench/ring_rooms.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

using Value = Item<16>;

template <class Queue>
struct PutBody {
  Queue queue;
  Check check;
  std::uint32_t rounds = 0;

  HIWAY_DEVICE void operator()() const {
    hiway::enter_block(nullptr, hiway::no_id);
    hiway::on_this_device([&](auto m) {
      std::uint32_t const threads = m.thread_count();
      std::uint32_t id = m.thread_index();
      for (std::uint32_t round = 0; round < rounds; ++round, id += threads)
        queue.put(m, check.template make<sizeof(Value)>(id));
    });
  }
};

template <class Queue>
struct GetBody {
  Queue queue;
  Check check;
  std::uint32_t rounds = 0;

  HIWAY_DEVICE void operator()() const {
    hiway::enter_block(nullptr, hiway::no_id);
    hiway::on_this_device([&](auto m) {
      LaneTally mine;
      for (std::uint32_t round = 0; round < rounds; ++round) {
        Value got;
        queue.get(m, got);
        check.account(m, mine, got);
      }
      check.store(m, mine);
    });
  }
};

enum class Timed : std::uint8_t { put, get };

struct Ask {
  Timed timed = Timed::put;
  unsigned threads = 0;  ///< 0: as many as the device holds
  unsigned threads_per_block = 256;
  std::uint32_t items = 0;  ///< at most; the ring holds them all
  RingPlant plant;
};

/// A turn fills the ring, then empties it; one of the two is timed, and what came out is checked.
template <class Queue>
Variant variant_of(std::string name, DeviceRun& run, RingRooms<sizeof(Value)>& rooms, Queue const& queue,
                   Ask const& ask) {
  PutBody<Queue> put{queue, {}, 0};
  GetBody<Queue> get{queue, {}, 0};
  unsigned const resident =
      std::min(run.resident_blocks(put, ask.threads_per_block), run.resident_blocks(get, ask.threads_per_block));
  Layout layout;
  layout.threads_per_block = ask.threads_per_block;
  layout.blocks = blocks_for(ask.threads, ask.threads_per_block, resident);
  layout.producers = layout.threads();
  layout.rounds = ask.items / layout.producers;
  if (layout.rounds == 0) {
    throw cli::BadInput{"--items must be at least the threads, " + std::to_string(layout.producers) + ": " +
                        std::to_string(ask.items)};
  }
  put.rounds = layout.rounds;
  get.rounds = layout.rounds;
  auto const check = std::make_shared<CheckRooms>(run, layout, ask.plant);
  return {name,
          [=, &run, &rooms]() mutable {
            rooms.reset(1);
            return check->turn([&](Check const& of_turn) {
              put.check = get.check = of_turn;
              double const putting = run.run("bench contention: " + name, put, layout.blocks, layout.threads_per_block);
              double const getting = run.run("bench contention: " + name, get, layout.blocks, layout.threads_per_block);
              return ask.timed == Timed::put ? putting : getting;
            });
          },
          [=, &rooms] { return rooms.facts(layout); }};
}

class ContentionBench final : public Bench {
 public:
  std::string name() const override { return "contention"; }
  std::string summary() const override { return "items a second into and out of one ring, by how lanes share a claim"; }

  void add_options(cli::Options& command) override {
    command.add_option("--threads", threads_, "full grid, 32768, 4096 and 256 if not given").type_name("N");
    command.add_option("--items", items_, "of a turn, at most, and the ring's slots").type_name("N");
    command.add_option("--plant", plant_, "break an item, to see that it is found").type_name("lose|duplicate|swap");
  }

  void check_options() const override {
    require_threads(threads_, 1 << 19);
    require_range(items_, std::max<std::int64_t>(threads_, 1 << 13), 1 << 28, "--items");
    (void)plant_of(plant_);
  }

  std::vector<Row> run(Request const& request) override {
    DeviceRun run{request.device};
    std::vector<Row> rows;
    for (Timed const timed : {Timed::put, Timed::get}) {
      for (unsigned const threads : thread_counts(threads_, request.small)) {
        Ask const ask{timed, threads, request.small ? 64U : 256U,
                      items_for(items_, threads, request.small ? 1U << 13 : 0), plant_of(plant_)};
        rows.push_back(row(run, ask, request));
      }
    }
    return rows;
  }

 private:
  static Row row(DeviceRun& run, Ask const& ask, Request const& request) {
    RingRooms<sizeof(Value)> rooms{run, ask.items};
    LibraryRing<Value> const warp = rooms.library();
    UngroupedRing<Value> const none{warp};
    std::vector<Variant> variants{variant_of("none", run, rooms, none, ask), variant_of("warp", run, rooms, warp, ask)};
    for (NamedGrouping const& in_block : block_groupings)
      variants.push_back(variant_of(in_block.name, run, rooms, warp.grouped(in_block.grouping), ask));
    Json what{{"call", ask.timed == Timed::put ? "put" : "get"},
              {"threads", words_for(ask.threads)},
              {"item_bytes", sizeof(Value)}};
    Row row = measure(std::move(what), "items/s", Better::more, "none", variants, request);
    run.release_all();
    return row;
  }

  std::int64_t threads_ = 0;
  std::int64_t items_ = 0;
  std::string plant_;
};

}  // namespace

std::unique_ptr<Bench> make_contention() { return std::make_unique<ContentionBench>(); }

}  // namespace bench
