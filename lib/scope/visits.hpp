// ScopeVisits: when the CPU stages of a traced run began to work on each open scope. What lies between is the time in
// tunnels and on devices.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hiway::detail {

/// A stage's first and last task of a scope; when they began, by the steady clock.
struct ScopeVisit {
  std::uint32_t stage = 0;
  std::int64_t first_ns = 0;
  std::int64_t last_ns = 0;
};

/// *Threads*: any, but for begin_run(); the calls for one place before its scope is opened or after it has ended, one
/// thread at a time.
class ScopeVisits {
 public:
  /// Of more places none is noted: the words would take too much memory.
  static constexpr std::size_t most_places = std::size_t{1} << 14;

  /// Nothing is noted if there are 0 stages, or no memory for it.
  void begin_run(std::size_t places, std::size_t stages) noexcept;
  [[nodiscard]] bool notes() const { return words_ != nullptr; }
  /// A task begins. Calls of other stages' threads, and without a stage, do no harm.
  void note(std::uint32_t place, std::uint32_t stage) noexcept;
  /// What has been noted of the place's scope, by stage; and forgets it. *Throws* std::bad_alloc.
  [[nodiscard]] std::vector<ScopeVisit> take(std::uint32_t place);

 private:
  struct Words {
    std::atomic<std::int64_t> first_ns{0};
    std::atomic<std::int64_t> last_ns{0};
  };
  std::size_t stages_ = 0;
  std::unique_ptr<Words[]> words_;  ///< by place, then stage
};

}  // namespace hiway::detail
