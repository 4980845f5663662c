#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/kernel_stage_test.cpp"
