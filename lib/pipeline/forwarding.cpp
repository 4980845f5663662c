#include "forwarding.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "hiway/inlet/span.hpp"
#include "hiway/outlet/span.hpp"
#include "hiway/outlet/tasks.hpp"
#include "hiway/persistent.hpp"

namespace hiway {
namespace {

/// So many bytes at a time, or one item: the other side then has something to do soon.
constexpr std::size_t most_bytes = std::size_t{32} << 10;

/// Gets items of any size, many at a time.
struct Carry {
  static constexpr unsigned outlet_count = 1;
  static constexpr unsigned inlet_count = 1;
  static constexpr unsigned stage_count = 1;

  std::size_t item_bytes;
  PutCarried const& put;

  void operator()(StageThread m, OutletView const* outlets, InletView const*) const {
    OutletView const& from = outlets[0];
    std::size_t const most = std::max<std::size_t>(1, most_bytes / item_bytes);
    std::vector<std::byte> items(most * item_bytes);
    for (unsigned misses = 0;;) {
      std::size_t const n = detail::get_pieces(m, from, items.data(), most, item_bytes);
      detail::note_get(from, n != 0);
      if (n != 0) {
        put(m, from, items.data(), n);
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
  auto const body = [bytes = from.item_bytes()](StageEnds const& ends) {
    run_carrying(ends, bytes, [&](StageThread m, OutletView const&, std::byte* items, std::size_t n) {
      detail::put_pieces(m, ends.inlets[0], items, n, bytes);
    });
  };
  return {{.name = std::move(name), .from = {&from}, .into = {&into}}, {}, body};
}

void run_carrying(StageEnds const& ends, std::size_t item_bytes, PutCarried const& put) {
  Carry carry{item_bytes, put};
  Ends<Carry> own = make_ends<Carry>(ends);
  own.inlets[0].branches = ends.inlets.data() + 1;  // of one inlet its further branches, of several the others, too
  own.inlets[0].further_branches = static_cast<std::uint32_t>(ends.inlets.size() - 1);
  run_persistent(StageThread{}, carry, own);
}

}  // namespace hiway
