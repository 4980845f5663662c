// The words of a pipeline's scopes at one home, as tasks there use them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "hiway/fault.hpp"
#include "hiway/machine/machine.hpp"
#include "hiway/ring/tagged_slot.hpp"
#include "hiway/scope/word.hpp"

namespace hiway {

namespace detail {
class ScopeKeeper;
enum class ScopeOutcome : std::uint8_t { well, failed, cancelled };
}  // namespace detail

/// Of one scope at the host, in a cache line of its own.
struct alignas(64) ScopeCount {
  Word<std::uint64_t> outstanding{0};
  Word<std::uint64_t> cancelled{0};  ///< 1: what waits of it is dropped
  // Of lib/scope/places.hpp:
  std::atomic<detail::ScopeKeeper*> keeper{nullptr};  ///< null: no scope is there
  std::atomic<bool> failed{false};
  detail::ScopeOutcome outcome = detail::ScopeOutcome::failed;  ///< of a scope that has failed; guarded by `failing`
  std::exception_ptr error;                                     ///< likewise
  std::atomic<std::int64_t> opened_ns{0};                       ///< steady clock
};
static_assert(sizeof(ScopeCount) == 64);

/// Of one scope at a device.
struct alignas(64) ScopePot {
  Word<std::uint64_t> pot{0};
  Word<std::uint64_t> cancelled{0};  ///< a copy of the host's
};

/// Ends scopes, at the host. Implemented by Scopes.
class ScopeEnds {
 public:
  /// Nothing of the scope is anywhere any more.
  virtual void end_scope(std::uint32_t place) noexcept = 0;
  /// A task has failed it; the first message stays.
  virtual void fail_scope(std::uint32_t place, char const* message) noexcept = 0;
  /// A CPU stage begins a task of it; called where ScopeTable::notes_tasks.
  virtual void note_task(std::uint32_t place, std::uint32_t stage) noexcept = 0;

 protected:
  ~ScopeEnds() = default;
};

/// What a device tells the host of a scope.
struct ScopeLetter {
  std::uint32_t place = 0;
  std::uint32_t value_low = 0;  ///< 12 bytes: a slot has no room for padding
  std::uint32_t value_high = 0;
};
static_assert(sizeof(ScopeLetter) == TaggedSlot::most_bytes);
/// In the value of a letter: the scope has failed, too.
inline constexpr std::uint64_t letter_of_failure = std::uint64_t{1} << 63;

/// The message of a letter of failure.
struct ScopeText {
  char text[128];
};

/// Letters from one device to the host: slots with tags at the host, which lanes of the device write across, each by a
/// ticket. The reader publishes how many it has read.
template <std::uint32_t Slots>
struct MailOf {
  static constexpr std::uint32_t slot_count = Slots;
  TaggedSlot* letters = nullptr;                     ///< at the host, tags 0 at the start
  ScopeText* texts = nullptr;                        ///< at the host, one for each slot
  Word<std::uint64_t>* read = nullptr;               ///< at the host
  alignas(128) Word<std::uint64_t> tickets{0};       ///< at the device
  alignas(128) Word<std::uint64_t> seen_as_read{0};  ///< a value that `read` has had

  HIWAY_DEVICE static std::uint32_t tag_of(std::uint64_t ticket) {
    return static_cast<std::uint32_t>(ticket / slot_count) + 1u;
  }
  HIWAY_DEVICE TaggedSlot& letter(std::uint64_t ticket) const { return letters[ticket % slot_count]; }
  HIWAY_DEVICE ScopeText& text(std::uint64_t ticket) const { return texts[ticket % slot_count]; }
};
using ScopeMail = MailOf<1024>;

/// A pipeline's scopes of one kind, at one home; `counts` and `ends` at the host, the rest at a device.
struct ScopeTable {
  ScopeCount* counts = nullptr;
  Word<std::uint32_t> run{0};  ///< the number of the run; at the host
  bool notes_tasks = false;    ///< at the host: the run is traced
  ScopeEnds* ends = nullptr;
  ScopePot* pots = nullptr;
  Control* control = nullptr;
  ScopeMail mail{};
};

class Scope;
struct InletView;
namespace detail {
/// The word of an item that is put for `scope` from outside. *Throws* Error.
[[nodiscard]] std::uint64_t word_from_outside(Scope const& scope, InletView const& inlet);
/// Takes the word back: the item was not put.
void take_back_from_outside(std::uint64_t word, InletView const& inlet);
}  // namespace detail

}  // namespace hiway
