#define HIWAY_TEST_ON_GPU 1
#include "../segment/scopes_in_segment_test.cpp"
