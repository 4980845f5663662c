#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/open_end_test.cpp"
