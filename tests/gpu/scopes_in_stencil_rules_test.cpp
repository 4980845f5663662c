#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/scopes_in_stencil_rules_test.cpp"
