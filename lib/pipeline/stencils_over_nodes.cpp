#include "stencils_over_nodes.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "hiway/stencil/produce.hpp"
#include "hiway/stencil/stencil_tunnel.hpp"
#include "made_stage.hpp"
#include "stencil/stencil_plan.hpp"

namespace hiway {
namespace {

/// Some of a region's bytes, row after row.
template <std::size_t Bytes>
struct RegionPiece {
  RegionReference of;
  std::uint64_t at;  ///< of the region's bytes, the first that it has
  std::byte bytes[Bytes];
};

/// Where a region lies among all values.
Copy place_of(StencilShape const& shape, std::size_t value_bytes, std::byte* values, RegionReference const& of) {
  return RegionCopies{shape, value_bytes, values, values}.copy(of);
}

/// `run(offset, done, n)` for each run of `bytes` from byte `at` of the region on: n bytes at `offset` from its first.
template <class Run>
void for_each_run(Copy const& region, std::size_t at, std::size_t bytes, Run&& run) {
  for (std::size_t done = 0; done != bytes;) {
    std::size_t const in_row = (at + done) % region.bytes;
    std::size_t const n = std::min(bytes - done, region.bytes - in_row);
    run((at + done) / region.bytes * region.pitch + in_row, done, n);
    done += n;
  }
}

/// At the producers' node: takes each region when it is complete, and puts its pieces. A frame's buffer is free when
/// all of its regions are put.
template <std::size_t Bytes>
struct SendRegions {
  static constexpr unsigned outlet_count = 2;  // regions, and strips, of which nothing is got
  static constexpr unsigned inlet_count = 2;   // pieces, and strips
  static constexpr unsigned stage_count = 1;

  void operator()(StageThread m, OutletView const* outlets, InletView const* inlets) {
    GetBoard const& board = *outlets[0].end->get_board;
    Outlet<RegionReference> const regions(outlets[0]);
    Inlet<RegionPiece<Bytes>> const pieces(inlets[0]);
    std::vector<std::uint32_t> sent(board.shape.buffers);
    for (RegionReference of; regions.next_h(of);) {
      Copy const region = place_of(board.shape, board.value_bytes, board.values, of);
      auto const* const source = static_cast<std::byte const*>(region.source);
      std::size_t const size = region.bytes * region.rows;
      for (std::size_t at = 0; at != size;) {
        std::size_t const n = std::min(Bytes, size - at);
        pieces.put_in_place_h([&](RegionPiece<Bytes>& piece) {
          piece.of = of;
          piece.at = at;
          for_each_run(region, at, n, [&](std::size_t from, std::size_t done, std::size_t some) {
            std::memcpy(piece.bytes + done, source + from, some);
          });
        });
        at += n;
      }
      std::uint32_t& sent_of_frame = sent[board.shape.buffer(of.frame)];
      if (++sent_of_frame == board.shape.regions()) {
        sent_of_frame = 0;
        count_ended(m, board, of.frame, board.frame_tasks);
      }
      regions.end_task_h();
    }
  }
};

/// At the consumers' node: sets what comes. Nobody else does, and a region's pieces come in order: its values need no
/// marks, and are counted together.
template <std::size_t Bytes>
struct ReceiveRegions {
  static constexpr unsigned outlet_count = 1;
  static constexpr unsigned inlet_count = 1;
  static constexpr unsigned stage_count = 1;

  std::size_t value_bytes;

