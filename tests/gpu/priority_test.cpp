#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/priority_test.cpp"
