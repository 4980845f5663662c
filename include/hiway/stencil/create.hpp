// How a pipeline makes stencil tunnels. stencil/stencil_tunnel.hpp defines what is declared here.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "hiway/config.hpp"
#include "hiway/scope/word.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

class StencilTunnelBase;

/// Makes stencil tunnels, for the pipeline that it is a part of.
class StencilTunnels {
 public:
  /// Makes a stencil tunnel of values of type T: trivially copyable, alignment at most 128, of any size. Declared in
  /// stencil/stencil_tunnel.hpp. *Throws* ConfigError.
  /// *Lifetime*: the pipeline's.
  template <class T>
  Tunnel<StencilOf<T>>& create_stencil_tunnel(std::string_view name, Direction direction, StencilConfig config) {
    return make_stencil<T, StencilOf<T>>(name, direction, config);
  }
  /// The same with `.scopes = &scopes`: each task belongs to one of these scopes (docs/adr/0070).
  template <class T>
  Tunnel<Scoped<StencilOf<T>>>& create_stencil_tunnel(std::string_view name, Direction direction,
                                                      ScopedStencilConfig config) {
    return make_stencil<T, Scoped<StencilOf<T>>>(name, direction, config);
  }
  /// How many tunnels there are, stencil tunnels' two each.
  [[nodiscard]] virtual std::uint32_t tunnel_count() const = 0;

 protected:
  ~StencilTunnels() = default;

 private:
  template <class T, class Carried, class Config>
  Tunnel<Carried>& make_stencil(std::string_view name, Direction direction, Config const& config) {
    static_assert(detail::IsDefined<StencilOf<T>>,
                  "hiway: create_stencil_tunnel: include <hiway/stencil/stencil_tunnel.hpp>, or <hiway/hiway.hpp>");
    static_assert(
        std::is_trivially_copyable_v<T>,
        "hiway: create_stencil_tunnel<T>: T must be trivially copyable (it is moved as bytes between devices)");
    static_assert(alignof(T) <= 128, "hiway: create_stencil_tunnel<T>: T's alignment must be at most 128 bytes");
    auto tunnel = std::make_unique<Tunnel<Carried>>(std::string(name), direction, config, tunnel_count());
    Tunnel<Carried>& made = *tunnel;
    add_stencil(std::move(tunnel));
    return made;
  }
  virtual void add_stencil(std::unique_ptr<StencilTunnelBase> tunnel) = 0;
};

}  // namespace hiway
