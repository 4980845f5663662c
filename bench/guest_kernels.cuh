// Kernels of a program beside a pipeline: of bench guest, and of the tests of such programs.
#pragma once

namespace bench {

/// It needs 16 KiB of local memory a thread: its first launch makes room for that, when the device is idle. `numbers`:
/// 544.
static __global__ void uses_local_memory(float* numbers) {
  float many[4096];
  for (int i = 0; i < 4096; ++i) many[i] = numbers[i % 32] * static_cast<float>(i);
  float sum = 0;
  for (int i = 0; i < 4096; ++i)
    sum += many[(static_cast<unsigned>(i) * 17U + static_cast<unsigned>(numbers[0])) % 4096];
  numbers[512 + threadIdx.x] = sum;
}

static __global__ void adds_one(float* numbers) { numbers[threadIdx.x] += 1; }

}  // namespace bench
