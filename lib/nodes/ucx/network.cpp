#include "lib/nodes/ucx/network.hpp"

#include "hiway/error.hpp"
#include "lib/nodes/ucx/remote_copies.hpp"

namespace hiway::detail::nodes {

std::byte* UcxNetwork::allocate(std::size_t bytes) {
  return port_.allocate(bytes).address();
}

void UcxNetwork::connect(Meeting& meeting, Deadline until) {
  std::vector<Bytes> const introductions = meeting.exchange(port_.introduction());
  try {
    port_.connect(introductions, until, [&] { meeting.require_all_here({}); });
  } catch (Error const&) {
    // Maybe since a node has left that knew already that another one is gone. The meeting says which was the first.
    meeting.require_all_here(std::chrono::steady_clock::now() + std::chrono::seconds(1));
    throw;
  }
}

std::byte* UcxNetwork::here(int node, std::uint64_t address, std::size_t bytes) {
  Peer& peer = port_.peer(node);
  return peer.is_direct() ? peer.here(address, bytes) : nullptr;
}

std::unique_ptr<CopyStream> UcxNetwork::copies_to(int node) { return std::make_unique<RemoteCopies>(port_, node); }

}  // namespace hiway::detail::nodes
