// Processes that do nothing but use CPUs, for bench loaded.
#pragma once
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace bench {

/// To be called first in main: it does not return in a spinning process, which is the same program once more.
void spin_where_asked(int argc, char const* const* argv) noexcept;

/// They spin until this object goes, and never outlive the process: the system kills them with the thread that made
/// them (PR_SET_PDEATHSIG), and each looks every few milliseconds whether its parent is still the one that started it.
/// *Threads*: one, which lives as long as the object.
class SpinningProcesses {
 public:
  /// Returns when all of them spin. `program` calls spin_where_asked. *Throws* std::runtime_error where they cannot be
  /// started; then none is left.
  explicit SpinningProcesses(unsigned count, std::string const& program = "/proc/self/exe");
  SpinningProcesses(SpinningProcesses const&) = delete;
  SpinningProcesses& operator=(SpinningProcesses const&) = delete;
  ~SpinningProcesses();

  [[nodiscard]] std::span<pid_t const> pids() const noexcept { return pids_; }
  /// Whether none has ended by itself.
  [[nodiscard]] bool all_spin() const noexcept;

 private:
  void end() noexcept;

  std::vector<pid_t> pids_;
};

}  // namespace bench
