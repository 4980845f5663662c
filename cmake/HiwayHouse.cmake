# What holds for hiway's own targets only: nothing of it reaches a user of the library.
include_guard()

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo, Debug" FORCE)
  endif()
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  find_program(HIWAY_CCACHE ccache)
  mark_as_advanced(HIWAY_CCACHE)
  if(HIWAY_CCACHE)
    foreach(language IN ITEMS CXX CUDA)
      if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
        set(CMAKE_${language}_COMPILER_LAUNCHER "${HIWAY_CCACHE}")
      endif()
    endforeach()
    message(STATUS "hiway: compiling through ccache (found)")
  else()
    message(STATUS "hiway: compiling without ccache (not found)")
  endif()
endif()

set(hiway_sanitizer_none "")
set(hiway_sanitizer_address -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
set(hiway_sanitizer_thread -fsanitize=thread -fno-omit-frame-pointer)
if(NOT DEFINED hiway_sanitizer_${HIWAY_SANITIZE})
  message(FATAL_ERROR "HIWAY_SANITIZE is none, address or thread, not '${HIWAY_SANITIZE}'")
endif()
set(hiway_sanitizer_flags ${hiway_sanitizer_${HIWAY_SANITIZE}})
if(HIWAY_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ warns that TSan knows no fences. No order between threads that it looks at comes of one.
  list(APPEND hiway_sanitizer_flags -Wno-tsan)
endif()

# hiway_house_rules(target): the warnings and the sanitizer of this build; no unity build, where a project around asks for
# one: sources have names of their own in unnamed namespaces.
function(hiway_house_rules target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
  # nvcc writes line markers and GNU extensions into what the host compiler sees: no -Wpedantic there.
  # Fields of a config are named at the call, the others keep their defaults: no warning about that.
  set(for_host -Wall -Wextra -Wshadow -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # clang complains about what libstdc++ 12 itself uses in stable_sort; g++ still warns about our own uses.
    list(APPEND for_host -Wno-deprecated-declarations)
  endif()
  set(werror_host "")
  set(werror_cuda "")
  if(HIWAY_WERROR)
    set(werror_host -Werror)
    set(werror_cuda -Werror=all-warnings -Xcompiler=-Werror)
  endif()
  list(JOIN for_host "," through_nvcc)
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${for_host};-Wpedantic;${werror_host};${hiway_sanitizer_flags}>"
    "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${through_nvcc};${werror_cuda}>")
  if(hiway_sanitizer_flags)
    target_link_options(${target} PUBLIC ${hiway_sanitizer_flags})
  endif()
endfunction()

# The emulated device tells the sanitizer about its fibers. Under TSan it is itself compiled without: the order that
# lanes are promised is stated by hand there, and nothing else may look like an order.
function(hiway_tell_simt_its_sanitizer)
  file(GLOB simt CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/lib/simt/*.cpp")
  if(HIWAY_SANITIZE STREQUAL "address")
    set_source_files_properties(${simt} TARGET_DIRECTORY hiway PROPERTIES COMPILE_DEFINITIONS HIWAY_SIMT_ASAN)
  elseif(HIWAY_SANITIZE STREQUAL "thread")
    set_source_files_properties(${simt} TARGET_DIRECTORY hiway PROPERTIES
      COMPILE_DEFINITIONS HIWAY_SIMT_TSAN COMPILE_OPTIONS -fno-sanitize=thread)
  endif()
endfunction()

# hiway_sources_or_stub(target files...): a library of no files yet is still a library.
function(hiway_sources_or_stub target)
  set(files ${ARGN})
  if(NOT files)
    set(files "${PROJECT_BINARY_DIR}/${target}_stub.cpp")
    file(CONFIGURE OUTPUT "${files}" CONTENT "// ${target} has no sources yet\n")
  endif()
  target_sources(${target} PRIVATE ${files})
endfunction()
