// bench ring: items a second through one ring in GPU memory, the library's and others (queues.hpp), by every thread of a
// grid. Two patterns: each thread puts one and gets one, again and again; or half the blocks put and half get.
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
#include "bench/spans.hpp"
#include "cli/bad_input.hpp"

namespace bench {
namespace {

/// Every thread puts one, then gets one.
template <class Queue>
struct EachBody {
  Queue queue;
  Check check;
  std::uint32_t rounds = 0;

  HIWAY_DEVICE void operator()() const {
    hiway::enter_block(nullptr, hiway::no_id);
    hiway::on_this_device([&](auto m) {
      using Value = typename Queue::Value;
      std::uint32_t const threads = m.thread_count();
      std::uint32_t id = m.thread_index();
      LaneTally mine;
      for (std::uint32_t round = 0; round < rounds; ++round, id += threads) {
        queue.put(m, check.template make<sizeof(Value)>(id));
        Value got;
        queue.get(m, got);
        check.account(m, mine, got);
      }
      check.store(m, mine);
    });
  }
};

/// Even blocks put, odd blocks get.
template <class Queue>
struct StreamBody {
  Queue queue;
  Check check;
  std::uint32_t rounds = 0;

  HIWAY_DEVICE void operator()() const {
    hiway::enter_block(nullptr, hiway::no_id);
    hiway::on_this_device([&](auto m) {
      using Value = typename Queue::Value;
      std::uint32_t const producers = m.thread_count() / 2;
      std::uint32_t id = m.block_index() / 2 * m.block_threads() + m.thread_in_block();
      LaneTally mine;
      if (m.block_index() % 2 == 0) {
        for (std::uint32_t round = 0; round < rounds; ++round, id += producers)
          queue.put(m, check.template make<sizeof(Value)>(id));
      } else {
        for (std::uint32_t round = 0; round < rounds; ++round) {
          Value got;
          queue.get(m, got);
          check.account(m, mine, got);
        }
      }
      check.store(m, mine);
    });
  }
};

/// The same two by spans: every thread's, or block's, or those of every other block.
template <class Spans, bool stream>
struct SpanBody {
  Spans spans;
  Check check;
  std::uint32_t rounds = 0;

