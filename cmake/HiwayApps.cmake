# The program hiway: apps/cli with every application of apps/<name>/ and every bench of bench/. And the program of
# scripts/demo: gene alignment alone, with the commands that it needs. Objects, not archives: the tests link the same.
include_guard()
find_package(CLI11 REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
find_package(EXPAT REQUIRED)

file(GLOB hiway_app_sources CONFIGURE_DEPENDS apps/*/*.cpp)
list(FILTER hiway_app_sources EXCLUDE REGEX "/(main|demo)\\.cpp$")
# What the demo runs: apps/gene_alignment/demo.cpp has no plan, report or bench.
set(hiway_demo_sources ${hiway_app_sources})
list(FILTER hiway_demo_sources INCLUDE REGEX "/apps/(gene_alignment|genome)/|/apps/cli/(app|device|graph_command|\
list_commands|machine|names|options|output|program|progress|run_command|text)\\.cpp$")
list(REMOVE_ITEM hiway_app_sources ${hiway_demo_sources})
# A cascade, a picture and a teapot travel in the program.
set(face_data ${PROJECT_SOURCE_DIR}/apps/face_detection/data)
file(READ ${face_data}/lbpcascade_frontalface.xml frontal_face_xml)
file(READ ${face_data}/face_176.pgm face_pgm HEX)
string(REGEX REPLACE "(..)" "0x\\1," face_pgm ${face_pgm})
configure_file(apps/face_detection/built_in.cpp.in ${PROJECT_BINARY_DIR}/apps/face_detection_built_in.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${face_data}/lbpcascade_frontalface.xml ${face_data}/face_176.pgm)
list(APPEND hiway_app_sources ${PROJECT_BINARY_DIR}/apps/face_detection_built_in.cpp)
set(teapot ${PROJECT_SOURCE_DIR}/apps/reyes/data/teapot_28_patches.bez)
file(READ ${teapot} teapot_bez)
configure_file(apps/reyes/built_in.cpp.in ${PROJECT_BINARY_DIR}/apps/reyes_built_in.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${teapot})
list(APPEND hiway_app_sources ${PROJECT_BINARY_DIR}/apps/reyes_built_in.cpp)
# So do the style and the script of the pages of `hiway report`.
set(page ${PROJECT_SOURCE_DIR}/apps/cli)
file(READ ${page}/report.css report_css)
file(READ ${page}/report.js report_js)
configure_file(${page}/report_assets.cpp.in ${PROJECT_BINARY_DIR}/apps/report_assets.cpp @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page}/report.css ${page}/report.js)
list(APPEND hiway_app_sources ${PROJECT_BINARY_DIR}/apps/report_assets.cpp)
if(HIWAY_WITH_CUDA)  # baselines that call the toolkit itself; a program without it refuses these methods
  file(GLOB hiway_app_cuda_only CONFIGURE_DEPENDS apps/*/*.cu)
  if(NOT TARGET CUDA::cufft)
    message(STATUS "hiway: no cuFFT: spectrum runs on the emulated device alone")
    list(FILTER hiway_app_cuda_only EXCLUDE REGEX "/apps/spectrum/")
  endif()
  list(APPEND hiway_app_sources ${hiway_app_cuda_only})
endif()
include(HiwayBench)

# hiway_app_objects(target library files...): what stages in them need of the device is said below.
function(hiway_app_objects target library)
  add_library(${target} OBJECT)
  hiway_sources_or_stub(${target} ${ARGN})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/apps ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${library} CLI11::CLI11 nlohmann_json::nlohmann_json ZLIB::ZLIB)
  hiway_house_rules(${target})
  if(HIWAY_WITH_CUDA)
    # What places stages on a GPU; a reference is the serial oracle, the rest is plain C++.
    set(with_stages ${ARGN})
    list(FILTER with_stages INCLUDE REGEX "/apps/.*/(hiway|by_tunnels|baseline|paper|search)\\.cpp$")
    foreach(kernels IN LISTS hiway_bench_kernels)
      if(kernels IN_LIST ARGN)
        list(APPEND with_stages ${kernels})
      endif()
    endforeach()
    if(with_stages)
      hiway_cuda_sources(${target} ${with_stages})
    endif()
    target_link_libraries(${target} PUBLIC hiway_cuda)
  endif()
