// expect: hiway: launch: no lambda runs on a GPU
#include <hiway/pipeline.hpp>

struct Nothing {
  HIWAY_DEVICE void operator()() const {}
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  pipe.launch("nothing", Nothing{}, {.blocks = 1, .threads_per_block = 32});
#else
  pipe.launch("nothing", [] {}, {.blocks = 1, .threads_per_block = 32});
#endif
}
