#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/scopes_in_batch_test.cpp"
