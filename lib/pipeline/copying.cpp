#include "copying.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "forwarding.hpp"
#include "hiway/inlet/span.hpp"
#include "hiway/scope/task.hpp"

namespace hiway {
namespace {

/// What is known of the tunnel's items.
struct ItemShape {
  std::size_t bytes = 0;
  bool has_scope = false;
  std::size_t scope_at = 0;
};

/// Puts into each of `copies`, for items of any size.
class PutsCopies {
 public:
  PutsCopies(ItemShape shape, std::span<InletView const> copies) : shape_(shape), copies_(copies) {}

  void operator()(StageThread m, OutletView const& from, std::byte* items, std::size_t n) const {
    if (!shape_.has_scope) return put(m, items, n);
    for (std::size_t i = 0; i < n; ++i) put_scoped(m, from, items + i * shape_.bytes);
  }

 private:
  void put(StageThread m, std::byte const* items, std::size_t n) const {
    for (InletView const& copy : copies_) detail::put_pieces(m, copy, items, n, shape_.bytes);
  }
  /// A part of the task's scope goes with each copy.
  void put_scoped(StageThread m, OutletView const& from, std::byte* item) const {
    std::uint64_t word = 0;
    std::memcpy(&word, item + shape_.scope_at, sizeof word);
    detail::begin_scope_task(m, from, word);
    if (!detail::is_cancelled(m, from, word)) {
      for (InletView const& copy : copies_) {
        word = detail::share_scope(m, copy);
        std::memcpy(item + shape_.scope_at, &word, sizeof word);
        detail::put_pieces(m, copy, item, 1, shape_.bytes);
      }
    }
    detail::end_scope_task(m, from);
  }

  ItemShape shape_;
  std::span<InletView const> copies_;
};

/// The stage's own inlets; what comes after them in the list are their further branches.
std::span<InletView const> own_inlets(std::vector<InletView> const& all) {
  std::size_t own = 0;
  for (std::size_t listed = 0; listed < all.size(); ++own) listed += 1 + all[own].further_branches;
  return std::span(all).first(own);
}

}  // namespace

CpuStageDescription copying_stage(std::string name, TunnelBase& from) {
  ItemShape const shape{from.item_bytes(), from.scopes() != nullptr, from.scope_at()};
  auto const body = [shape](StageEnds const& all) {
    PutsCopies const put(shape, own_inlets(all.inlets));
    run_carrying(all, shape.bytes, put);
  };
  return {{.name = std::move(name), .from = {&from}, .into = {}}, {}, body};
}

}  // namespace hiway
