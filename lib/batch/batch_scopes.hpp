// BatchScopes: the scopes of a batch's items. To the rules of scope/word.hpp the stage is a host task, also where its
// batches lie on a device: values stay with the thread, and the device gets items without words.
//
//   S1  A batch of one scope is one task, which has the values of all its items. What a word does not hold of them is
//       given back before the body, as if one of its items had ended. With one_to_one each item is a task
//   S4  What a batch of one scope makes for a tunnel gets its values by one addition, before the first item is put
//   B1  The tasks give back what they have after all that the batch has made is put. With one_to_one the item that is
//       made for the last tunnel is the task's last put, and has all of it
//
// Each step is one that a host task takes, or several of these at once.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "hiway/batch.hpp"
#include "hiway/inlet/view.hpp"
#include "hiway/machine/stage_thread.hpp"
#include "hiway/outlet/view.hpp"
#include "hiway/scope/word.hpp"

namespace hiway {

/// What an item that is made gets of what its task has, with one_to_one: its last one gets the rest.
enum class TaskShare : std::uint8_t { part, rest };

/// *Threads*: the stage's.
class BatchScopes {
 public:
  explicit BatchScopes(BatchOptions const& options)
      : one_to_one_(options.one_to_one), body_sees_it_(!options.one_to_one && !options.capture) {}

  /// Whether an item with this word may join the batch, which has `items`.
  [[nodiscard]] bool takes(std::uint64_t word, std::size_t items) const {
    return one_to_one_ || items == 0 || detail::scope_place(word) == place_;
  }
  /// An item with this word joins the batch.
  void add(std::uint64_t word) {
    if (one_to_one_) return words_.push_back(word);
    place_ = detail::scope_place(word);
    value_ += detail::scope_value(word);
  }

  /// Whether nothing is to come of the batch. With one_to_one only single items are dropped.
  [[nodiscard]] bool is_cancelled(StageThread m, OutletView const& from) const;
  /// Before the body: nothing comes of the batch.
  void drop(StageThread m, OutletView const& from);

  /// The thread calls the body for the batch, until end_body().
  void begin_body(StageThread m, OutletView const& from);
  void end_body(StageThread m);

  /// Before `n` items are put: S4. *Errors*: put_without_scope.
  void begin_puts(StageThread m, InletView const& into, std::size_t n);
  /// The word of the k-th item.
  [[nodiscard]] std::uint64_t word_of(StageThread m, InletView const& into, std::size_t k, TaskShare share) {
    return one_to_one_ ? word_of_item(m, into, k, share) : each_;
  }
  /// B1.
  void end(StageThread m, OutletView const& from);

 private:
  [[nodiscard]] std::uint64_t word_of_item(StageThread m, InletView const& into, std::size_t k, TaskShare share);

  bool one_to_one_;
  bool body_sees_it_;
  // Of a batch of one scope:
  std::uint32_t place_ = 0;
  std::uint64_t value_ = 0;
  LaneScope task_{};
  std::uint64_t each_ = 0;  ///< the word of each item that is put
  // With one_to_one:
  std::vector<std::uint64_t> words_{};  ///< what the task of each item has
};

}  // namespace hiway
