#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/paper_stencil_test.cpp"
