// A tunnel with its memory. The memory is placed once the homes of the tunnel's ends are known. From then on it does
// not move, so open ends stay valid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hiway/relay.hpp"
#include "hiway/ring.hpp"
#include "hiway/termination.hpp"
#include "hiway/tunnel.hpp"
#include "homes.hpp"
#include "stencil/stencil_plan.hpp"

namespace hiway {

class Carrier;
struct KeyedRings;

/// One end of a tunnel: the writers' or the readers'.
struct PlacedEnd {
  Home home = at_host;
  Ring ring;  ///< the whole ring, or the half at this home
  EndWords* words = nullptr;
};

/// At the producers' home; prepare() gives it memory if a writer spills.
struct SpillPool {
  Ring* ring = nullptr;
  Word<std::uint64_t>* drained = nullptr;  ///< counts the items drained from the pool, if it is drained
  bool is_at_host = false;                 ///< its items are in host memory: the device had too little
};

/// A crossing tunnel's words in host memory, each in a cache line of its own.
struct BusWords {
  alignas(64) Word<std::uint64_t> published{0};
  alignas(64) Word<std::uint64_t> retired{0};
  alignas(64) Word<std::uint64_t> arrived{0};
  alignas(64) Word<std::uint32_t> closing{0};
};

/// What both sides of a tunnel that crosses tell each other.
struct Crossing {
  BusWords* words = nullptr;
  ToldWord published;
  ToldWord arrived;
  ToldWord retired;
  Word<std::uint32_t>* closing = nullptr;  ///< at the host
  // Of the half-rings at the host; null where there is none.
  Relays* put_relays = nullptr;
  Relays* get_relays = nullptr;
};

/// How a tunnel's items move.
struct Way {
  static constexpr std::size_t no_route = static_cast<std::size_t>(-1);

  Carrier const* carrier = nullptr;  ///< null: the tunnel does not cross, or its movement is not settled yet
  std::string why;                   ///< why this movement was chosen
  std::size_t route = no_route;      ///< its index in its transfer line, if it has one
  Home line_home = at_host;          ///< the device whose line it is
};

/// Of a tunnel with keys, at the host (inlet/keyed.hpp).
struct PlacedKeys {
  unsigned threads = 0;        ///< of the one stage that reads the tunnel
  std::vector<Ring> rings{};   ///< one for each of them, once prepare() has given them memory
  std::size_t ring_items = 0;  ///< the capacity of each
  KeyedRings const* placed = nullptr;
};

struct OpenEndWords {
  Word<std::uint32_t>* closed = nullptr;  ///< at the producers' home: how many open inlets were closed
  std::vector<InletView> inlets{};        ///< of CPU threads of this node
  std::vector<OutletPort*> outlets{};     ///< at the consumers' home
};

/// What a stencil tunnel has besides its two plain tunnels.
struct PlacedStencil {
  PutBoard* put_board = nullptr;
  GetBoard* get_board = nullptr;
  Word<std::uint32_t>* set = nullptr;  ///< at the producers' home; one for each buffer and region
  std::optional<RegionCopies> copies;  ///< if copy engines carry the regions
  std::vector<HeardWord> heard;        ///< words that the producers' device monitor hears
};

struct PlacedTunnel {
  TunnelBase const* base = nullptr;
  StencilTunnelBase const* stencil_base = nullptr;  ///< the same object, if it is a stencil tunnel
  bool placed = false;
  std::size_t capacity = 0;  ///< in items, at present: a run may let it grow
  Home slots_on = at_host;   ///< a device where its slots lie though an end is at the host: batch stages' streams alone
                             ///< reach them from there
  PlacedEnd put;
  PlacedEnd get;
  SpillPool pool;
  PlacedKeys keys;
  Crossing bus;
  Way way;
  OpenEndWords open;
  PlacedStencil stencil;

  /// True if both ends are at the host though one is a device's: that of batch stages, which copy many items at once.
  [[nodiscard]] bool is_for_batches() const {
    return put.home == at_host && get.home == at_host && base->direction() != Direction::cpu_to_cpu;
  }
  /// True if it is two half-rings.
  [[nodiscard]] bool crosses() const { return put.home != get.home || is_for_batches(); }
  /// True if it leads from one device to another.
  [[nodiscard]] bool is_between_devices() const { return crosses() && put.home != at_host && get.home != at_host; }
  /// For a tunnel that crosses: its direction, seen from the device of its line.
  [[nodiscard]] BusDirection direction() const {
    return get.home != at_host ? BusDirection::to_device : BusDirection::from_device;
  }
  [[nodiscard]] std::string title() const { return "tunnel '" + base->name() + "'"; }
};

/// What is dropped was put, and counts as finished.
[[nodiscard]] inline bool drops_oldest(PlacedTunnel const& tunnel) {
  return tunnel.base->config().when_full == WhenFull::drop_oldest;
}

}  // namespace hiway
