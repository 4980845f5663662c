# cmake -D BUILD=... -D WORK=... [-D WITH_CUDA=ON] [-D EXPECT_MISSING=ON] -P use_installed.cmake -- CONFIGURE ARGUMENTS
# Installs BUILD below WORK, then configures, builds and runs this folder's project against that installation.
cmake_minimum_required(VERSION 3.25)
set(arguments "")
set(seen OFF)
foreach(i RANGE 1 ${CMAKE_ARGC})
  if(seen AND DEFINED CMAKE_ARGV${i})
    list(APPEND arguments "${CMAKE_ARGV${i}}")
  elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
    set(seen ON)
  endif()
endforeach()

file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")
execute_process(COMMAND ${CMAKE_COMMAND} --install "${BUILD}" --prefix "${WORK}/prefix"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

execute_process(
  COMMAND ${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK}/build"
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DWITH_CUDA=${WITH_CUDA}" ${arguments}
  OUTPUT_VARIABLE said ERROR_VARIABLE said RESULT_VARIABLE status)
message(STATUS "${said}")
if(EXPECT_MISSING)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(status EQUAL 0 OR NOT said MATCHES "was built without CUDA: configure it with -DHIWAY_CUDA=ON")
    message(FATAL_ERROR "asking for the component cuda must fail and say why")
  endif()
  return()
endif()
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the project does not configure")
endif()

execute_process(COMMAND ${CMAKE_COMMAND} --build "${WORK}/build" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${WORK}/build/consumer" OUTPUT_VARIABLE sum TIMEOUT 60 COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "it printed: ${sum}")
if(NOT sum STREQUAL "333833500\n")
  message(FATAL_ERROR "expected 333833500")
endif()
