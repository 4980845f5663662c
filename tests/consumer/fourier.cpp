// A program with a library, a stream and memory of its own. Its stream makes signals; a run of hiway's waits for them, and
// cuFFT transforms them in a batch stage between two GPU stages; the stream goes on when the run has ended. All memory of
// the pipeline comes from the program. Ends with 77 where there is no GPU.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>

#include <cuda_runtime.h>
#include <cufft.h>

#include <hiway/hiway.hpp>

constexpr int values = 64;
constexpr int signals = 5000;

struct Signal {
  float2 value[values];
  long number;
};

void check(bool right, char const* what) {
  if (!right) throw std::runtime_error(std::string(what) + " failed");
}
void check(cudaError_t error) { check(error == cudaSuccess, cudaGetErrorString(error)); }

/// A tone each, late.
__global__ void make(Signal* all) {
  for (long const begin = clock64(); clock64() - begin < 20'000'000;) continue;
  for (int i = threadIdx.x; i < signals; i += blockDim.x) {
    all[i].number = i;
    for (int k = 0; k < values; ++k) sincospif(2.0f * (i % values) * k / values, &all[i].value[k].y, &all[i].value[k].x);
  }
}
__global__ void count_right(int const* strongest, int* right) {
  for (int i = threadIdx.x; i < signals; i += blockDim.x)
    if (strongest[i] == i % values) atomicAdd(right, 1);
}

struct Load {
  Signal const* all;
  HIWAY_DEVICE Signal operator()(int const& number) const { return all[number]; }
};
struct FindStrongest {
  int* strongest;
  HIWAY_DEVICE void operator()(Signal const& spectrum) const {
    int best = 0;
    float most = 0;
    for (int k = 0; k < values; ++k) {
      float const power = spectrum.value[k].x * spectrum.value[k].x + spectrum.value[k].y * spectrum.value[k].y;
      if (power > most) most = power, best = k;
    }
    strongest[spectrum.number] = best;
  }
};
struct CopyNumbers {
  Signal const* from;
  Signal* to;
  std::size_t count;
  HIWAY_DEVICE void operator()() const {
    for (std::size_t i = hiway::thread_index(); i < count; i += hiway::thread_count()) to[i].number = from[i].number;
  }
};

/// The program's own memory.
class Memory final : public hiway::MemoryResource {
 public:
  void* allocate(hiway::Memory kind, std::size_t bytes, int) override {
    void* memory = nullptr;
    check(kind == hiway::Memory::device ? cudaMalloc(&memory, bytes) : cudaMallocHost(&memory, bytes));
    given_[memory] = bytes;
    most += bytes;
    return memory;
  }
  void deallocate(hiway::Memory kind, void* memory, std::size_t bytes, int) noexcept override {
    if (given_[memory] != bytes) std::abort();
    given_.erase(memory);
    kind == hiway::Memory::device ? cudaFree(memory) : cudaFreeHost(memory);
  }
  bool has_all() const { return given_.empty(); }

  std::size_t most = 0;

 private:
  std::map<void*, std::size_t> given_;
};

int run(hiway::MemoryResource& memory) {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreate(&stream));
  Signal* made = nullptr;
  int* strongest = nullptr;
  int* right = nullptr;
  check(cudaMalloc(&made, signals * sizeof(Signal)));
  check(cudaMalloc(&strongest, signals * sizeof(int)));
  check(cudaMallocManaged(&right, sizeof(int)));
  *right = 0;
  check(cudaMemset(strongest, 0xff, signals * sizeof(int)));

  constexpr int at_once = 256;
  int size = values;
  int const apart = sizeof(Signal) / sizeof(float2);
  cufftHandle plan{};
  check(cufftPlanMany(&plan, 1, &size, &size, 1, apart, &size, 1, apart, CUFFT_C2C, at_once) == CUFFT_SUCCESS, "cuFFT's plan");
  {
    hiway::Pipeline pipe({.device = "cuda:0", .deadline = std::chrono::seconds(20), .memory = &memory});
    auto& numbers = pipe.create_tunnel<int>("numbers", hiway::Direction::cpu_to_gpu);
    auto& waves = pipe.create_tunnel<Signal>("waves", hiway::Direction::gpu_to_gpu);
    auto& spectra = pipe.create_tunnel<Signal>("spectra", hiway::Direction::gpu_to_gpu);
    auto const number = [](hiway::Inlet<int> out) {
      for (int i = 0; i < signals; ++i) out.put_h(i);
    };
    auto const transform = [plan](hiway::Batch<Signal const> in, hiway::Batch<Signal> out, hiway::Stream on) {
      auto* const from = reinterpret_cast<cufftComplex*>(const_cast<Signal*>(in.data()));
      check(cufftSetStream(plan, on.cuda()) == CUFFT_SUCCESS, "cuFFT's stream");
      check(cufftExecC2C(plan, from, reinterpret_cast<cufftComplex*>(out.data()), CUFFT_FORWARD) == CUFFT_SUCCESS, "cuFFT");
      on.launch(CopyNumbers{in.data(), out.data(), in.size()}, 4, 64);
      out.resize(in.size());
    };
    pipe.add_cpu_stage("number", number, hiway::into(numbers));
    pipe.add_gpu_stage("load", Load{made}, hiway::from(numbers), hiway::into(waves));
    pipe.add_batch_stage("transform", transform, hiway::from(waves), hiway::into(spectra), {.max_items = at_once, .device = 0});
    pipe.add_gpu_stage("find", FindStrongest{strongest}, hiway::from(spectra));
    make<<<1, 256, 0, stream>>>(made);
    pipe.start(stream);
    pipe.finished_on(stream);
    count_right<<<1, 256, 0, stream>>>(strongest, right);
    pipe.wait();
    check(cudaStreamSynchronize(stream));
  }
  int const found = *right;
  cufftDestroy(plan);
  check(cudaFree(right));
  check(cudaFree(strongest));
  check(cudaFree(made));
  check(cudaStreamDestroy(stream));
  return found;
}

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return std::puts("skipped: no GPU"), 77;
  Memory memory;
  int const found = run(memory);
  std::printf("%d of %d signals right; %zu bytes were the program's own, %s\n", found, signals, memory.most,
              memory.has_all() ? "all given back" : "and not all given back");
  return found == signals && memory.has_all() && memory.most > 0 ? 0 : 1;
}
