// CancelledWords: tells the devices which scopes have been cancelled. Their tasks read a word of the device's own,
// which a copy sets while kernels run. A place whose word was set is free again once a second copy has cleared it.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "free_places.hpp"
#include "hiway/backend.hpp"
#include "hiway/scope/table.hpp"

namespace hiway::detail {

/// *Threads*: any, but for add().
class CancelledWords {
 public:
  explicit CancelledWords(FreePlaces& free_places) : free_places_(free_places) {}

  void add(std::unique_ptr<CopyStream> stream, ScopePot* pots) { devices_.push_back({std::move(stream), pots}); }
  /// Sets the place's words.
  void set(std::uint32_t place) noexcept;
  /// Clears them, and then frees the place.
  void clear_and_free(std::uint32_t place) noexcept;
  /// Goes on with copies, and frees places whose words are clear; true if some copies were under way.
  bool step() noexcept;
  /// After a run, whose words no kernel reads any more: frees all.
  void end_run() noexcept;

 private:
  struct Device {
    std::unique_ptr<CopyStream> stream;
    ScopePot* pots;
    std::uint64_t submitted = 0;
  };
  /// A place, and the submissions that clear its words.
  struct Leaving {
    std::uint32_t place;
    std::vector<std::uint64_t> submissions;
  };
  /// What a device refuses, its run's error says.
  std::vector<std::uint64_t> submit(std::uint32_t place, std::uint64_t value) noexcept;
  /// Of a device that has failed all count as completed.
  [[nodiscard]] std::uint64_t completed(Device const& device) noexcept;
  [[nodiscard]] bool are_clear(Leaving const& leaving) noexcept;

  FreePlaces& free_places_;
  std::atomic<bool> under_way_{false};  ///< copies
  std::mutex mutex_;
  std::vector<Device> devices_;
  std::vector<Leaving> leaving_;
};

}  // namespace hiway::detail
