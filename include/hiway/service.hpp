// Service: a pipeline that answers requests of any threads, each with a future or a callback of its own.
#pragma once
#include <concepts>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "hiway/deadline.hpp"
#include "hiway/pipeline.hpp"
#include "hiway/service/desk.hpp"
#include "hiway/service/result.hpp"

namespace hiway {

/// A service with a pipeline of its own.
struct ServiceOptions {
  std::string device = "auto";  ///< PipelineConfig::device
  /// Requests that may be under way at once, at most 2^20; submit() waits while there are as many.
  std::size_t most_open = 1024;
  unsigned blocks = 0;  ///< of the GPU stage, as in GpuStageOptions
  unsigned threads_per_block = 0;
  unsigned reply_threads = 1;  ///< threads that take replies, and call callbacks
};

/// Answers requests. Each request is a scope (docs/services.md): it is settled once all tasks that came of it have
/// ended, with its first reply, or with an error: ScopeFailed if a stage has called fail_scope, NoReply,
/// DeadlineExceeded, ServiceStopped, Aborted if the run has failed or none is under way (the run's error is nested).
/// An error of a request is that request's alone. *Threads*: any number at once. Not on an emulated device's lanes.
template <class Request, class Reply>
class Service {
 public:
  using Result = ServiceResult<Reply>;

  /// Over a pipeline of its own, with one GPU stage in value form: `Reply work(Request const&)`. It runs until stop().
  /// *Throws* as Pipeline::start.
  template <class Work, class Unit = ThisUnit>
  explicit Service(Work work, ServiceOptions options = {})
      : own_(std::make_unique<Pipeline>(PipelineConfig{.device = std::move(options.device)})) {
    Scopes& scopes = own_->create_scopes("requests", {.most_open = options.most_open});
    auto& requests = own_->create_tunnel<Request>("requests", Direction::cpu_to_gpu,
                                                  {.capacity_items = options.most_open, .scopes = &scopes});
    auto& replies = own_->create_tunnel<Reply>("replies", Direction::gpu_to_cpu,
                                               {.capacity_items = options.most_open, .scopes = &scopes});
    own_->add_gpu_stage("work", std::move(work), from(requests), into(replies),
                        {.blocks = options.blocks, .threads_per_block = options.threads_per_block});
    make_desk(*own_, requests, replies, {.threads = options.reply_threads});
    own_->start();
  }
  /// Over a pipeline of the user's, which it gives an open inlet of `requests` and a CPU stage that gets from
  /// `replies`. Both tunnels have scopes of one kind, the first is put into at the CPU, the second is got from there.
  /// The program starts the pipeline, calls stop() in each run, and waits for the run's end. *Throws* ConfigError.
  /// *Lifetime*: the pipeline outlives the service, and is not started again without it.
  Service(Pipeline& pipe, Tunnel<Scoped<Request>>& requests, Tunnel<Scoped<Reply>>& replies,
          CpuStageOptions reply_stage = {}) {
    make_desk(pipe, requests, replies, std::move(reply_stage));
  }
  /// Over a pipeline of its own, aborts the run: requests that are under way fail. Else as stop().
  ~Service() {
    if (!own_) desk_->stop();
  }
  Service(Service const&) = delete;
  Service& operator=(Service const&) = delete;

  /// Submits a request. *Waits* while as many are under way as may be, or the tunnel is full, but not beyond `deadline`
  /// (a duration, or a time of any clock). Then the future gets DeadlineExceeded, and a late reply is dropped.
  [[nodiscard]] std::future<Reply> submit(Request const& request, Deadline deadline = {}) {
    std::promise<Reply> promise;
    std::future<Reply> future = promise.get_future();
    desk_->submit(request, detail::Receiver<Reply>(std::move(promise)), deadline);
    return future;
  }
  /// The same; `callback(ServiceResult<Reply> const&)` is called once, on a thread of the library's or on this one. It
  /// must be short, and not wait. It may submit, but gets ServiceFull where that would have to wait. What it throws is
  /// logged and dropped.
  template <class Callback>
  requires std::invocable<Callback&, Result const&>
  void submit(Request const& request, Callback callback, Deadline deadline = {}) {
    desk_->submit(request, detail::Receiver<Reply>(typename detail::Receiver<Reply>::Callback(std::move(callback))),
                  deadline);
  }

  /// Submits a request and *waits* for its outcome: for one request at a time the quickest way, since it looks for the
  /// reply for a while before the thread sleeps. *Throws* the request's error; MisuseError in a callback.
  [[nodiscard]] Reply call(Request const& request, Deadline deadline = {}) {
    detail::require_no_callback("call()");
    detail::Outcome<Reply> outcome;
    desk_->submit(request, detail::Receiver<Reply>([&outcome](Result const& result) { outcome.take(result); }),
                  deadline);
    return outcome.wait();
  }

  /// Takes no more requests in this run, and *waits* until those that are under way are settled, and their callbacks
  /// have returned. Then the run may end. Over a pipeline of its own it waits for that, too, and *throws* the run's
  /// first error. Calling it again does nothing. *Throws* MisuseError in a callback.
  void stop() {
    desk_->stop();
    if (own_) desk_->end_run(*own_);
  }

  [[nodiscard]] ServiceStats stats() const { return desk_->stats(); }

 private:
  static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Reply>,
                "hiway: Service<Request, Reply>: both must be trivially copyable (they are items of tunnels)");

  void make_desk(Pipeline& pipe, Tunnel<Scoped<Request>>& requests, Tunnel<Scoped<Reply>>& replies,
                 CpuStageOptions reply_stage) {
    desk_ = std::make_shared<detail::ReplyDesk<Reply>>(pipe, requests, replies);
    pipe.add_cpu_stage(
        "answer " + requests.name(), [desk = desk_](Reply const& reply) { desk->take_reply(scope_index(), reply); },
        from(replies), std::move(reply_stage));
  }

  std::shared_ptr<detail::ReplyDesk<Reply>> desk_;  ///< also the reply stage's
  std::unique_ptr<Pipeline> own_;                   ///< or null
};

}  // namespace hiway
