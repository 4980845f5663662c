// A pointer that stage code in every unit can read without having it passed in; for interfaces by number, like the
// paper's. Without separable compilation each unit that nvcc compiles has device variables of its own, so each unit
// registers a function that sets its own variable.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "hiway/backend.hpp"
#include "hiway/machine/on_this_device.hpp"

namespace hiway {

/// The pointer that emulated lanes read.
[[nodiscard]] void const* emulated_device_table() noexcept;
/// Registers a unit's function that sets its own variable on the current GPU. *Threads*: before main. Returns true.
bool register_device_table(TableSetter set) noexcept;
[[nodiscard]] std::span<TableSetter const> device_table_setters() noexcept;

#if defined(__CUDACC__)
namespace {

__device__ std::uintptr_t unit_device_table;  // no pointer: cudaMemcpyToSymbol would take its value for the symbol

void set_unit_device_table(void const* table) {
  auto const address = reinterpret_cast<std::uintptr_t>(table);
  cudaError_t const error = cudaMemcpyToSymbol(unit_device_table, &address, sizeof address);
  if (error != cudaSuccess) throw CudaError(std::string("device table: ") + cudaGetErrorString(error));
}

[[maybe_unused]] bool const unit_device_table_registered = register_device_table(&set_unit_device_table);

}  // namespace
#endif

/// The pointer, for stage code; null before it is set.
HIWAY_NO_SPACE_CHECK HIWAY_DEVICE inline void const* device_table() {
#if defined(__CUDA_ARCH__)
  return reinterpret_cast<void const*>(unit_device_table);
#else
  return emulated_device_table();
#endif
}

}  // namespace hiway
