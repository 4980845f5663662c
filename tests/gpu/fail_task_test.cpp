#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/fail_task_test.cpp"
