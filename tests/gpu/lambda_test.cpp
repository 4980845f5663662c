// Lambdas as stages on a GPU: the same sources, compiled by nvcc with --extended-lambda.
#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/lambda_test.cpp"
