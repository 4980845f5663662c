#include "stencil_plan.hpp"

#include <algorithm>

#include "hiway/error.hpp"

namespace hiway {
namespace {

constexpr std::uint32_t most_extent = 1u << 21;  // a fault's item has 22 bits for each coordinate
constexpr std::uint32_t most_frames = 1u << 20;
constexpr std::uint64_t most_references = std::uint64_t{1} << 30;
constexpr std::uint64_t most_region_values = 0xffffffff;  // the most that a board can count for a region
constexpr std::size_t region_bytes_least = std::size_t{16} * 1024;
constexpr std::size_t region_bytes_most = std::size_t{256} * 1024;

std::string by(std::uint32_t width, std::uint32_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

void check(std::string const& who, StencilConfig const& c) {
  std::string const matrix = by(c.width, c.height);
  if (c.width == 0 || c.height == 0 || c.width > most_extent || c.height > most_extent)
    throw ConfigError(who + "width and height must be from 1 to 2^21: " + matrix);
  if (c.stencil_width == 0 || c.stencil_height == 0)
    throw ConfigError(who + "a stencil of " + by(c.stencil_width, c.stencil_height) + " has no values");
  if (c.stencil_width > c.width || c.stencil_height > c.height)
    throw ConfigError(who + "a stencil of " + by(c.stencil_width, c.stencil_height) + " does not lie in a matrix of " +
                      matrix);
  if (c.region_width > c.width || c.region_height > c.height)
    throw ConfigError(who + "a region of " + by(c.region_width, c.region_height) + " is larger than the matrix, " +
                      matrix);
  if (c.frames == 0 || c.frames > most_frames)
    throw ConfigError(who + "frames must be from 1 to 2^20: " + std::to_string(c.frames));
  if (c.movement == Movement::managed)
    throw ConfigError(who + "regions move by dma or direct, not by Movement::managed");
}

/// The library's choice: whole rows, in about 32 regions, so that work begins before the whole matrix has arrived, and
/// many warps open cells. No region is so small that a copy is not worth it, or so large that consumers wait for it.
void choose_region(StencilShape& s, StencilConfig const& c, std::size_t value_bytes) {
  s.region_width = c.region_width != 0 ? c.region_width : c.width;
  std::size_t const row = s.region_width * value_bytes;
  std::size_t const bytes = std::clamp(row * c.height / 32, region_bytes_least, region_bytes_most);
  auto const rows = static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes / row, 1, (c.height + 3) / 4));
  s.region_height = c.region_height != 0 ? c.region_height : rows;
}

StripShape choose_strips(bool on_device, std::uint64_t tasks) {
  // As many strips as a large grid has lanes, or enough for some CPU threads to share.
  std::uint64_t const many = on_device ? std::uint64_t{1} << 15 : std::uint64_t{1} << 12;
  std::uint64_t const most = on_device ? 64 : 4096;
  return {static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tasks / many, 1, most)), on_device};
}

ConfigError too_many_references(std::string const& who) {
  return ConfigError(who + "more than 2^30 references at once; use fewer buffers, or larger regions");
}

StencilTunnelBase::Plan make_plan(std::string const& name, Direction direction, StencilConfig const& c,
                                  std::size_t value_bytes, Strips strips) {
  std::string const who = "stencil tunnel '" + name + "': ";
  check(who, c);
  StencilTunnelBase::Plan p;
  StencilShape& s = p.shape;
  s.width = c.width;
  s.height = c.height;
  s.left = c.stencil_width / 2;
  s.right = c.stencil_width - 1 - s.left;
  s.up = c.stencil_height / 2;
  s.down = c.stencil_height - 1 - s.up;
  choose_region(s, c, value_bytes);
  s.regions_x = (s.width + s.region_width - 1) / s.region_width;
  s.regions_y = (s.height + s.region_height - 1) / s.region_height;
  s.frames = c.frames;
  s.buffers = std::min(c.frames, c.buffers != 0 ? c.buffers : 2);
  std::uint64_t const regions = std::uint64_t{s.regions_x} * s.regions_y;
  if (regions * s.buffers > most_references) throw too_many_references(who);
  if (std::uint64_t{s.region_width} * s.region_height > most_region_values)
    throw ConfigError(who + "a region of " + by(s.region_width, s.region_height) + " has more than 2^32 - 1 values");
  p.marks_a_row = (s.region_width + 31) / 32;
  p.x = plan_axis(s.width, s.region_width, s.left, s.right, c.edges);
  p.y = plan_axis(s.height, s.region_height, s.up, s.down, c.edges);
  std::uint64_t places[2] = {0, 0};
  for (StencilBand const& b : p.x.bands) places[0] += b.places();
  for (StencilBand const& b : p.y.bands) places[1] += b.places();
  p.frame_tasks = places[0] * places[1];
  p.strips = choose_strips(direction == Direction::cpu_to_gpu || direction == Direction::gpu_to_gpu, p.frame_tasks);
  if (strips == Strips::of_one_task) p.strips.longest = 1;
  if (p.frame_tasks / p.strips.longest > most_references) throw too_many_references(who);  // no sum below wraps
  for (StencilBand const& y : p.y.bands) {
    for (StencilBand const& x : p.x.bands) p.frame_strips += p.strips.strips(x, y);
  }
  if (p.frame_strips * s.buffers > most_references) throw too_many_references(who);
  return p;
}

