// Method hiway: a segment in which a line is a region of its characters. One in twenty-two begins a pair, and those that do keep
// all lanes of the next node busy, whichever lines they are of:
//
//   lines -> list -> characters -> read -> pairs
//              \_____________________\---> broken
#include <algorithm>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <span>
#include <string>
#include <vector>

#include "taxi/methods.hpp"
#include "taxi/stages.hpp"

namespace taxi {

using hiway::segment::Emit;

/// A line whose list begins at `first`: the parent of its characters.
struct Trip {
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t number;
  std::uint32_t first;
};
struct FindList {
  char const* text;
  HIWAY_DEVICE void operator()(Line const& line, Emit<Trip>& trip, Emit<std::uint32_t>& broken) const {
    std::uint32_t const first = first_pair({text + line.offset, line.length});
    if (first == nowhere) {
      broken.put(line.number);
    } else {
      trip.put({line.offset, line.length, line.number, first});
    }
  }
};
/// Of its characters the places at which a pair begins; four of a lane are on their way at once.
struct Characters {
  char const* text;
  static constexpr unsigned items_per_lane = 4;
  HIWAY_DEVICE unsigned count(Trip const& trip) const { return trip.length - trip.first; }
  HIWAY_DEVICE Maybe<std::uint32_t> at(Trip const& trip, unsigned k) const {
    std::uint32_t const place = trip.first + k;
    return begins_pair({text + trip.offset, trip.length}, place) ? Maybe<std::uint32_t>(place)
                                                                 : Maybe<std::uint32_t>::none();
  }
};
struct ReadPair {
  char const* text;
  HIWAY_DEVICE void operator()(std::uint32_t const& place, Trip const& trip, Emit<Pair>& out,
                               Emit<std::uint32_t>& broken) const {
    Maybe<Pair> const pair = read_pair({text + trip.offset, trip.length}, trip.number, place);
    if (pair.ok) {
      out.put(pair.value);
    } else {
      broken.put(trip.number);
    }
  }
};

namespace {

using hiway::segment::Shape;

class Converter {
 public:
  Converter(Input const& input, SegmentOptions const& options, hiway::PipelineConfig const& config)
      : options_(options),
        pipe_(config),
        text_(pipe_.create_buffer(std::span<char const>(input.text))),
        lines_(pipe_.create_buffer<Line>(std::max<std::size_t>(1, input.lines.size()))),
        line_count_(input.lines.size()),
        most_pairs_(static_cast<std::size_t>(std::ranges::count(input.text, '['))),
        pairs_(pipe_.create_buffer<Pair>(most_pairs_ + 1)),
        broken_(pipe_.create_buffer<std::uint32_t>(most_pairs_ + line_count_ + 1)) {
    lines_.copy_in(input.lines);
    cli::with_shape(options.replica, options.counters, [&]<Shape shape>(cli::ShapeOf<shape>) { of_shape<shape>(); });
    pipe_.prepare();
  }

  Measurement run(Conversion& conversion) {
    Measurement run;
    cli::take_report(run, pipe_.run());
    run.segment = cli::numbers_of(*segment_);
    conversion.broken.resize(segment_->items("broken"));
    broken_.copy_out(std::span(conversion.broken));
    conversion.pairs.resize(segment_->items("pairs"));
    pairs_.copy_out(std::span(conversion.pairs));
    put_in_order(conversion);
    run.items = conversion.pairs.size();
    return run;
  }
  [[nodiscard]] std::string graph() const { return pipe_.graph(); }

 private:
  template <Shape shape>
  void of_shape() {
    using hiway::segment::node;
    char const* const text = text_.view().data;
    auto const broken = hiway::segment::store("broken", broken_);
    auto const read = node("read", ReadPair{text}, hiway::segment::store("pairs", pairs_), broken);
    segment_ = &pipe_.add_segment<shape>(
        "convert", hiway::segment::load(lines_, line_count_),
        node("list", FindList{text},
             hiway::segment::enumerate("characters", Characters{text}, hiway::segment::NodeOptions{.gain = 45}, read),
             broken),
        // A replica has 190 of 300,000 lines: claims of a few at the end, or some replicas wait for others.
        {.threads_per_block = 128, .context = options_.context, .least_claim = 8});
  }

  SegmentOptions options_;
  hiway::Pipeline pipe_;
  hiway::Buffer<char>& text_;
  hiway::Buffer<Line>& lines_;
  std::size_t line_count_;
  std::size_t most_pairs_;
  hiway::Buffer<Pair>& pairs_;
  hiway::Buffer<std::uint32_t>& broken_;
  hiway::segment::SegmentBase* segment_ = nullptr;
};

}  // namespace

std::vector<Measurement> run_hiway(Input const& input, SegmentOptions const& options, Job const& job,
                                   Conversion& conversion) {
  if (options.feed == Feed::tunnel) return run_by_tunnels(input, options, job, conversion);
  Converter converter{input, options, job.pipeline()};
  return cli::repeated(job, [&] { return converter.run(conversion); });
}

std::string hiway_graph(Input const& input, std::string const& device) {
  return Converter{input, {}, {.device = device}}.graph();
}

}  // namespace taxi
