# Installed with the package: what a project with GPU stages needs.
include_guard()

# The CUDA toolkit's own CCCL, wherever the toolkit lies. A macro: the targets belong to the caller's directory.
macro(hiway_find_cccl)
  find_package(CCCL CONFIG QUIET HINTS
    "${CUDAToolkit_LIBRARY_DIR}/cmake" "${CUDAToolkit_LIBRARY_ROOT}/lib64/cmake" "${CUDAToolkit_LIBRARY_ROOT}/lib/cmake")
endmacro()

# hiway_cuda_sources(target [files...])
#   Compiles the .cpp files of `target` (or only the files named) as CUDA, so that the GPU stages in them run on a GPU
#   as well as on the emulated device, and links hiway::cuda. Call it after the target has its sources.
function(hiway_cuda_sources target)
  if(NOT TARGET hiway::cuda)
    message(FATAL_ERROR "hiway_cuda_sources(${target}): there is no hiway::cuda here")
  endif()
  set(files ${ARGN})
  if(NOT files)
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "\\.cpp$")
    # The toolkit's runtime API needs no nvcc.
    list(FILTER files EXCLUDE REGEX "/lib/backend/cuda_[a-z]+\\.cpp$|_stub\\.cpp$")
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  list(TRANSFORM files PREPEND "${folder}/" REGEX "^[^/]")
  if(files)
    set_source_files_properties(${files} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CUDA)
  endif()
  # std:: functions that are not for the device compile to an almost empty kernel with a warning only: an error here.
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Werror=cross-execution-space-call>")
  if("cuda_std_20" IN_LIST CMAKE_CUDA_COMPILE_FEATURES)
    target_compile_features(${target} PRIVATE cuda_std_20)
  else()  # this CMake is older than its nvcc
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-std=c++20>")
  endif()
  set_target_properties(${target} PROPERTIES CUDA_RUNTIME_LIBRARY Static)
  get_target_property(itself hiway::cuda ALIASED_TARGET)
  if(NOT itself STREQUAL target)
    target_link_libraries(${target} PRIVATE hiway::cuda)
  endif()
endfunction()
