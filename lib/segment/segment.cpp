// A segment's host side: it sizes and places the queues, fills the kernel's tables, and fetches what a run has left.
#include "hiway/segment/segment_base.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "hiway/error.hpp"
#include "hiway/fault.hpp"
#include "hiway/segment/parking.hpp"
#include "lib/segment/contexts.hpp"
#include "lib/segment/layout.hpp"
#include "lib/segment/node_plan.hpp"
#include "lib/segment/queue_slots.hpp"
#include "lib/segment/segment_memory.hpp"
#include "lib/sizes.hpp"

namespace hiway::segment {
namespace {

/// Default for shared memory of queues. Small, because more blocks at once are worth more than queues in shared memory
/// (docs/segments.md).
constexpr std::uint64_t shared_bytes_a_thread = 128;
/// Default for the largest claim of a range's items.
constexpr unsigned ensembles_a_claim = 64;
/// A replica looks around after so many cycles, 20 us of a GPU's; in slices that are shorter, after each ensemble.
constexpr std::uint32_t cycles_between_looks = 32768;
constexpr std::uint64_t short_slice_ns = 20'000;
/// Fills the far rooms if they are guarded.
constexpr std::byte guard{0xa5};

}  // namespace

SegmentBase::SegmentBase(std::string name, SegmentConfig config, Shape shape, std::vector<NodeDescription> nodes,
                         std::vector<std::string> sinks, unsigned modules, RootTakes root_takes)
    : plan_(std::make_unique<NodePlan>(name, config, shape, std::move(nodes), root_takes)),
      sinks_(std::move(sinks)),
      root_takes_(root_takes),
      places_(modules) {}

SegmentBase::~SegmentBase() = default;

simt::Grid SegmentBase::choose_grid(Backend& backend, DeviceKernel const& kernel, GpuStageOptions options,
                                    unsigned sharers) {
  simt::Grid grid{options.blocks, options.threads_per_block == 0 ? 128 : options.threads_per_block, 0};
  SegmentConfig const& config = plan_->config();
  std::string const& who = plan_->who();
  if (grid.threads_per_block % 32 != 0)
    throw ConfigError(who + ": threads_per_block must be whole warps of 32: " + std::to_string(grid.threads_per_block));
  plan_->set_lanes(plan_->shape().replica == ReplicaOf::warp ? 32 : grid.threads_per_block);
  unsigned const per_block = grid.threads_per_block / lanes();
  place_queues(0, std::vector<std::uint32_t>(plan_->size()));  // what a replica needs in the near room in any case
  std::uint64_t const fixed = placement_.block_bytes + std::uint64_t{per_block} * placement_.near_bytes;
  std::uint64_t tables = 0;
  for (NodeDescription const& d : nodes()) tables += d.in_block_bytes;
  std::uint64_t const limit = std::max<std::uint64_t>(
      fixed, config.shared_bytes != 0 ? config.shared_bytes : shared_bytes_a_thread * grid.threads_per_block + tables);
  std::uint64_t const near_limit = (limit - placement_.block_bytes) / per_block / near_align * near_align;
  grid.shared_bytes = limit;
  backend.prepare(who, kernel, {1, grid.threads_per_block, grid.shared_bytes}, Neighbours::own);
  if (grid.blocks == 0) grid.blocks = backend.full_grid(kernel, grid, sharers);
  if (std::uint64_t{grid.blocks} * per_block > UINT32_MAX)
    throw ConfigError(who + ": " + std::to_string(grid.blocks) + " blocks are too many");
  replicas_ = grid.blocks * per_block;
  QueueSlots const slots = choose_slots(*plan_, replicas_);
  bloat_bytes_ = slots.bloat_bytes;
  place_queues(near_limit, slots.of_node);
  queue_bytes_ = 0;
  for (QueueSize const& q : queues()) queue_bytes_ += q.bytes * replicas_;
  if (config.queue_bytes != 0 && queue_bytes_ > config.queue_bytes)
    throw ConfigError(who + ": its queues take " + std::to_string(queue_bytes_) + " bytes, " +
                      std::to_string(config.queue_bytes) + " are given");
  grid.shared_bytes = placement_.block_bytes + std::size_t{per_block} * placement_.near_bytes;
  return grid;
}
void SegmentBase::place_queues(std::size_t near_limit, std::vector<std::uint32_t> const& slots) {
  layout_ = std::make_unique<Layout>(*plan_, region_items_, sinks_.size(), near_limit, slots);
  layout_->fill(placement_);
  queues_ = layout_->queues();
}

void SegmentBase::place(Backend& backend, simt::Grid grid, Control* control, std::uint32_t stage, Slice const& slice) {
  memory_ = std::make_unique<Memory>(backend);
  std::string const& who = plan_->who();
  SegmentConfig const& config = plan_->config();
  Memory& m = *memory_;
  std::size_t const n = plan_->size();
  replicas_ = grid.blocks * (grid.threads_per_block / lanes());
  std::size_t const counted = plan_->shape().counters ? n * replicas_ : 0;
  Placement& p = placement_;
  p.nodes = static_cast<std::uint32_t>(n);
  p.replicas = replicas_;
  p.control = control;
  p.stage = stage;
  p.far_rooms = m.take<std::byte>(bytes_of(who + ": queues", {replicas_, p.far_bytes}), who + ": queues");
  p.rows = m.rows = m.take<NodeRow>(n, who);
  p.words = m.take<SharedWords>(1, who);
  p.sink_words = m.take<SinkWords>(sinks_.size(), who);
  p.region_words = m.take<RegionWords>(plan_->has_regions() ? n : 0, who);
  p.times = m.take<ReplicaTimes>(replicas_, who);
  p.made = m.take<std::uint32_t>(counted * lanes(), who);
  p.counters = m.take<NodeCounters>(counted, who);
  std::uint64_t const width = plan_->width_of(0);
  p.least_claim = config.least_claim != 0 ? config.least_claim : width;
  p.most_claim =
      std::max<std::uint64_t>(p.least_claim, config.most_claim != 0 ? config.most_claim : ensembles_a_claim * width);
  p.slice = slice;
  place_parked();
  place_lending();
  p.look_after = p.parked != nullptr && slice.ns <= short_slice_ns  ? 0
                 : p.parked != nullptr || p.lending.idle != nullptr ? cycles_between_looks
                                                                    : never_late;
  place_functions();
}
void SegmentBase::place_parked() {
  placement_.parked = nullptr;
  memory_->parked_bytes = 0;
  if (placement_.slice.ns == 0) return;
  std::string const what = plan_->who() + ": what it keeps between slices";
  memory_->parked_bytes = bytes_of(what, {replicas_, parked_bytes + placement_.near_bytes});
  placement_.parked = memory_->take<std::byte>(memory_->parked_bytes, what);
}
void SegmentBase::place_lending() {
  SegmentConfig const& config = plan_->config();
  placement_.lending = {};
  placement_.lend_after_ns = static_cast<std::uint64_t>(std::max<std::int64_t>(0, config.lend_after.count()));
  bool const in_order = plan_->has_marks();  // lent items would leave their signals behind
  if (root_takes_ == RootTakes::tunnel || config.lend_after == never || replicas_ == 1 || in_order) return;
  Memory& m = *memory_;
  std::string const& who = plan_->who();
  std::uint32_t item_bytes = 0;
  for (NodeDescription const& d : nodes()) item_bytes = std::max(item_bytes, d.item_bytes);
  Lending& l = placement_.lending;
  l.replicas = replicas_;
  l.letter_bytes = static_cast<std::uint32_t>(align_up(std::uint64_t{lanes()} * item_bytes, 16));
  l.letters = m.take<std::byte>(std::size_t{l.letter_bytes} * replicas_, who + ": letters");
  l.boxes = m.take<LetterBox>(replicas_, who);
  m.ask_words = align_up((replicas_ + 31) / 32, 32) + 32;
  l.asks = m.take<Word<std::uint32_t>>(m.ask_words, who);
  l.idle = l.asks + m.ask_words - 1;
}
void SegmentBase::place_functions() {
  Memory& m = *memory_;
  places_.assign(places_.size(), {});
  m.functions.assign(places_.size(), nullptr);
  for (unsigned module = 0; module != places_.size(); ++module) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i != plan_->size(); ++i) {
      if (nodes()[i].module != module) continue;
      bytes += nodes()[i].function.size();
      places_[module].nodes |= 1u << plan_->number_of(i);
    }
    m.functions[module] = m.take<std::byte>(bytes, plan_->who());
    places_[module].functions = m.functions[module];
  }
}

