// Request: owns an operation of UCX that has been started.
#pragma once
#include <ucp/api/ucp.h>

#include <utility>

namespace hiway::detail::nodes {

/// *Lifetime*: ends before the worker does; UCX then finishes the operation by itself, or cancels it with the worker.
class Request {
 public:
  Request() = default;
  /// What a call of UCX returned. An error counts as done: look at it before.
  explicit Request(ucs_status_ptr_t started) noexcept : handle_(UCS_PTR_IS_PTR(started) ? started : nullptr) {}
  ~Request() { release(); }
  Request(Request&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Request& operator=(Request&& other) noexcept {
    if (this != &other) {
      release();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  Request(Request const&) = delete;
  Request& operator=(Request const&) = delete;

  [[nodiscard]] bool is_done() noexcept {
    if (handle_ != nullptr && ucp_request_check_status(handle_) == UCS_INPROGRESS) return false;
    release();
    return true;
  }

 private:
  void release() noexcept {
    if (handle_ != nullptr) ucp_request_free(std::exchange(handle_, nullptr));
  }

  void* handle_ = nullptr;
};

}  // namespace hiway::detail::nodes
