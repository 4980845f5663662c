// Method hiway, when lines come by a tunnel, in pieces, and what is found leaves by two more: input and output may be larger
// than the device's memory. A piece is a region of its lines, a line one of its characters, and these lie in the piece:
//
//   cut (CPU) -> lines -> list -> characters -> read -> keep (CPU)
//                           \_____________________\---> keep (CPU)
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <hiway/hiway.hpp>
#include <span>
#include <vector>

#include "taxi/methods.hpp"
#include "taxi/pieces.hpp"
#include "taxi/stages.hpp"

namespace taxi {

using hiway::segment::Emit;

struct Parts {
  HIWAY_DEVICE unsigned count(Piece const& piece) const { return piece.parts; }
  HIWAY_DEVICE Part at(Piece const& piece, unsigned k) const { return piece.part[k]; }
};
struct FindListOfPart {
  HIWAY_DEVICE void operator()(Part const& part, Piece const& piece, Emit<Part>& found,
                               Emit<std::uint32_t>& broken) const {
    std::uint32_t list = part.list;
    if (list == Part::to_be_found) list = first_pair(piece.of(part));
    if (list == Part::none || list == nowhere) {
      broken.put(part.number);
    } else {
      Part p = part;
      p.list = static_cast<std::uint16_t>(list);
      found.put(p);
    }
  }
};
/// The places at which pairs begin, in a part; four of a lane are on their way at once.
struct PlacesInPart {
  static constexpr unsigned items_per_lane = 4;
  HIWAY_DEVICE unsigned count(Part const& part, Piece const&) const { return part.owned - part.list; }
  HIWAY_DEVICE Maybe<std::uint32_t> at(Part const& part, unsigned k, Piece const& piece) const {
    std::uint32_t const place = part.list + k;
    return begins_pair(piece.of(part), place) ? Maybe<std::uint32_t>(place) : Maybe<std::uint32_t>::none();
  }
};
struct ReadPairInPart {
  HIWAY_DEVICE void operator()(std::uint32_t const& place, Part const& part, Piece const& piece, Emit<Pair>& out,
                               Emit<std::uint32_t>& broken) const {
    Maybe<Pair> pair = read_pair(piece.of(part), part.number, place);
    if (pair.ok) {
      pair.value.place += part.place;
      out.put(pair.value);
    } else {
      broken.put(part.number);
    }
  }
};

namespace {

constexpr std::size_t lines_at_once = 1024;
constexpr std::size_t items_at_once = 16384;

/// Of the lines some at a time, by whichever thread is free.
struct Cut {
  Input const* input;
  std::atomic<std::size_t>* next;

  void operator()(hiway::Inlet<Piece> out) const {
    std::size_t const all = input->lines.size();
    for (std::size_t first; (first = next->fetch_add(lines_at_once)) < all;) {
      for (Cutter cutter{*input, first, std::min(all, first + lines_at_once)}; !cutter.is_done();)
        out.put_in_place_h([&](Piece& piece) { cutter.cut(piece); });
    }
  }
};
template <class T>
struct Keep {
  std::vector<T>* kept;

  void operator()(hiway::Outlet<T> in) const {
    std::vector<T> some(items_at_once);
    while (std::size_t const n = in.next_h(std::span(some))) {
      kept->insert(kept->end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
      in.end_task_h(n);
    }
  }
};

class ByTunnels {
 public:
  ByTunnels(Input const& input, SegmentOptions const& options, hiway::PipelineConfig const& config) : pipe_(config) {
    using hiway::Direction;
    using hiway::from;
    using hiway::into;
    using hiway::segment::enumerate;
    using hiway::segment::node;
    using hiway::segment::NodeOptions;
    auto& pieces = pipe_.create_tunnel<Piece>("pieces", Direction::cpu_to_gpu, {.capacity_items = 4096});
    auto& pairs = pipe_.create_tunnel<Pair>("pairs", Direction::gpu_to_cpu, {.capacity_items = std::size_t{1} << 20});
    auto& broken = pipe_.create_tunnel<std::uint32_t>("broken", Direction::gpu_to_cpu, {.capacity_items = 65536});
    pipe_.add_cpu_stage("cut", Cut{&input, &next_line_}, into(pieces),
                        {.threads = std::clamp(hiway::available_cpus() / 2, 1U, 8U)});
    auto const read = node("read", ReadPairInPart{}, into(pairs), into(broken));
    auto const characters = enumerate("characters", PlacesInPart{}, NodeOptions{.gain = 45}, read);
    segment_ = &pipe_.add_segment<hiway::segment::Shape{hiway::segment::ReplicaOf::warp}>(
        "convert", from(pieces),
        // Few pieces at once in each replica: they are long.
        enumerate("lines", Parts{}, NodeOptions{.gain = 7, .queue_slots = 4, .region_slots = 8},
                  node("list", FindListOfPart{}, characters, into(broken))),
        {.threads_per_block = 128, .context = options.context});
    pipe_.add_cpu_stage("keep", Keep<Pair>{&found_.pairs}, from(pairs));
    pipe_.add_cpu_stage("keep broken", Keep<std::uint32_t>{&found_.broken}, from(broken));
    found_.pairs.reserve(static_cast<std::size_t>(std::ranges::count(input.text, '[')));
    pipe_.prepare();
  }
  ByTunnels(ByTunnels const&) = delete;
  ByTunnels& operator=(ByTunnels const&) = delete;

  Measurement run(Conversion& conversion) {
    next_line_ = 0;
    found_.pairs.clear();
    found_.broken.clear();
    Measurement run;
    cli::take_report(run, pipe_.run());
    run.segment = cli::numbers_of(*segment_);
    conversion = found_;
    put_in_order(conversion);
    run.items = conversion.pairs.size();
    return run;
  }

 private:
  hiway::Pipeline pipe_;
  hiway::segment::SegmentBase* segment_ = nullptr;
  std::atomic<std::size_t> next_line_ = 0;
  Conversion found_;
};

}  // namespace

std::vector<Measurement> run_by_tunnels(Input const& input, SegmentOptions const& options, Job const& job,
                                        Conversion& conversion) {
  ByTunnels converter{input, options, job.pipeline()};
  return cli::repeated(job, [&] { return converter.run(conversion); });
}

}  // namespace taxi
