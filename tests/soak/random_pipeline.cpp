// Where the stages of all sizes meet.
#include "tests/soak/random_pipeline.hpp"

namespace hiway_tests {

std::unique_ptr<RandomPipeline> build(PipelineSpec const& spec, hiway::PipelineConfig const& config) {
  switch (spec.item_bytes) {
    case 4: return build_of<4>(spec, config);
    case 24: return build_of<24>(spec, config);
    default: return build_of<4096>(spec, config);
  }
}

}  // namespace hiway_tests
