// OwnMemory: memory of this process that other nodes write.
//
// UCX allocates it. Only so can UCX choose memory that processes of one host share, and so all regions of a node are
// reached in the same way, on which the order of words rests (remote_copies.hpp, O3).
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>

#include "lib/nodes/channel.hpp"

namespace hiway::detail::nodes {

/// *Threads*: one at a time. *Lifetime*: ends before its context does.
class OwnMemory {
 public:
  /// `bytes` bytes, set to 0, and aligned to 64. *Throws* Error.
  OwnMemory(ucp_context_h context, std::size_t bytes);
  ~OwnMemory();
  OwnMemory(OwnMemory const&) = delete;
  OwnMemory& operator=(OwnMemory const&) = delete;

  [[nodiscard]] std::byte* address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool has(std::uint64_t at, std::size_t count) const noexcept {
    auto const first = reinterpret_cast<std::uintptr_t>(address_);
    return at >= first && count <= bytes_ && at - first <= bytes_ - count;
  }
  /// What another node of this host needs to reach it directly.
  [[nodiscard]] Bytes const& key() const noexcept { return key_; }

 private:
  ucp_context_h context_;
  ucp_mem_h handle_ = nullptr;
  std::byte* address_ = nullptr;
  std::size_t bytes_;
  Bytes key_;
};

}  // namespace hiway::detail::nodes
