#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/readers_test.cpp"
