#define HIWAY_TEST_ON_GPU 1
#include "../soak/random_scopes_in_batch_test.cpp"
