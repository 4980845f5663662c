// The same on a GPU.
#define HIWAY_TEST_ON_GPU 1
#include "../soak/copies_test.cpp"
