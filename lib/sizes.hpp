// Sizes of memory that a user asks for: products that do not overflow silently, and the errors when there is no room.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string>
#include <string_view>

#include "hiway/error.hpp"

namespace hiway {

/// The product of `factors`, the last one in bytes. *Throws* ConfigError that names `what` and the factors if no memory
/// is that large.
[[nodiscard]] inline std::size_t bytes_of(std::string_view what, std::initializer_list<std::size_t> factors) {
  std::size_t bytes = 1;
  bool too_many = false;
  for (std::size_t const factor : factors) too_many |= __builtin_mul_overflow(bytes, factor, &bytes);
  if (!too_many && bytes <= PTRDIFF_MAX) return bytes;
  std::string product;
  for (std::size_t const factor : factors) product += (product.empty() ? "" : " x ") + std::to_string(factor);
  throw ConfigError(std::string(what) + ": " + product + " bytes are more than any memory has");
}

/// `bytes` of host memory, to be freed by ::operator delete with that alignment. *Throws* ConfigError that names `what`
/// and the bytes if there is not enough memory.
[[nodiscard]] inline void* take_memory(std::size_t bytes, std::align_val_t alignment, std::string_view what) {
  if (void* const memory = ::operator new(bytes, alignment, std::nothrow)) return memory;
  throw ConfigError(std::string(what) + ": there is no memory for " + std::to_string(bytes) + " bytes");
}

}  // namespace hiway
