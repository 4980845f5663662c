// One item, put by a thread that then computes and calls nothing: how long until a waiting reader has it.
#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "bench/bench.hpp"
#include "bench/echo.hpp"
#include "bench/numbered.hpp"

namespace bench {

struct OneItemWork {
  std::string device;
  bool through_gpu = false;  ///< a GPU stage answers it, and the reader waits for the answer
  unsigned items = 50;       ///< of a turn, behind two that are not counted
  std::chrono::microseconds compute{20'000};
  Plant plant = Plant::none;
};

/// *Threads*: one.
class OneItem {
 public:
  OneItem() = default;
  OneItem(OneItem const&) = delete;
  OneItem& operator=(OneItem const&) = delete;
  virtual ~OneItem() = default;

  /// One time an item, from before its put until the reader has it.
  [[nodiscard]] virtual RoundTrips run() = 0;
};

/// A tunnel's: put_h(item), and for_each_h.
[[nodiscard]] std::unique_ptr<OneItem> make_one_item(OneItemWork const& work);
/// A MutexDeque's; not through a GPU.
[[nodiscard]] std::unique_ptr<OneItem> make_one_item_of_deque(OneItemWork const& work);

/// A turn's value is the median of its items.
[[nodiscard]] Variant one_item_variant(std::string name, std::shared_ptr<OneItem> one, OneItemWork const& work);

}  // namespace bench
