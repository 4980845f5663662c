#define HIWAY_TEST_ON_GPU 1
#include "../segment/segment_test.cpp"
