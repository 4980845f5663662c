#define HIWAY_TEST_ON_GPU 1
#include "../../faults/nth/nth_fault_test.cpp"
