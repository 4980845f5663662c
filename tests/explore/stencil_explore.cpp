// The scoreboard of a stencil tunnel: values, regions, cells and frames (stencil/scoreboard.hpp S1 to S4).
#include <array>
#include <vector>

#include "hiway/stencil/stencil_tunnel.hpp"
#include "stencil/stencil_plan.hpp"
#include "tests/explore/search.hpp"
#include "tests/explore/worlds.hpp"

namespace {

using namespace hiway;
using namespace hiway::explore;

/// A matrix of one row of `Width` values in regions of `Region`, tasks of `Stencil` values inside it, two frames in one
/// buffer. Warps of `Lanes` producers set it side by side; each consumer takes whatever region's reference comes, and
/// the tasks of the cells that it completes. Together: two lanes set each value, half of it each. Across: one more
/// hears for the producers what is free, as the device monitor does.
template <unsigned Width, unsigned Region, unsigned Stencil, unsigned Lanes, unsigned Producers, unsigned Consumers,
          bool Across = false, bool Together = false>
struct Board {
  static constexpr unsigned frames = 2;
  static constexpr unsigned tasks = Width - Stencil + 1;
  static constexpr unsigned regions = (Width + Region - 1) / Region;
  static constexpr auto warps = [] {
    std::array<unsigned, Producers + Consumers + Across> lanes{};
    lanes.fill(1);
    for (unsigned p = 0; p < Producers; ++p) lanes[p] = Lanes;
    return lanes;
  }();

  Board() {
    StencilShape const shape{.width = Width,
                             .height = 1,
                             .left = Stencil / 2,
                             .right = Stencil - 1 - Stencil / 2,
                             .region_width = Region,
                             .region_height = 1,
                             .regions_x = regions,
                             .frames = frames};
    put.shape = get.shape = shape;
    put.values = get.values = reinterpret_cast<std::byte*>(values.data());
    put.marks = marks.data();
    put.set = set.data();
    put.whole = &whole;
    get.freed = &freed;
    put.freed = Across ? &known : &freed;
    put.across = Across;
    put.begun = get.begun = &begun;
    put.overlapped = &overlapped;
    get.x = {axis.bands.data(), static_cast<std::uint32_t>(axis.bands.size()), axis.of_region.data(),
             axis.of_place.data()};
    arrivals.resize(axis.bands.size());
    get.y = {&one_band, 1, &one_range, &one_place};
    get.frame_tasks = tasks;
    get.arrivals = arrivals.data();
    get.ended = &ended;
    heard = {{&freed}, &known};
    inlet.ring = references.ring;
    inlet.control = &control;
    inlet.end = &end;
    inlet.ports = &port;
    end.put_board = &put;
    inlet.open = true;
  }

  void run(unsigned warp, ExploreMachine m) {
    if (warp < Producers) {
      set_all(m, warp * Lanes + m.lane());
    } else if (warp < Producers + Consumers) {
      take_all(m);
    } else {
      for (unsigned misses = 0; known.bits != frames;) {
        if (!hear(m, heard)) m.relax(misses++);
      }
    }
  }
  static std::uint32_t value(unsigned frame, unsigned x) { return frame * Width + x; }

  void set_all(ExploreMachine m, unsigned producer) {
    for (unsigned f = 0; f < frames; ++f) {
      if (Together) {
        for (unsigned x = producer / Lanes; x < Width; x += Producers) set_half(m, x, f);
        continue;
      }
      for (unsigned x = producer; x < Width; x += Producers * Lanes)
        detail::set_value(m, inlet, sizeof(Torn), {x, 0, f}, WriteTorn{m, value(f, x)});
    }
  }
  void set_half(ExploreMachine m, unsigned x, unsigned frame) {
    detail::set_together(m, inlet, sizeof(Torn), {x, 0, frame}, [&](std::byte* slot) {
      std::uint32_t const half = m.lane() == 0 ? value(frame, x) : ~value(frame, x);
      m.point();
      if (m.lane() == 0) m.writes(slot);
      std::memcpy(slot + m.lane() * sizeof half, &half, sizeof half);
      m.point();
    });
  }
  void take_all(ExploreMachine m) {
    get_until(m, taken, regions * frames, [&] {
      Grant const grant = claim_get(m, references.ring, 1, true, nullptr, Credit::early);
      if (!grant.granted) return 0u;
      RegionReference ref{};
      finish_get(m, references.ring, grant.ticket, control, Credit::early, ReadItem<RegionReference>{ref});
      BandRange const cells = get.x.of_region[ref.region];
      for (unsigned cell = cells.first; cell <= cells.last; ++cell) {
        if (count_arrival(m, get, ref.frame, cell)) work(m, ref.frame, cell);
      }
      return 1u;
    });
  }
  void work(ExploreMachine m, std::uint32_t frame, std::uint32_t cell) {
    StencilBand const& band = get.x.bands[cell];
    for (std::uint32_t place = band.begin; place < band.end; ++place) {
      require(is_cell_ready(m, get, frame, cell), "a task that is not ready");
      for (std::uint32_t x = place - Stencil / 2; x < place - Stencil / 2 + Stencil; ++x) {
        std::uint32_t found = 0;
        ReadTorn{m, found}(get.values + x * sizeof(Torn));
        require(found == value(frame, x), "a task read a value of another frame, or one that was not set");
      }
      ++done[frame];
    }
    count_ended(m, get, frame, band.places());
  }
  void check() const {
    for (unsigned const n : done) require(n == tasks, "a task was lost, or came twice");
    require(freed.bits == frames && whole.bits == regions * frames, "a frame did not end");
    require(overlapped.bits == 1, "the first frame's tasks ended before the second was set");
  }

