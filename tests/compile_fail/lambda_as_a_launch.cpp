// expect: hiway: launch: this lambda cannot run on a GPU
#include <hiway/pipeline.hpp>
#include <string>

struct Nothing {
  HIWAY_DEVICE void operator()() const {}
};

int main() {
  hiway::Pipeline pipe;
#if defined(REPAIRED)
  pipe.launch("nothing", Nothing{}, {.blocks = 1, .threads_per_block = 32});
#else
  std::string const text = "text";
  pipe.launch("nothing", [text] {}, {.blocks = 1, .threads_per_block = 32});
#endif
}
