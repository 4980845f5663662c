// What the tunnels stand beside, by hand: large copies, launch per batch, a ring in managed memory, an empty launch;
// between two devices large copies, plain stores, and 16 bytes to and fro.
//
// The managed ring has one producer and one consumer. Its items lie in managed memory; its two words, each with one
// writer, in pinned host memory, where polling them moves no page:
//   published   the producer's, after its items (release); the consumer's acquire of it makes them whole
//   retired     the consumer's, after it has read them (release); the producer's acquire of it gives the room back
// Every wait for a word leaves on `stop`, and the device's after `patience_ns`.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cuda/atomic>
#include <exception>
#include <functional>
#include <hiway/pipeline.hpp>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/device_numbers.hpp"
#include "bench/mover.hpp"
#include "bench/raw_cuda.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

void check(cudaError_t error, char const* call, int line) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("baseline: ") + call + " failed: " + cudaGetErrorString(error) +
                           " (bench/raw_cuda.cu:" + std::to_string(line) + ")");
}
#define BENCH_CUDA(call) check((call), #call, __LINE__)

/// CUDA's number of hiway's device `number`.
int ordinal(int number) { return number / parts_of_gpu(); }
int ordinal_of(std::string const& device) {
  if (!device.starts_with("cuda:")) throw std::runtime_error("baseline: " + device + " is no GPU");
  return ordinal(std::stoi(device.substr(5)));
}

/// Makes a device CUDA's current one, as long as this lives.
class On {
 public:
  explicit On(int device) {
    BENCH_CUDA(cudaGetDevice(&before_));
    BENCH_CUDA(cudaSetDevice(device));
  }
  ~On() { cudaSetDevice(before_); }
  On(On const&) = delete;
  On& operator=(On const&) = delete;

 private:
  int before_ = 0;
};

/// Whether kernels on `device` can reach `other`'s memory; from now on they do.
bool reaches(int device, int other) {
  if (device == other) return true;
  int possible = 0;
  BENCH_CUDA(cudaDeviceCanAccessPeer(&possible, device, other));
  if (possible == 0) return false;
  On const on(device);
  cudaError_t const error = cudaDeviceEnablePeerAccess(other, 0);
  if (error == cudaErrorPeerAccessAlreadyEnabled) {
    static_cast<void>(cudaGetLastError());
  } else {
    BENCH_CUDA(error);
  }
  return true;
}

