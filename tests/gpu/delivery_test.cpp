// The pipeline tests on a GPU: the same sources, compiled by nvcc.
#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/delivery_test.cpp"
