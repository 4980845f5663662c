// What kernels can call: a struct that is copied into them, or a lambda of the kinds that compilers copy.
#pragma once
#include <initializer_list>
#include <string_view>
#include <type_traits>

namespace hiway::detail {

/// Whether F's name, as g++, clang and nvcc write it, contains one of `parts`.
template <class F>
[[nodiscard]] consteval bool is_called(std::initializer_list<char const*> parts) {
  std::string_view const name = __PRETTY_FUNCTION__;
  for (char const* const part : parts)
    if (name.find(part) != name.npos) return true;
  return false;
}
/// Whether F is a lambda, or a type made from one.
template <class F>
inline constexpr bool is_closure = is_called<F>({"<lambda", "(lambda at ", "lambda [", "__nv_hdl_wrapper_t"});

/// Whether F is a lambda that kernels can call. nvcc makes of one that is marked HIWAY_DEVICE what may be copied into a
/// kernel, though the copy of it that the host has is not trivial (CUDA C++ Programming Guide, extended lambdas).
#if defined(__CUDACC_EXTENDED_LAMBDA__)
template <class F>
inline constexpr bool is_device_lambda = __nv_is_extended_host_device_lambda_closure_type(F);
#elif defined(__CUDACC__)
template <class F>
inline constexpr bool is_device_lambda = false;
#else
template <class F>
inline constexpr bool is_device_lambda = is_closure<F>&& std::is_trivially_copyable_v<F>;
#endif

/// Whether F can be copied into a kernel and called there.
template <class F>
inline constexpr bool runs_in_kernels = is_device_lambda<F> || (!is_closure<F> && std::is_trivially_copyable_v<F>);

}  // namespace hiway::detail