class Stream {
 public:
  Stream() { BENCH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(Stream const&) = delete;
  Stream& operator=(Stream const&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const { BENCH_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { BENCH_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(Event const&) = delete;
  Event& operator=(Event const&) = delete;
  void record(Stream const& stream) const { BENCH_CUDA(cudaEventRecord(event_, stream.get())); }
  void wait() const { BENCH_CUDA(cudaEventSynchronize(event_)); }  // spins

 private:
  cudaEvent_t event_ = nullptr;
};

/// Memory of one kind.
class Bytes {
 public:
  Bytes(hiway::Memory kind, std::size_t bytes) : kind_(kind) {
    switch (kind) {
      case hiway::Memory::pinned: BENCH_CUDA(cudaHostAlloc(&address_, bytes, cudaHostAllocPortable)); break;
      case hiway::Memory::device: BENCH_CUDA(cudaMalloc(&address_, bytes)); break;
      case hiway::Memory::managed: BENCH_CUDA(cudaMallocManaged(&address_, bytes, cudaMemAttachGlobal)); break;
    }
  }
  ~Bytes() {
    if (kind_ == hiway::Memory::pinned) {
      cudaFreeHost(address_);
    } else {
      cudaFree(address_);
    }
  }
  Bytes(Bytes const&) = delete;
  Bytes& operator=(Bytes const&) = delete;
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(address_);
  }
  [[nodiscard]] std::byte* at(std::size_t offset) const { return as<std::byte>() + offset; }

 private:
  hiway::Memory kind_;
  void* address_ = nullptr;
};

/// Memory of that device, whichever is the current one.
std::unique_ptr<Bytes> bytes_on(int device, std::size_t bytes) {
  On const on(device);
  return std::make_unique<Bytes>(hiway::Memory::device, bytes);
}

/// A part of an order's items that lie side by side, the first of them the order's `begin`-th.
struct Part {
  std::uint32_t* words;  ///< of the first item
  std::uint32_t item_words;
  std::uint64_t begin;
  std::uint64_t count;
};

// Lanes that share an item: a warp for a large one.
__device__ std::uint32_t team_of(std::uint32_t item_words) { return item_words <= 16 ? 1 : 32; }

/// Writes the part's items, by all `lanes` of whom the caller is the `lane`-th.
__device__ void write_part(Part const& part, Order const& order, std::uint64_t lane, std::uint64_t lanes) {
  std::uint32_t const team = team_of(part.item_words);
  for (std::uint64_t i = lane / team; i < part.count; i += lanes / team) {
    bool const planted = part.begin + i == order.victim();
    if (planted && order.plant == Plant::lose) continue;
    auto const number =
        static_cast<std::uint32_t>(order.first + part.begin + i - (planted && order.plant == Plant::duplicate ? 1 : 0));
    std::uint32_t* const to = part.words + i * part.item_words;
    if (part.item_words == 4) {
      *reinterpret_cast<uint4*>(to) = make_uint4(number, number, number, number);
    } else {
      for (std::uint32_t w = lane % team; w < part.item_words; w += team) to[w] = word_of(number, w, part.item_words);
    }
    if (planted && order.plant == Plant::alter && lane % team == (part.item_words - 1) % team)
      to[part.item_words - 1] ^= 0x100U;
  }
}

/// Checks them, into the caller's own tally.
__device__ void check_part(Part const& part, Tally& mine, std::uint64_t lane, std::uint64_t lanes) {
  std::uint32_t const team = team_of(part.item_words);
  for (std::uint64_t i = lane / team; i < part.count; i += lanes / team) {
    std::uint32_t const* const from = part.words + i * part.item_words;
    std::uint32_t number = 0;
    std::uint32_t differ = 0;
    if (part.item_words == 4) {
      uint4 const item = *reinterpret_cast<uint4 const*>(from);
      number = item.x;
      differ = (item.y ^ number) | (item.z ^ number) | (item.w ^ number);
    } else {
      number = from[0];
      for (std::uint32_t w = lane % team; w < part.item_words; w += team)
        differ |= from[w] ^ word_of(number, w, part.item_words);
    }
    if (lane % team == 0) {
      mine.add(number, differ);
    } else {
      mine.altered |= differ;
    }
  }
}

/// Adds a warp's tallies to `all`; all its lanes call it.
__device__ void add_up(Tally const& mine, Tally* all) {
  unsigned long long each[4] = {mine.count, mine.sum, mine.squares, 0};
  unsigned const altered = __any_sync(0xffff'ffffU, mine.altered != 0) ? 1U : 0U;
  for (int f = 0; f != 3; ++f) {
    for (unsigned step = 16; step != 0; step /= 2) each[f] += __shfl_down_sync(0xffff'ffffU, each[f], step);
  }
  if (threadIdx.x % 32 != 0) return;
  auto* const to = reinterpret_cast<unsigned long long*>(all);  // count, sum, squares, altered
  for (int f = 0; f != 3; ++f) atomicAdd(to + f, each[f]);
  if (altered != 0) atomicOr(to + 3, 1ULL);
}
static_assert(sizeof(Tally) == 4 * sizeof(unsigned long long));

__device__ std::uint64_t lane_index() { return std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::uint64_t lane_count() { return std::uint64_t{gridDim.x} * blockDim.x; }

__global__ void write_batch(Part part, Order order) { write_part(part, order, lane_index(), lane_count()); }
__global__ void check_batch(Part part, Tally* all) {
  Tally mine;
  check_part(part, mine, lane_index(), lane_count());
  add_up(mine, all);
}
__global__ void nothing() {}
__global__ void add_one(std::uint64_t* number) {
  if (threadIdx.x == 0) ++*number;
}

constexpr unsigned block = 256;
/// As many blocks as a batch needs, four items a lane, at most a few an SM.
unsigned blocks_for(Part const& part) {
  std::uint64_t const lanes = part.count * (part.item_words <= 16 ? 1 : 32);
  return static_cast<unsigned>(std::clamp<std::uint64_t>(lanes / (4 * block), 1, 1024));
}

/// The host's counterpart of write_batch.
void write_on_host(Part const& part, Order const& order) {
  std::size_t const item_bytes = part.item_words * std::size_t{4};
  write_items(part.words, item_bytes, static_cast<std::uint32_t>(order.first + part.begin), part.count);
  std::uint64_t const victim = order.victim();
  if (order.plant == Plant::none || victim < part.begin || victim >= part.begin + part.count) return;
  std::uint32_t* const at = part.words + (victim - part.begin) * part.item_words;
  switch (order.plant) {
    case Plant::lose: std::fill_n(at, part.item_words, 0U); break;
    case Plant::duplicate: write_items(at, item_bytes, static_cast<std::uint32_t>(order.first + victim - 1), 1); break;
    default: at[part.item_words - 1] ^= 0x100U;
  }
}

bool goes_there(Flow flow) { return flow == Flow::cpu_to_gpu || flow == Flow::both; }
bool comes_back(Flow flow) { return flow == Flow::gpu_to_cpu || flow == Flow::both; }

/// Runs `bodies`, each on a thread of its own, and waits for all. *Throws* the first one's error.
void run_threads(std::vector<std::function<void()>> const& bodies) {
  std::mutex mutex;
  std::exception_ptr error;
  {
    std::vector<std::jthread> threads;
    for (auto const& body : bodies) {
      threads.emplace_back([&] {
        try {
          body();
        } catch (...) {
          std::scoped_lock const lock(mutex);
          if (!error) error = std::current_exception();
        }
      });
    }
  }
  if (error) std::rethrow_exception(error);
}

/// What every baseline has: its device, its items' order, a tally on the device and one on the host.
class ByHandMover : public Mover {
 public:
  Moved move(std::uint64_t items) final {
    BENCH_CUDA(cudaSetDevice(device_));
    order_ = order_of(++runs_, items, work_.plant);
    {
      On const on(target_);
      BENCH_CUDA(cudaMemset(tally_->as<Tally>(), 0, sizeof(Tally)));
    }
    host_tally_ = {};
    before();
    for (int const device : {target_, device_}) {
      BENCH_CUDA(cudaSetDevice(device));
      BENCH_CUDA(cudaDeviceSynchronize());
    }
    auto const begin = Clock::now();
    run();
    Moved moved{std::chrono::duration<double>(Clock::now() - begin).count()};
    after();
    if (work_.flow != Flow::gpu_to_cpu) {
      Tally all;
      BENCH_CUDA(cudaMemcpy(&all, tally_->as<Tally>(), sizeof all, cudaMemcpyDefault));
      moved.wrong = difference(all, order_);
    }
    if (moved.wrong.empty() && comes_back(work_.flow)) moved.wrong = difference(host_tally_, order_);
    return moved;
  }

 protected:
  explicit ByHandMover(Work const& work)
      : work_(work),
        device_(use(work.device)),
        target_(work.to_device >= 0 ? ordinal(work.to_device) : device_),
        tally_(bytes_on(target_, sizeof(Tally))) {}

  virtual void before() {}  ///< outside the measured time
  virtual void run() = 0;
  virtual void after() {}  ///< outside the measured time

  [[nodiscard]] std::uint32_t item_words() const { return static_cast<std::uint32_t>(work_.item_bytes / 4); }
  [[nodiscard]] Part part(void* at, std::uint64_t begin, std::uint64_t count) const {
    return {static_cast<std::uint32_t*>(at), item_words(), begin, count};
  }
  void write(Part const& part, Stream const& stream) const {
    write_batch<<<blocks_for(part), block, 0, stream.get()>>>(part, order_);
    BENCH_CUDA(cudaGetLastError());
  }
  void check_on_device(Part const& part, Stream const& stream) const {
    check_batch<<<blocks_for(part), block, 0, stream.get()>>>(part, tally_->as<Tally>());
    BENCH_CUDA(cudaGetLastError());
  }
  /// Of items that are with the target, all at once; waits.
  void check_at_target(Part const& part) const {
    On const on(target_);
    Stream const stream;
    check_on_device(part, stream);
    stream.wait();
  }
  void add(Tally const& tally) {
    std::scoped_lock const lock(mutex_);
    host_tally_.add(tally);
  }

  Work work_;
  int device_;
  int target_;  ///< where the items of gpu_to_gpu end; else device_
  Order order_;
  std::unique_ptr<Bytes> tally_;  ///< with the target

 private:
  static int use(std::string const& device) {
    int const number = ordinal_of(device);
    BENCH_CUDA(cudaSetDevice(number));
    return number;
  }

  unsigned runs_ = 0;
  std::mutex mutex_;
  Tally host_tally_;
};

/// The floor: the same bytes, copied as a whole again and again; made before, checked behind the measured time. Items
/// beyond the buffers are the buffers' again: what is checked is the last of them, and counted as often as they were
/// copied.
class LargeCopy final : public ByHandMover {
 public:
  explicit LargeCopy(Work const& work)
      : ByHandMover(work),
        buffer_bytes_(std::size_t{work.to_device >= 0 ? 64U : 256U} << 20),
        most_(buffer_bytes_ / work.item_bytes),
        direct_(work.to_device < 0 || (reaches(device_, target_) && reaches(target_, device_))),
        host_there_(hiway::Memory::pinned, goes_there(work.flow) ? buffer_bytes_ : 1),
        host_back_(hiway::Memory::pinned, comes_back(work.flow) ? buffer_bytes_ : 1),
        device_there_(hiway::Memory::device, buffer_bytes_),
        device_back_(bytes_on(target_, work.flow == Flow::cpu_to_gpu ? 1 : buffer_bytes_)) {}

  Json facts() const override {
    Json facts = Json::object();
    facts["bytes_a_copy"] = buffer_bytes_;
    if (work_.to_device >= 0) facts["peer_access"] = direct_;
    return facts;
  }

 private:
  // An order of at most the buffers' items is made and checked; run() copies as many as were asked for.
  void before() override {
    items_ = order_.items;
    order_.items = std::min<std::uint64_t>(items_, most_);
    if (goes_there(work_.flow)) {
      write_on_host(part(host_there_.at(0), 0, order_.items), order_);
      BENCH_CUDA(cudaMemset(device_there_.at(0), 0xff, bytes()));
    } else {
      write(part(device_there_.at(0), 0, order_.items), there_);
    }
    if (work_.flow == Flow::both) write(part(device_back_->at(0), 0, order_.items), back_);
    if (work_.flow == Flow::gpu_to_gpu) {
      On const on(target_);
      BENCH_CUDA(cudaMemset(device_back_->at(0), 0xff, bytes()));
    }
    if (comes_back(work_.flow)) std::fill_n(host_back_.at(0), bytes(), std::byte{0xff});
  }
  void run() override {
    for (std::uint64_t left = items_; left != 0;) {
      std::uint64_t const n = std::min<std::uint64_t>(left, order_.items);
      std::size_t const now = n * work_.item_bytes;
      left -= n;
      if (goes_there(work_.flow)) copy(device_there_.at(0), host_there_.at(0), now, there_);
      if (work_.flow == Flow::gpu_to_cpu) copy(host_back_.at(0), device_there_.at(0), now, back_);
      if (work_.flow == Flow::both) copy(host_back_.at(0), device_back_->at(0), now, back_);
      if (work_.flow == Flow::gpu_to_gpu) copy(device_back_->at(0), device_there_.at(0), now, there_);
    }
    there_.wait();
    back_.wait();
  }
  void after() override {
    if (goes_there(work_.flow)) check_on_device(part(device_there_.at(0), 0, order_.items), there_);
    there_.wait();
    if (work_.flow == Flow::gpu_to_gpu) check_at_target(part(device_back_->at(0), 0, order_.items));
    if (comes_back(work_.flow)) add(check_items(host_back_.at(0), work_.item_bytes, order_.items));
  }

  static void copy(void* to, void const* from, std::size_t bytes, Stream const& stream) {
    BENCH_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.get()));
  }
  [[nodiscard]] std::size_t bytes() const { return order_.items * work_.item_bytes; }

  std::size_t buffer_bytes_;
  std::uint64_t most_;
  bool direct_;  ///< between two devices: the copies need not go through the host
  std::uint64_t items_ = 0;
  Bytes host_there_;
  Bytes host_back_;
  Bytes device_there_;
  std::unique_ptr<Bytes> device_back_;  ///< with the target
  Stream there_;
  Stream back_;
};

/// A CPU thread's batches under way.
struct Slots {
  static constexpr std::size_t count = 4;
  Slots(std::size_t batch_bytes, bool host)
      : host_bytes(hiway::Memory::pinned, host ? count * batch_bytes : 1),
        device_bytes(hiway::Memory::device, count * batch_bytes) {}
  Bytes host_bytes;
  Bytes device_bytes;
  Stream streams[count];
  Event copied[count];
};

/// Each CPU thread makes or checks batch after batch in pinned memory; for each a copy and a launch, four under way.
/// Between GPU stages nothing is copied: two launches a batch, and batches 16 times as large.
class LaunchPerBatch final : public ByHandMover {
 public:
  LaunchPerBatch(Work const& work, std::size_t batch_bytes)
      : ByHandMover(work),
        batch_(std::max<std::size_t>(1, (work.flow == Flow::gpu_to_gpu ? 16 : 1) * batch_bytes / work.item_bytes)) {
    unsigned const ways = work.flow == Flow::both ? 2 : 1;
    for (unsigned i = 0; i != ways * work.cpu_threads; ++i)
      slots_.push_back(std::make_unique<Slots>(batch_ * work.item_bytes, work.flow != Flow::gpu_to_gpu));
  }

  Json facts() const override {
    Json facts = Json::object();
    facts["batch_items"] = batch_;
    facts["batches_under_way"] = Slots::count;
    return facts;
  }

 private:
  void run() override {
    if (work_.flow == Flow::gpu_to_gpu) return along(*slots_[0], {0, order_.items});
    std::vector<std::function<void()>> bodies;
    std::size_t next = 0;
    for (unsigned t = 0; t != work_.cpu_threads; ++t) {
      Share const share = share_of(order_.items, t, work_.cpu_threads);
      if (goes_there(work_.flow)) bodies.emplace_back([this, share, &slots = *slots_[next++]] { feed(slots, share); });
      if (comes_back(work_.flow)) bodies.emplace_back([this, share, &slots = *slots_[next++]] { drain(slots, share); });
    }
    run_threads(bodies);
  }

  [[nodiscard]] std::uint64_t items_at(Share share, std::uint64_t batch) const {
    return std::min<std::uint64_t>(batch_, share.end - share.begin - batch * batch_);
  }
  [[nodiscard]] std::uint64_t batches_of(Share share) const { return (share.end - share.begin + batch_ - 1) / batch_; }
  [[nodiscard]] Part batch(Bytes const& bytes, std::size_t slot, Share share, std::uint64_t b) const {
    return part(bytes.at(slot * batch_ * work_.item_bytes), share.begin + b * batch_, items_at(share, b));
  }

  void feed(Slots& slots, Share share) const {
    BENCH_CUDA(cudaSetDevice(device_));
    for (std::uint64_t b = 0; b != batches_of(share); ++b) {
      std::size_t const s = b % Slots::count;
      if (b >= Slots::count) slots.copied[s].wait();
      Part const from = batch(slots.host_bytes, s, share, b);
      Part const to = batch(slots.device_bytes, s, share, b);
      write_on_host(from, order_);
      copy(to, from, slots.streams[s]);
      slots.copied[s].record(slots.streams[s]);
      check_on_device(to, slots.streams[s]);
    }
    for (Stream const& stream : slots.streams) stream.wait();
  }

  void drain(Slots& slots, Share share) {
    BENCH_CUDA(cudaSetDevice(device_));
    Tally mine;
    std::uint64_t const batches = batches_of(share);
    auto const ask = [&](std::uint64_t b) {
      std::size_t const s = b % Slots::count;
      Part const from = batch(slots.device_bytes, s, share, b);
      write(from, slots.streams[s]);
      copy(batch(slots.host_bytes, s, share, b), from, slots.streams[s]);
      slots.copied[s].record(slots.streams[s]);
    };
    for (std::uint64_t b = 0; b < std::min<std::uint64_t>(batches, Slots::count); ++b) ask(b);
    for (std::uint64_t b = 0; b != batches; ++b) {
      std::size_t const s = b % Slots::count;
      slots.copied[s].wait();
      Part const arrived = batch(slots.host_bytes, s, share, b);
      mine.add(check_items(arrived.words, work_.item_bytes, arrived.count));
      if (b + Slots::count < batches) ask(b + Slots::count);
    }
    add(mine);
  }

  void along(Slots& slots, Share share) const {
    for (std::uint64_t b = 0; b != batches_of(share); ++b) {
      std::size_t const s = b % Slots::count;
      Part const items = batch(slots.device_bytes, s, share, b);
      write(items, slots.streams[s]);
      check_on_device(items, slots.streams[s]);
    }
    for (Stream const& stream : slots.streams) stream.wait();
  }

  void copy(Part const& to, Part const& from, Stream const& stream) const {
    BENCH_CUDA(cudaMemcpyAsync(to.words, from.words, from.count * work_.item_bytes, cudaMemcpyDefault, stream.get()));
  }

  std::size_t batch_;
  std::vector<std::unique_ptr<Slots>> slots_;
};

/// The words of one managed ring; in pinned host memory, each in a line of its own.
struct RingWords {
  alignas(128) std::uint64_t published;
  alignas(128) std::uint64_t retired;
  alignas(128) std::uint64_t stop;  ///< written by the host: leave
};

/// One managed ring, as its kernel takes it.
struct ManagedRing {
  RingWords* words;
  std::uint32_t* items;
  std::uint64_t capacity;
  std::uint64_t batch;
  std::uint64_t begin;  ///< of the order's items, its own
  std::uint64_t count;
};

constexpr long long patience_cycles = 40'000'000'000;  // some 20 seconds
constexpr auto patience = std::chrono::seconds(20);

using SystemWord = cuda::atomic_ref<std::uint64_t, cuda::thread_scope_system>;

/// Waits until `word` is at least `least`; 0 when it leaves without. One lane calls it.
__device__ std::uint64_t await_word(std::uint64_t& word, std::uint64_t least, std::uint64_t& stop) {
  long long const begin = clock64();
  for (;;) {
    std::uint64_t const value = SystemWord(word).load(cuda::memory_order_acquire);
    if (value >= least) return value;
    if (SystemWord(stop).load(cuda::memory_order_relaxed) != 0 || clock64() - begin > patience_cycles) return 0;
    __nanosleep(100);
  }
}

/// Block r checks ring r's items as they come; `put` writes them instead.
__global__ void run_rings(ManagedRing const* rings, Order order, std::uint32_t item_words, bool put, Tally* all) {
  ManagedRing const ring = rings[blockIdx.x];
  __shared__ std::uint64_t shared_limit;
  Tally mine;
  for (std::uint64_t done = 0; done < ring.count;) {
    if (threadIdx.x == 0) {
      if (put) {  // room for a batch, or for the rest
        std::uint64_t const n = min(ring.batch, ring.count - done);
        std::uint64_t const least = done + n > ring.capacity ? done + n - ring.capacity : 0;
        bool const room = least == 0 || await_word(ring.words->retired, least, ring.words->stop) != 0;
        shared_limit = room ? done + n : 0;
      } else {
        shared_limit = await_word(ring.words->published, done + 1, ring.words->stop);
      }
    }
    __syncthreads();
    std::uint64_t const limit = shared_limit;
    __syncthreads();
    if (limit == 0) return;
    while (done < limit) {  // up to the ring's end at a time
      std::uint64_t const at = done % ring.capacity;
      std::uint64_t const n = min(limit - done, ring.capacity - at);
      Part const part{ring.items + at * item_words, item_words, ring.begin + done, n};
      if (put) {
        write_part(part, order, threadIdx.x, blockDim.x);
      } else {
        check_part(part, mine, threadIdx.x, blockDim.x);
      }
      done += n;
    }
    __threadfence_system();  // every lane's items, before the one lane's word
    __syncthreads();
    if (threadIdx.x == 0)
      SystemWord(put ? ring.words->published : ring.words->retired).store(done, cuda::memory_order_release);
  }
  if (!put) add_up(mine, all);
}

class ManagedRings final : public ByHandMover {
 public:
  ManagedRings(Work const& work, std::size_t batch_bytes)
      : ByHandMover(work),
        batch_(std::max<std::size_t>(1, batch_bytes / work.item_bytes)),
        capacity_(ring_batches * batch_) {
    for (bool const put : {false, true}) {
      if (put ? !comes_back(work.flow) : !goes_there(work.flow)) continue;
      ways_.push_back(std::make_unique<Way>(put, work.cpu_threads, capacity_ * work.item_bytes));
    }
  }

  Json facts() const override {
    Json facts = Json::object();
    facts["capacity_items"] = capacity_;
    facts["batch_items"] = batch_;
    return facts;
  }

 private:
  static constexpr std::size_t ring_batches = 8;

  /// The rings of one direction and their kernel: one block a ring.
  struct Way {
    Way(bool puts, unsigned threads, std::size_t ring_bytes)
        : put(puts),
          words(hiway::Memory::pinned, threads * sizeof(RingWords)),
          rings(hiway::Memory::pinned, threads * sizeof(ManagedRing)) {
      for (unsigned t = 0; t != threads; ++t)
        items.push_back(std::make_unique<Bytes>(hiway::Memory::managed, ring_bytes));
    }
    bool put;  ///< the device puts
    Bytes words;
    Bytes rings;
    std::vector<std::unique_ptr<Bytes>> items;
    Stream stream;
  };

  void before() override {
    for (auto const& way : ways_) {
      for (unsigned t = 0; t != work_.cpu_threads; ++t) {
        Share const share = share_of(order_.items, t, work_.cpu_threads);
        way->words.as<RingWords>()[t] = {0, 0, 0};
        way->rings.as<ManagedRing>()[t] = {
            way->words.as<RingWords>() + t, way->items[t]->as<std::uint32_t>(), capacity_, batch_, share.begin,
            share.end - share.begin};
      }
    }
    cudaFuncAttributes attributes{};
    BENCH_CUDA(cudaFuncGetAttributes(&attributes, run_rings));  // loads it
  }

  void run() override {
    std::vector<std::function<void()>> bodies;
    for (auto const& way : ways_) {
      run_rings<<<work_.cpu_threads, block, 0, way->stream.get()>>>(way->rings.as<ManagedRing>(), order_, item_words(),
                                                                    way->put, tally_->as<Tally>());
      BENCH_CUDA(cudaGetLastError());
      for (unsigned t = 0; t != work_.cpu_threads; ++t) {
        ManagedRing const& ring = way->rings.as<ManagedRing>()[t];
        bodies.emplace_back([this, &ring, put = way->put] {
          try {
            put ? drain(ring) : feed(ring);
          } catch (...) {
            stop();
            throw;
          }
        });
      }
    }
    try {
      run_threads(bodies);
    } catch (...) {
      stop();
      for (auto const& way : ways_) cudaStreamSynchronize(way->stream.get());
      throw;
    }
    for (auto const& way : ways_) way->stream.wait();
  }

  void stop() const {
    for (auto const& way : ways_) {
      for (unsigned t = 0; t != work_.cpu_threads; ++t)
        std::atomic_ref(way->words.as<RingWords>()[t].stop).store(1, std::memory_order_relaxed);
    }
  }

  /// Waits until `word` is at least `least`. *Throws* when it takes too long, or another has stopped.
  static std::uint64_t await(std::uint64_t& word, std::uint64_t least, std::uint64_t& stopped) {
    std::uint64_t value = 0;
    Clock::time_point begin{};
    for (unsigned misses = 0; (value = std::atomic_ref(word).load(std::memory_order_acquire)) < least; ++misses) {
      if (misses % 1024 != 1023) continue;
      if (begin == Clock::time_point{}) begin = Clock::now();
      if (std::atomic_ref(stopped).load(std::memory_order_relaxed) != 0 || Clock::now() - begin > patience)
        throw std::runtime_error("baseline: the managed ring stands still");
    }
    return value;
  }

  void feed(ManagedRing const& ring) const {
    for (std::uint64_t done = 0; done != ring.count;) {
      std::uint64_t const at = done % capacity_;
      std::uint64_t const n = std::min({ring.batch, ring.count - done, capacity_ - at});
      if (done + n > capacity_) await(ring.words->retired, done + n - capacity_, ring.words->stop);
      write_on_host(part(ring.items + at * item_words(), ring.begin + done, n), order_);
      done += n;
      std::atomic_ref(ring.words->published).store(done, std::memory_order_release);
    }
  }

  void drain(ManagedRing const& ring) {
    Tally mine;
    for (std::uint64_t done = 0; done != ring.count;) {
      std::uint64_t const limit = await(ring.words->published, done + 1, ring.words->stop);
      while (done != limit) {
        std::uint64_t const at = done % capacity_;
        std::uint64_t const n = std::min(limit - done, capacity_ - at);
        mine.add(check_items(ring.items + at * item_words(), work_.item_bytes, n));
        done += n;
      }
      std::atomic_ref(ring.words->retired).store(done, std::memory_order_release);
    }
    add(mine);
  }

  std::size_t batch_;
  std::size_t capacity_;
  std::vector<std::unique_ptr<Way>> ways_;
};

/// Writes the order's items into a ring of `slots`, lap after lap; those of the last lap stay. `slots` is a multiple of
/// all lanes, so that a slot is always the same lane's. What is planted is in the last lap.
__global__ void store_slots(uint4* ring, std::uint64_t slots, Order order) {
  std::uint64_t const lanes = lane_count();
  std::uint64_t at = lane_index();
  std::uint64_t const kept = min(order.items, slots);
  std::uint64_t const victim = order.plant == Plant::none ? order.items : order.items - kept + kept / 2;
  for (std::uint64_t i = at; i < order.items; i += lanes) {
    auto const number = static_cast<std::uint32_t>(order.first + i - (i == victim && order.plant == Plant::duplicate));
    uint4 item = make_uint4(number, number, number, number);
    if (i == victim && order.plant == Plant::alter) item.w ^= 0x100U;
    if (i != victim || order.plant != Plant::lose) ring[at] = item;
    at += lanes;
    if (at >= slots) at -= slots;
  }
}

/// The floor of small items: a kernel stores them into the target's memory, into a ring as large as a tunnel's, and
/// waits for nobody. Checked is the last lap, behind the measured time.
class PeerStores final : public ByHandMover {
 public:
  PeerStores(Work const& work, unsigned blocks) : ByHandMover(work), blocks_(blocks != 0 ? blocks : full_grid()) {
    std::uint64_t const lanes = std::uint64_t{blocks_} * block;
    slots_ = lanes * std::max<std::uint64_t>(1, ring_bytes / sizeof(uint4) / lanes);
    ring_ = bytes_on(target_, slots_ * sizeof(uint4));
  }

  Json facts() const override {
    Json facts = Json::object();
    facts["blocks"] = blocks_;
    facts["threads_per_block"] = block;
    facts["slots"] = slots_;
    return facts;
  }

 private:
  static constexpr std::size_t ring_bytes = std::size_t{8} << 20;

  [[nodiscard]] unsigned full_grid() const {
    cudaDeviceProp properties{};
    BENCH_CUDA(cudaGetDeviceProperties(&properties, device_));
    int each = 0;
    BENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, store_slots, block, 0));
    return static_cast<unsigned>(properties.multiProcessorCount * each);
  }

  void before() override {
    On const on(target_);
    BENCH_CUDA(cudaMemset(ring_->at(0), 0xff, slots_ * sizeof(uint4)));
  }
  void run() override {
    store_slots<<<blocks_, block, 0, stream_.get()>>>(ring_->as<uint4>(), slots_, order_);
    BENCH_CUDA(cudaGetLastError());
    stream_.wait();
  }
  void after() override {
    std::uint64_t const kept = std::min(order_.items, slots_);
    order_.first += static_cast<std::uint32_t>(order_.items - kept);
    order_.items = kept;
    check_at_target(part(ring_->at(0), 0, kept));
  }

  unsigned blocks_;
  std::uint64_t slots_ = 0;
  std::unique_ptr<Bytes> ring_;
  Stream stream_;
};

/// 16 bytes that are stored and loaded at once.
struct alignas(16) Ball {
  std::uint32_t words[3];
  std::uint32_t number;
};

constexpr long long patience_for_a_ball = 4'000'000'000;  // some 2 seconds

/// Waits until `own` has that number; false when it takes too long.
__device__ bool await_ball(Ball& own, std::uint32_t number, Ball& seen) {
  long long const begin = clock64();
  do {
    seen = hiway::CudaMachine{}.look_tagged(own);
    if (seen.number == number) return true;
  } while (clock64() - begin < patience_for_a_ball);
  return false;
}

/// What the side that times it saw.
struct PingPong {
  std::uint32_t seen;  ///< how often it came back
  std::uint32_t altered;
  std::uint64_t began_ns;  ///< when it came back first, and last
  std::uint64_t ended_ns;
};

/// Sends the ball `trips` times and notes when it came back. One lane. `victim`: the trip that sends it altered.
__global__ void ping(Ball* own, Ball* other, std::uint32_t trips, std::uint32_t victim, std::uint32_t* came,
                     PingPong* all) {
  hiway::CudaMachine const m;
  for (std::uint32_t trip = 0; trip != trips; ++trip) {
    std::uint32_t const number = 2 * trip + 1;
    m.put_tagged(*other, Ball{{number, number, trip == victim ? number + 0x100U : number}, number});
    Ball seen;
    if (!await_ball(*own, number + 1, seen)) return;
    came[trip] = m.cycles();
    if (trip == 0) all->began_ns = m.now_ns();
    if (seen.words[0] != number + 1 || seen.words[1] != number + 1 || seen.words[2] != number + 1) all->altered = 1;
    all->seen = trip + 1;
  }
  all->ended_ns = m.now_ns();
}

/// Sends it back, every word one higher. One lane.
__global__ void pong(Ball* own, Ball* other, std::uint32_t trips) {
  for (std::uint32_t trip = 0; trip != trips; ++trip) {
    Ball seen;
    if (!await_ball(*own, 2 * trip + 1, seen)) return;
    Ball const back{{seen.words[0] + 1, seen.words[1] + 1, seen.words[2] + 1}, seen.number + 1};
    hiway::CudaMachine{}.put_tagged(*other, back);
  }
}

/// The floor of a round trip between two running kernels: neither does anything but look at its own memory.
class PeerPingPong final : public Echo {
 public:
  PeerPingPong(int device, int target) : here_(device), there_(target) {}

  RoundTrips run(unsigned trips, bool alter) override {
    unsigned const uncounted = trips / 10 + 1;
    unsigned const all = uncounted + trips;
    Side const there(there_, 1);
    Side const here(here_, all);
    {
      On const on(there_);
      pong<<<1, 1, 0, there.stream.get()>>>(there.ball.as<Ball>(), here.ball.as<Ball>(), all);
      BENCH_CUDA(cudaGetLastError());
    }
    {
      On const on(here_);
      ping<<<1, 1, 0, here.stream.get()>>>(here.ball.as<Ball>(), there.ball.as<Ball>(), all, alter ? trips / 2 : all,
                                           here.came.as<std::uint32_t>(), here.all.as<PingPong>());
      BENCH_CUDA(cudaGetLastError());
    }
    here.stream.wait();
    there.stream.wait();
    PingPong seen{};
    std::vector<std::uint32_t> came(all);
    BENCH_CUDA(cudaMemcpy(&seen, here.all.as<PingPong>(), sizeof seen, cudaMemcpyDefault));
    BENCH_CUDA(cudaMemcpy(came.data(), here.came.as<void>(), came.size() * sizeof came[0], cudaMemcpyDefault));
    RoundTrips made;
    if (seen.seen == all)
      made = rally_times(came, uncounted, static_cast<double>(seen.ended_ns - seen.began_ns) / 1000);
    if (seen.altered != 0) made.wrong = "what came back is not what was sent makes it";
    if (seen.seen != all) made.wrong = "it came back " + std::to_string(seen.seen) + " times of " + std::to_string(all);
    return made;
  }

 private:
  /// One device's memory, zeroed, and its stream.
  struct Side {
    Side(int device, unsigned trips)
        : on(device),
          ball(hiway::Memory::device, sizeof(Ball)),
          came(hiway::Memory::device, trips * sizeof(std::uint32_t)),
          all(hiway::Memory::device, sizeof(PingPong)) {
      BENCH_CUDA(cudaMemset(ball.at(0), 0, sizeof(Ball)));
      BENCH_CUDA(cudaMemset(all.at(0), 0, sizeof(PingPong)));
      BENCH_CUDA(cudaDeviceSynchronize());
    }
    On on;  ///< the current one while this lives
    Bytes ball;
    Bytes came;
    Bytes all;
    Stream stream;
  };

  int here_;
  int there_;
};

std::unique_ptr<Echo> make_ping_pong(std::string const& device, int to_device) {
  int const here = ordinal_of(device);
  int const there = ordinal(to_device);
  if (!reaches(here, there) || !reaches(there, here)) return nullptr;
  return std::make_unique<PeerPingPong>(here, there);
}

std::unique_ptr<Mover> make_by_hand(ByHand way, Work const& work, std::size_t batch_bytes) {
  bool const between = work.flow == Flow::gpu_to_gpu && work.to_device >= 0;
  switch (way) {
    case ByHand::large_copy: return std::make_unique<LargeCopy>(work);
    case ByHand::launch_per_batch:
      if (between) return nullptr;
      return std::make_unique<LaunchPerBatch>(work, batch_bytes);
    case ByHand::stores_of_64_blocks:
    case ByHand::stores_of_a_full_grid:
      if (!between || !reaches(ordinal_of(work.device), ordinal(work.to_device))) return nullptr;
      return std::make_unique<PeerStores>(work, way == ByHand::stores_of_64_blocks ? 64 : 0);
    case ByHand::managed_ring: {
      int concurrent = 0;
      BENCH_CUDA(cudaDeviceGetAttribute(&concurrent, cudaDevAttrConcurrentManagedAccess, ordinal_of(work.device)));
      if (concurrent == 0 || work.flow == Flow::gpu_to_gpu) return nullptr;
      return std::make_unique<ManagedRings>(work, batch_bytes);
    }
  }
  return nullptr;
}

/// Microseconds of `count` times `work(stream)` and the wait for it.
template <class Work>
std::vector<double> time_each(std::string const& device, unsigned count, Work const& work) {
  BENCH_CUDA(cudaSetDevice(ordinal_of(device)));
  Stream const stream;
  std::vector<double> us;
  us.reserve(count);
  unsigned const uncounted = count / 10 + 1;
  for (unsigned i = 0; i != uncounted + count; ++i) {
    auto const begin = Clock::now();
    work(stream.get());
    stream.wait();
    double const took = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    BENCH_CUDA(cudaGetLastError());
    if (i >= uncounted) us.push_back(took);
  }
  return us;
}
std::vector<double> launch_and_sync(std::string const& device, unsigned count) {
  return time_each(device, count, [](cudaStream_t stream) { nothing<<<1, 32, 0, stream>>>(); });
}
std::vector<double> copy_launch_and_sync(std::string const& device, unsigned count) {
  BENCH_CUDA(cudaSetDevice(ordinal_of(device)));
  Bytes const host(hiway::Memory::pinned, 16);
  Bytes const there(hiway::Memory::device, 16);
  auto* const number = host.as<std::uint64_t>();
  auto* const on_device = there.as<std::uint64_t>();
  *number = 0;
  std::vector<double> us = time_each(device, count, [&](cudaStream_t stream) {
    BENCH_CUDA(cudaMemcpyAsync(on_device, number, sizeof *number, cudaMemcpyHostToDevice, stream));
    add_one<<<1, 32, 0, stream>>>(on_device);
    BENCH_CUDA(cudaMemcpyAsync(number, on_device, sizeof *number, cudaMemcpyDeviceToHost, stream));
  });
  if (*number != us.size() + us.size() / 10 + 1) throw std::runtime_error("baseline: a launch is missing");
  return us;
}

[[maybe_unused]] bool const known =
    register_raw_cuda({&make_by_hand, &launch_and_sync, &copy_launch_and_sync, &make_ping_pong});

}  // namespace
}  // namespace bench