  void operator()(StageThread m, OutletView const* outlets, InletView const* inlets) {
    InletView const& matrix = inlets[0];
    PutBoard const& board = *matrix.end->put_board;
    Outlet<RegionPiece<Bytes>>(outlets[0]).for_each_h([&](RegionPiece<Bytes> const& piece) {
      await_frame(m, board, piece.of.frame, *matrix.control);
      Copy const region = place_of(board.shape, value_bytes, board.values, piece.of);
      auto* const target = static_cast<std::byte*>(region.target);
      std::size_t const size = region.bytes * region.rows;
      std::size_t const n = std::min(Bytes, size - piece.at);
      for_each_run(region, piece.at, n, [&](std::size_t to, std::size_t done, std::size_t some) {
        std::memcpy(target + to, piece.bytes + done, some);
      });
      if (piece.at + n != size) return;
      std::uint32_t const values = region_place(board.shape, piece.of.region).values();
      if (count_values(m, board, piece.of.region, piece.of.frame, values))
        detail::put_region(m, matrix, piece.of.region, piece.of.frame);
    });
  }
};

/// Both stages and the tunnel between them.
struct Carriage {
  std::size_t item_bytes;
  std::function<void(StageEnds const&)> send;
  std::function<void(StageEnds const&)> receive;
};

template <std::size_t Bytes>
Carriage carriage_by(std::size_t value_bytes) {
  return {sizeof(RegionPiece<Bytes>), body_of(SendRegions<Bytes>{}), body_of(ReceiveRegions<Bytes>{value_bytes})};
}

/// An item holds a whole region if that is small enough.
Carriage carriage_for(StencilShape const& shape, std::size_t value_bytes) {
  std::size_t const region = RegionCopies{shape, value_bytes}.region_bytes();
  if (region <= 1024) return carriage_by<1024>(value_bytes);
  if (region <= 8192) return carriage_by<8192>(value_bytes);
  return carriage_by<65520>(value_bytes);
}

/// The items between the two stages.
TunnelConfig config_between(StencilShape const& shape, std::size_t item_bytes) {
  constexpr std::size_t most_bytes = std::size_t{4} << 20;
  std::size_t const regions = std::size_t{shape.regions()} * shape.buffers;
  return {.capacity_items = std::clamp<std::size_t>(most_bytes / item_bytes, 2, std::max<std::size_t>(regions, 2))};
}

void carry(Layout& layout, std::uint32_t tunnel, int from, int to) {
  StencilTunnelBase& stencil = *layout.graph.tunnels()[tunnel].stencil;
  TunnelBase& strips = *stencil.tasks();
  int const here = layout.over_nodes.node;
  Carriage const carriage = carriage_for(stencil.plan().shape, stencil.value_bytes());
  auto made = std::make_unique<TunnelBase>(
      stencil.name() + " (regions)", Direction::cpu_to_cpu, config_between(stencil.plan().shape, carriage.item_bytes),
      carriage.item_bytes, static_cast<std::uint32_t>(layout.graph.tunnels().size()));
  TunnelBase& between = *made;
  layout.graph.add_tunnel(std::move(made));
  layout.graph.carry(tunnel, between.id());
  std::string const sender = stencil.name() + " (to node " + std::to_string(to) + ")";
  std::string const receiver = stencil.name() + " (from node " + std::to_string(from) + ")";
  layout.graph.declare({.name = sender, .from = {}, .into = {&between}, .nodes = {from}});
  layout.graph.declare({.name = receiver, .from = {&between}, .into = {}, .nodes = {to}});
  CpuStageOptions const options{.threads = 1};
  if (here == from)
    layout.graph.add_cpu(
        {{.name = sender, .from = {&stencil, &strips}, .into = {&between, &strips}}, options, carriage.send});
  if (here == to)
    layout.graph.add_cpu({{.name = receiver, .from = {&between}, .into = {&stencil}}, options, carriage.receive});
}

}  // namespace

void carry_stencils_over_nodes(Layout& layout) {
  DeclaredOverNodes const declared = layout.graph.over_nodes();
  TunnelsOverNodes const plan = tunnels_over_nodes(declared.graph);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < plan.tunnels.size(); ++i) {
    TunnelOverNodes const& t = plan.tunnels[i];
    DeclaredTunnel const& tunnel = layout.graph.tunnels()[declared.ids[i]];
    if (tunnel.stencil == nullptr || !t.crosses()) continue;
    if (t.writers.size() != 1 || t.readers.size() != 1) {
      found.push_back("stencil " + tunnel.title() +
                      " leads from one node to another: then one node puts into it, and one gets from it");
    } else if (tunnel.carried_by == no_id) {
      carry(layout, tunnel.base->id(), t.writers.front(), t.readers.front());
    }
  }
  refuse_problems(found);
  layout.placement.follow();
}

}  // namespace hiway