TunnelConfig references(std::uint64_t capacity) {
  return {.capacity_items = static_cast<std::size_t>(capacity), .batch_items = 1, .movement = Movement::direct};
}

}  // namespace

PlannedAxis plan_axis(std::uint32_t extent, std::uint32_t region, std::uint32_t before, std::uint32_t behind,
                      StencilEdges edges) {
  PlannedAxis axis;
  axis.of_place.assign(extent, no_band);
  std::uint32_t const begin = edges == StencilEdges::inside ? before : 0;
  std::uint32_t const end = edges == StencilEdges::inside ? extent - behind : extent;
  for (std::uint32_t place = begin; place < end; ++place) {
    std::uint32_t const first = (place < before ? 0 : place - before) / region;
    std::uint32_t const last = std::min(place + behind, extent - 1) / region;
    if (axis.bands.empty() || axis.bands.back().first != first || axis.bands.back().last != last)
      axis.bands.push_back({place, place, first, last});
    axis.bands.back().end = place + 1;
    axis.of_place[place] = static_cast<std::uint32_t>(axis.bands.size()) - 1;
  }
  std::uint32_t const regions = (extent + region - 1) / region;
  auto first = axis.bands.begin();  // the region's first band; never left of the previous region's
  for (std::uint32_t r = 0; r < regions; ++r) {
    auto const needs = [r](StencilBand const& b) { return b.first <= r && r <= b.last; };
    first = std::find_if(first, axis.bands.end(), needs);
    auto const behind_last = std::find_if_not(first, axis.bands.end(), needs);
    axis.of_region.push_back({static_cast<std::uint32_t>(first - axis.bands.begin()),
                              static_cast<std::uint32_t>(behind_last - axis.bands.begin()) - 1});
  }
  return axis;
}

Copy RegionCopies::copy(RegionReference const& reference) const {
  StencilRegion const place = region_place(shape, reference.region);
  std::size_t const first = shape.buffer(reference.frame) * shape.values() + shape.at(place.x, place.y);
  Copy c{.target = to_values + first * value_bytes,
         .source = from_values + first * value_bytes,
         .bytes = place.width * value_bytes,
         .rows = place.height,
         .pitch = shape.width * value_bytes};
  if (c.bytes == c.pitch) {  // whole rows
    c.bytes *= c.rows;
    c.rows = 1;
  }
  return c;
}

std::string fault_place(std::uint64_t item) {
  auto const coordinate = [](std::uint64_t bits) {
    auto const value = static_cast<std::int64_t>(bits & 0x3fffff);
    return std::to_string(value >= 1 << 21 ? value - (1 << 22) : value);
  };
  return "value (" + coordinate(item) + ", " + coordinate(item >> 22) + ") of frame " + std::to_string(item >> 44);
}

std::string incomplete_frame(StencilShape const& s, std::vector<std::uint32_t> const& set) {
  for (std::uint32_t b = 0; b < s.buffers; ++b) {
    std::uint64_t values = 0;
    for (std::uint32_t r = 0; r < s.regions(); ++r) values += set[std::size_t{b} * s.regions() + r];
    if (values % s.values() == 0) continue;
    std::uint64_t const lap = values / s.values();
    for (std::uint32_t r = 0; r < s.regions(); ++r) {
      std::uint32_t const all = region_place(s, r).values();
      std::uint64_t const there = set[std::size_t{b} * s.regions() + r] - lap * all;
      if (there == all) continue;
      return "frame " + std::to_string(lap * s.buffers + b) + " is not complete: region (" +
             std::to_string(r % s.regions_x) + ", " + std::to_string(r / s.regions_x) + ") has " +
             std::to_string(there) + " of " + std::to_string(all) + " values";
    }
  }
  return "";
}

StencilTunnelBase::StencilTunnelBase(std::string name, Direction direction, StencilConfig const& config,
                                     std::size_t value_bytes, std::uint32_t first_id, Strips strips, Scopes* scopes)
    : StencilTunnelBase(name, direction, config, value_bytes, first_id, scopes,
                        std::make_unique<Plan>(make_plan(name, direction, config, value_bytes, strips))) {}

StencilTunnelBase::StencilTunnelBase(std::string const& name, Direction direction, StencilConfig const& config,
                                     std::size_t value_bytes, std::uint32_t first_id, Scopes* scopes,
                                     std::unique_ptr<Plan> plan)
    : TunnelBase(name, direction, references(std::uint64_t{plan->shape.regions()} * plan->shape.buffers),
                 scopes != nullptr ? sizeof(detail::ScopedReference) : sizeof(RegionReference), first_id + 1,
                 Puts::never_wait, scopes),
      stencil_(config),
      value_bytes_(value_bytes),
      plan_(std::move(plan)),
      owned_(std::make_unique<TunnelBase>(
          name + " tasks", to_gpu() ? Direction::gpu_to_gpu : Direction::cpu_to_cpu,
          TunnelConfig{.capacity_items = static_cast<std::size_t>(plan_->frame_strips * plan_->shape.buffers)},
          scopes != nullptr ? sizeof(detail::ScopedStrip) : sizeof(StencilStrip), first_id, Puts::never_wait, scopes)),
      strips_(owned_.get()) {}

StencilTunnelBase::~StencilTunnelBase() = default;

}  // namespace hiway
