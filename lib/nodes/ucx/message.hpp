// Message: how bytes get into the memory of a node whose memory is not in this process's address space.
//
// Not by ucp_put: over TCP that is a message, too, and the other node answers it. If the first one has died then, UCX
// 1.13.1 ends the process of the other (ucp_rma_sw_send_cmpl: whatever goes wrong is fatal). An active message is not
// answered.
#pragma once
#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>

namespace hiway::detail::nodes {

/// What the other node gets with the bytes. It stays until UCX has handed the message on.
struct MessageHead {
  std::uint64_t target;  ///< address there
  std::uint64_t node;    ///< that sends it
};

constexpr unsigned message_id = 1;
/// With all headers, one of UCX's own messages (Port sets their size).
constexpr std::size_t most_bytes_of_message = (std::size_t{1} << 16) - 64;

/// UCX copies the bytes into its own memory, or to the socket, until the request is done. As ucp_am_send_nbx.
inline ucs_status_ptr_t send_message(ucp_ep_h to, MessageHead const& head, void const* bytes, std::size_t count,
                                     ucp_request_param_t param) {
  param.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
  param.flags |= UCP_AM_SEND_FLAG_EAGER;
  return ucp_am_send_nbx(to, message_id, &head, sizeof head, bytes, count, &param);
}

}  // namespace hiway::detail::nodes