  std::array<Torn, Width> values{};
  std::array<Word<std::uint32_t>, regions> marks{};
  std::array<Word<std::uint32_t>, regions> set{};
  std::vector<Word<std::uint32_t>> arrivals;
  PlannedAxis axis = plan_axis(Width, Region, Stencil / 2, Stencil - 1 - Stencil / 2, StencilEdges::inside);
  StencilBand one_band{0, 1, 0, 0};
  BandRange one_range{0, 0};
  std::uint32_t one_place = 0;
  Word<std::uint64_t> whole{0}, freed{0}, begun{0}, ended{0}, known{0};
  Word<std::uint32_t> overlapped{0}, taken{0};
  HeardWord heard;
  PutBoard put;
  GetBoard get;
  Control control;
  EndWords end;
  InletPort port;
  SmallRing references{4};
  InletView inlet;
  std::array<unsigned, frames> done{};
};

TEST(ExploreStencil, ProducersCompleteARegionTogether) { expect_no_failure<Board<2, 2, 1, 1, 2, 1>>(); }
TEST(ExploreStencil, LanesCompleteARegionTogether) { expect_no_failure<Board<2, 2, 2, 2, 1, 1>>(); }
TEST(ExploreStencil, ATaskNeedsTwoRegions) { expect_no_failure<Board<2, 1, 2, 1, 1, 2>>(); }
TEST(ExploreStencil, AFramesTasksEndTogether) { expect_no_failure<Board<2, 1, 1, 1, 1, 2>>(); }
TEST(ExploreStencil, CellsNeedOneRegionOrTwo) { expect_no_failure<Board<3, 2, 2, 1, 2, 1>>(); }

TEST(ExploreStencil, LanesSetAValueTogether) { expect_no_failure<Board<2, 1, 2, 2, 1, 1, false, true>>(); }
TEST(ExploreStencil, AFreeBufferIsHeardAcross) { expect_no_failure<Board<2, 2, 1, 1, 2, 1, true>>(); }

TEST(ExplorePlanted, AScoreboardWhoseReleasesAreRelaxedIsFound) {
  expect_found<Weakened<Board<2, 2, 1, 1, 2, 1>, Weaken::releases>>();
}
TEST(ExplorePlanted, AScoreboardWhoseAcquiresAreRelaxedIsFound) {
  expect_found<Weakened<Board<2, 2, 1, 1, 2, 1>, Weaken::acquires>>();
}

/// Two warps set one value: one of them is told, and has written nothing.
struct SetTwice {
  static constexpr std::array warps = {2u, 1u};
  SetTwice() {
    put.shape = {.width = 4, .height = 1, .region_width = 4, .region_height = 1};
    put.values = reinterpret_cast<std::byte*>(values.data());
    put.marks = &marks;
    put.set = &set;
    inlet.control = &control;
    inlet.end = &end;
    end.put_board = &put;
    inlet.open = true;
  }
  void run(unsigned warp, ExploreMachine m) {
    detail::set_value(m, inlet, sizeof(Torn), {warp == 0 ? m.lane() : 1, 0, 0}, WriteTorn{m, warp * 2 + m.lane()});
    m.fetch_add(written, 1u, MemoryOrder::relaxed);
  }
  void check() const {
    require(control.record.kind == FaultKind::set_twice && (control.record.item & 0x3fffff) == 1, "nobody was told");
    require(written.bits == 1 || written.bits == 2, "whoever came second went on");  // warp 1, or both lanes of warp 0
    require(values[1].complement == ~values[1].value, "whoever came second wrote, too");
  }
  std::array<Torn, 4> values{};
  Word<std::uint32_t> marks{0}, set{0}, written{0};
  PutBoard put;
  Control control;
  EndWords end;
  InletView inlet;
};
TEST(ExploreStencil, WhoSetsAValueTwiceIsToldAndWritesNothing) { expect_no_failure<SetTwice>(); }

}  // namespace
