// Kernels that come back, on a GPU: the same sources, compiled by nvcc.
#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/yield_test.cpp"
