// What comes of a request to a service.
#pragma once
#include <exception>

#include "hiway/error.hpp"

namespace hiway {

/// The error of a request whose tasks have all ended without a reply.
struct NoReply : Error {
  using Error::Error;
};
/// The error of a request that came after stop().
struct ServiceStopped : Error {
  using Error::Error;
};
/// The error of a request that a callback submits when there is no room: a callback does not wait for it.
struct ServiceFull : Error {
  using Error::Error;
};

/// A reply, or the request's error. *Lifetime*: the call of the callback that gets it.
template <class Reply>
class ServiceResult {
 public:
  explicit ServiceResult(Reply const& reply) : reply_(&reply) {}
  explicit ServiceResult(std::exception_ptr error) : error_(std::move(error)) {}

  /// Whether there is a reply.
  [[nodiscard]] explicit operator bool() const { return reply_ != nullptr; }
  /// *Throws* the request's error.
  [[nodiscard]] Reply const& reply() const {
    if (reply_ == nullptr) std::rethrow_exception(error_);
    return *reply_;
  }
  /// Null if there is a reply.
  [[nodiscard]] std::exception_ptr const& error() const { return error_; }

 private:
  Reply const* reply_ = nullptr;
  std::exception_ptr error_;
};

}  // namespace hiway
