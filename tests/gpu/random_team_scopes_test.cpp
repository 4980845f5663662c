#define HIWAY_TEST_ON_GPU 1
#include "../soak/random_team_scopes_test.cpp"
