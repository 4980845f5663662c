#include "square.hpp"

long sum_in_plain_unit() { return sum_of_squares({.device = "simt"}); }
