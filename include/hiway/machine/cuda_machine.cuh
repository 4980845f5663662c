// A GPU lane as a machine. Words are accessed by cuda::atomic_ref, in device scope at home and in system scope across
// the bus. Empty unless nvcc compiles it.
#pragma once
#include "hiway/machine/machine.hpp"
#include "hiway/machine/tuning.hpp"

#if defined(__CUDACC__)
#include <cstddef>
#include <cuda/atomic>
#include <cuda/std/version>
#include <type_traits>

static_assert(CCCL_MAJOR_VERSION >= 3,
              "hiway needs the CUDA toolkit's own CCCL (3.0 or later) first in the include path");

namespace hiway {

/// hiway's orders as cuda::atomic_ref takes them.
constexpr __device__ cuda::std::memory_order cuda_order(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::relaxed: return cuda::std::memory_order_relaxed;
    case MemoryOrder::acquire: return cuda::std::memory_order_acquire;
    case MemoryOrder::release: return cuda::std::memory_order_release;
    case MemoryOrder::acq_rel: return cuda::std::memory_order_acq_rel;
  }
  return cuda::std::memory_order_seq_cst;
}

/// Operations on words that only the lane's block uses: cuda::atomic_ref in block scope.
struct CudaBlockWords {
  template <class T>
  using InBlock = cuda::atomic_ref<T, cuda::thread_scope_block>;

  template <class T>
  __device__ T load(Word<T>& word, MemoryOrder order) const {
    return InBlock<T>(word.bits).load(cuda_order(order));
  }
  template <class T>
  __device__ void store(Word<T>& word, T value, MemoryOrder order) const {
    InBlock<T>(word.bits).store(value, cuda_order(order));
  }
  template <class T>
  __device__ T fetch_add(Word<T>& word, T value, MemoryOrder order) const {
    return InBlock<T>(word.bits).fetch_add(value, cuda_order(order));
  }
  template <class T>
  __device__ T fetch_or(Word<T>& word, T value, MemoryOrder order) const {
    return InBlock<T>(word.bits).fetch_or(value, cuda_order(order));
  }
  template <class T>
  __device__ bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) const {
    return InBlock<T>(word.bits).compare_exchange_strong(expected, desired, cuda_order(order),
                                                         cuda::std::memory_order_relaxed);
  }
  __device__ unsigned lowest(std::uint32_t mask) const {
    return static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1u;
  }
};

namespace detail {

template <class T>
__device__ inline std::size_t global(Word<T>& word) {
  return __cvta_generic_to_global(&word.bits);
}

}  // namespace detail

// A read-modify-write in device scope of a 64-bit word in global memory: the PTX, its result, address and operands.
// cuda::atomic_ref takes a generic address, and PTX has no 64-bit read-modify-writes of shared memory. Each use would
// get a loop for that case, and an addition whose result is not used would take 60 cycles instead of 2 (H200).
#define HIWAY_ATOM(order, operation, result, ...) \
  asm volatile("atom." order ".gpu.global." operation:result:__VA_ARGS__ : "memory")
#define HIWAY_AT_GLOBAL_ADDRESS(order, operation, result, ...)                               \
  switch (order) {                                                                           \
    case MemoryOrder::relaxed: HIWAY_ATOM("relaxed", operation, result, __VA_ARGS__); break; \
    case MemoryOrder::acquire: HIWAY_ATOM("acquire", operation, result, __VA_ARGS__); break; \
    case MemoryOrder::release: HIWAY_ATOM("release", operation, result, __VA_ARGS__); break; \
    case MemoryOrder::acq_rel: HIWAY_ATOM("acq_rel", operation, result, __VA_ARGS__); break; \
  }

/// Grids of users' own kernels may have three dimensions, and lanes are numbered for these. The library's have one; its
/// kernels begin with this, so that their code numbers no others.
__device__ inline void assume_one_dimension() {
  __builtin_assume(threadIdx.y == 0);
  __builtin_assume(threadIdx.z == 0);
  __builtin_assume(blockDim.y == 1);
  __builtin_assume(blockDim.z == 1);
  __builtin_assume(blockIdx.y == 0);
  __builtin_assume(blockIdx.z == 0);
  __builtin_assume(gridDim.y == 1);
  __builtin_assume(gridDim.z == 1);
}

struct CudaMachine {
  using Tuning = GpuTuning;

  template <class T>
  using Home = cuda::atomic_ref<T, cuda::thread_scope_device>;
  template <class T>
  using Across = cuda::atomic_ref<T, cuda::thread_scope_system>;

