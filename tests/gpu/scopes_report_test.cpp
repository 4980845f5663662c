#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/scopes_report_test.cpp"
