// BatchForm: what the compiler checks of a batch stage's body and tunnels, and how the body is called.
#pragma once
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "hiway/batch.hpp"
#include "hiway/batch/batch_stage.hpp"
#include "hiway/stage_form.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

template <class F, class In, class Out>
struct BatchForm;
template <class F, class... Is, class... Os>
struct BatchForm<F, From<Is...>, Into<Os...>> {
  /// Of a tunnel with scopes, the items that stages see.
  template <class T>
  using Item = std::conditional_t<is_scoped<T>, ItemOf<T>, T>;

  static constexpr bool has_stencil = stencils_among<Is...> + stencils_among<Os...> != 0;
  static constexpr bool knows_scope = (is_scoped<Is> || ...) || !(is_scoped<Os> || ...);
  static constexpr bool is_called = std::is_invocable_v<F&, Batch<Item<Is> const>..., Batch<Item<Os>>..., Stream>;
  static_assert(sizeof...(Is) <= 1, "hiway: add_batch_stage: it gets from one tunnel");
  static_assert(!has_stencil, "hiway: add_batch_stage: a stencil tunnel's tasks are no batches of items");
  static_assert(knows_scope,
                "hiway: add_batch_stage: it makes items for a tunnel with scopes, and gets none from one: nothing says "
                "which scope they belong to");
  static_assert(is_called,
                "hiway: add_batch_stage: the body takes a Batch<I const> if there is a from(...), then one "
                "Batch<O> per tunnel of into(...), then a Stream; I and O are the tunnels' item types");
  static constexpr bool fits = sizeof...(Is) <= 1 && !has_stencil && knows_scope && is_called;

  /// A call of `body` for batches of any type.
  [[nodiscard]] static BatchStage::Body call(F body) requires(fits) {
    return [shared = std::make_shared<F>(std::move(body))](detail::RawBatch const* got, detail::RawBatch const* made,
                                                           Stream stream) {
      [&]<std::size_t... I, std::size_t... O>(std::index_sequence<I...>, std::index_sequence<O...>) {
        (*shared)(Batch<Item<Is> const>(got[I])..., Batch<Item<Os>>(made[O])..., stream);
      }
      (std::index_sequence_for<Is...>{}, std::index_sequence_for<Os...>{});
    };
  }
};

}  // namespace hiway