  template <class T>
  __device__ T load(Word<T>& word, MemoryOrder order) const {
    return Home<T>(word.bits).load(cuda_order(order));
  }
  template <class T>
  __device__ void store(Word<T>& word, T value, MemoryOrder order) const {
    Home<T>(word.bits).store(value, cuda_order(order));
  }
  template <class T>
  __device__ T fetch_add(Word<T>& word, T value, MemoryOrder order) const {
    return Home<T>(word.bits).fetch_add(value, cuda_order(order));
  }
  __device__ std::uint64_t fetch_add(Word<std::uint64_t>& word, std::uint64_t value, MemoryOrder order) const {
    std::uint64_t before = 0;
    HIWAY_AT_GLOBAL_ADDRESS(order, "add.u64 %0, [%1], %2;", "=l"(before), "l"(detail::global(word)), "l"(value));
    return before;
  }
  template <class T>
  __device__ T fetch_or(Word<T>& word, T value, MemoryOrder order) const {
    return Home<T>(word.bits).fetch_or(value, cuda_order(order));
  }
  template <class T>
  __device__ T fetch_xor(Word<T>& word, T value, MemoryOrder order) const {
    return Home<T>(word.bits).fetch_xor(value, cuda_order(order));
  }
  template <class T>
  __device__ T fetch_min(Word<T>& word, T value, MemoryOrder order) const {
    return Home<T>(word.bits).fetch_min(value, cuda_order(order));
  }
  template <class T>
  __device__ bool compare_exchange(Word<T>& word, T& expected, T desired, MemoryOrder order) const {
    return Home<T>(word.bits).compare_exchange_strong(expected, desired, cuda_order(order),
                                                      cuda::std::memory_order_relaxed);
  }
  __device__ bool compare_exchange(Word<std::uint64_t>& word, std::uint64_t& expected, std::uint64_t desired,
                                   MemoryOrder order) const {
    std::uint64_t before = 0;
    HIWAY_AT_GLOBAL_ADDRESS(order, "cas.b64 %0, [%1], %2, %3;", "=l"(before), "l"(detail::global(word)), "l"(expected),
                            "l"(desired));
    bool const equal = before == expected;
    expected = before;
    return equal;
  }
  template <class T>
  __device__ T load_across(Word<T>& word, MemoryOrder order) const {
    return Across<T>(word.bits).load(cuda_order(order));
  }
  template <class T>
  __device__ void store_across(Word<T>& word, T value, MemoryOrder order) const {
    Across<T>(word.bits).store(value, cuda_order(order));
  }
  template <class T>
  __device__ void store_fenced_across(Word<T>& word, T value) const {
    store_across(word, value, MemoryOrder::relaxed);
  }
  template <class T>
  __device__ T load_ahead(Word<T>& word) const {
    return load(word, MemoryOrder::relaxed);
  }
  __device__ void acquire_ahead() const {
    cuda::atomic_thread_fence(cuda::std::memory_order_acquire, cuda::thread_scope_device);
  }
  static constexpr bool tags_bring_items = true;
  template <class Slot>
  __device__ Slot look_tagged(Slot& slot) const {
    static_assert(sizeof(Slot) == 16);
    std::uint64_t halves[2];
    asm volatile("{.reg .b128 both; ld.relaxed.sys.b128 both, [%2]; mov.b128 {%0, %1}, both;}"
                 : "=l"(halves[0]), "=l"(halves[1])
                 : "l"(&slot)
                 : "memory");
    // ptxas 13.0 loads only the words that are used, one after the other: an old item with a new tag. So the tag
    // depends on the words between, by a zero that ptxas does not know (docs/adr/0035).
    std::uint32_t const between = static_cast<std::uint32_t>(halves[0] >> 32) ^ static_cast<std::uint32_t>(halves[1]);
    halves[1] += std::uint64_t{between * zero_of_lane()} << 32;
    Slot seen;
    memcpy(&seen, halves, sizeof seen);
    return seen;
  }
  template <class Slot>
  __device__ void put_tagged(Slot& slot, Slot const& value) const {
    static_assert(sizeof(Slot) == 16);
    std::uint64_t halves[2];
    memcpy(halves, &value, sizeof value);
    asm volatile("{.reg .b128 both; mov.b128 both, {%1, %2}; st.relaxed.sys.b128 [%0], both;}"
                 :
                 : "l"(&slot), "l"(halves[0]), "l"(halves[1])
                 : "memory");
  }
  __device__ void release_ahead() const {
    cuda::atomic_thread_fence(cuda::std::memory_order_release, cuda::thread_scope_device);
  }
  template <class T>
  __device__ void store_ahead(Word<T>& word, T value) const {
    store(word, value, MemoryOrder::relaxed);
  }
  __device__ void fence_across() const {
    cuda::atomic_thread_fence(cuda::std::memory_order_seq_cst, cuda::thread_scope_system);
  }
  __device__ void fence_behind_ticket() const {}  // device words are checked on the device, by read-modify-writes

