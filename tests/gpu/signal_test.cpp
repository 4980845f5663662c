#define HIWAY_TEST_ON_GPU 1
#include "../segment/signal_test.cpp"