void SegmentBase::start(Backend& backend) {
  sink_items_.clear();  // a failed run has no results
  times_.clear();
  counters_.clear();
  Memory const& m = *memory_;
  Placement const& p = placement_;
  std::size_t const n = plan_->size();
  if (plan_->has_regions()) {
    layout_->choose_contexts(Contexts(*plan_, region_items_));
    queues_ = layout_->queues();
    backend.clear(p.region_words, n * sizeof(RegionWords));
  }
  backend.upload(m.rows, layout_->rows().data(), n * sizeof(NodeRow));
  for (unsigned module = 0; module != places_.size(); ++module) {
    std::vector<std::byte> image;
    for (NodeDescription const& d : nodes()) {
      if (d.module == module) image.insert(image.end(), d.function.begin(), d.function.end());
    }
    backend.upload(m.functions[module], image.data(), image.size());
  }
  backend.clear(p.words, sizeof(SharedWords));
  backend.clear(p.sink_words, std::max<std::size_t>(1, sinks_.size()) * sizeof(SinkWords));
  if (Lending const& l = p.lending; l.idle != nullptr) {
    backend.clear(l.asks, m.ask_words * sizeof(Word<std::uint32_t>));
    backend.clear(l.boxes, replicas_ * sizeof(LetterBox));
  }
  if (p.parked != nullptr) backend.clear(p.parked, m.parked_bytes);
  if (plan_->shape().counters) backend.clear(p.counters, n * replicas_ * sizeof(NodeCounters));
  if (!layout_->guards().empty()) {
    std::vector<std::byte> const filled(p.far_bytes * replicas_, guard);
    backend.upload(p.far_rooms, filled.data(), filled.size());
  }
  upload_program(backend, p, places_);
}

