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

/// A matrix of one row of `Width` values in regions of `Region`, tasks of `Stencil` values inside it, two frames in one buffer.
/// Warps of `Lanes` producers set it side by side; each consumer takes whatever region's reference comes, and the tasks of the
/// cells that it completes.
template <unsigned Width, unsigned Region, unsigned Stencil, unsigned Lanes, unsigned Producers, unsigned Consumers,
          bool Across = false>
struct Board {
  static constexpr unsigned frames = 2;
  static constexpr unsigned tasks = Width - Stencil + 1;
  static constexpr unsigned regions = (Width + Region - 1) / Region;
  static constexpr auto warps = [] {
    std::array<unsigned, Producers + Consumers> lanes{};
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
    put.freed = get.freed = &freed;
    if (Across) put.known = &known;
    put.begun = get.begun = &begun;
    put.overlapped = &overlapped;
    get.x = {axis.bands.data(), static_cast<std::uint32_t>(axis.bands.size()), axis.of_region.data(),
             axis.of_place.data()};
    arrivals.resize(axis.bands.size());
    get.y = {&one_band, 1, &one_range, &one_place};
    get.frame_tasks = tasks;
    get.arrivals = arrivals.data();
    get.ended = &ended;
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
    } else {
      take_all(m);
    }
  }
  static std::uint32_t value(unsigned frame, unsigned x) { return frame * Width + x; }

  void set_all(ExploreMachine m, unsigned producer) {
    for (unsigned f = 0; f < frames; ++f) {
      for (unsigned x = producer; x < Width; x += Producers * Lanes)
        detail::set_value(m, inlet, sizeof(Torn), x, 0, f, WriteTorn{m, value(f, x)});
    }
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

TEST(ExploreStencil, ProducersAcrossLookForEachOther) { expect_no_failure<Board<2, 2, 1, 1, 2, 1, true>>(); }

TEST(ExplorePlanted, AScoreboardWhoseReleasesAreRelaxedIsFound) {
  expect_found<Weakened<Board<2, 2, 1, 1, 2, 1>, Weaken::releases>>();
}
TEST(ExplorePlanted, AScoreboardWhoseAcquiresAreRelaxedIsFound) {
  expect_found<Weakened<Board<2, 2, 1, 1, 2, 1>, Weaken::acquires>>();
}

/// Two producers set one value: at least one of them is told.
struct SetTwice {
  static constexpr std::array warps = {1u, 1u};
  SetTwice() {
    put.shape = {.width = 2, .region_width = 2};
    put.marks = &marks;
    put.set = &set;
  }
  void run(unsigned warp, ExploreMachine m) {
    MarkPlace const place = mark_place(put, warp == 0 ? 0 : 1, 0, 0);
    if (mark_values(m, put, place.word, 1u << place.bit, 0) != 0) m.fetch_add(told, 1u, Order::relaxed);
    MarkPlace const first = mark_place(put, 0, 0, 0);
    if (warp == 1 && mark_values(m, put, first.word, 1u << first.bit, 0) != 0) m.fetch_add(told, 1u, Order::relaxed);
  }
  void check() const { require(told.bits == 1, "a value was set twice and nobody was told"); }
  PutBoard put;
  Word<std::uint32_t> marks{0}, set{0}, told{0};
};
TEST(ExploreStencil, WhoSetsAValueTwiceIsTold) { expect_no_failure<SetTwice>(); }

}  // namespace
