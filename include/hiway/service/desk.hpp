// ServiceDesk: what of a service does not depend on the types of requests and replies. ReplyDesk adds the replies.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "hiway/deadline.hpp"
#include "hiway/inlet/offer.hpp"
#include "hiway/item.hpp"
#include "hiway/service/result.hpp"
#include "hiway/tunnel.hpp"

namespace hiway {

class Pipeline;

/// How many requests a service has got since it was made, and what has come of them.
struct ServiceStats {
  std::uint64_t submitted = 0;
  std::uint64_t answered = 0;   ///< with a reply
  std::uint64_t failed = 0;     ///< with an error other than DeadlineExceeded
  std::uint64_t expired = 0;    ///< with DeadlineExceeded
  std::uint64_t under_way = 0;  ///< neither yet
};

namespace detail {

/// *Threads*: any, but for the constructor.
class ServiceDesk {
 public:
  /// Opens an inlet of `requests`. *Throws* ConfigError.
  ServiceDesk(Pipeline& pipe, TunnelBase& requests, TunnelBase& replies);
  ServiceDesk(ServiceDesk const&) = delete;
  ServiceDesk& operator=(ServiceDesk const&) = delete;

  /// Counts a request, and takes a place for it. *Waits* while all are taken. None: `error` says why.
  [[nodiscard]] std::optional<std::uint32_t> admit(Deadline const& deadline, std::exception_ptr& error);
  /// The request's receiver is at its place. The word of the item to put; none: it has been settled.
  [[nodiscard]] std::optional<std::uint64_t> open(std::uint32_t place, Deadline const& deadline);
  [[nodiscard]] InletView const& inlet() const;
  /// How long a put may wait.
  [[nodiscard]] std::chrono::nanoseconds patience(Deadline const& deadline) const;
  /// What came of the put.
  void sent(std::uint32_t place, Put result) noexcept;
  /// True for the first reply of a request. At a place of another keeper's it does no harm.
  [[nodiscard]] bool claims_reply(std::uint32_t place) noexcept;

  /// As Service::stop, for the run under way.
  void stop();
  /// Waits once for the end of the service's own run. *Throws* its error.
  void end_run(Pipeline& own);
  [[nodiscard]] ServiceStats stats() const;

 protected:
  ~ServiceDesk();
  [[nodiscard]] std::size_t place_count() const;
  /// The receiver and the reply at the place have been moved out.
  void leave(std::uint32_t place) noexcept;

 private:
  struct Core;
  /// Which request is at the place, and how it is.
  [[nodiscard]] virtual std::atomic<std::uint64_t>& word(std::uint32_t place) noexcept = 0;
  /// Moves out what is at the place, leaves it, and gives the receiver the reply or the error.
  virtual void settle(std::uint32_t place, std::exception_ptr const& error) noexcept = 0;

  std::unique_ptr<Core> core_;
};

/// Says in the log what a callback has thrown.
void log_thrown_by_callback() noexcept;

/// Takes the outcome of a request: a future's other end, or a callback.
template <class Reply>
class Receiver {
 public:
  using Callback = std::function<void(ServiceResult<Reply> const&)>;

  Receiver() = default;
  explicit Receiver(Callback callback) : to_(std::move(callback)) {}
  explicit Receiver(std::promise<Reply> promise) : to_(std::move(promise)) {}

  void take(ServiceResult<Reply> const& result) noexcept {
    try {
      if (Callback const* const callback = std::get_if<Callback>(&to_)) return (*callback)(result);
      auto& promise = std::get<std::promise<Reply>>(to_);
      result ? promise.set_value(result.reply()) : promise.set_exception(result.error());
    } catch (...) {
      log_thrown_by_callback();
    }
  }

 private:
  std::variant<Callback, std::promise<Reply>> to_;
};

/// *Throws* MisuseError in a callback, which the call would wait for.
void require_no_callback(char const* call);

/// The outcome of a request that a thread waits for.
template <class Reply>
class Outcome {
 public:
  void take(ServiceResult<Reply> const& result) {
    if (result) {
      reply_.item() = result.reply();
    } else {
      error_ = result.error();
    }
    done_.store(true, std::memory_order_release);
  }
  /// *Throws* the request's error.
  [[nodiscard]] Reply wait() {
    for (unsigned misses = 0; !done_.load(std::memory_order_acquire); ++misses) relax_thread(misses);
    if (error_) std::rethrow_exception(error_);
    return reply_.item();
  }

 private:
  ItemRoom<Reply> reply_;
  std::exception_ptr error_;
  std::atomic<bool> done_{false};
};

template <class Reply>
class ReplyDesk final : public ServiceDesk {
 public:
  ReplyDesk(Pipeline& pipe, TunnelBase& requests, TunnelBase& replies)
      : ServiceDesk(pipe, requests, replies), slots_(std::make_unique<Slot[]>(place_count())) {}

  template <class Request>
  void submit(Request const& request, Receiver<Reply> receiver, Deadline const& deadline) {
    std::exception_ptr error;
    std::optional<std::uint32_t> const place = admit(deadline, error);
    if (!place) return receiver.take(ServiceResult<Reply>(error));
    slots_[*place].receiver = std::move(receiver);
    std::optional<std::uint64_t> const word = open(*place, deadline);
    if (!word) return;
    sent(*place, offer(StageThread{}, inlet(), WriteScoped<Request>{request, *word}, patience(deadline)));
  }
  void take_reply(std::uint32_t place, Reply const& reply) {
    if (claims_reply(place)) slots_[place].reply.item() = reply;
  }

 private:
  /// One cache line, if the reply is small.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> word{0};
    Receiver<Reply> receiver;
    ItemRoom<Reply> reply;
  };
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::uint32_t place) noexcept override { return slots_[place].word; }
  void settle(std::uint32_t place, std::exception_ptr const& error) noexcept override {
    Slot& slot = slots_[place];
    Receiver<Reply> receiver = std::move(slot.receiver);
    if (error) {
      leave(place);
      return receiver.take(ServiceResult<Reply>(error));
    }
    Reply const reply = slot.reply.item();
    leave(place);
    receiver.take(ServiceResult<Reply>(reply));
  }

  std::unique_ptr<Slot[]> slots_;
};

}  // namespace detail
}  // namespace hiway
