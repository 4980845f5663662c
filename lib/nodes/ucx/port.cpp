#include "lib/nodes/ucx/port.hpp"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/ucx/status.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr char const* where = "nodes";
constexpr unsigned ring_id = 0;
constexpr std::size_t napping = 0;     // number of a word of the doorstep
constexpr std::size_t first_here = 8;  // in another cache line
// What a node puts there. They are objects: they are the sources of puts.
constexpr std::uint64_t knocks = 1;
constexpr std::uint64_t is_answered = 2;

/// What the library prefers where UCX's variables say nothing.
void set_preferences(ucp_config_t* config) {
  char const* const transports = std::getenv("UCX_TLS");
  // UCX must not start CUDA in the midst of kernels; items cross from host memory to host memory.
  if (transports == nullptr) ucp_config_modify(config, "TLS", "^cuda");
  // A message by TCP is answered by one, and 8 KiB are not worth it. (UCX's own name for it has no TCP_ here.)
  bool const has_tcp = transports == nullptr || std::string_view(transports).find("tcp") != std::string_view::npos;
  if (has_tcp && std::getenv("UCX_TCP_TX_SEG_SIZE") == nullptr) ucp_config_modify(config, "TX_SEG_SIZE", "64k");
}

/// A message of ring() only ends a nap.
ucs_status_t heard_ring(void*, void const*, std::size_t, void*, std::size_t, ucp_am_recv_param_t const*) {
  return UCS_OK;
}

}  // namespace

Port::Context Port::make_context() {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), where, "reading UCX's variables");
  set_preferences(config);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_RMA | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  ucs_status_t const status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  check(status, where, "starting UCX");
  return Context(context);
}

Port::Worker Port::make_worker(ucp_context_h context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SINGLE;
  ucp_worker_h worker = nullptr;
  check(ucp_worker_create(context, &params, &worker), where, "making a UCX worker");
  return Worker(worker);
}

Port::Port(int node, int size)
    : node_(static_cast<std::size_t>(node)), size_(static_cast<std::size_t>(size)), context_(make_context()) {
  allocate((first_here + size_) * sizeof(Word<std::uint64_t>));
  worker_ = make_worker(context_.get());
  check(ucp_worker_get_efd(worker_.get(), &descriptor_), where, "the descriptor of a UCX worker");
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB;
  handler.id = ring_id;
  handler.cb = heard_ring;
  check(ucp_worker_set_am_recv_handler(worker_.get(), &handler), where, "a UCX message handler");
  rings_.resize(size_);
}

Port::~Port() {
  std::vector<Request> ends;
  for (auto const& peer : peers_) {
    if (peer != nullptr) ends.push_back(peer->close());
  }
  Deadline const until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (Request& end : ends) {
    while (!end.is_done() && std::chrono::steady_clock::now() < until) progress();
  }
  ends.clear();
  rings_.clear();
  worker_.reset();  // before the peers, which its callbacks know
}

OwnMemory& Port::allocate(std::size_t bytes) {
  memory_.push_back(std::make_unique<OwnMemory>(context_.get(), bytes));
  return *memory_.back();
}

Bytes Port::introduction() const {
  Introduction introduction;
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  check(ucp_worker_get_address(worker_.get(), &address, &bytes), where, "the address of a UCX worker");
  auto const* const first = reinterpret_cast<std::byte const*>(address);
  introduction.worker.assign(first, first + bytes);
  ucp_worker_release_address(worker_.get(), address);
  for (auto const& memory : memory_)
    introduction.regions.push_back(
        {reinterpret_cast<std::uintptr_t>(memory->address()), memory->bytes(), memory->key()});
  return bytes_of(introduction);
}

Word<std::uint64_t>& Port::doorstep_word(std::size_t number) const {
  return *reinterpret_cast<Word<std::uint64_t>*>(memory_.front()->address() + number * sizeof(Word<std::uint64_t>));
}

