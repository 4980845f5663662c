// RunErrors: the first error of a run. Setting one makes every wait in the run end. Faults that stages and monitors
// have recorded become errors here.
#pragma once
#include <exception>
#include <mutex>
#include <string>

#include "hiway/error.hpp"
#include "hiway/fault.hpp"
#include "layout.hpp"
#include "lib/named_failure.hpp"

namespace hiway {

/// The first error of a run; later ones are dropped.
class FirstError {
 public:
  /// True if this is the first error.
  bool set(std::exception_ptr error) {
    std::scoped_lock const lock(mutex_);
    if (error_) return false;
    error_ = std::move(error);
    return true;
  }
  [[nodiscard]] std::exception_ptr get() const {
    std::scoped_lock const lock(mutex_);
    return error_;
  }
  void clear() {
    std::scoped_lock const lock(mutex_);
    error_ = nullptr;
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
};

/// Parts of every run that may fail by themselves.
struct RunParts {
  NamedFailure to_device{NamedFailure::Part::library, "the monitor of tunnels to the device"};
  NamedFailure from_device{NamedFailure::Part::library, "the monitor of tunnels from the device"};
  NamedFailure supervisor{NamedFailure::Part::library, "the supervisor of the run"};
  NamedFailure watcher{NamedFailure::Part::library, "the watcher of the run"};
  NamedFailure line{NamedFailure::Part::library, "the line to other nodes"};
  NamedFailure start{NamedFailure::Part::library, "the start of the run"};
  NamedFailure report{NamedFailure::Part::library, "the report of the run"};
};

/// Errors that are made beforehand, since an end may come when no memory is left.
struct KnownErrors {
  std::exception_ptr by_user = std::make_exception_ptr(Aborted("the pipeline was aborted"));
  std::exception_ptr by_destructor = std::make_exception_ptr(Aborted("the pipeline was destroyed while it ran"));
  std::exception_ptr thread_ended_itself =
      std::make_exception_ptr(Error("its thread has ended itself (pthread_exit), or was cancelled"));
};

/// *Threads*: any, except where a function says otherwise.
class RunErrors {
 public:
  explicit RunErrors(Layout& layout) : layout_(layout) {}

  [[nodiscard]] std::exception_ptr get() const { return error_.get(); }
  /// *Threads*: the caller's, before a run.
  void clear() { error_.clear(); }
  /// The first error wins. Setting one makes every wait end.
  void set(std::exception_ptr error) noexcept;
  /// Makes what `part` threw the run's error.
  void fail(NamedFailure const& part, std::exception_ptr const& cause) noexcept { set(part.of(cause)); }
  /// The same; what a part throws because the run aborts adds no error.
  void fail_unless_aborting(NamedFailure const& part, std::exception_ptr const& cause) noexcept;

  /// Makes the fault at this home the run's error, if there is one.
  template <class Machine>
  void import_fault(Machine m, Control& control) noexcept {
    if (m.load(control.ready, MemoryOrder::acquire) != 0) import_record(control.record);
  }
  /// Imports the faults that the device monitors have reported, and the host's own.
  void import_faults() noexcept;
  /// Unless there is an error: imports faults that came too late for the monitors. *Throws* MisuseError for a frame
  /// that its writers have not completed. *Threads*: one, after stages and kernels have left.
  void find_late_faults();

  RunParts const parts{};
  KnownErrors const known{};

 private:
  void import_late_faults();
  void check_frames() const;
  void import_record(FaultRecord const& record) noexcept;
  [[nodiscard]] std::exception_ptr error_of(FaultRecord const& record) const;

  Layout& layout_;
  FirstError error_;
};

}  // namespace hiway
