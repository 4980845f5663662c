#include "forwarding.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hiway/inlet/span.hpp"
#include "hiway/outlet/span.hpp"
#include "hiway/outlet/tasks.hpp"
#include "made_stage.hpp"

namespace hiway {
namespace {

/// So many bytes at a time, or one item: the other side then has something to do soon.
constexpr std::size_t most_bytes = std::size_t{32} << 10;

/// The stage's body, for items of any size.
struct Forward {
  static constexpr unsigned outlet_count = 1;
  static constexpr unsigned inlet_count = 1;
  static constexpr unsigned stage_count = 1;

  std::size_t item_bytes;

  void operator()(StageThread m, OutletView const* outlets, InletView const* inlets) const {
    OutletView const& from = outlets[0];
    std::size_t const most = std::max<std::size_t>(1, most_bytes / item_bytes);
    std::vector<std::byte> items(most * item_bytes);
    for (unsigned misses = 0;;) {
      std::size_t const n = detail::get_pieces(m, from, items.data(), most, item_bytes);
      detail::note_get(from, n != 0);
      if (n != 0) {
        detail::put_pieces(m, inlets[0], items.data(), n, item_bytes);
        detail::end_own_tasks(m, from, n);
        misses = 0;
      } else {
        if (detail::tunnel_ended(m, from)) return;
        m.relax(misses++);
      }
    }
  }
};

}  // namespace

CpuStageDescription forwarding_stage(std::string name, TunnelBase& from, TunnelBase& into) {
  return {{.name = std::move(name), .from = {&from}, .into = {&into}}, {}, body_of(Forward{from.item_bytes()})};
}

}  // namespace hiway
