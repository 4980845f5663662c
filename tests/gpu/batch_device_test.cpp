// Batch stages on a GPU: the same sources, compiled by nvcc; and with a library.
#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/batch_device_test.cpp"
