// Methods baseline and hiway of background extraction: one program, before and after it was ported. docs/porting.md goes from
// the one to the other, line by line; ./diff prints what differs.
#include "background_extraction/program.hpp"

namespace background_extraction {

using Method = Hiway;

template <>
struct Extract<Method> {
  Model model;
  HIWAY_DEVICE void operator()(hiway::Outlet<Strip> frames, hiway::Inlet<Strip> foregrounds) const {
    for_each_in_order(model, frames, [&](Strip const& frame, Lane lane) {
      foregrounds.put_in_place_warp([&](Strip& foreground) { extract(model, frame, foreground, lane); });
    });
  }
};

template <>
std::vector<Measurement> run<Method>(Program& p, Job const& job) {
  auto& frames = p.pipe.create_tunnel<Strip>("frames", hiway::Direction::cpu_to_gpu);
  auto& foregrounds = p.pipe.create_tunnel<Strip>("foregrounds", hiway::Direction::gpu_to_cpu);
  p.pipe.add_cpu_stage("feed", Feed{&p.video}, hiway::into(frames), p.carriers);
  p.pipe.add_gpu_stage("extract", Extract<Method>{p.model}, hiway::from(frames), hiway::into(foregrounds), p.warps);
  p.pipe.add_cpu_stage("take", Take{&p.kept}, hiway::from(foregrounds), p.carriers);
  return measured(p, job, [&] { p.pipe.run(); });
}

}  // namespace background_extraction
