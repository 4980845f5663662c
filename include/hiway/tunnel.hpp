// Tunnel<T>: declared between stages, which see its Inlet and Outlet only. The pipeline makes and keeps it, and owns
// its rings.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "hiway/config.hpp"
#include "hiway/inlet.hpp"
#include "hiway/outlet.hpp"

namespace hiway {

/// Whether a put may have to wait for room, or the rings have room for all that can be in the tunnel at once.
enum class Puts : std::uint8_t { may_wait, never_wait };

/// Stands for a stencil tunnel of values of type T in from(...) and into(...); defined in stencil/stencil_tunnel.hpp.
template <class T>
struct StencilOf;
template <class T>
inline constexpr bool is_stencil = false;
template <class T>
inline constexpr bool is_stencil<StencilOf<T>> = true;
template <class T>
inline constexpr bool is_stencil<Scoped<StencilOf<T>>> = true;

namespace detail {

/// Stages of stencil tunnels with scopes have ends of types of their own.
template <class T>
struct ItemOfTunnel<Scoped<StencilOf<T>>> {
  using Type = Scoped<StencilOf<T>>;
};
template <class T>
concept IsDefined = requires {
  sizeof(T);
};
}  // namespace detail

/// What all tunnels have, whatever their items.
class TunnelBase {
 public:
  TunnelBase(std::string name, Direction direction, TunnelConfig config, std::size_t item_bytes, std::uint32_t id,
             Puts puts = Puts::may_wait, Scopes* scopes = nullptr)
      : name_(std::move(name)),
        direction_(direction),
        config_(config),
        item_bytes_(item_bytes),
        id_(id),
        puts_(puts),
        scopes_(scopes) {}
  virtual ~TunnelBase() = default;
  TunnelBase(TunnelBase const&) = delete;
  TunnelBase& operator=(TunnelBase const&) = delete;

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] Direction direction() const { return direction_; }
  [[nodiscard]] TunnelConfig const& config() const { return config_; }
  [[nodiscard]] std::size_t item_bytes() const { return item_bytes_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  /// Those that its items belong to, or null.
  [[nodiscard]] Scopes* scopes() const { return scopes_; }
  /// Then: where an item's word of the scope lies, in bytes.
  [[nodiscard]] virtual std::size_t scope_at() const { return 0; }
  [[nodiscard]] bool holds_all() const { return puts_ == Puts::never_wait; }
  /// Whether its order is Order::restored.
  [[nodiscard]] bool is_restored() const { return is_restored_; }
  /// For a stencil tunnel, the tunnel of tasks that its readers also read and write; else null.
  [[nodiscard]] virtual TunnelBase* tasks() const { return nullptr; }
  /// What a stage sees of an item, in bytes.
  [[nodiscard]] virtual std::size_t value_bytes() const { return item_bytes_; }

  [[nodiscard]] bool from_gpu() const {
    return direction_ == Direction::gpu_to_cpu || direction_ == Direction::gpu_to_gpu;
  }
  [[nodiscard]] bool to_gpu() const {
    return direction_ == Direction::cpu_to_gpu || direction_ == Direction::gpu_to_gpu;
  }
  [[nodiscard]] bool crosses() const { return from_gpu() != to_gpu(); }

 protected:
  void restore_order() { is_restored_ = true; }

 private:
  friend class Graph;

  std::string name_;
  Direction direction_;  // changed by Graph alone, for a tunnel that leads to another node
  TunnelConfig config_;
  std::size_t item_bytes_;
  std::uint32_t id_;
  Puts puts_;
  bool is_restored_ = false;
  Scopes* scopes_;
};

/// Hands out a tunnel's open ends; implemented by the pipeline.
class OpenEnds {
 public:
  virtual InletView open_inlet(TunnelBase& tunnel, OpenEndOptions const& options) = 0;
  virtual OutletView open_outlet(TunnelBase& tunnel, OpenEndOptions const& options) = 0;

 protected:
  ~OpenEnds() = default;
};

/// Carries items of type T between stages, which see its Inlet and Outlet only. The pipeline makes and keeps it. Of a
/// tunnel with scopes T is Scoped, and its stages see the items within.
template <class T>
class Tunnel : public TunnelBase {
 public:
  using value_type = ItemOf<T>;

  Tunnel(OpenEnds& ends, std::string name, Direction direction, TunnelConfig config, std::uint32_t id,
         Scopes* scopes = nullptr)
      : TunnelBase(std::move(name), direction, config, sizeof(T), id, Puts::may_wait, scopes), ends_(ends) {
    static_assert(std::is_trivially_copyable_v<value_type>,
                  "hiway: create_tunnel<T>: T must be trivially copyable (it is moved as bytes between devices)");
    static_assert(sizeof(value_type) <= 65536, "hiway: create_tunnel<T>: T must be at most 64 KiB");
    static_assert(alignof(value_type) <= 128, "hiway: create_tunnel<T>: T's alignment must be at most 128 bytes");
  }

  /// An end for the user's own threads or kernels, asked for before the start. It counts as a source until it is
  /// closed, in every run.
  /// *Lifetime*: the pipeline's. *Throws* ConfigError while the pipeline runs. On a CPU thread a put or get by the end
  /// throws Aborted at once if no run is under way or the run has failed. Its text contains the run's first error,
  /// which is also nested in it. close_h and end_task_h do not throw.
  /// Over several nodes all of them ask for it. Where it is not, a put or get throws Error, and nothing is to be
  /// closed.
  [[nodiscard]] Inlet<value_type> open_inlet(OpenEndOptions const& options = {}) {
    return Inlet<value_type>(ends_.open_inlet(*this, options), is_scoped<T>);
  }
  /// An end for the user's own threads or kernels, asked for before the start. *Lifetime*, *Throws*: like open_inlet.
  [[nodiscard]] Outlet<value_type> open_outlet(OpenEndOptions const& options = {}) {
    return Outlet<value_type>(ends_.open_outlet(*this, options), is_scoped<T>);
  }

  [[nodiscard]] std::size_t scope_at() const override {
    constexpr std::size_t word = sizeof(std::uint64_t);
    return (sizeof(value_type) + word - 1) / word * word;  // of Scoped
  }
  [[nodiscard]] std::size_t value_bytes() const override {
    if constexpr (is_scoped<T>) return sizeof(value_type);
    return item_bytes();
  }

 private:
  OpenEnds& ends_;
};

/// A tunnel with Order::restored. into(...) tells by its type that results are put at the tickets of their items;
/// its readers see a tunnel like any other.
template <class T>
class RestoredTunnel final : public Tunnel<T> {
 public:
  RestoredTunnel(OpenEnds& ends, std::string name, Direction direction, TunnelConfig config, std::uint32_t id)
      : Tunnel<T>(ends, std::move(name), direction, config, id) {
    this->restore_order();
  }
};

}  // namespace hiway
