// Pipeline::Core: stencil tunnels, that is, their matrices and boards. Each is also two plain tunnels.
#include <string>

#include "pipeline_core.hpp"
#include "sizes.hpp"

namespace hiway {

void Pipeline::Core::add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) {
  StencilTunnelBase& t = *tunnel;
  add_tunnel(t.release_strips());
  add_tunnel(std::move(tunnel));
  tunnels_.back().stencil = StencilState{.tunnel = &t};
}

/// Places matrices and boards. The tunnel's homes are known, and its references have their memory.
void Pipeline::Core::place_stencil(TunnelState& state) {
  StencilTunnelBase& t = *state.stencil->tunnel;
  StencilTunnelBase::Plan const& plan = t.plan();
  std::string const who = "stencil tunnel '" + t.name() + "'";
  bool const from = t.from_gpu();
  bool const to = t.to_gpu();
  Arena& put_words = words(state.put_home);
  Arena& get_words = words(state.get_home);
  // Consumers tell producers what is free. Across the bus, and from one device to another, the words are in host
  // memory.
  bool const told_at_host = state.crosses() || !to;
  Arena& told = words(told_at_host ? at_host : state.put_home);

  Movement const asked = t.stencil().movement;
  // Warps that read host memory side by side beat copies there, if a value is at least as large as one such read. But
  // lanes on a device write across value by value (hiway bench stencil).
  bool const automatic_dma = from || t.value_bytes() < 16;
  bool const dma = state.crosses() && (asked == Movement::dma || (asked == Movement::automatic && automatic_dma));
  std::size_t const bytes = bytes_of(who, {plan.shape.values(), plan.shape.buffers, t.value_bytes()});
  StencilState s;
  s.tunnel = &t;
  // Producers on a device set values where consumers read them, if the device reaches that memory. Otherwise they have
  // a matrix of their own. It is at the host if consumers, not a copy engine, read it.
  bool const reached = from && (!to || is_reached(state.get_home, state.put_home));
  bool const carried = state.crosses() && !dma && !reached;
  std::byte* const get_values = get_words.place_raw(bytes, who);
  std::byte* const put_values = dma       ? put_words.place_raw(bytes, who)
                                : carried ? host_words_->place_raw(bytes, who)
                                          : get_values;

  PutBoard put;
  put.shape = plan.shape;
  put.values = put_values;
  put.marks_a_row = plan.marks_a_row;
  std::size_t const regions = std::size_t{plan.shape.regions()} * plan.shape.buffers;
  put.marks = put_words.place_zeros<Word<std::uint32_t>>(regions * plan.shape.region_height * plan.marks_a_row,
                                                         who + ": marks");
  s.set = put.set = put_words.place_zeros<Word<std::uint32_t>>(regions, who);
  put.whole = put_words.place<Word<std::uint64_t>>();
  Word<std::uint64_t>* const freed = told.place<Word<std::uint64_t>>(plan.shape.buffers);
  put.freed = freed;
  put.begun = told.place<Word<std::uint64_t>>();
  put.across = from && told_at_host;
  if (put.across) {
    put.freed = put_words.place<Word<std::uint64_t>>(plan.shape.buffers);
    for (std::uint32_t i = 0; i < plan.shape.buffers; ++i) s.heard.push_back({freed + i, put.freed + i});
  }
  put.overlapped = put_words.place<Word<std::uint32_t>>();

  GetBoard get;
  get.shape = plan.shape;
  auto const place_axis = [&](PlannedAxis const& axis) {
    return StencilAxis{get_words.place_list(axis.bands), static_cast<std::uint32_t>(axis.bands.size()),
                       get_words.place_list(axis.of_region), get_words.place_list(axis.of_place)};
  };
  get.x = place_axis(plan.x);
  get.y = place_axis(plan.y);
  get.strips = plan.strips;
  get.values = get_values;
  get.source = carried ? put_values : nullptr;
  get.value_bytes = static_cast<std::uint32_t>(t.value_bytes());
  get.tasks = t.stencil().tasks;
  get.frame_tasks = plan.frame_tasks;
  get.arrivals =
      get_words.place_zeros<Word<std::uint32_t>>(std::size_t{get.cells()} * plan.shape.buffers, who + ": arrivals");
  get.arrived = get_words.place<Word<std::uint32_t>>(plan.shape.buffers);
  get.ended = get_words.place<Word<std::uint64_t>>(plan.shape.buffers);
  get.freed = freed;
  get.begun = put.begun;
  get.rounds = get_words.place<Word<std::uint64_t>>();
  get.carried = get_words.place<Word<std::uint64_t>>();
  get.across = to && told_at_host;

  s.put_board = put_words.place<PutBoard>();
  put_words.image(s.put_board) = put;
  s.get_board = get_words.place<GetBoard>();
  get_words.image(s.get_board) = get;
  put_words.image(state.put_end).put_board = s.put_board;
  get_words.image(state.get_end).get_board = s.get_board;
  if (dma) {
    s.copies = RegionCopies{plan.shape, t.value_bytes(), put_values, get_values};
    state.movement = Movement::dma;
    state.why = asked == Movement::dma ? "asked for" : "regions";
    tell_arrivals(state);
  } else if (state.crosses()) {
    state.why = asked == Movement::direct ? "asked for" : "regions of values from 16 bytes on";
  }
  state.stencil = std::move(s);
}

