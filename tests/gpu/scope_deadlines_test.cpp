#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/scope_deadlines_test.cpp"
