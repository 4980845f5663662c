// Tensors of DLPack, as PyTorch, CuPy, JAX and others exchange them: a buffer as a tensor, and a buffer in a tensor's
// memory. Needs DLPack's header alone (libdlpack-dev); hiway.hpp does not include this file.
#pragma once
#include <dlpack/dlpack.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "hiway/error.hpp"
#include "hiway/pipeline.hpp"

namespace hiway {

/// Where memory of the pipeline's device lies; `device` as in GpuStageOptions. An emulated device's is the CPU's.
[[nodiscard]] inline DLDevice dlpack_device(Pipeline const& pipe, int device = -1) {
  std::string const name = pipe.device();
  std::string const cuda = "cuda:";
  if (!name.starts_with(cuda)) return {kDLCPU, 0};
  return {kDLCUDA, device >= 0 ? device : std::stoi(name.substr(cuda.size()))};
}

/// The type of a tensor's elements.
template <class T>
[[nodiscard]] constexpr DLDataType dlpack_type() {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>,
                "hiway: DLPack: the elements of a tensor are numbers");
  DLDataTypeCode const code = std::is_floating_point_v<T> ? kDLFloat : std::is_signed_v<T> ? kDLInt : kDLUInt;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * sizeof(T)), 1};
}

namespace detail {

/// A tensor that is given away, and what it points to.
struct GivenTensor {
  DLManagedTensor tensor{};
  std::vector<std::int64_t> shape;
};

/// Whether the tensor's elements follow each other without gaps, the last dimension first.
[[nodiscard]] inline bool is_compact(DLTensor const& t) {
  std::int64_t expected = 1;
  for (int d = t.ndim; t.strides != nullptr && d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

}  // namespace detail

/// The buffer as a tensor of `shape`, or of one dimension if that is empty. Whoever takes it calls its deleter, which
/// does not free the buffer. *Lifetime* of the memory: the buffer's. *Throws* ConfigError if the shape has not as many
/// elements as the buffer.
template <class T>
[[nodiscard]] DLManagedTensor* to_dlpack(Buffer<T> const& buffer, DLDevice device,
                                         std::vector<std::int64_t> shape = {}) {
  if (shape.empty()) shape.push_back(static_cast<std::int64_t>(buffer.size()));
  std::size_t elements = 1;
  for (std::int64_t const n : shape) elements *= static_cast<std::size_t>(n);
  if (elements != buffer.size()) {
    throw ConfigError("DLPack: a shape of " + std::to_string(elements) + " elements for a buffer of " +
                      std::to_string(buffer.size()));
  }
  auto given = std::make_unique<detail::GivenTensor>();
  given->shape = std::move(shape);
  given->tensor.dl_tensor = {.data = buffer.view().data,
                             .device = device,
                             .ndim = static_cast<int>(given->shape.size()),
                             .dtype = dlpack_type<T>(),
                             .shape = given->shape.data(),
                             .strides = nullptr,
                             .byte_offset = 0};
  given->tensor.manager_ctx = given.get();
  given->tensor.deleter = [](DLManagedTensor* self) { delete static_cast<detail::GivenTensor*>(self->manager_ctx); };
  return &given.release()->tensor;
}

/// A buffer in the tensor's memory, of all its elements in their order. *Lifetime* of the tensor: the pipeline's.
/// *Throws* ConfigError if its elements are no T, lie on another device, or have gaps between them.
template <class T>
Buffer<T>& create_buffer(Pipeline& pipe, DLTensor const& tensor, int device = -1) {
  constexpr DLDataType type = dlpack_type<T>();
  if (tensor.dtype.code != type.code || tensor.dtype.bits != type.bits || tensor.dtype.lanes != 1) {
    throw ConfigError("DLPack: a tensor of type " + std::to_string(tensor.dtype.code) + " with " +
                      std::to_string(tensor.dtype.bits) + " bits for a buffer of type " + std::to_string(type.code) +
                      " with " + std::to_string(type.bits));
  }
  DLDevice const here = dlpack_device(pipe, device);
  if (tensor.device.device_type != here.device_type || tensor.device.device_id != here.device_id) {
    throw ConfigError("DLPack: a tensor on device " + std::to_string(tensor.device.device_type) + ":" +
                      std::to_string(tensor.device.device_id) + " for a pipeline on " +
                      std::to_string(here.device_type) + ":" + std::to_string(here.device_id));
  }
  if (!detail::is_compact(tensor))
    throw ConfigError("DLPack: a tensor with gaps between its elements; make it compact");
  std::size_t elements = 1;
  for (int d = 0; d < tensor.ndim; ++d) elements *= static_cast<std::size_t>(tensor.shape[d]);
  auto* const first = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return pipe.create_buffer(View<T>{reinterpret_cast<T*>(first), elements});
}

}  // namespace hiway
