#include "lib/nodes/ucx/own_memory.hpp"

#include <cstdint>
#include <cstring>

#include "hiway/error.hpp"
#include "lib/nodes/ucx/status.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr char const* where = "nodes";

Bytes packed_key(ucp_context_h context, ucp_mem_h memory) {
  void* packed = nullptr;
  std::size_t bytes = 0;
  check(ucp_rkey_pack(context, memory, &packed, &bytes), where, "the key of memory for other nodes");
  auto const* const first = static_cast<std::byte const*>(packed);
  Bytes key(first, first + bytes);
  ucp_rkey_buffer_release(packed);
  return key;
}

}  // namespace

OwnMemory::OwnMemory(ucp_context_h context, std::size_t bytes) : context_(context), bytes_(bytes) {
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS;
  params.length = bytes;
  params.flags = UCP_MEM_MAP_ALLOCATE;
  check(ucp_mem_map(context, &params, &handle_), where, std::to_string(bytes) + " bytes of memory for other nodes");
  try {
    ucp_mem_attr_t attributes{};
    attributes.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS;
    check(ucp_mem_query(handle_, &attributes), where, "the address of memory for other nodes");
    address_ = static_cast<std::byte*>(attributes.address);
    if (reinterpret_cast<std::uintptr_t>(address_) % 64 != 0)
      throw Error("nodes: UCX gave memory that is not aligned to 64 bytes");
    std::memset(address_, 0, bytes);
    key_ = packed_key(context, handle_);
  } catch (...) {
    ucp_mem_unmap(context_, handle_);
    throw;
  }
}

OwnMemory::~OwnMemory() { ucp_mem_unmap(context_, handle_); }

}  // namespace hiway::detail::nodes
