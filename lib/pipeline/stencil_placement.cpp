#include "stencil_placement.hpp"

#include "lib/movement/carrier.hpp"
#include "lib/sizes.hpp"

namespace hiway {
namespace {

/// Places one stencil tunnel.
class StencilPlacer {
 public:
  StencilPlacer(Homes& homes, PlacedTunnel& tunnel)
      : homes_(homes),
        tunnel_(tunnel),
        base_(*tunnel.stencil_base),
        plan_(base_.plan()),
        who_("stencil tunnel '" + base_.name() + "'"),
        asked_(find_carrier(base_.stencil().movement)) {}

  void place() {
    place_values();
    place_put_board();
    place_get_board();
    Arena& put_words = homes_.words(tunnel_.put.home);
    Arena& get_words = homes_.words(tunnel_.get.home);
    made_.put_board = put_words.place<PutBoard>();
    put_words.image(made_.put_board) = put_;
    made_.get_board = get_words.place<GetBoard>();
    get_words.image(made_.get_board) = get_;
    put_words.image(tunnel_.put.words).put_board = made_.put_board;
    get_words.image(tunnel_.get.words).get_board = made_.get_board;
    choose_way();
    tunnel_.stencil = std::move(made_);
  }

 private:
  // Warps that read host memory side by side beat copies there, if a value is at least as large as one such read. But
  // lanes on a device write across value by value (hiway bench stencil).
  [[nodiscard]] bool is_copied() const {
    bool const automatic = base_.from_gpu() || base_.value_bytes() < 16;
    return tunnel_.crosses() && (asked_ != nullptr ? asked_->copies() : automatic);
  }
  // Consumers tell producers what is free. Across the bus, and from one device to another, the words are in host
  // memory.
  [[nodiscard]] bool is_told_at_host() const { return tunnel_.crosses() || !base_.to_gpu(); }

  // Producers on a device set values where consumers read them, if the device reaches that memory. Otherwise they have
  // a matrix of their own. It is at the host if consumers, not a copy engine, read it.
  void place_values() {
    std::size_t const bytes = bytes_of(who_, {plan_.shape.values(), plan_.shape.buffers, base_.value_bytes()});
    bool const reached = base_.from_gpu() && (!base_.to_gpu() || homes_.is_reached(tunnel_.get.home, tunnel_.put.home));
    bool const carried = tunnel_.crosses() && !is_copied() && !reached;
    get_.values = homes_.words(tunnel_.get.home).place_raw(bytes, who_);
    put_.values = is_copied() ? homes_.words(tunnel_.put.home).place_raw(bytes, who_)
                  : carried   ? homes_.host().words->place_raw(bytes, who_)
                              : get_.values;
    get_.source = carried ? put_.values : nullptr;
  }

  void place_put_board() {
    Arena& words = homes_.words(tunnel_.put.home);
    Arena& told = homes_.words(is_told_at_host() ? at_host : tunnel_.put.home);
    StencilShape const& shape = plan_.shape;
    put_.shape = shape;
    put_.marks_a_row = plan_.marks_a_row;
    std::size_t const regions = std::size_t{shape.regions()} * shape.buffers;
    put_.marks =
        words.place_zeros<Word<std::uint32_t>>(regions * shape.region_height * plan_.marks_a_row, who_ + ": marks");
    made_.set = put_.set = words.place_zeros<Word<std::uint32_t>>(regions, who_);
    put_.whole = words.place<Word<std::uint64_t>>();
    get_.freed = told.place<Word<std::uint64_t>>(shape.buffers);
    put_.freed = get_.freed;
    put_.begun = told.place<Word<std::uint64_t>>();
    put_.across = base_.from_gpu() && is_told_at_host();
    if (put_.across) {
      put_.freed = words.place<Word<std::uint64_t>>(shape.buffers);
      for (std::uint32_t i = 0; i < shape.buffers; ++i) made_.heard.push_back({{get_.freed + i}, put_.freed + i});
    }
    put_.overlapped = words.place<Word<std::uint32_t>>();
  }

  void place_get_board() {
    Arena& words = homes_.words(tunnel_.get.home);
    std::uint32_t const buffers = plan_.shape.buffers;
    get_.shape = plan_.shape;
    get_.x = place_axis(plan_.x);
    get_.y = place_axis(plan_.y);
    get_.strips = plan_.strips;
    get_.value_bytes = static_cast<std::uint32_t>(base_.value_bytes());
    get_.tasks = base_.stencil().tasks;
    get_.frame_tasks = plan_.frame_tasks;
    get_.arrivals = words.place_zeros<Word<std::uint32_t>>(std::size_t{get_.cells()} * buffers, who_ + ": arrivals");
    get_.arrived = words.place<Word<std::uint32_t>>(buffers);
    get_.ended = words.place<Word<std::uint64_t>>(buffers);
    get_.begun = put_.begun;
    get_.rounds = words.place<Word<std::uint64_t>>();
    get_.carried = words.place<Word<std::uint64_t>>();
    get_.across = base_.to_gpu() && is_told_at_host();
  }
  [[nodiscard]] StencilAxis place_axis(PlannedAxis const& axis) {
    Arena& words = homes_.words(tunnel_.get.home);
    return {words.place_list(axis.bands), static_cast<std::uint32_t>(axis.bands.size()),
            words.place_list(axis.of_region), words.place_list(axis.of_place)};
  }

  void choose_way() {
    if (!tunnel_.crosses()) return;
    if (is_copied()) {
      made_.copies = RegionCopies{plan_.shape, base_.value_bytes(), put_.values, get_.values};
      tunnel_.way.carrier = &dma_carrier();
      tell_arrivals(homes_, tunnel_);
    }
    tunnel_.way.why = asked_ != nullptr ? "asked for" : is_copied() ? "regions" : "regions of values from 16 bytes on";
  }

  Homes& homes_;
  PlacedTunnel& tunnel_;
  StencilTunnelBase const& base_;
  StencilTunnelBase::Plan const& plan_;
  std::string who_;
  Carrier const* asked_;  ///< null: the library chooses
  PutBoard put_;
  GetBoard get_;
  PlacedStencil made_;
};

}  // namespace

void place_stencil(Homes& homes, PlacedTunnel& tunnel) { StencilPlacer(homes, tunnel).place(); }

std::span<Word<std::uint32_t>> set_words(PlacedTunnel const& tunnel) {
  StencilShape const& shape = tunnel.stencil_base->plan().shape;
  return {tunnel.stencil.set, std::size_t{shape.regions()} * shape.buffers};
}

std::string incomplete_frame_of(Homes const& homes, PlacedTunnel const& tunnel) {
  StencilShape const& shape = tunnel.stencil_base->plan().shape;
  std::vector<std::uint32_t> set(std::size_t{shape.regions()} * shape.buffers);
  if (tunnel.put.home != at_host) {
    homes.backend(tunnel.put.home).download(set.data(), tunnel.stencil.set, set.size() * sizeof set[0]);
  } else {
    for (std::size_t i = 0; i < set.size(); ++i)
      set[i] = ThreadMachine{}.load(tunnel.stencil.set[i], MemoryOrder::relaxed);
  }
  return incomplete_frame(shape, set);
}

}  // namespace hiway
