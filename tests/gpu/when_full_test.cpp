#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/when_full_test.cpp"