  HIWAY_DEVICE void operator()() const {
    hiway::enter_block(nullptr, hiway::no_id);
    hiway::on_this_device([&](auto m) {
      using Value = typename Spans::Value;
      bool const puts = !stream || m.block_index() % 2 == 0;
      std::uint32_t const producers = m.thread_count() / (stream ? 2 : 1);
      std::uint32_t const first = m.block_index() / (stream ? 2 : 1) * m.block_threads();
      LaneTally mine;
      for (std::uint32_t round = 0; round < rounds; round += Spans::span) {
        if (puts) {
          spans.put(m, [&](unsigned thread, unsigned number) {
            return check.template make<sizeof(Value)>((round + number) * producers + first + thread);
          });
        }
        if (!stream || !puts) spans.get(m, [&](Value const& got) { check.account(m, mine, got); });
      }
      check.store(m, mine);
    });
  }
};

/// Items of a lane that a queue puts or gets in one call.
template <class Queue>
constexpr unsigned span_of = 1;
template <class Queue>
requires requires { Queue::span; }
constexpr unsigned span_of<Queue> = Queue::span;

template <class Queue>
bool lies_in_tagged_slots(Queue const& queue) {
  if constexpr (requires { queue.ring.tagged; }) {
    return queue.ring.tagged;
  } else {
    return false;
  }
}

constexpr unsigned most_blocks = 1U << 14;  // more than any device holds

/// What a row asks of all its variants.
struct Ask {
  bool stream = false;
  unsigned threads = 0;  ///< 0: as many as the device holds
  unsigned threads_per_block = 256;
  std::uint32_t items = 0;  ///< about so many
  RingPlant plant;
};

template <class Body, class Queue>
Variant variant_of(std::string name, DeviceRun& run, RingRooms<sizeof(typename Queue::Value)>& rooms,
                   Queue const& queue, Ask const& ask, unsigned shards) {
  Body body{queue, {}, 0};
  Layout layout;
  layout.threads_per_block = ask.threads_per_block;
  layout.blocks = blocks_for(ask.threads, ask.threads_per_block, run.resident_blocks(body, ask.threads_per_block));
  constexpr unsigned span = span_of<Queue>;
  if (ask.stream) {
    layout.blocks = std::max(2u, layout.blocks / 2 * 2);
  } else {  // all threads may put before the first gets
    layout.blocks = std::min(layout.blocks, rooms.capacity() / (span * ask.threads_per_block));
  }
  layout.producers = layout.threads() / (ask.stream ? 2 : 1);
  layout.rounds = (std::max(1u, ask.items / layout.producers) + span - 1) / span * span;
  body.rounds = layout.rounds;
  auto const check = std::make_shared<CheckRooms>(run, layout, ask.plant);
  return {name,
          [=, &run, &rooms]() mutable {
            rooms.reset(shards);
            return check->turn([&](Check const& of_turn) {
              body.check = of_turn;
              return run.run("bench ring: " + name, body, layout.blocks, layout.threads_per_block);
            });
          },
          [=, &rooms] { return rooms.facts(layout, lies_in_tagged_slots(queue)); }};
}

template <unsigned Bytes>
Row row_of(DeviceRun& run, Ask const& ask, std::uint32_t capacity, Request const& request) {
  using Value = Item<Bytes>;
  RingRooms<Bytes> rooms{run, capacity};
  LibraryRing<Value> const library = rooms.library();
  LibraryRing<Value> counted = library;
  counted.tallies = run.room<Word<std::uint64_t>>(std::size_t{LibraryRing<Value>::tally_step} * most_blocks);
  LaneRing<Value> const per_thread{rooms.slots()};
  WarpRing<Value> const warp{rooms.slots()};
  std::vector<Variant> variants;
  auto const add = [&](std::string const& name, auto const& queue, unsigned shards = 1) {
    using Queue = std::decay_t<decltype(queue)>;
    variants.push_back(ask.stream ? variant_of<StreamBody<Queue>>(name, run, rooms, queue, ask, shards)
                                  : variant_of<EachBody<Queue>>(name, run, rooms, queue, ask, shards));
  };
  add("hiway", library);
  add("hiway-counted", counted);
  if constexpr (RingRooms<Bytes>::tagged) add("low_latency", rooms.low_latency());
  for (NamedGrouping const& in_block : block_groupings) add(in_block.name, library.grouped(in_block.grouping));
  if constexpr (Bytes == 16) {  // nvcc time is dear
    for (unsigned const shards : {4U, 16U}) {
      ShardedRing<Value> const sharded{rooms.library(shards).ring, library.control};
      add("shards " + std::to_string(shards), sharded, shards);
    }
    auto const add_spans = [&](std::string const& name, auto const& spans) {
      using Spans = std::decay_t<decltype(spans)>;
      variants.push_back(ask.stream ? variant_of<SpanBody<Spans, true>>(name, run, rooms, spans, ask, 1)
                                    : variant_of<SpanBody<Spans, false>>(name, run, rooms, spans, ask, 1));
    };
    add_spans("span-4", LaneSpans<Value>{library.ring, library.control});
    add_spans("block-span", BlockSpans<Value>{library.ring, library.control});
  }
  add("per-thread", per_thread);
  add("warp", warp);
  if (ask.stream) {
    BarrierRing<Value> const barrier{rooms.slots()};
    variants.push_back(variant_of<StreamBody<BarrierRing<Value>>>("barrier", run, rooms, barrier, ask, 1));
  }
  Json what{{"pattern", ask.stream ? "stream" : "each"},
            {"threads", words_for(ask.threads)},
            {"item_bytes", Bytes},
            {"capacity_items", rooms.capacity()}};
  Row row = measure(std::move(what), "items/s", Better::more, "warp", variants, request);
  run.release_all();
  return row;
}

class RingBench final : public Bench {
 public:
  std::string name() const override { return "ring"; }
  std::string summary() const override { return "items a second through one ring in GPU memory, beside other rings"; }

