#include "face_detection/search.hpp"

#include <hiway/cpus.hpp>

#include "cli/bad_input.hpp"

namespace face_detection {
namespace {

Pyramid searched(Input const& input) {
  Cascade const& c = input.cascade;
  if (c.window_width > largest_tiled_window || c.window_height > largest_tiled_window)
    throw cli::BadInput{"--cascade: windows of " + std::to_string(c.window_width) + " x " +
                        std::to_string(c.window_height) + " pixels are more than tiles take, " +
                        std::to_string(largest_tiled_window) + " a side: only --method reference"};
  return make_pyramid(input);
}

std::vector<std::uint32_t> bits_of(std::vector<hiway::Word<std::uint32_t>> const& words) {
  std::vector<std::uint32_t> bits;
  for (hiway::Word<std::uint32_t> const& word : words) bits.push_back(word.bits);
  return bits;
}

/// The windows whose bits are set.
std::vector<Candidate> candidates_of(Pyramid const& pyramid, std::vector<std::uint32_t> const& bits) {
  std::vector<Candidate> found;
  for (std::size_t l = 0; l < pyramid.levels.size(); ++l) {
    Level const& level = pyramid.levels[l];
    for (std::int32_t row = 0; row < level.rows; ++row) {
      for (std::int32_t column = 0; column < level.columns; ++column) {
        if ((bits[rejected_word(level, column, row)] & rejected_bit(column)) != 0)
          found.push_back({static_cast<std::int32_t>(l), row, column});
      }
    }
  }
  return found;
}

}  // namespace

void Group::operator()(hiway::Outlet<Candidate> in) const {
  std::vector<Candidate> found;
  in.for_each_h([&](Candidate const& candidate) { found.push_back(candidate); });
  *summary = summarize(*pyramid, bits_of(*rejected), std::move(found), min_neighbours);
}

template <class T>
T const* Search::at_levels(std::vector<T> const& list) {
  if (!windows_on_gpu()) return list.data();
  auto& copy = pipe_.create_buffer<T>(list.size());
  copy.copy_in(list);
  return copy.view().data;
}

Search::Search(Input const& input, Job const& job, Options const& options)
    : input_(input),
      options_(options),
      pyramid_(searched(input)),
      mosaic_(make_mosaic(pyramid_)),
      pipe_(job.pipeline()),
      emulated_(job.device == "simt"),
      threads_(std::max(3U, hiway::available_cpus()) - 2),  // two are left to the library's monitors
      rejected_(pyramid_.rejected_words),
      passed_(options.stops_after_lbp ? pyramid_.rejected_words : 0) {
  pixels_ = static_cast<std::uint32_t>(input.image.pixels.size());
  bool const on_gpu = windows_on_gpu();
  findings_ = {rejected_.data(), options.stops_after_lbp ? passed_.data() : nullptr};

  std::uint8_t* picture = nullptr;
  hiway::Word<std::uint32_t>* placed = &placed_;
  if (on_gpu) {
    picture = pipe_.create_buffer<std::uint8_t>(pixels_).view().data;
    auto& count = pipe_.create_buffer<hiway::Word<std::uint32_t>>(1);
    count.copy_in(std::span<hiway::Word<std::uint32_t> const>(&placed_, 1));
    placed = count.view().data;
  } else {
    picture_.resize(pixels_);
    picture = picture_.data();
  }
  levels_.pyramid = {{picture, input.image.width},
                     at_levels(pyramid_.levels),
                     at_levels(pyramid_.taps),
                     static_cast<std::int32_t>(pyramid_.levels.size())};
  levels_.places = at_levels(mosaic_.places);

  using hiway::Direction;
  auto& pieces = pipe_.create_tunnel<Piece>("pieces", on_gpu ? Direction::cpu_to_gpu : Direction::cpu_to_cpu,
                                            job.scheme.tunnel({.capacity_items = 512}));
  auto& levels = pipe_.create_tunnel<LevelTask>("levels", on_gpu ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
                                                job.scheme.tunnel());
  tiles_ = &pipe_.create_tunnel<TileTask>("tiles", on_gpu ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
                                          job.scheme.tunnel({.capacity_items = 16384}));
  pipe_.add_cpu_stage("grey", PutPieces{input.image.view(), pixels_}, hiway::into(pieces), {.threads = 2});
  add("pyramid", on_gpu, 64, MakeLevels{levels_, picture, pixels_, placed}, hiway::from(pieces, levels),
      hiway::into(levels, *tiles_));
  if (scans_on_gpu()) {
    scan_on_gpu(job);
  } else {
    group_candidates(job);
  }
}

void Search::group_candidates(Job const& job) {
  candidates_ = &pipe_.create_tunnel<Candidate>("candidates", hiway::Direction::cpu_to_cpu, job.scheme.tunnel());
  pipe_.add_cpu_stage("grouping", Group{&pyramid_, &rejected_, input_.min_neighbours, &found_},
                      hiway::from(*candidates_));
}

void Search::scan_on_gpu(Job const& job) {
  areas_ = &pipe_.create_tunnel<SummedArea>("areas", hiway::Direction::cpu_to_gpu,
                                            job.scheme.tunnel({.capacity_items = 4096}));
  auto& tested = pipe_.create_tunnel<TestedArea>("tested", hiway::Direction::gpu_to_cpu,
                                                 job.scheme.tunnel({.capacity_items = 4096}));
  Cascade const& c = input_.cascade;
  CascadeView cascade = c.view();
  cascade.stages = at_levels(c.stages);
  cascade.weaks = at_levels(c.weaks);
  cascade.features = at_levels(c.features);
  pipe_.add_gpu_stage("scan", ScanAreas{cascade, levels_.pyramid.levels}, hiway::from(*areas_), hiway::into(tested),
                      grid(options_.blocks == 0 ? 320 : options_.blocks));
  pipe_.add_cpu_stage("grouping", GroupTested{&pyramid_, input_.min_neighbours, &found_}, hiway::from(tested));
}

Measurement Search::run() {
  for (auto* const words : {&rejected_, &passed_}) {
    for (hiway::Word<std::uint32_t>& word : *words) word.bits = 0;
  }
  hiway::RunReport report = pipe_.run();
  Measurement measured{.summary = found_};
  if (options_.stops_after_lbp)
    measured.summary =
        summarize(pyramid_, bits_of(rejected_), candidates_of(pyramid_, bits_of(passed_)), input_.min_neighbours);
  if (!report.stencils.empty()) {
    measured.bytes_moved = report.stencils.front().bytes_moved;
    measured.region_copies = report.stencils.front().region_copies;
  }
  cli::take_report(measured, std::move(report));
  return measured;
}

}  // namespace face_detection
