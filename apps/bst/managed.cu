// Method managed: the original's way. The nodes lie in managed memory, each with a lock; a kernel inserts the GPU's
// keys, a thread each, while a CPU thread inserts its own. Pages go to and fro. Where the original finds a link taken
// that was free before, it goes on to the same side of the node there, without comparing keys: this one compares.
#include <chrono>
#include <cstdint>
#include <cuda/atomic>
#include <stdexcept>
#include <vector>

#include "bst/methods.hpp"
#include "cli/cuda_calls.cuh"
#include "cli/device.hpp"

namespace bst {
namespace {

/// Managed: reached by both.
struct LockedNode {
  Key key;
  std::uint32_t child[2];
  std::uint32_t lock;
};
using Shared = cuda::atomic_ref<std::uint32_t, cuda::thread_scope_system>;

__host__ __device__ void insert_locked(LockedNode* nodes, std::uint32_t node) {
  Key const key = nodes[node].key;
  std::uint32_t at = 0;
  while (true) {
    Shared link(nodes[at].child[key < nodes[at].key ? 0 : 1]);
    std::uint32_t const next = link.load(cuda::std::memory_order_acquire);
    if (next != none) {
      at = next;
      continue;
    }
    Shared lock(nodes[at].lock);
    std::uint32_t is_free = 0;
    if (!lock.compare_exchange_strong(is_free, 1U, cuda::std::memory_order_acquire)) continue;
    bool const is_mine = link.load(cuda::std::memory_order_relaxed) == none;
    if (is_mine) link.store(node, cuda::std::memory_order_release);
    lock.store(0U, cuda::std::memory_order_release);
    if (is_mine) return;
  }
}

__global__ void insert_all(LockedNode* nodes, std::uint32_t first, std::uint32_t end) {
  std::uint32_t const node = first + blockIdx.x * blockDim.x + threadIdx.x;
  if (node < end) insert_locked(nodes, node);
}

class Managed {
 public:
  Managed(Problem const& problem, Options const& options, int device)
      : problem_(problem), threads_(options.threads != 0 ? options.threads : 64), initial_(initial_tree(problem)) {
    CLI_CUDA(cudaSetDevice(device));
    int concurrent = 0;
    CLI_CUDA(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, device));
    if (concurrent == 0)
      throw std::runtime_error("--method managed: CPU and GPU cannot use managed memory at once on this machine");
    CLI_CUDA(cudaMallocManaged(&nodes_, problem.nodes() * sizeof *nodes_));
    set();
    insert_all<<<1, threads_>>>(nodes_, 0, 0);  // loads the kernel
    CLI_CUDA(cudaGetLastError());
    CLI_CUDA(cudaDeviceSynchronize());
  }
  ~Managed() { cudaFree(nodes_); }
  Managed(Managed const&) = delete;
  Managed& operator=(Managed const&) = delete;

  Measurement run() {
    Measurement run;
    set();
    std::vector<Node> grown(problem_.nodes());
    std::uint32_t const first = problem_.first_of_gpu();
    std::uint32_t const end = problem_.nodes();
    auto const begin = std::chrono::steady_clock::now();
    if (first < end) {
      insert_all<<<(end - first + threads_ - 1) / threads_, threads_>>>(nodes_, first, end);
      CLI_CUDA(cudaGetLastError());
    }
    for (std::uint32_t node = problem_.initial; node < first; ++node) insert_locked(nodes_, node);
    CLI_CUDA(cudaDeviceSynchronize());
    for (std::uint32_t node = 0; node < end; ++node) {  // the pages come back
      LockedNode const& from = nodes_[node];
      grown[node] = {from.key, {{from.child[0]}, {from.child[1]}}};
    }
    run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    run.summary = summarize(grown);
    run.items = problem_.nodes() - problem_.initial;
    return run;
  }

 private:
  /// The tree as it was before, on the CPU's side.
  void set() {
    for (std::uint32_t node = 0; node < problem_.nodes(); ++node)
      nodes_[node] = {problem_.keys[node], {initial_[node].child[0].bits, initial_[node].child[1].bits}, 0};
  }

  Problem const& problem_;
  std::uint32_t threads_;
  std::vector<Node> initial_;
  LockedNode* nodes_ = nullptr;
};

std::vector<Measurement> run(Problem const& problem, Options const& options, Job const& job) {
  Managed managed{problem, options, cli::number_of(job.device)};
  return cli::repeated(job, [&] { return managed.run(); });
}

bool const known = register_managed(run);

}  // namespace
}  // namespace bst
