#include "lib/nodes/ucx/port.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "hiway/error.hpp"
#include "hiway/machine/thread_machine.hpp"
#include "lib/nodes/node_name.hpp"
#include "lib/nodes/ucx/message.hpp"
#include "lib/nodes/ucx/status.hpp"

namespace hiway::detail::nodes {
namespace {

constexpr char const* where = "nodes";
constexpr unsigned ring_id = 0;
constexpr auto patience_to_open = std::chrono::seconds(1);  // then UCX may do it in its own way
constexpr auto between_looks = std::chrono::milliseconds(1);
constexpr std::size_t napping = 0;     // number of a word of the doorstep
constexpr std::size_t first_here = 8;  // in another cache line
// What a node sends there. They are objects: they are the sources of messages.
constexpr std::uint64_t knocks = 1;
constexpr std::uint64_t is_answered = 2;

/// Unless UCX's variable says something. (Here its names have no UCX_, and those of TCP no TCP_.)
void prefer(ucp_config_t* config, char const* variable, char const* name, char const* value) {
  if (std::getenv(variable) == nullptr) ucp_config_modify(config, name, value);
}

/// N7: `asked`, which is UCX_TLS, without two transports over shared memory at once.
std::string one_shared_memory(std::string_view asked) {
  if (asked == "all") return "^posix";
  if (asked.starts_with('^')) return std::string(asked) + ",posix";
  std::string chosen;
  for (std::size_t at = 0; at <= asked.size();) {
    std::size_t const end = std::min(asked.find(',', at), asked.size());
    std::string_view const one = asked.substr(at, end - at);
    bool const is_several = one == "shm" || one == "sm" || one == "mm";
    chosen.append(chosen.empty() ? "" : ",").append(is_several ? "sysv,cma" : one);
    at = end + 1;
  }
  return chosen;
}

void set_preferences(ucp_config_t* config) {
  char const* const asked = std::getenv("UCX_TLS");
  // UCX must not start CUDA in the midst of kernels; items cross from host memory to host memory.
  ucp_config_modify(config, "TLS", one_shared_memory(asked != nullptr ? asked : "^cuda").c_str());
  // Where a connection breaks in the midst of a zcopy, UCX 1.13.1 ends the request twice (uct_tcp_ep_sendv).
  prefer(config, "UCX_ZCOPY_THRESH", "ZCOPY_THRESH", "inf");
  if (asked != nullptr && std::string_view(asked).find("tcp") == std::string_view::npos) return;
  // Each message by TCP is a call of the system, and 8 KiB are not worth it.
  prefer(config, "UCX_TCP_TX_SEG_SIZE", "TX_SEG_SIZE", "64k");
  // Else opening an endpoint waits for the other host; and if that node dies then, UCX 1.13.1 ends this process
  // (uct_tcp_ep_connect: TX is set on an endpoint that has failed).
  prefer(config, "UCX_TCP_CONN_NB", "CONN_NB", "y");
}

/// A message of ring() only ends a nap.
ucs_status_t heard_ring(void*, void const*, std::size_t, void*, std::size_t, ucp_am_recv_param_t const*) {
  return UCS_OK;
}

void set_handler(ucp_worker_h worker, unsigned id, ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t params{};
  params.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  params.id = id;
  params.cb = handler;
  params.arg = argument;
  check(ucp_worker_set_am_recv_handler(worker, &params), where, "a UCX message handler");
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
  set_handler(worker_.get(), ring_id, heard_ring, nullptr);
  set_handler(worker_.get(), message_id, heard_message, this);
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

/// N5. UCX calls it in progress().
ucs_status_t Port::heard_message(void* port, void const* head, std::size_t head_bytes, void* bytes, std::size_t count,
                                 ucp_am_recv_param_t const* param) {
  MessageHead of{};
  bool const is_whole = head_bytes == sizeof of && (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0;
  if (is_whole) std::memcpy(&of, head, sizeof of);
  static_cast<Port*>(port)->place(of, is_whole ? bytes : nullptr, count);
  return UCS_OK;
}

void Port::place(MessageHead const& of, void const* bytes, std::size_t count) noexcept {
  for (auto const& memory : memory_) {
    if (bytes == nullptr || !memory->has(of.target, count)) continue;
    std::memcpy(reinterpret_cast<void*>(of.target), bytes, count);
    return;
  }
  if (of.node < peers_.size() && peers_[of.node] != nullptr) peers_[of.node]->fail(UCS_ERR_INVALID_ADDR);
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

/// Whether a message, which only ends a nap, could leave at once: the connection stands (N6).
bool Port::is_open(Peer& peer) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  ucs_status_ptr_t const sent = ucp_am_send_nbx(peer.endpoint(), ring_id, nullptr, 0, nullptr, 0, &param);
  if (UCS_PTR_IS_ERR(sent) && UCS_PTR_STATUS(sent) != UCS_ERR_NO_RESOURCE)
    check(UCS_PTR_STATUS(sent), name_of_node(peer.node()), "the first message");
  return sent == nullptr;
}

/// Starts to tell a peer in its doorstep. Done: the endpoint is wired up, and the message has been handed on (N3).
Request Port::tell(Peer& peer, MessageHead& head, std::uint64_t const& how_far) {
  head = {.target = peer.doorstep() + (first_here + node_) * sizeof how_far, .node = node_};
  peer.require_memory(head.target, sizeof how_far);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;  // else UCX may send it before it wires the endpoint up
  ucs_status_ptr_t const sent = send_message(peer.endpoint(), head, &how_far, sizeof how_far, param);
  if (UCS_PTR_IS_ERR(sent)) check(UCS_PTR_STATUS(sent), name_of_node(peer.node()), "the first message");
  return Request(sent);
}

/// progress() until `done()`.
template <class Done>
void Port::await(Peer const& answer, Deadline until, Look const& look, Done done) {
  for (Deadline next_look{}; !done(); progress()) {
    for (auto const& peer : peers_) {
      if (peer != nullptr) peer->require_alive();  // the one that answers may have left since another one is gone
    }
    Deadline const now = std::chrono::steady_clock::now();
    if (now >= until)
      throw Error(name_of_node(answer.node()) +
                  ": it does not answer by UCX; UCX_TLS and UCX_NET_DEVICES must suit both hosts");
    if (now < next_look) continue;
    next_look = now + between_looks;
    look();
  }
}

void Port::connect(std::span<Bytes const> introductions, Deadline until, Look const& look) {
  peers_.resize(size_);
  tell_heads_.resize(size_);
  std::vector<Request> tells(size_);
  std::vector<std::size_t> others;
  for (std::size_t k = 0; k != size_; ++k) {
    if (k == node_) continue;
    others.push_back(k);
    auto const node = static_cast<int>(k);
    Introduction const introduction = introduction_of(introductions[k], node);
    peers_[k] = std::make_unique<Peer>(worker_.get(), node, introduction);
    look();
    peers_[k]->unpack(introduction);  // if the node dies just now, UCX 1.13 and 1.16 end this process, too
    look();
  }
  Deadline const open_by = std::chrono::steady_clock::now() + patience_to_open;
  for (std::size_t const k : others) {
    Peer& peer = *peers_[k];
    await(peer, until, look, [&] { return is_open(peer) || std::chrono::steady_clock::now() >= open_by; });
    tells[k] = tell(peer, tell_heads_[k], knocks);
  }
  for (std::size_t const k : others) {
    await(*peers_[k], until, look, [&] { return tells[k].is_done(); });
    tells[k] = tell(*peers_[k], tell_heads_[k], is_answered);
  }
  for (std::size_t const k : others) {
    auto& word = doorstep_word(first_here + k);
    await(*peers_[k], until, look,
          [&] { return tells[k].is_done() && ThreadMachine{}.load(word, MemoryOrder::acquire) == is_answered; });
  }
}

void Port::ring(Peer& peer) {
  if (!peer.is_direct()) return;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // N1
  auto& word = *reinterpret_cast<Word<std::uint64_t>*>(peer.here(peer.doorstep(), sizeof(Word<std::uint64_t>)));
  if (ThreadMachine{}.load(word, MemoryOrder::relaxed) == 0) return;
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
  ThreadMachine{}.store(doorstep_word(napping), std::uint64_t{1}, MemoryOrder::relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // N1
  if (progress()) return false;
  ucs_status_t const status = ucp_worker_arm(worker_.get());
  if (status == UCS_ERR_BUSY) return false;
  check(status, where, "arming a UCX worker");
  return true;
}

void Port::end_nap() { ThreadMachine{}.store(doorstep_word(napping), std::uint64_t{0}, MemoryOrder::relaxed); }

}  // namespace hiway::detail::nodes