endfunction()
hiway_app_objects(hiway_demo_objects hiway_pipelines ${hiway_demo_sources})
hiway_app_objects(hiway_apps hiway ${hiway_app_sources} ${hiway_bench_sources})
target_link_libraries(hiway_apps PUBLIC PNG::PNG EXPAT::EXPAT)
if(HIWAY_WITH_CUDA AND TARGET CUDA::cufft)
  target_link_libraries(hiway_apps PUBLIC CUDA::cufft)
endif()
if(HIWAY_WITH_NODES)  # bench nodes
  target_link_libraries(hiway_apps INTERFACE hiway_nodes)
  set_source_files_properties(bench/nodes.cpp PROPERTIES COMPILE_DEFINITIONS HIWAY_HAS_NODES)
endif()
target_sources(hiway_apps INTERFACE $<TARGET_OBJECTS:hiway_demo_objects>)
# A command line needs no speed, and -O1 compiles in two thirds of the time. What reads or draws large files is not among
# these.
set(hiway_command_line ${hiway_demo_sources} ${hiway_app_sources})
list(FILTER hiway_command_line INCLUDE REGEX "/apps/cli/(app|device|machine|names|options|output|plan|processes|program|progress|\
[a-z]+_commands?|commands)\\.cpp$")
set_source_files_properties(${hiway_command_line} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
# Its pixels are OpenCV's in every bit: no multiplication may be fused with an addition.
set_source_files_properties(apps/face_detection/pyramid.cpp PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# Creatures, pictures, foregrounds and filtered samples are the same in every bit on every device.
set(unfused "$<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>" "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
file(GLOB the_same_in_every_bit CONFIGURE_DEPENDS apps/evolutionary_program/*.cpp apps/rasterization/*.cpp apps/reyes/*.cpp
  apps/background_extraction/*.cpp apps/fir/*.cpp apps/fir/*.cu apps/kmeans/*.cpp apps/knn/*.cpp apps/pagerank/*.cpp)
set_source_files_properties(${the_same_in_every_bit} PROPERTIES COMPILE_OPTIONS "${unfused}")
# Its exponentials, logarithms and divisions are the GPU's quick ones, as in CUDA's sample; prices are compared with a tolerance.
file(GLOB quickly_priced CONFIGURE_DEPENDS apps/black_scholes/*.cpp)
set_source_files_properties(${quickly_priced} PROPERTIES COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:--use_fast_math>")
# Its segment waits for what it reads: more warps on a multiprocessor are worth more than registers (apps/region_sum/README.md).
file(GLOB many_warps CONFIGURE_DEPENDS apps/region_sum/hiway.cpp)
set_source_files_properties(${many_warps} PROPERTIES COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CUDA>:-maxrregcount=80>")
add_executable(hiway_demo apps/gene_alignment/demo.cpp)
target_link_libraries(hiway_demo PRIVATE hiway_demo_objects hiway_pipelines)
hiway_house_rules(hiway_demo)

file(GLOB hiway_program_main CONFIGURE_DEPENDS apps/cli/main.cpp)
if(hiway_program_main)
  add_executable(hiway_program ${hiway_program_main})
  set_target_properties(hiway_program PROPERTIES OUTPUT_NAME hiway)
  target_link_libraries(hiway_program PRIVATE hiway_apps)
  if(HIWAY_WITH_NODES)  # --nodes of the applications
    target_link_libraries(hiway_program PRIVATE hiway_nodes)
  endif()
  hiway_house_rules(hiway_program)
else()
  message(STATUS "hiway: no program, apps/cli/main.cpp is not there")
endif()
