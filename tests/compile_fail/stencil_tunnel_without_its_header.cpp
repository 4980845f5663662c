// expect: hiway: create_stencil_tunnel: include <hiway/stencil/stencil_tunnel.hpp>, or <hiway/hiway.hpp>
#include <hiway/pipeline.hpp>
#ifdef REPAIRED
#include <hiway/stencil/stencil_tunnel.hpp>
#endif

void use(hiway::Pipeline& pipe) {
  auto& heights = pipe.create_stencil_tunnel<float>("heights", hiway::Direction::cpu_to_gpu, {});
  static_cast<void>(heights);
}
