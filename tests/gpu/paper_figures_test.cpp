#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/paper_figures_test.cpp"
