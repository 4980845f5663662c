#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/service_test.cpp"