/// Starts a put of its word in the peer's doorstep.
Request Port::tell(Peer& peer, std::uint64_t const& how_far) {
  std::uint64_t const at = peer.doorstep() + (first_here + node_) * sizeof how_far;
  ucp_request_param_t const plain{};
  ucs_status_ptr_t const put =
      ucp_put_nbx(peer.endpoint(), &how_far, sizeof how_far, at, peer.key_for(at, sizeof how_far), &plain);
  if (UCS_PTR_IS_ERR(put)) check(UCS_PTR_STATUS(put), name_of_node(peer.node()), "the first put");
  return Request(put);
}

/// Starts a flush: it is done when the peer has answered to all that was started.
Request Port::flush(Peer& peer) {
  ucp_request_param_t const plain{};
  ucs_status_ptr_t const flush = ucp_ep_flush_nbx(peer.endpoint(), &plain);
  if (UCS_PTR_IS_ERR(flush)) check(UCS_PTR_STATUS(flush), name_of_node(peer.node()), "reaching it");
  return Request(flush);
}

void Port::connect(std::span<Bytes const> introductions, Deadline until) {
  peers_.resize(size_);
  std::vector<Request> tells(size_);
  std::vector<Request> flushes(size_);
  for (std::size_t k = 0; k != size_; ++k) {
    if (k == node_) continue;
    auto const node = static_cast<int>(k);
    Introduction const introduction = introduction_of(introductions[k], node);
    peers_[k] = std::make_unique<Peer>(worker_.get(), node, introduction);
    peers_[k]->unpack(introduction);
    tells[k] = tell(*peers_[k], knocks);
    flushes[k] = flush(*peers_[k]);
  }
  auto const wait_for = [&](std::size_t k, auto&& done) {
    while (!done()) {
      peers_[k]->require_alive();
      if (std::chrono::steady_clock::now() >= until)
        throw Error(name_of_node(static_cast<int>(k)) +
                    ": it does not answer by UCX; UCX_TLS and UCX_NET_DEVICES must suit both hosts");
      progress();
    }
  };
  for (std::size_t k = 0; k != size_; ++k) {
    if (k == node_) continue;
    wait_for(k, [&] { return tells[k].is_done() && flushes[k].is_done(); });
    tells[k] = tell(*peers_[k], is_answered);
  }
  for (std::size_t k = 0; k != size_; ++k) {
    if (k == node_) continue;
    auto& word = doorstep_word(first_here + k);
    wait_for(k, [&] { return tells[k].is_done() && ThreadMachine{}.load(word, Order::acquire) == is_answered; });
  }
}

void Port::ring(Peer& peer) {
  if (!peer.is_direct()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // N1
  auto& word = *reinterpret_cast<Word<std::uint64_t>*>(peer.here(peer.doorstep(), sizeof(Word<std::uint64_t>)));
  if (ThreadMachine{}.load(word, Order::relaxed) == 0) return;
  Request& ring = rings_[static_cast<std::size_t>(peer.node())];
  if (!ring.is_done()) return;  // N2
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  ucs_status_ptr_t const sent = ucp_am_send_nbx(peer.endpoint(), ring_id, nullptr, 0, nullptr, 0, &param);
  if (UCS_PTR_IS_ERR(sent)) check(UCS_PTR_STATUS(sent), name_of_node(peer.node()), "waking it");
  ring = Request(sent);
}

bool Port::begin_nap() {
  ThreadMachine{}.store(doorstep_word(napping), std::uint64_t{1}, Order::relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // N1
  if (progress()) return false;
  ucs_status_t const status = ucp_worker_arm(worker_.get());
  if (status == UCS_ERR_BUSY) return false;
  check(status, where, "arming a UCX worker");
  return true;
}

void Port::end_nap() { ThreadMachine{}.store(doorstep_word(napping), std::uint64_t{0}, Order::relaxed); }

}  // namespace hiway::detail::nodes
