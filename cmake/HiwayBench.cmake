# bench/: one question per file; part of the program hiway. Sets hiway_bench_sources, and of these hiway_bench_kernels: those
# that are compiled as CUDA where CUDA is. A file that only drives others is named among the plain ones; nvcc time is dear.
include_guard()
file(GLOB hiway_bench_sources CONFIGURE_DEPENDS bench/*.cpp)
set(hiway_bench_kernels ${hiway_bench_sources})
list(FILTER hiway_bench_kernels EXCLUDE REGEX
  "/(asked|bench|benches|checked_items|device_numbers|device_run|end_detection|mover|movement|movement_table|numbered|peer|round_trip|tunnel)\\.cpp$")
if(HIWAY_WITH_CUDA)  # what needs the toolkit itself; a bench without it leaves these variants out
  file(GLOB hiway_bench_cuda_only CONFIGURE_DEPENDS bench/*.cu)
  list(APPEND hiway_bench_sources ${hiway_bench_cuda_only})
endif()