  static constexpr unsigned warp_lanes = 32;
  __device__ unsigned lane() const { return thread_in_block() & 31u; }
  __device__ std::uint32_t lanes() const {
    unsigned const rest = block_threads() - (thread_in_block() & ~31u);
    return rest >= 32u ? ~0u : lanes_below(rest);
  }
  __device__ std::uint32_t converged() const { return __activemask(); }
  /// Bit 31 of the mask of the lanes below: always 0.
  __device__ std::uint32_t zero_of_lane() const {
    std::uint32_t below;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
    return below >> 31;
  }
  __device__ std::uint32_t ballot(std::uint32_t mask, bool predicate) const { return __ballot_sync(mask, predicate); }
  template <class T>
  __device__ T shuffle(std::uint32_t mask, T value, unsigned source) const {
    if constexpr (std::is_floating_point_v<T>) {
      return __shfl_sync(mask, value, static_cast<int>(source));
    } else if constexpr (sizeof(T) == 8) {
      return static_cast<T>(__shfl_sync(mask, static_cast<unsigned long long>(value), static_cast<int>(source)));
    } else {
      return static_cast<T>(__shfl_sync(mask, static_cast<unsigned>(value), static_cast<int>(source)));
    }
  }
  __device__ void sync_warp(std::uint32_t mask) const { __syncwarp(mask); }
  __device__ unsigned count(std::uint32_t mask) const { return static_cast<unsigned>(__popc(mask)); }
  __device__ unsigned lowest(std::uint32_t mask) const {
    return static_cast<unsigned>(__ffs(static_cast<int>(mask))) - 1u;
  }

  static constexpr bool shares_blocks = true;
  __device__ CudaBlockWords in_block() const { return {}; }
  /// Cleared by enter_block (launch/stage_words.hpp), because shared memory keeps what an earlier kernel left.
  template <class T>
  __device__ T& block_room() const {
    __shared__ T room;
    return room;
  }
  __device__ std::uint32_t cycles() const {
    std::uint32_t now;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(now));
    return now;
  }
  // In the order in which the hardware makes warps of threads.
  __device__ unsigned thread_in_block() const {
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  }
  __device__ unsigned block_threads() const { return blockDim.x * blockDim.y * blockDim.z; }
  __device__ unsigned block_index() const { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
  __device__ void sync_block() const { __syncthreads(); }
  __device__ std::byte* shared_memory() const {
    extern __shared__ __align__(128) unsigned char hiway_dynamic_shared[];
    return reinterpret_cast<std::byte*>(hiway_dynamic_shared);
  }

  __device__ std::uint64_t share_in_block(std::uint64_t value) const {
    __shared__ std::uint64_t shared;
    __syncthreads();
    if (thread_in_block() == 0) shared = value;
    __syncthreads();
    return shared;
  }
  __device__ bool is_own(void const* address) const { return __isLocal(address) != 0; }

  __device__ unsigned thread_index() const { return thread_in_block() + block_index() * block_threads(); }
  __device__ unsigned thread_count() const { return block_count() * block_threads(); }
  __device__ unsigned block_count() const { return gridDim.x * gridDim.y * gridDim.z; }

  /// The launch that the lane belongs to.
  __device__ std::uint64_t grid_id() const {
    std::uint64_t id;
    asm("mov.u64 %0, %%gridid;" : "=l"(id));
    return id;
  }

  __device__ LaneScope scope() const { return {own_scope().word, own_scope().table, 0}; }
  __device__ void set_scope(LaneScope scope) const { own_scope() = {scope.word, scope.table}; }

  __device__ unsigned& misses(unsigned& own) const { return own; }
  __device__ void relax(unsigned misses) const {
    __nanosleep(misses < 32 ? 32u : misses < 64 ? 256u : misses < long_wait_misses ? 1000u : 4000u);
  }
  __device__ std::uint64_t now_ns() const {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));  // volatile: read again each time
    return now;
  }
  [[noreturn]] __device__ void leave() const {
    asm("exit;");  // an asm without outputs is never removed
    __builtin_unreachable();
  }
  [[noreturn]] __device__ void leave_run(Control&, std::uint32_t) const { leave(); }

 private:
  struct OwnScope {
    std::uint64_t word;
    ScopeTable* table;
  };
  static_assert(sizeof(OwnScope) == scope_bytes_of_lane);
  /// At the end of the block's dynamic shared memory, where kernels of stages with scopes have room for it. So a
  /// kernel without scopes has none of it, also a user's own, whose code cannot tell.
  __device__ OwnScope& own_scope() const {
    std::uint32_t dynamic = 0;
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic));
    std::uint32_t const at = dynamic - (block_threads() - thread_in_block()) * static_cast<unsigned>(sizeof(OwnScope));
    return *reinterpret_cast<OwnScope*>(shared_memory() + at);
  }
};
static_assert(Machine<CudaMachine>);

#undef HIWAY_AT_GLOBAL_ADDRESS
#undef HIWAY_ATOM

}  // namespace hiway
#endif