  void add_options(cli::Options& command) override {
    command.add_option("--pattern", pattern_, "each: every thread puts one, gets one; stream: half the blocks put")
        .type_name("each|stream|all")
        .default_str(pattern_);
    command.add_option("--item-bytes", item_bytes_, "sizes, with commas: 4, 12, 16, 64")
        .type_name("N")
        .delimiter(',')
        .default_str("4,12,16,64");
    command.add_option("--threads", threads_, "of pattern each; full grid, 32768, 4096 and 256 if not given")
        .type_name("N");
    command.add_option("--slots", slots_, "of pattern stream").type_name("N").default_str("65536");
    command.add_option("--items", items_, "of a turn, about; chosen by the threads if not given").type_name("N");
    command.add_option("--plant", plant_, "break an item, to see that it is found").type_name("lose|duplicate|swap");
  }

  void check_options() const override {
    if (pattern_ != "each" && pattern_ != "stream" && pattern_ != "all")
      throw cli::BadInput{"--pattern must be each, stream or all: " + pattern_};
    for (std::int64_t const bytes : item_bytes_) {
      if (bytes != 4 && bytes != 12 && bytes != 16 && bytes != 64)
        throw cli::BadInput{"--item-bytes must be 4, 12, 16 or 64: " + std::to_string(bytes)};
    }
    require_threads(threads_, 1 << 18);  // below the slots of pattern each: the threads' items all fit
    require_range(slots_, 256, 1 << 24, "--slots");
    require_range(items_, 1 << 10, std::int64_t{1} << 30, "--items");
    (void)plant_of(plant_);
  }

  std::vector<Row> run(Request const& request) override {
    RingPlant const plant = plant_of(plant_);
    DeviceRun run{request.device};
    std::vector<Row> rows;
    for (std::int64_t const bytes : item_bytes_) {
      if (pattern_ != "stream") {
        for (unsigned const threads : thread_counts(threads_, request.small)) {
          Ask const ask{false, threads, request.small ? 64U : 256U,
                        items_for(items_, threads, request.small ? 2048 : 0), plant};
          rows.push_back(row(run, bytes, ask, request.small ? 1U << 13 : 1U << 20, request));
        }
      }
      if (pattern_ != "each") {
        Ask const ask{true, request.small ? 256U : 0U, request.small ? 64U : 256U,
                      items_for(items_, 0, request.small ? 2048 : 0), plant};
        auto const slots = static_cast<std::uint32_t>(slots_ != 0 ? slots_ : request.small ? 256 : 1 << 16);
        rows.push_back(row(run, bytes, ask, slots, request));
      }
    }
    return rows;
  }

 private:
  static Row row(DeviceRun& run, std::int64_t bytes, Ask const& ask, std::uint32_t capacity, Request const& request) {
    switch (bytes) {
      case 4: return row_of<4>(run, ask, capacity, request);
      case 12: return row_of<12>(run, ask, capacity, request);
      case 16: return row_of<16>(run, ask, capacity, request);
      default: return row_of<64>(run, ask, capacity, request);
    }
  }

  std::string pattern_ = "all";
  std::vector<std::int64_t> item_bytes_{4, 12, 16, 64};
  std::int64_t threads_ = 0;
  std::int64_t slots_ = 0;
  std::int64_t items_ = 0;
  std::string plant_;
};

}  // namespace

std::unique_ptr<Bench> make_ring() { return std::make_unique<RingBench>(); }

}  // namespace bench