/// Describes an incomplete frame of a stencil tunnel; empty if all frames that were begun are complete.
std::string Pipeline::Core::incomplete_frame_of(TunnelState const& t) {
  StencilShape const& shape = t.stencil->tunnel->plan().shape;
  std::vector<std::uint32_t> set(std::size_t{shape.regions()} * shape.buffers);
  if (t.put_home != at_host) {
    backend(t.put_home).download(set.data(), t.stencil->set, set.size() * sizeof set[0]);
  } else {
    for (std::size_t i = 0; i < set.size(); ++i) set[i] = ThreadMachine{}.load(t.stencil->set[i], Order::relaxed);
  }
  return incomplete_frame(shape, set);
}

/// A run that ends with an incomplete frame has lost its values: that is an error.
void Pipeline::Core::check_frames() {
  for (TunnelState const& t : tunnels_) {
    if (!t.stencil) continue;
    if (std::string const what = incomplete_frame_of(t); !what.empty())
      throw MisuseError("stencil tunnel '" + t.tunnel->name() + "': its writers have returned, but " + what);
  }
}

StencilReport Pipeline::Core::stencil_report(TunnelState const& t) {
  StencilTunnelBase::Plan const& plan = t.stencil->tunnel->plan();
  Arena& put = words(t.put_home);
  Arena& get = words(t.get_home);
  PutBoard const& put_board = put.image(t.stencil->put_board);
  GetBoard const& get_board = get.image(t.stencil->get_board);
  StencilReport r;
  r.name = t.tunnel->name();
  r.regions = put.fetch(put_board.whole).bits;
  std::uint64_t const frames = r.regions / plan.shape.regions();  // complete frames: others are an error
  r.values = frames * plan.shape.values();
  if (t.route != npos) {
    TransferLine const& line = *device(t.line_home).lines[static_cast<std::size_t>(t.direction())];
    r.region_copies = line.items(t.route);
    r.bytes_moved = line.copied_bytes(t.route);
  } else if (t.crosses()) {
    r.region_copies = get.fetch(get_board.carried).bits;
    r.bytes_moved = r.values * t.stencil->tunnel->value_bytes();
  }
  r.tasks = frames * plan.frame_tasks;
  r.put_back = get.fetch(get_board.rounds).bits;
  r.first_task_before_last_set = put.fetch(put_board.overlapped).bits != 0;
  return r;
}

}  // namespace hiway
