// StencilTunnel<T>: overlapping tasks share their values. Producers set the values of a matrix in any order. Each
// region crosses once, when it is complete. A task is a reference to a place; consumers fetch the values around it.
//
//   set(x, y, value) -> the producers' matrix -> the last value of a region puts its reference into a tunnel
//     -> (dma: monitors/transfer copies the region before its reference arrives)
//   get(task) at the consumers: takes a strip of tasks, or, if there is none, a region's reference
//     -> (direct, values set in host memory: copies the region) -> counts it for each cell that needs it
//     -> puts the strips of each cell that has all its regions into a second tunnel, at the consumers' home
//     -> fetch(x, y) -> end_task: the frame's last one frees its buffer
//
// Both are ordinary tunnels (tunnel.hpp, termination.hpp). One carries region references; a consumer ends a reference
// after it has put the strips that came of it. The other carries strips; its rings hold all strips that the buffers can
// produce, so no put into it ever waits.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "hiway/stencil/stencil_inlet.hpp"
#include "hiway/stencil/stencil_outlet.hpp"
#include "hiway/stencil/task.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

/// How many tasks a consumer's lane takes at once: as many as is fastest; or one, for consumers that keep nothing from
/// call to call (paper.hpp).
enum class Strips : std::uint8_t { automatic, of_one_task };

/// A stencil tunnel without its type.
class StencilTunnelBase : public TunnelBase {
 public:
  /// *Throws* ConfigError.
  StencilTunnelBase(std::string name, Direction direction, StencilConfig const& config, std::size_t value_bytes,
                    std::uint32_t first_id, Strips strips = Strips::automatic, Scopes* scopes = nullptr);
  ~StencilTunnelBase() override;

  [[nodiscard]] StencilConfig const& stencil() const { return stencil_; }
  [[nodiscard]] std::size_t value_bytes() const { return value_bytes_; }
  [[nodiscard]] TunnelBase* tasks() const override { return strips_; }
  /// Gives the tunnel of strips away; the caller keeps it.
  [[nodiscard]] std::unique_ptr<TunnelBase> release_strips() { return std::move(owned_); }
  /// All that is computed before memory is allocated.
  struct Plan;
  [[nodiscard]] Plan const& plan() const { return *plan_; }

 private:
  StencilTunnelBase(std::string const& name, Direction direction, StencilConfig const& config, std::size_t value_bytes,
                    std::uint32_t first_id, Scopes* scopes, std::unique_ptr<Plan> plan);

  StencilConfig stencil_;
  std::size_t value_bytes_;
  std::unique_ptr<Plan> plan_;
  std::unique_ptr<TunnelBase> owned_;
  TunnelBase* strips_;
};

/// Made by Pipeline::create_stencil_tunnel<T>; the pipeline keeps it.
template <class T>
class Tunnel<StencilOf<T>> final : public StencilTunnelBase {
 public:
  using value_type = T;
  Tunnel(std::string name, Direction direction, StencilConfig const& config, std::uint32_t first_id,
         Strips strips = Strips::automatic)
      : StencilTunnelBase(std::move(name), direction, config, sizeof(T), first_id, strips) {}
};
template <class T>
using StencilTunnel = Tunnel<StencilOf<T>>;

/// The same with scopes: its regions and tasks belong to one each. Stages see the ends of a StencilTunnel.
template <class T>
class Tunnel<Scoped<StencilOf<T>>> final : public StencilTunnelBase {
 public:
  using value_type = T;
  Tunnel(std::string name, Direction direction, ScopedStencilConfig const& config, std::uint32_t first_id)
      : StencilTunnelBase(std::move(name), direction, config.rest(), sizeof(T), first_id, Strips::automatic,
                          config.scopes.get()) {}
};
template <class T>
using ScopedStencilTunnel = Tunnel<Scoped<StencilOf<T>>>;

}  // namespace hiway
