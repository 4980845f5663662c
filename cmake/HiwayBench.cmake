# bench/: one question per file; part of the program hiway. Sets hiway_bench_sources, and of these hiway_bench_kernels: those
# that are compiled as CUDA where CUDA is. A file that only drives others is named among the plain ones; nvcc time is dear.
include_guard()
file(GLOB hiway_bench_sources CONFIGURE_DEPENDS bench/*.cpp)
set(hiway_bench_kernels ${hiway_bench_sources})
list(FILTER hiway_bench_kernels EXCLUDE REGEX
  "/(app_runs|asked|batch|bench|benches|checked_items|device_numbers|device_run|end_detection|hetero_mark|loaded|mover|movement|movement_table|\
natural|natural_moodycamel|natural_peers|natural_pipes|node_pipes|nodes|numbered|one_item|paper|paper_subjects|peer|perftest|round_trip|\
spinning|tunnel|turn_limit)\\.cpp$")
if(HIWAY_WITH_CUDA)  # what needs the toolkit itself; a bench without it leaves these variants out
  file(GLOB hiway_bench_cuda_only CONFIGURE_DEPENDS bench/*.cu)
  list(APPEND hiway_bench_sources ${hiway_bench_cuda_only})
endif()
# Queues of other libraries that bench natural compares with: headers only. Boost's lie beside Boost.Context's.
find_path(HIWAY_CONCURRENTQUEUE_DIR concurrentqueue/concurrentqueue.h DOC "Where moodycamel's ConcurrentQueue is; benches only")
mark_as_advanced(HIWAY_CONCURRENTQUEUE_DIR)
set(peers_headers ${Boost_INCLUDE_DIRS})
if(HIWAY_CONCURRENTQUEUE_DIR)
  list(APPEND peers_headers ${HIWAY_CONCURRENTQUEUE_DIR})
else()
  message(STATUS "hiway: bench natural without moodycamel's ConcurrentQueue (not found)")
  list(FILTER hiway_bench_sources EXCLUDE REGEX "/natural_moodycamel\\.cpp$")
endif()
list(REMOVE_ITEM peers_headers ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})  # named again they would come first
set_source_files_properties(bench/natural_peers.cpp bench/natural_moodycamel.cpp PROPERTIES
  INCLUDE_DIRECTORIES "${peers_headers}")
