#define HIWAY_TEST_ON_GPU 1
#include "../segment/region_test.cpp"
