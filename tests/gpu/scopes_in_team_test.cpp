#define HIWAY_TEST_ON_GPU 1
#include "../pipeline/scopes_in_team_test.cpp"
