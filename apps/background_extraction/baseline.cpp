// Methods baseline and hiway of background extraction: one program, before and after it was ported. docs/porting.md goes from
// the one to the other, line by line; ./diff prints what differs.
#include "background_extraction/program.hpp"

namespace background_extraction {

using Method = Baseline;

template <>
struct Extract<Method> {
  Model model;
  HIWAY_DEVICE void operator()() const {
    for_each_strip(model, [&](Strip& frame, Lane lane) { extract(model, frame, frame, lane); });
  }
};

template <>
std::vector<Measurement> run<Method>(Program& p, Job const& job) {
  return measured(p, job, [&](std::uint32_t f) {
    p.frame.copy_in(p.video.frame(f));
    p.pipe.launch("extract", Extract<Method>{p.model}, p.grid);
    p.pipe.synchronize();
    p.frame.copy_out(p.kept.frame(f));
    p.kept.count_beside(f);
  });
}

}  // namespace background_extraction