void SegmentBase::finish(Backend& backend) {
  check_guards(backend);
  std::vector<SinkWords> sinks(sinks_.size());
  if (!sinks.empty()) backend.download(sinks.data(), placement_.sink_words, sinks.size() * sizeof(SinkWords));
  for (SinkWords const& s : sinks) sink_items_.push_back(s.items.bits);
  if (plan_->has_regions()) measure_regions(backend);
  times_.resize(replicas_);
  backend.download(times_.data(), placement_.times, times_.size() * sizeof(ReplicaTimes));
  if (!plan_->shape().counters) return;
  counters_.resize(plan_->size() * replicas_);
  backend.download(counters_.data(), placement_.counters, counters_.size() * sizeof(NodeCounters));
}
void SegmentBase::check_guards(Backend& backend) const {
  if (layout_->guards().empty()) return;
  std::uint64_t const bytes = plan_->config().guard_bytes;
  std::vector<std::byte> room(placement_.far_bytes);
  for (unsigned r = 0; r != replicas_; ++r) {
    backend.download(room.data(), placement_.far_rooms + r * placement_.far_bytes, room.size());
    for (auto const& [node, at] : layout_->guards()) {
      auto const begin = room.begin() + static_cast<std::ptrdiff_t>(at);
      if (static_cast<std::uint64_t>(std::count(begin, begin + static_cast<std::ptrdiff_t>(bytes), guard)) == bytes)
        continue;
      throw Error(plan_->who() + ": node '" + nodes()[node].name + "': replica " + std::to_string(r) +
                  " has written beyond a queue or beyond cursors");
    }
  }
}
void SegmentBase::measure_regions(Backend& backend) {
  std::size_t const n = plan_->size();
  std::vector<RegionWords> words(n);
  backend.download(words.data(), placement_.region_words, n * sizeof(RegionWords));
  region_items_.assign(n, -1);
  for (std::size_t i = 0; i != n; ++i) {
    if (nodes()[i].opened.empty()) continue;
    auto const opener = static_cast<std::size_t>(nodes()[i].opened.front());
    std::uint64_t const regions = words[plan_->number_of(opener)].items.bits;
    if (regions != 0)
      region_items_[i] = static_cast<double>(words[plan_->number_of(i)].items.bits) / static_cast<double>(regions);
  }
}

void SegmentBase::set_function(std::string_view node, unsigned module, void const* function, std::size_t bytes) {
  plan_->set_function(node, module, function, bytes);
}

}  // namespace hiway::segment
