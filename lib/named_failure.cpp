#include "lib/named_failure.hpp"

#include <utility>

#include "hiway/error.hpp"

namespace hiway {
namespace {

/// An error of type `Kind` with `cause` nested. *Throws* std::bad_alloc.
template <class Kind>
std::exception_ptr nested(std::string const& text, std::exception_ptr const& cause) {
  Kind const error(text);
  try {
    std::rethrow_exception(cause);
  } catch (...) {
    try {
      std::throw_with_nested(error);
    } catch (...) {
      return std::current_exception();
    }
  }
}

[[nodiscard]] bool is_of_hiway(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (Error const&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

NamedFailure::NamedFailure(Part part, std::string who) : part_(part), who_(std::move(who)) {
  std::string const text = who_ + ": failed, and there was no memory left to say why";
  without_memory_ =
      part_ == Part::stage ? std::make_exception_ptr(StageError(text)) : std::make_exception_ptr(Error(text));
}

std::exception_ptr NamedFailure::of(std::exception_ptr const& cause) const noexcept {
  try {
    return named(cause);
  } catch (...) {
    return without_memory_;
  }
}

std::exception_ptr NamedFailure::named(std::exception_ptr const& cause) const {
  if (part_ == Part::stage) return nested<StageError>(who_ + ": " + what_of(cause), cause);
  return is_of_hiway(cause) ? cause : nested<Error>(who_ + ": " + what_of(cause), cause);
}

std::string what_of(std::exception_ptr const& error) {
  if (!error) return {};
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "unknown exception";
  }
}

}  // namespace hiway
