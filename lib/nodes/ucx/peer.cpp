#include "lib/nodes/ucx/peer.hpp"

#include <sstream>

#include "hiway/error.hpp"
#include "lib/nodes/node_name.hpp"
#include "lib/nodes/ucx/status.hpp"

namespace hiway::detail::nodes {

Peer::Peer(ucp_worker_h worker, int node, Introduction const& introduction) : node_(node) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<ucp_address_t const*>(introduction.worker.data());
  // With UCP_ERR_HANDLING_MODE_PEER UCX would not use shared memory (P1).
  params.err_mode = UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = [](void* peer, ucp_ep_h, ucs_status_t status) { static_cast<Peer*>(peer)->fail(status); };
  params.err_handler.arg = this;
  check(ucp_ep_create(worker, &params, &endpoint_), name_of_node(node_), "opening its endpoint");
}

void Peer::unpack(Introduction const& introduction) {
  if (introduction.regions.empty()) throw Error(name_of_node(node_) + ": what it tells of its memory makes no sense");
  for (Introduction::Region const& region : introduction.regions) {
    ucp_rkey_h key = nullptr;
    check(ucp_ep_rkey_unpack(endpoint_, region.key.data(), &key), name_of_node(node_), "a key of its memory");
    regions_.push_back({region.address, region.bytes, decltype(Region::key)(key), nullptr});
    void* here = nullptr;
    if (ucp_rkey_ptr(key, region.address, &here) == UCS_OK) regions_.back().here = static_cast<std::byte*>(here);
    if (regions_.back().here == nullptr) regions_.back().key.reset();
    if ((regions_.back().here != nullptr) != is_direct())  // P2
      throw Error(name_of_node(node_) +
                  ": some of its memory is shared with this process and some is not; its limit of "
                  "shared memory may be too small");
  }
}

Peer::Region const& Peer::region(std::uint64_t address, std::size_t bytes) {
  if (regions_[last_].has(address, bytes)) return regions_[last_];
  for (std::size_t i = 0; i != regions_.size(); ++i) {
    if (regions_[i].has(address, bytes)) return regions_[last_ = i];
  }
  std::ostringstream text;
  text << name_of_node(node_) << ": it has told of no memory for " << bytes << " bytes at 0x" << std::hex << address;
  throw Error(text.str());
}

void Peer::require_alive() const { check(failure_, name_of_node(node_), "the connection"); }

Request Peer::close() {
  regions_.clear();
  if (has_failed()) return {};
  ucp_request_param_t const plain{};
  return Request(ucp_ep_close_nbx(endpoint_, &plain));
}

}  // namespace hiway::detail::nodes
