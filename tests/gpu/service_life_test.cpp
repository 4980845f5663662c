#define HIWAY_TEST_ON_GPU 1
#include "../soak/service_life_test.cpp"
