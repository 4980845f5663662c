#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/devices_test.cpp"
