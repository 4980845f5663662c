// NamedFailure: a part of a run that may fail, with its name. The error for a failure that leaves no memory is made
// beforehand, so a failure is reported even without memory.
#pragma once
#include <cstdint>
#include <exception>
#include <string>

namespace hiway {

class NamedFailure {
 public:
  enum class Part : std::uint8_t {
    stage,    ///< whatever is thrown becomes a StageError
    library,  ///< errors of hiway stay as they are, others become an Error
  };

  NamedFailure() = default;
  /// *Throws* std::bad_alloc.
  NamedFailure(Part part, std::string who);

  /// An error that names the part, with `cause` nested; if there is no memory for it, the error made beforehand.
  [[nodiscard]] std::exception_ptr of(std::exception_ptr const& cause) const noexcept;
  [[nodiscard]] std::string const& who() const noexcept { return who_; }
  /// The error made beforehand.
  [[nodiscard]] std::exception_ptr without_memory() const noexcept { return without_memory_; }

 private:
  [[nodiscard]] std::exception_ptr named(std::exception_ptr const& cause) const;

  Part part_ = Part::library;
  std::string who_;
  std::exception_ptr without_memory_;
};

/// What an exception says; empty if there is none.
[[nodiscard]] std::string what_of(std::exception_ptr const& error);

}  // namespace hiway
