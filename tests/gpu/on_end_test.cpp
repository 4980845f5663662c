#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/on_end_test.cpp"
