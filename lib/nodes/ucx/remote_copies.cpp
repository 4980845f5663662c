#include "lib/nodes/ucx/remote_copies.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/node_name.hpp"
#include "lib/nodes/ucx/status.hpp"

namespace hiway::detail::nodes {

namespace {

template <class T>
std::uintptr_t address_of(T const* object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

/// move(source, target, bytes) for each row that is not empty; for all at once if there is nothing between them.
template <class Move>
void for_each_row(Copy const& copy, Move move) {
  auto const* const source = static_cast<std::byte const*>(copy.source);
  bool const is_one = copy.rows == 1 || copy.pitch == copy.bytes;
  std::size_t const bytes = is_one ? copy.bytes * copy.rows : copy.bytes;
  if (bytes == 0) return;
  for (std::size_t row = 0; row != (is_one ? 1 : copy.rows); ++row)
    move(source + row * copy.pitch, address_of(copy.target) + row * copy.pitch, bytes);
}

}  // namespace

RemoteCopies::RemoteCopies(Port& port, int node)
    : port_(port), peer_(port.peer(node)), submissions_(std::make_unique<Submissions>()) {}

RemoteCopies::~RemoteCopies() {
  auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (; completed_ != submitted_; ++completed_) {
    while (number(completed_).under_way != 0 && !peer_.has_failed() && std::chrono::steady_clock::now() < until)
      port_.progress();
    if (number(completed_).under_way == 0) continue;
    submissions_.release();  // UCX still has their addresses: they stay until the process ends
    return;
  }
}

std::uint64_t RemoteCopies::submit(std::span<Copy const> copies, std::span<WordCopy const> words) {
  peer_.require_alive();
  for (WordCopy const& w : words) {
    if (address_of(w.word) % sizeof w.value != 0)
      throw MisuseError(name_of_node(peer_.node()) + ": a word of a submission of copies is not aligned");
  }
  if (submitted_ - completed_ == most_under_way)
    throw MisuseError(name_of_node(peer_.node()) + ": too many submissions of copies are under way");
  Submission& submission = number(submitted_++);
  submission.failure = UCS_OK;
  if (peer_.is_direct()) {
    submit_directly(copies, words);
    return submitted_;
  }
  submission.heads.clear();
  submission.values.clear();
  for (Copy const& copy : copies) {
    for_each_row(copy, [&](std::byte const* source, std::uintptr_t target, std::size_t bytes) {
      send(submission, source, target, bytes);
    });
  }
  for (WordCopy const& w : words) {  // O1
    std::uint64_t const& value = submission.values.emplace_back(w.value);
    send(submission, reinterpret_cast<std::byte const*>(&value), address_of(w.word), sizeof value);
  }
  return submitted_;
}

void RemoteCopies::submit_directly(std::span<Copy const> copies, std::span<WordCopy const> words) {
  for (Copy const& copy : copies) {
    for_each_row(copy, [&](std::byte const* source, std::uintptr_t target, std::size_t bytes) {
      std::memcpy(peer_.here(target, bytes), source, bytes);
    });
  }
  for (WordCopy const& w : words) {
    auto& word = *reinterpret_cast<Word<std::uint64_t>*>(peer_.here(address_of(w.word), sizeof w.value));
    ThreadMachine{}.store(word, w.value, MemoryOrder::release);  // O1
  }
  if (!words.empty()) port_.ring(peer_);
}

std::uint64_t RemoteCopies::completed() {
  port_.progress();
  peer_.require_alive();
  for (; completed_ != submitted_ && number(completed_).under_way == 0; ++completed_)
    check(number(completed_).failure, name_of_node(peer_.node()), "a message");
  return completed_;
}

void RemoteCopies::send(Submission& of, std::byte const* source, std::uintptr_t target, std::size_t bytes) {
  peer_.require_memory(target, bytes);
  for (std::size_t at = 0; at != bytes;) {
    std::size_t const n = std::min(bytes - at, most_bytes_of_message);
    send_one(of, source + at, target + at, n);
    at += n;
  }
}

void RemoteCopies::send_one(Submission& of, std::byte const* source, std::uintptr_t target, std::size_t bytes) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  param.user_data = &of;
  param.cb.send = [](void* request, ucs_status_t status, void* of_submission) {  // N4
    auto& submission = *static_cast<Submission*>(of_submission);
    if (status != UCS_OK) submission.failure = status;
    --submission.under_way;
    ucp_request_free(request);
  };
  MessageHead const& head = of.heads.emplace_back(MessageHead{target, static_cast<std::uint64_t>(port_.node())});
  ucs_status_ptr_t const request = send_message(peer_.endpoint(), head, source, bytes, param);
  if (request == nullptr) return;
  if (UCS_PTR_IS_ERR(request)) {
    peer_.fail(UCS_PTR_STATUS(request));
    check(UCS_PTR_STATUS(request), name_of_node(peer_.node()), "a message");
  }
  ++of.under_way;  // the callback runs in progress() only
}

}  // namespace hiway::detail::nodes
