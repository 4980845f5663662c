// The same on a GPU.
#define HIWAY_TEST_ON_GPU 1
#include "../soak/random_pipeline_test.cpp"
