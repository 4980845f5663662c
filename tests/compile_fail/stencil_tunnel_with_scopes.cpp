// expect: hiway: the stage cannot be called with its tunnels
#include <hiway/hiway.hpp>

#ifdef REPAIRED
using In = hiway::ScopedStencilOutlet<float>;
#else
using In = hiway::StencilOutlet<float>;
#endif

void use(hiway::Pipeline& pipe, hiway::Scopes& jobs) {
  auto& heights = pipe.create_stencil_tunnel<float>("heights", hiway::Direction::cpu_to_cpu,
                                                    {.width = 3, .height = 3, .scopes = &jobs});
  pipe.add_cpu_stage(
      "see", [](In) {}, from(heights));
}
